package guest

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/manifest"
)

func stamp(t testing.TB) *Package {
	t.Helper()
	b, err := os.ReadFile("../../testdata/plugins/stamp/stamp.wasm")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAuth: an auth plugin signs with a key that it never sees, and is stopped when it
// tries what could show one.
func TestAuth(t *testing.T) {
	h, err := extism.New(extism.Options{Functions: Functions(), Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	p := stamp(t)
	run := func(mood string, list ...secrets.Secret) (string, error) {
		t.Helper()
		g, err := Load(h, p, Options{Config: json.RawMessage(`{"mood":"` + mood + `"}`)})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		keys := NewKeys(p, list...)
		defer keys.Wipe()
		out, err := g.Transform(t.Context(), nil, []byte(`{}`), &Context{Keys: keys})
		return string(out), err
	}
	secret := secrets.New("secret")
	out, err := run("", secret)
	if want := `{"headers":{"X-Signature":"`; err != nil || !strings.HasPrefix(out, want) || len(out) < len(want)+64 {
		t.Fatalf("%s %v", out, err)
	}
	if again, _ := run("", secret); again != out {
		t.Error("two signatures of the same differ")
	}
	if other, _ := run("", secrets.New("other")); other == out {
		t.Error("two secrets sign the same")
	}
	for mood, want := range map[string]string{
		"early": "not derived as often", "steal": "not given", "deep": "more often than its manifest", "again": "after it signed", "prefix": "prefix before a key that is derived",
	} {
		_, err := run(mood, secret)
		var trap *extism.TrapError
		if !errors.As(err, &trap) || !strings.Contains(trap.Reason, want) {
			t.Errorf("%s: %v, want %q", mood, err, want)
		}
	}
	if _, err := run(""); err == nil || !strings.Contains(err.Error(), "not given") {
		t.Errorf("without a credential: %v", err)
	}
	// A host without the functions, and a plugin whose manifest does not ask for them.
	bare, err := extism.New(extism.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close(t.Context())
	if _, err := Load(bare, p, Options{}); err == nil || !strings.Contains(err.Error(), "does not exist here") {
		t.Errorf("a host without the functions: %v", err)
	}
	silent := *p
	m := *p.Manifest
	m.Capabilities = nil
	silent.Manifest = &m
	if _, err := Load(h, &silent, Options{}); err == nil || !strings.Contains(err.Error(), "was not granted") {
		t.Errorf("a manifest that does not ask: %v", err)
	}
}

// TestKeysBounds: each bound, at it and past it.
func TestKeysBounds(t *testing.T) {
	p := &Package{Manifest: &manifest.Manifest{Capabilities: &manifest.Capabilities{Signing: &manifest.Signing{Algorithm: "hmac-sha1", Derivations: 1}}}}
	k := NewKeys(p, make([]secrets.Secret, MaxSecrets+1)...)
	if len(k.keys) != MaxSecrets {
		t.Errorf("%d secrets", len(k.keys))
	}
	for i := range maxKeys {
		if _, refusal := k.derive(1, nil, make([]byte, maxSigned)); refusal != "" {
			t.Fatalf("key %d: %s", i, refusal)
		}
	}
	if _, refusal := k.derive(1, nil, nil); !strings.Contains(refusal, "too many keys") {
		t.Errorf("one key too many: %q", refusal)
	}
	last := uint64(len(k.keys))
	for i := range maxSignatures {
		if s, refusal := k.sign(last, make([]byte, maxSigned)); refusal != "" || len(s) != 20 {
			t.Fatalf("signature %d: %s", i, refusal)
		}
	}
	if _, refusal := k.sign(last, nil); !strings.Contains(refusal, "too many signatures") {
		t.Errorf("one signature too many: %q", refusal)
	}
	k = NewKeys(p, secrets.New("x"))
	if _, refusal := k.derive(1, nil, make([]byte, maxSigned+1)); !strings.Contains(refusal, "too long") {
		t.Errorf("too long a message: %q", refusal)
	}
	h, _ := k.derive(1, nil, nil)
	if _, refusal := k.sign(h, make([]byte, maxSigned+1)); !strings.Contains(refusal, "too long") {
		t.Errorf("too long a message: %q", refusal)
	}
	bytes := k.keys[0].bytes
	k.Wipe()
	if string(bytes) != "\x00" {
		t.Errorf("the secret is left: %q", bytes)
	}
	if _, refusal := (*Keys)(nil).sign(1, nil); refusal == "" {
		t.Error("a plugin without keys signs")
	}
}

// TestParsePatch: what cannot be sent is refused.
func TestParsePatch(t *testing.T) {
	good := `{"headers":{"X-Sig":"a b","X-Empty":""},"query":[["a b","c"]],"body":"aGk="}`
	p, err := ParsePatch([]byte(good))
	if err != nil || p.Headers["X-Sig"] != "a b" || p.Query[0] != (Pair{"a b", "c"}) || string(p.Body) != "hi" {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := ParsePatch(nil); err != nil || p == nil {
		t.Errorf("nothing: %v", err)
	}
	many := func(n int) string {
		var items []string
		for i := range n {
			items = append(items, `["n`+strings.Repeat("i", i)+`","v"]`)
		}
		return `{"query":[` + strings.Join(items, ",") + `]}`
	}
	if _, err := ParsePatch([]byte(many(maxPatchQuery))); err != nil {
		t.Error(err)
	}
	headers := func(n, tokens int) string {
		list := func(n int, name, value string) string {
			var items []string
			for i := range n {
				items = append(items, `"`+name+strings.Repeat("i", i)+`":`+value)
			}
			return "{" + strings.Join(items, ",") + "}"
		}
		return `{"headers":` + list(n, "a", `"v"`) + `,"tokens":` + list(tokens, "t", `{"handle":1,"prefix":""}`) + `}`
	}
	for _, good := range []string{headers(maxPatchHeaders, 0), headers(0, maxPatchHeaders), headers(maxPatchHeaders/2, maxPatchHeaders/2)} {
		if _, err := ParsePatch([]byte(good)); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		headers(maxPatchHeaders+1, 0), headers(0, maxPatchHeaders+1), headers(maxPatchHeaders/2+1, maxPatchHeaders/2), headers(maxPatchHeaders, 1),
		`x`, `[]`, `{"header":{}}`, `{"headers":{"":"v"}}`, `{"headers":{"a b":"v"}}`, `{"headers":{"a":"x\r\ny: z"}}`, `{"headers":{"a":" v"}}`, `{"headers":{"a":"é"}}`,
		`{"headers":{"X-Sig":"a","x-sig":"b"}}`, `{"headers":{"authorization":"a"},"tokens":{"Authorization":{"handle":1,"prefix":""}}}`, `{"tokens":{"A":{"handle":1,"prefix":""},"a":{"handle":1,"prefix":""}}}`,
		`{"query":[["a"]]}`, `{"query":[],"query":[]}`, `{"Query":[]}`, `{} {}`, `{"query":[["","v"]]}`, `{"body":"?"}`, many(maxPatchQuery + 1), `{"headers":{"a":"` + strings.Repeat("x", maxPatchText+1) + `"}}`,
	} {
		if _, err := ParsePatch([]byte(bad)); err == nil {
			t.Errorf("%.60s is taken", bad)
		}
	}
}

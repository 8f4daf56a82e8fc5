package conformance

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"math/big"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/javascript"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
)

// signer is an auth plugin of one language.
type signer struct {
	t    *testing.T
	host *extism.Host
	code []byte
	sent []*http.Request // for tokens
	body []string
	said string // the answer to them
	// few leaves out kinds of keys: the modules in Go and JavaScript take a second to compile for each.
	few    bool
	opened map[manifest.Signing]*guest.Package
}

// Do implements [extism.Doer]: it is the server of tokens.
func (s *signer) Do(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.sent, s.body = append(s.sent, r), append(s.body, string(b))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(s.said))}, nil
}

// load makes a plugin of the module that signs so.
func (s *signer) load(signing *manifest.Signing, do string) (*guest.Package, *guest.Plugin) {
	s.t.Helper()
	p := s.opened[*signing]
	if p == nil {
		p = s.open(signing)
		s.opened[*signing] = p
	}
	config, err := json.Marshal(map[string]string{"do": do, "request": `{"url":"https://id.example/token","headers":{"X-A":"b"},"body":"grant=x"}`})
	if err != nil {
		s.t.Fatal(err)
	}
	g, err := guest.Load(s.host, p, guest.Options{Policy: guest.AuthorPolicy(p), Config: config, HTTP: s})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(g.Close) // at the end: until then others share its compiled code
	return p, g
}

func (s *signer) open(signing *manifest.Signing) *guest.Package {
	s.t.Helper()
	m := manifest.Manifest{
		FormatVersion: 1, Kind: manifest.Auth, Name: "conformance", Version: "1.0.0", Config: json.RawMessage(`{"type":"object"}`),
		Limits:       &manifest.Limits{MemoryBytes: 32 << 20, DeadlineMS: 5000},
		Capabilities: &manifest.Capabilities{Signing: signing, Hosts: []string{"id.example"}},
	}
	code, err := module.AppendCustom(nil, s.code, manifest.Section, m.Append(nil))
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := guest.Open(code)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

const authInput = `{"method":"POST","url":"https://api.example/things?a=b","headers":[["Host","api.example"]],"body":"e30=","bodyBytes":2,` +
	`"bodySha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","time":"2026-03-01T12:00:00Z",` +
	`"credentials":[{"handle":1,"type":"basic","scheme":"s","username":"AKID"}]}`

// call calls a plugin with secrets behind the handles 1 and 2.
func (s *signer) call(p *guest.Package, g *guest.Plugin, list ...string) (*guest.Patch, *guest.Keys, error) {
	s.t.Helper()
	all := make([]secrets.Secret, len(list))
	for i, secret := range list {
		all[i] = secrets.New(secret)
	}
	keys := guest.NewKeys(p, all...)
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	out, err := g.Transform(ctx, nil, []byte(authInput), &guest.Context{Tool: "post_thing", Operation: "POST /things", Arguments: []byte(`{"a":"b"}`), Keys: keys})
	if err != nil {
		return nil, keys, err
	}
	patch, err := guest.ParsePatch(out)
	if err != nil {
		s.t.Fatalf("%s: %v", out, err)
	}
	return patch, keys, nil
}

// signature is what a plugin signs.
func (s *signer) signature(signing *manifest.Signing, do string, list ...string) []byte {
	s.t.Helper()
	p, g := s.load(signing, do)
	var first string
	for range 2 { // the second call of an instance is as the first
		patch, _, err := s.call(p, g, list...)
		if err != nil {
			s.t.Fatalf("%s with %s: %v", do, signing.Algorithm, err)
		}
		if got := patch.Headers["X-Signature"]; first == "" {
			first = got
		} else if got != first {
			s.t.Errorf("%s: two calls sign %s and %s", do, first, got)
		}
	}
	b, err := hex.DecodeString(first)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// TestAuthConformance: plugins that sign, in C, Go, AssemblyScript and JavaScript: each kind of key, derived keys,
// tokens, the time that they are given, and what they must never see or do.
func TestAuthConformance(t *testing.T) {
	h, err := extism.New(extism.Options{Functions: guest.Functions(), Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	read := func(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	js, err := javascript.Build(t.Context(), read("testdata/auth.js"), javascript.Kind{Entry: "transform_request", Memory: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for language, code := range map[string][]byte{
		"c": read("auth.wasm"), "go": buildGo(t, "./testdata/goauth"), "assemblyscript": read("as-auth.wasm"), "javascript": js,
	} {
		t.Run(language, func(t *testing.T) {
			s := &signer{t: t, host: h, code: code, few: language == "go" || language == "javascript", opened: map[manifest.Signing]*guest.Package{}}
			s.hashes()
			s.privateKeys()
			s.tokens()
			s.never()
		})
	}
}

func keyed(h func() hash.Hash, secret, message string) string {
	m := hmac.New(h, []byte(secret))
	m.Write([]byte(message))
	return string(m.Sum(nil))
}

func (s *signer) hashes() {
	for name, h := range map[string]func() hash.Hash{"hmac-sha256": sha256.New, "hmac-sha384": sha512.New384, "hmac-sha512": sha512.New, "hmac-sha1": sha1.New} {
		if s.few && name != "hmac-sha256" {
			continue
		}
		for do, want := range map[string]string{
			"sign": keyed(h, "first secret", "a message"), "second": keyed(h, "another", "a message"),
			"time": keyed(h, "first secret", "2026-03-01T12:00:00Z"), // it has no clock
		} {
			if got := s.signature(&manifest.Signing{Algorithm: name}, do, "first secret", "another"); string(got) != want {
				s.t.Errorf("%s with %s: %x", do, name, got)
			}
		}
		want := keyed(h, keyed(h, keyed(h, "Pfirst secret", "one"), "two"), "a message")
		if got := s.signature(&manifest.Signing{Algorithm: name, Derivations: 2}, "derive", "first secret"); string(got) != want {
			s.t.Errorf("derived with %s: %x", name, got)
		}
	}
}

func (s *signer) privateKeys() {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		s.t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	public, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("a message"))
	for algorithm, k := range map[string]struct {
		key any
		ok  func(sig []byte) bool
	}{
		manifest.RS256: {rsaKey, func(sig []byte) bool { return rsa.VerifyPKCS1v15(&rsaKey.PublicKey, crypto.SHA256, sum[:], sig) == nil }},
		manifest.ES256: {ecKey, func(sig []byte) bool {
			return len(sig) == 64 && ecdsa.Verify(&ecKey.PublicKey, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:]))
		}},
		manifest.EdDSA: {edKey, func(sig []byte) bool { return ed25519.Verify(public, []byte("a message"), sig) }},
	} {
		if s.few && algorithm != manifest.RS256 {
			continue
		}
		der, err := x509.MarshalPKCS8PrivateKey(k.key)
		if err != nil {
			s.t.Fatal(err)
		}
		if got := s.signature(&manifest.Signing{Algorithm: algorithm}, "sign", base64.StdEncoding.EncodeToString(der)); !k.ok(got) {
			s.t.Errorf("%s: %x", algorithm, got)
		}
		p, g := s.load(&manifest.Signing{Algorithm: algorithm}, "derive")
		if _, _, err := s.call(p, g, base64.StdEncoding.EncodeToString(der)); !stopped(err, "more often than its manifest says") {
			s.t.Errorf("a key derived from one of %s: %v", algorithm, err)
		}
	}
}

// tokens: one is fetched once for a name and a secret, and is on requests by its handle only.
func (s *signer) tokens() {
	s.said = `{"access_token":"t0k-en","expires_in":3600}`
	p, g := s.load(&manifest.Signing{Algorithm: manifest.RS256}, "token")
	for call, want := range []struct {
		secret string
		sent   int
	}{{"a", 1}, {"a", 1}, {"b", 2}, {"a", 2}} {
		patch, keys, err := s.call(p, g, want.secret)
		if err != nil {
			s.t.Fatal(err)
		}
		held := patch.Tokens["Authorization"]
		if token, ok := keys.Token(held.Handle); !ok || token != "t0k-en" || held.Prefix != "Bearer " || len(s.sent) != want.sent {
			s.t.Errorf("call %d: %+v, %d requests", call, patch, len(s.sent))
		}
	}
	r := s.sent[0]
	if r.Method != http.MethodPost || r.URL.String() != "https://id.example/token" || r.Header.Get("X-A") != "b" || s.body[0] != "grant=x" {
		s.t.Errorf("asked with %s %s %v %s", r.Method, r.URL, r.Header, s.body[0])
	}
	s.said = `{"access_token":"t0k-en","expires_in":20}` // ends before it can be used
	p, g = s.load(&manifest.Signing{Algorithm: manifest.RS256}, "token")
	before := len(s.sent)
	for range 2 {
		if _, _, err := s.call(p, g, "a"); err != nil {
			s.t.Fatal(err)
		}
	}
	if len(s.sent) != before+2 {
		s.t.Errorf("a token that ends soon was fetched %d times", len(s.sent)-before)
	}
	p, g = s.load(&manifest.Signing{Algorithm: "hmac-sha256"}, "token key")
	if _, _, err := s.call(p, g, "a"); !stopped(err, "a token as a key") {
		s.t.Errorf("signed with a token: %v", err)
	}
}

// never: what ends a plugin, and what it sees.
func (s *signer) never() {
	for do, want := range map[string]string{"again": "after it signed", "steal": "not given", "sign": "not derived as often"} {
		p, g := s.load(&manifest.Signing{Algorithm: "hmac-sha256", Derivations: 2}, do)
		if _, _, err := s.call(p, g, "hunter2"); !stopped(err, want) || strings.Contains(err.Error(), "hunter2") {
			s.t.Errorf("%s: %v, want %q", do, err, want)
		}
	}
	p, g := s.load(&manifest.Signing{Algorithm: "hmac-sha256"}, "see")
	_, _, err := s.call(p, g, "hunter2-hunter2")
	said, ok := errors.AsType[*extism.PluginError](err)
	if !ok || !strings.Contains(said.Message, "AKID") || !strings.Contains(said.Message, "post_thing") || !strings.Contains(said.Message, `{"a":"b"}`) {
		s.t.Fatalf("it saw %v", err)
	}
	for _, form := range []string{"hunter2", base64.StdEncoding.EncodeToString([]byte("hunter2-hunter2")), hex.EncodeToString([]byte("hunter2")), "t0k-en"} {
		if strings.Contains(said.Message, form) {
			s.t.Errorf("it saw %s", said.Message)
		}
	}
}

func stopped(err error, why string) bool {
	trap, ok := errors.AsType[*extism.TrapError](err)
	return ok && strings.Contains(trap.Reason, why)
}

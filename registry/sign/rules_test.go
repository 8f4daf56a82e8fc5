package sign

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// sortOfKey is an ECDSA key: one that is good, but of no sort that releases are signed with.
func sortOfKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestKeyFileFaults: each fault of a key file is told as what it is, at its bounds.
func TestKeyFileFaults(t *testing.T) {
	k := key(t)
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		t.Fatal(err)
	}
	block := func(typ string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der}))
	}
	good := block(pemPrivate, der)
	ec, err := x509.MarshalPKCS8PrivateKey(sortOfKey(t))
	if err != nil {
		t.Fatal(err)
	}
	const one, several = "does not hold exactly one PEM block", "does not hold one to 4 PEM blocks"
	for _, c := range []struct{ text, key, releaseKey string }{
		{good, "", ""},
		{good + "\n \n", "", ""},
		{good + strings.Repeat("\n", maxKeyFileBytes-len(good)), "", ""},
		{good + strings.Repeat("\n", maxKeyFileBytes+1-len(good)), "the limit is 16384", "the limit is 16384"},
		{good + "x", one, several},
		{good + block(pemPrivate, ec), one, "does not hold an ed25519 key"},
		{good + good, one, "holds a key twice"},
		{"", one, several},
		{"\n", one, several},
		{block("PUBLIC KEY", der), one, several},
		{block("PUBLIC KEY", k.der), one, several},
		{block(pemPrivate, ec), "does not hold an ed25519 key", "does not hold an ed25519 key"},
		{block(pemPrivate, []byte("junk")), "does not hold a PKCS #8 key", "does not hold a PKCS #8 key"},
		{block(pemPrivate, nil), "does not hold a PKCS #8 key", "does not hold a PKCS #8 key"},
	} {
		path := filepath.Join(t.TempDir(), "k")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, open := range map[string]func(string) (*Key, error){"OpenKey": OpenKey, "ReadKey": ReadKey, "OpenReleaseKey": OpenReleaseKey, "ReadReleaseKey": ReadReleaseKey} {
			want := c.key
			if strings.Contains(name, "Release") {
				want = c.releaseKey
			}
			got, err := open(path)
			if want == "" && (err != nil || got.ID() != k.ID()) || want != "" && (!problem.Is(err, problem.InvalidArgument) || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s of %q: %v, %v; want %q", name, c.text[:min(len(c.text), 40)], got, err, want)
			}
		}
		if id, err := KeyIDOf([]byte(c.text)); len(c.text) <= maxKeyFileBytes && (c.releaseKey == "") != (err == nil && id == k.ID()) {
			t.Errorf("KeyIDOf %q: %q, %v", c.text[:min(len(c.text), 40)], id, err)
		}
	}
}

// TestNoKeyCanBeMade: where no file can be written the error says so, and nothing is left.
func TestNoKeyCanBeMade(t *testing.T) {
	dir := t.TempDir()
	if k, err := OpenKey(filepath.Join(dir, "absent", "k")); err == nil || k != nil || !strings.Contains(err.Error(), ".new-") {
		t.Errorf("in a directory that is not there: %v, %v", k, err)
	}
	for name, read := range map[string]func(string) (*Key, error){"ReadKey": ReadKey, "ReadReleaseKey": ReadReleaseKey} {
		if k, err := read(filepath.Join(dir, "k")); !errors.Is(err, os.ErrNotExist) || k != nil {
			t.Errorf("%s: %v, %v", name, k, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if runtime.GOOS == "linux" { // a file of mode 0600 that cannot be read at its begin
		if k, err := ReadKey("/proc/self/mem"); err == nil || k != nil || problem.As(err) != nil || !strings.Contains(err.Error(), "read key") {
			t.Errorf("a file that cannot be read: %v, %v", k, err)
		}
	}
}

// TestKeyText: a key is told by sixteen digits of its id, and its id by all of them.
func TestKeyText(t *testing.T) {
	k := key(t)
	if got, want := k.String(), "ed25519 key "+k.ID()[:16]; got != want || len(k.ID()) != 64 {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTrustFaults: a list with a key that cannot be used is refused for that reason, by
// all who take a list; a key of another use is not looked at.
func TestTrustFaults(t *testing.T) {
	ecDER, err := x509.MarshalPKIXPublicKey(&sortOfKey(t).PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	good := key(t)
	entry := func(der []byte) registry.TrustedKey {
		return registry.TrustedKey{KeyID: keyID(der), Use: registry.UseRelease, PublicKey: der}
	}
	misnamed := good.Trusted(registry.UseRelease, "")
	misnamed.KeyID = keyID(ecDER)
	for want, bad := range map[string]registry.TrustedKey{"is not the key its id names": misnamed, "cannot be read": entry([]byte("junk")), "is not an ed25519 key": entry(ecDER)} {
		list := append(listed(good), bad)
		if tr, err := NewTrust(list, registry.UseRelease); !problem.Is(err, problem.InvalidRelease) || !strings.Contains(err.Error(), want) || tr != nil {
			t.Errorf("NewTrust: %v, %v; want %q", tr, err, want)
		}
		if r, err := NewRatchet("default", list, nil); !problem.Is(err, problem.InvalidRelease) || !strings.Contains(err.Error(), want) || r != nil {
			t.Errorf("NewRatchet: %v, %v; want %q", r, err, want)
		}
		if r, err := NewRatchet("default", listed(good), &State{Group: "default", Trusted: list}); err == nil || r != nil {
			t.Errorf("NewRatchet with what was remembered: %v, %v; want %q", r, err, want)
		}
		bad.Use = registry.UseWorkspace
		if tr, err := NewTrust(append(listed(good), bad), registry.UseRelease); err != nil || tr.Len() != 1 {
			t.Errorf("a key of another use: %v", err)
		}
	}
	// What is remembered without keys leaves the anchors.
	r, err := NewRatchet("default", listed(good), &State{Group: "default", Marks: map[string]Mark{good.ID(): {Epoch: 1, Revision: 5}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Accept(release(t, good, 1, 4, listed(good), "a")); err == nil || !strings.Contains(err.Error(), "older than 1.5") {
		t.Errorf("below the mark: %v", err)
	}
	if _, err := r.Accept(release(t, good, 1, 6, listed(good), "a")); err != nil {
		t.Errorf("above the mark: %v", err)
	}
}

// TestWhoSigned: the error names three signers, of each at most sixteen characters of its id.
func TestWhoSigned(t *testing.T) {
	long := strings.Repeat("a", 17)
	for want, ids := range map[string][]string{
		``: nil, `"x"`: {"x"}, `"x", "y"`: {"x", "y"}, `"x", "y", "z"`: {"x", "y", "z"}, `"x", "y", "z" …`: {"x", "y", "z", "w", "v"},
		`"aaaaaaaaaaaaaaaa"`: {long}, `"\n", ""`: {"\n", ""},
	} {
		var sigs []signature
		for _, id := range ids {
			sigs = append(sigs, signature{KeyID: id})
		}
		if got := signerNames(sigs); got != want {
			t.Errorf("%q: %s, want %s", ids, got, want)
		}
	}
	if err := unknownSigner(`"x"`); !strings.Contains(err.Error(), `signed the plugin: "x"`) || !errors.Is(err, ErrUnknownSigner) {
		t.Errorf("%v", err)
	}
	if err := unknownSigner(""); strings.Contains(err.Error(), "plugin:") {
		t.Errorf("%v", err)
	}
}

// TestWhatIsNoEnvelope: all who verify an envelope refuse it for the reason that they
// found, and return nothing of it. What is signed for one thing is nothing else.
func TestWhatIsNoEnvelope(t *testing.T) {
	k := key(t)
	tr, pubs := trust(t, k), []*PublisherKey{publisher(t, k)}
	signed := func(typ, payload string) []byte {
		env, err := Sign(k, typ, []byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	stranger, err := Sign(key(t), PayloadAccess, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	padded := signed("text/plain", "{}")
	atLimit := append(bytes.Clone(padded), bytes.Repeat([]byte(" "), maxEnvelopeBytes-len(padded))...)
	wants := []struct {
		env  []byte
		want string
	}{
		{nil, "the envelope is empty"},
		{[]byte("{"), "cannot be read"},
		{[]byte("{}"), "is not signed"},
		{append(bytes.Clone(atLimit), ' '), "the limit is"},
		{atLimit, `for "text/plain"`},
		{signed("", "{}"), `for ""`},
		{append(bytes.Clone(padded), "{}"...), "trailing data"},
	}
	for _, c := range wants {
		for what, verify := range map[string]func() (any, error){
			"Verify":        func() (any, error) { p, id, err := Verify(c.env, PayloadRelease, tr); return string(p) + id, err },
			"VerifyRelease": func() (any, error) { r, err := VerifyRelease(c.env, tr); return r, err },
			"VerifyAccess":  func() (any, error) { d, err := VerifyAccess(c.env, tr); return d, err },
			"VerifyAbsence": func() (any, error) { n, err := VerifyAbsence(c.env, tr); return n, err },
			"VerifyCatalog": func() (any, error) { b, id, err := VerifyCatalog(c.env, pubs); return string(b) + id, err },
			"VerifyPlugin":  func() (any, error) { id, err := VerifyPlugin(c.env, pubs, PluginStatement{}); return id, err },
		} {
			got, err := verify()
			want := c.want
			if what == "VerifyPlugin" && len(c.env) > MaxPluginSignature {
				want = "the limit is"
			}
			if err == nil || !strings.Contains(err.Error(), want) || fmt.Sprint(got) != "" && fmt.Sprint(got) != "<nil>" {
				t.Errorf("%s of %.20q: %v, %v; want %q", what, c.env, got, err, want)
			}
		}
	}
	if _, err := VerifyAccess(stranger, tr); err == nil || !strings.Contains(err.Error(), "no trusted key") {
		t.Errorf("signed by a stranger: %v", err)
	}
	for what, err := range map[string]error{
		"release": func() error { _, err := VerifyRelease(signed(PayloadRelease, "{}"), tr); return err }(),
		"access":  func() error { _, err := VerifyAccess(signed(PayloadAccess, "{"), tr); return err }(),
		"absence": func() error { _, err := VerifyAbsence(signed(PayloadAbsence, "{"), tr); return err }(),
	} {
		if !problem.Is(err, problem.InvalidRelease) {
			t.Errorf("a signed %s that is none: %v", what, err)
		}
	}
	// What cannot be encoded is not signed.
	if env, err := SignRelease(k, &registry.Release{}); err == nil || env != nil {
		t.Errorf("a release without a group: %s, %v", env, err)
	}
}

// TestBundleStatements: a good signature counts for one artifact and one purpose only.
func TestBundleStatements(t *testing.T) {
	k := key(t)
	pubs := []*PublisherKey{publisher(t, k)}
	d := registry.DigestOf([]byte("manifest"))
	type subject = map[string]any
	of := func(typ string, members map[string]any, subjects ...subject) []byte {
		s := map[string]any{"_type": statementType, "predicateType": PredicateSign, "subject": subjects}
		maps.Copy(s, members)
		payload, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		env, err := Sign(k, typ, payload)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Appendf(nil, `{"mediaType":%q,"dsseEnvelope":%s}`, MediaTypeBundle, env)
	}
	sha := func(hex string) subject { return subject{"digest": map[string]string{"sha256": hex}} }
	short := registry.Digest("sha256:" + d.Hex()[:62])
	bad := registry.Digest("sha256:" + strings.Repeat("z", 64))
	for i, c := range []struct {
		bundle   []byte
		manifest registry.Digest
		ok       bool
	}{
		{of(payloadInToto, nil, sha(d.Hex())), d, true},
		{of(payloadInToto, nil, sha("00"), sha(d.Hex())), d, true},
		{of(payloadInToto, nil), d, false},
		{of(payloadInToto, nil, sha("00")), d, false},
		{of(payloadInToto, nil, subject{"digest": map[string]string{"sha512": d.Hex()}}), d, false},
		{of(payloadInToto, map[string]any{"_type": "other"}, sha(d.Hex())), d, false},
		{of(payloadInToto, map[string]any{"predicateType": "other"}, sha(d.Hex())), d, false},
		{of(payloadInToto, map[string]any{"subject": 1}), d, false},
		{of("application/json", nil, sha(d.Hex())), d, false},
		{of(payloadInToto, nil, sha(short.Hex())), short, false},
		{of(payloadInToto, nil, sha(bad.Hex())), bad, false},
		{of(payloadInToto, nil, sha("")), "", false},
	} {
		if id, err := VerifyBundle([][]byte{c.bundle}, pubs, c.manifest); (err == nil) != c.ok || (id == k.ID()) != c.ok {
			t.Errorf("%d: %q, %v; want it good: %v", i, id, err, c.ok)
		}
	}
}

// TestCosignPayloads: a good signature over something else is not a signature of the artifact.
func TestCosignPayloads(t *testing.T) {
	k := key(t)
	pubs := []*PublisherKey{publisher(t, k)}
	d := registry.DigestOf([]byte("manifest"))
	with := func(typ, digest string) string {
		return fmt.Sprintf(`{"critical":{"type":%q,"image":{"docker-manifest-digest":%q}}}`, typ, digest)
	}
	good := with(cosignType, string(d))
	for payload, ok := range map[string]bool{
		good: true, with("other", string(d)): false, with("", string(d)): false, with(cosignType, "sha256:00"): false, with(cosignType, ""): false,
		good + "x": false, strings.TrimSuffix(good, "}") + `,"optional":7}`: false, "": false, "{}": false,
	} {
		c := CosignSignature{Payload: []byte(payload)}
		c.Signature = ed25519.Sign(k.private, c.Payload)
		id, err := VerifyCosign([]CosignSignature{c}, pubs, d)
		if (err == nil) != ok || (id == k.ID()) != ok || !ok && errors.Is(err, ErrUnknownSigner) {
			t.Errorf("%s: %q, %v; want it good: %v", payload, id, err, ok)
		}
	}
	// Of several keys and signatures each is tried with each.
	sum := sha256.Sum256([]byte(good))
	ec := sortOfKey(t)
	sig, err := ecdsa.SignASN1(rand.Reader, ec, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	if id, err := VerifyCosign([]CosignSignature{{Payload: []byte(good), Signature: sig}}, pubs, d); !errors.Is(err, ErrUnknownSigner) || id != "" {
		t.Errorf("the signature of another key: %q, %v", id, err)
	}
}

// TestKeyThatIsThere: of two that start together one key wins, and the other takes it.
func TestKeyThatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	first, err := OpenKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeKeyOnce(path, key(t)); err != nil {
		t.Errorf("the second of two: %v", err)
	}
	if got, err := ReadKey(path); err != nil || got.ID() != first.ID() {
		t.Errorf("%v, %v, want %v", got, err, first)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

// TestDigestsThatStatementsAreAbout are whole digests, and of them the one that is asked for.
func TestDigestsThatStatementsAreAbout(t *testing.T) {
	whole := registry.DigestOf([]byte("x"))
	for _, c := range []struct {
		asked, named string
		want         bool
	}{
		{whole.Hex(), whole.Hex(), true},
		{whole.Hex(), registry.DigestOf(nil).Hex(), false},
		{"", "", false},
		{"zz", "zz", false},
		{whole.Hex() + "0", whole.Hex() + "0", false},
		{whole.Hex() + "00", whole.Hex() + "00", false},
		{whole.Hex()[2:], whole.Hex()[2:], false},
	} {
		var s statement
		if err := json.Unmarshal(fmt.Appendf(nil, `{"subject":[{"digest":{"sha1":%q}},{"digest":{"sha256":%q}}]}`, c.asked, c.named), &s); err != nil {
			t.Fatal(err)
		}
		if got := s.about(registry.Digest("sha256:" + c.asked)); got != c.want {
			t.Errorf("asked for %q of %q: %v", c.asked, c.named, got)
		}
	}
}

// TestPublisherKeyIsAlone: a file with something behind the key is refused, however short.
func TestPublisherKeyIsAlone(t *testing.T) {
	k := key(t)
	for behind, ok := range map[string]bool{"": true, "\n \n": true, "x": false, "\nxx": false, string(k.PublicPEM()): false} {
		if got, err := ParsePublisherKey(append(k.PublicPEM(), behind...)); (err == nil) != ok || ok && got.id != k.ID() || !ok && !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("with %q behind it: %v", behind, err)
		}
	}
}

package guest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/manifest"
)

func keysWith(algorithm string, list ...string) *Keys {
	var all []secrets.Secret
	for _, s := range list {
		all = append(all, secrets.New(s))
	}
	return NewKeys(&Package{Manifest: &manifest.Manifest{Kind: manifest.Auth, Capabilities: &manifest.Capabilities{Signing: &manifest.Signing{Algorithm: algorithm}}}}, all...)
}

func pkcs8(t *testing.T, key any) (text, line, escaped string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	return text, base64.StdEncoding.EncodeToString(der), strings.ReplaceAll(text, "\n", `\n`)
}

// TestAsymmetric: each algorithm signs as JSON Web Signatures say, with keys in each form,
// and refuses keys of another kind without a word of them.
func TestAsymmetric(t *testing.T) {
	message := []byte("header.claims")
	sum := sha256.Sum256(message)
	rsaKey, err := rsa.GenerateKey(rand.Reader, minRSABits)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	verify := map[string]func(sig []byte) bool{
		manifest.RS256: func(sig []byte) bool { return rsa.VerifyPKCS1v15(&rsaKey.PublicKey, crypto.SHA256, sum[:], sig) == nil },
		manifest.ES256: func(sig []byte) bool {
			return len(sig) == 64 && ecdsa.Verify(&ecKey.PublicKey, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:]))
		},
		manifest.EdDSA: func(sig []byte) bool { return ed25519.Verify(public, message, sig) },
	}
	all := map[string]any{manifest.RS256: rsaKey, manifest.ES256: ecKey, manifest.EdDSA: edKey}
	for algorithm, key := range all {
		text, line, escaped := pkcs8(t, key)
		for _, secret := range []string{text, line, escaped, "  " + text + "\n"} {
			k := keysWith(algorithm, secret)
			if sig, refusal := k.sign(1, message); refusal != "" || !verify[algorithm](sig) {
				t.Errorf("%s with %.20q: %q", algorithm, secret, refusal)
			} else if again, _ := k.sign(1, message); !bytes.Equal(again, sig) {
				t.Errorf("%s signs one message in two ways: no golden case can say how", algorithm)
			}
			if _, refusal := k.derive(1, nil, message); refusal == "" {
				t.Errorf("%s: a key is derived", algorithm)
			}
		}
		for other := range all {
			if other == algorithm {
				continue
			}
			if _, refusal := keysWith(other, text).sign(1, message); !strings.Contains(refusal, "private key") {
				t.Errorf("%s with a key of %s: %q", other, algorithm, refusal)
			}
		}
		const curve = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" // openssl writes it before a key
		if sig, refusal := keysWith(algorithm, curve+text).sign(1, message); refusal != "" || !verify[algorithm](sig) {
			t.Errorf("%s behind a curve: %q", algorithm, refusal)
		}
		if _, refusal := keysWith(algorithm, "hunter2").sign(1, message); refusal == "" || strings.Contains(refusal, "hunter2") {
			t.Errorf("%s with a password: %q", algorithm, refusal)
		}
	}
	for bits, ok := range map[int]bool{minRSABits - 1: false, maxRSABits: true, maxRSABits + 1: false} {
		// A key of the size; whether it signs right is not the question.
		p := *rsaKey
		p.N = new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
		if got := p.N.BitLen() >= minRSABits && p.N.BitLen() <= maxRSABits; got != ok {
			t.Errorf("%d bits: %v", bits, got)
		}
	}
	if bad := (&manifest.Manifest{FormatVersion: 1, Kind: manifest.Auth, Name: "x", Version: "1", Capabilities: &manifest.Capabilities{Signing: &manifest.Signing{Algorithm: manifest.ES256, Derivations: 1}}}); true {
		if _, err := manifest.Parse(bad.Append(nil)); err == nil || !strings.Contains(err.Error(), "no key is derived") {
			t.Errorf("derivations of a private key: %v", err)
		}
	}
}

// TestTokens: a token is fetched once for its name and secrets, put on requests by handle,
// and never signed with.
func TestTokens(t *testing.T) {
	var cache tokens
	asked := 0
	answer, status := `{"access_token":"t0k","expires_in":3600}`, 200
	by := func(method, url string, h http.Header, body []byte) ([]byte, int) {
		asked++
		if method != "POST" || url != "https://id.example/token" || h.Get("Content-Type") != "application/x-www-form-urlencoded" || string(body) != "assertion=x" {
			t.Errorf("%s %s %v %s", method, url, h, body)
		}
		return []byte(answer), status
	}
	const request = `{"url":"https://id.example/token","body":"assertion=x"}`
	begin := func(list ...string) *Keys {
		k := keysWith(manifest.RS256, list...)
		k.tokens = &cache
		return k
	}
	k := begin("a", "b")
	if h, refusal := k.cached([]byte("scope")); h != 0 || refusal != "" {
		t.Errorf("an empty cache: %d %q", h, refusal)
	}
	h, refusal := k.fetch([]byte("scope"), []byte(request), by)
	if token, ok := k.Token(h); h != 3 || refusal != "" || !ok || token != "t0k" {
		t.Fatalf("%d %q %q", h, refusal, token)
	}
	if _, refusal := k.sign(h, nil); !strings.Contains(refusal, "a token as a key") {
		t.Errorf("signed with a token: %q", refusal)
	}
	if _, ok := k.Token(1); ok {
		t.Error("a secret is given out as a token")
	}
	for _, none := range []uint64{0, 4, 1 << 40} {
		if _, ok := k.Token(none); ok {
			t.Errorf("handle %d has a token", none)
		}
	}
	again := begin("a", "b")
	if h, _ := again.cached([]byte("scope")); h != 3 {
		t.Errorf("of the same secrets: %d", h)
	}
	for _, other := range []*Keys{begin("a"), begin("ab", ""), begin("a", "c")} {
		if h, _ := other.cached([]byte("scope")); h != 0 {
			t.Error("a token of other secrets is used")
		}
	}
	if h, _ := again.cached([]byte("other")); h != 0 {
		t.Error("a token of another name is used")
	}
	f := func(request, want string) {
		t.Helper()
		if _, refusal := begin("a").fetch([]byte("x"), []byte(request), by); !strings.Contains(refusal, want) {
			t.Errorf("%s: %q, want %q", request, refusal, want)
		}
	}
	f(`[]`, "a JSON object of url")
	for _, address := range []string{
		"http://id.example/token", "http://127.0.0.1:80@id.example/token", "http://localhost:x@id.example/token", "http://127.0.0.1:80%40id.example/", "HTTP://id.example/", "ftp://id.example/",
		" https://id.example/token", "//id.example/token",
	} {
		f(`{"url":"`+address+`"}`, "not https")
	}
	answer, status = `{"error":"invalid_grant","error_description":"secret words"}`, 400
	f(request, "answered 400 (invalid_grant)")
	answer, status = `{}`, 200
	f(request, "without an access_token")
	answer = `{"access_token":"` + strings.Repeat("x", maxToken+1) + `"}`
	f(request, "without an access_token")
	answer = `{"access_token":"a\r\nb"}`
	f(request, "without an access_token")
	answer = `{"access_token":"` + strings.Repeat("x", maxToken) + `","expires_in":10}`
	if _, refusal := begin("a").fetch([]byte("short"), []byte(request), by); refusal != "" {
		t.Error(refusal)
	}
	if h, _ := begin("a").cached([]byte("short")); h != 0 {
		t.Error("a token is used that ends in ten seconds")
	}
	for n, want := range map[int]string{0: "1 to", maxTokenName: "", maxTokenName + 1: "1 to"} {
		if _, refusal := k.cached([]byte(strings.Repeat("n", n))); !strings.Contains(refusal, want) || want == "" && refusal != "" {
			t.Errorf("a name of %d bytes: %q", n, refusal)
		}
	}
	for i := range maxTokens + 5 {
		cache.keep(fmt.Sprint(i), token{"x", time.Now().Add(time.Duration(i) * time.Minute)})
	}
	if len(cache.kept) != maxTokens {
		t.Errorf("%d tokens are kept", len(cache.kept))
	}
	if p, err := ParsePatch([]byte(`{"tokens":{"Authorization":{"handle":3,"prefix":"Bearer "}}}`)); err != nil || p.Tokens["Authorization"] != (HeldToken{3, "Bearer "}) {
		t.Errorf("%+v %v", p, err)
	}
	for _, bad := range []string{`{"tokens":{"A B":{"handle":1}}}`, `{"headers":{"X":"1"},"tokens":{"X":{"handle":1}}}`, `{"tokens":{"X":{"handle":1,"prefix":"a\nb"}}}`} {
		if _, err := ParsePatch([]byte(bad)); err == nil {
			t.Errorf("%s is a patch", bad)
		}
	}
}

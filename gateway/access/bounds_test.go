package access

import (
	"bytes"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluicegate/sluice/registry"
)

// jwtDoor is a policy of mode jwt and what signs tokens for it.
func jwtDoor(t *testing.T, limits *registry.RateLimits) (*Policy, func(change map[string]any) string) {
	t.Helper()
	i := newIssuer(t)
	key := ecKeyOf(t, elliptic.P256())
	i.publish(publicJWK(t, "1", key))
	p := compile(t, &registry.AccessDocument{Mode: registry.AccessJWT, JWT: &registry.JWTGrant{Issuer: i.URL + "/tenant", Limits: limits}}, newKeys(t, i), nil)
	return p, func(change map[string]any) string {
		return signed(t, jwt.SigningMethodES256, "1", key, i.claims(change))
	}
}

// TestRememberedTokenEnds: what was verified once is verified again when it ended.
func TestRememberedTokenEnds(t *testing.T) {
	p, token := jwtDoor(t, nil)
	s := token(nil)
	first, refusal := admit(t, p, s)
	if refusal != nil {
		t.Fatal(refusal)
	}
	if again, _ := admit(t, p, s); again.grant != first.grant {
		t.Fatal("a token that was verified was not remembered")
	}
	p.jwt.known.mu.Lock()
	first.grant.expires = time.Now().Add(-time.Second)
	p.jwt.known.mu.Unlock()
	if again, refusal := admit(t, p, s); refusal != nil || again.grant == first.grant {
		t.Fatalf("what was remembered of a token served past its end: %+v", refusal)
	}
}

// TestRememberedTokenElsewhere: the very same token at another URL is not what was
// verified.
func TestRememberedTokenElsewhere(t *testing.T) {
	p, token := jwtDoor(t, nil)
	s := token(nil)
	if _, refusal := admit(t, p, s); refusal != nil {
		t.Fatal(refusal)
	}
	if _, refusal := p.Admit(t.Context(), []byte(s), 0, "https://gw.example/t/two", metadata); refusal == nil {
		t.Fatal("the same token was taken for another resource")
	}
}

// TestTokenLeavesWhenToolsetIsFull: a request that the toolset's limit refuses does
// not hold a place of its token.
func TestTokenLeavesWhenToolsetIsFull(t *testing.T) {
	g := tokenGrant("a", "s1")
	g.Limits = &registry.RateLimits{Concurrent: 2}
	p := compile(t, &registry.AccessDocument{Mode: registry.AccessToken, Limits: &registry.RateLimits{Concurrent: 1}, Tokens: []registry.TokenGrant{g}}, nil, nil)
	one, refusal := admit(t, p, "Bearer s1")
	if refusal != nil {
		t.Fatal(refusal)
	}
	for range 3 {
		if _, refusal := admit(t, p, "Bearer s1"); refusal == nil || refusal.Text != "too many requests of this toolset are running" {
			t.Fatalf("%+v", refusal)
		}
	}
	one.Leave()
	if _, refusal := admit(t, p, "Bearer s1"); refusal != nil {
		t.Fatalf("nothing runs, and it is refused: %+v", refusal)
	}
}

// TestRequestSize: the smaller of the toolset's limit and the caller's holds, in
// both modes, and is told for bodies whose length is not known ahead.
func TestRequestSize(t *testing.T) {
	door := func(toolset, token int) *Policy {
		g := tokenGrant("a", "s1")
		if token > 0 {
			g.Limits = &registry.RateLimits{RequestBytes: token}
		}
		doc := &registry.AccessDocument{Mode: registry.AccessToken, Tokens: []registry.TokenGrant{g}}
		if toolset > 0 {
			doc.Limits = &registry.RateLimits{RequestBytes: toolset}
		}
		return compile(t, doc, nil, nil)
	}
	f := func(p *Policy, authorization string, most int) {
		t.Helper()
		pass, refusal := p.Admit(t.Context(), []byte(authorization), most, resource, metadata)
		if refusal != nil || pass.MaxRequest() != most {
			t.Errorf("%d bytes: %+v, told %d", most, refusal, pass.MaxRequest())
		}
		if _, refusal := p.Admit(t.Context(), []byte(authorization), most+1, resource, metadata); refusal == nil || refusal.Status != 413 || refusal.Reason != TooLarge {
			t.Errorf("%d bytes of %d: %+v", most+1, most, refusal)
		}
	}
	f(door(100, 0), "Bearer s1", 100)
	f(door(0, 100), "Bearer s1", 100)
	f(door(100, 50), "Bearer s1", 50)
	f(door(50, 100), "Bearer s1", 50)
	p, token := jwtDoor(t, &registry.RateLimits{RequestBytes: 70})
	f(p, token(nil), 70)
	if pass, refusal := door(0, 0).Admit(t.Context(), []byte("Bearer s1"), 1<<30, "", ""); refusal != nil || pass.MaxRequest() != 0 {
		t.Errorf("without limits: %+v, told %d", refusal, pass.MaxRequest())
	}
}

// TestKeysInTheClear: an issuer with TLS cannot name keys without.
func TestKeysInTheClear(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("keys were fetched in the clear") }))
	defer plain.Close()
	var base string
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"issuer":"` + base + `","jwks_uri":"` + plain.URL + `/jwks"}`))
	}))
	defer s.Close()
	base = s.URL
	k, err := NewKeys(KeysOptions{HTTP: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.set(base, "").fetch(t.Context()); err == nil {
		t.Error("keys in the clear were taken")
	}
}

// TestRenewShortened: a stream ends when the token it was opened with was given an
// earlier end, which has come.
func TestRenewShortened(t *testing.T) {
	door := func(expires *time.Time) *Policy {
		g := tokenGrant("a", "s1")
		g.Expires = expires
		return compile(t, &registry.AccessDocument{Mode: registry.AccessToken, Tokens: []registry.TokenGrant{g}}, nil, nil)
	}
	pass, refusal := admit(t, door(nil), "Bearer s1")
	if refusal != nil {
		t.Fatal(refusal)
	}
	past, later := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	if _, valid, _ := door(&past).Renew(pass); valid {
		t.Error("a token that ended was renewed")
	}
	if _, valid, _ := door(&later).Renew(pass); !valid {
		t.Error("a token that ends later was not renewed")
	}
	// A JSON Web Token has its end with it.
	keys := &keySet{}
	keys.state.Store(&keyState{fetched: time.Now()})
	p := &Policy{mode: registry.AccessJWT, jwt: &jwtPolicy{grant: &registry.JWTGrant{Issuer: "https://as.example"}, keys: keys}}
	for end, want := range map[time.Time]bool{past: false, later: true} {
		g := &grant{principal: JWTPrincipal("https://as.example", "alice"), expires: end}
		if _, valid, _ := p.Renew(Pass{policy: p, grant: g}); valid != want {
			t.Errorf("a JSON Web Token that ends at %s was renewed: %v", end, valid)
		}
	}
}

// TestRenewOtherMode: a stream does not go on behind a door of another kind, even one
// that is open to all: who it belongs to would change under it.
func TestRenewOtherMode(t *testing.T) {
	token := compile(t, &registry.AccessDocument{Mode: registry.AccessToken, Tokens: []registry.TokenGrant{tokenGrant("a", "s1")}}, nil, nil)
	open := compile(t, &registry.AccessDocument{Mode: registry.AccessNone}, nil, nil)
	byToken, refusal := admit(t, token, "Bearer s1")
	if refusal != nil {
		t.Fatal(refusal)
	}
	byNone, refusal := admit(t, open, "")
	if refusal != nil {
		t.Fatal(refusal)
	}
	f := func(what string, p *Policy, pass Pass, want bool) {
		t.Helper()
		if _, valid, _ := p.Renew(pass); valid != want {
			t.Errorf("%s: valid %v, want %v", what, valid, want)
		}
	}
	f("a token behind the same door", token, byToken, true)
	f("a token behind an open door", open, byToken, false)
	f("nobody behind an open door", open, byNone, true)
	f("nobody behind a door for tokens", token, byNone, false)
	f("the zero pass", open, Pass{}, false)
	f("no policy", nil, byNone, false)
}

// TestKeyForms: keys of an authorization server, at their bounds, and with something
// behind their end that decoding stops at.
func TestKeyForms(t *testing.T) {
	number := func(bits int) string { return b64(new(big.Int).Lsh(big.NewInt(1), uint(bits-1)).Bytes()) }
	const e = "AQAB"
	rsaKeys := []struct {
		name, n, e string
		ok         bool
	}{
		{"smallest", number(2048), e, true},
		{"too small", number(2047), e, false},
		{"largest", number(maxRSABits), e, true},
		{"too large", number(maxRSABits + 1), e, false},
		{"smallest exponent", number(2048), b64([]byte{3}), true},
		{"smaller exponent", number(2048), b64([]byte{2}), false},
		{"largest exponent", number(2048), b64(big.NewInt(maxRSAExponent).Bytes()), true},
		{"larger exponent", number(2048), b64(big.NewInt(maxRSAExponent + 1).Bytes()), false},
		{"exponent with zeros before it", number(2048), b64([]byte{0, 1, 0, 1}), true},
		{"exponent that overflows", number(2048), b64([]byte{1, 0, 0, 0, 3}), false},
		{"exponent whose last 64 bits are one", number(2048), b64([]byte{1, 0, 0, 0, 0, 0, 1, 0, 1}), false},
		{"no exponent", number(2048), "", false},
		{"broken modulus", number(2048) + "!", e, false},
		{"broken exponent", number(2048), e + "!", false},
	}
	for _, row := range rsaKeys {
		if got := rsaKey(row.n, row.e); (got != nil) != row.ok {
			t.Errorf("RSA, %s: %v, want one: %v", row.name, got != nil, row.ok)
		}
	}
	for _, c := range []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		jwk := publicJWK(t, "1", ecKeyOf(t, c))
		crv, x, y := jwk["crv"].(string), jwk["x"].(string), jwk["y"].(string)
		f := func(what, crv, x, y string, ok bool) {
			t.Helper()
			if got := ecKey(crv, x, y); (got != nil) != ok {
				t.Errorf("%s, %s: %v, want one: %v", c.Params().Name, what, got != nil, ok)
			}
		}
		f("good", crv, x, y, true)
		f("unknown curve", "P-255", x, y, false)
		f("broken x", crv, x+"!", y, false)
		f("broken y", crv, x, y+"!", false)
		f("swapped", crv, y, x, false)
		f("no x", crv, "", y, false)
		f("long x", crv, b64(make([]byte, 80)), y, false)
		// Together the coordinates have the right length and name the same point.
		xb, err1 := base64.RawURLEncoding.DecodeString(x)
		yb, err2 := base64.RawURLEncoding.DecodeString(y)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		f("a byte of y at the end of x", crv, b64(append(bytes.Clone(xb), yb[0])), b64(yb[1:]), false)
		f("a byte of x at the start of y", crv, b64(xb[:len(xb)-1]), b64(append([]byte{xb[len(xb)-1]}, yb...)), false)
	}
}

// TestManyKeys: anybody may send tokens, and each is tried with a few keys only,
// whether it names none or one that many keys have.
func TestManyKeys(t *testing.T) {
	signer := ecKeyOf(t, elliptic.P256())
	for _, kid := range []string{"", "1"} {
		for _, n := range []int{maxTried, maxTried + 1} {
			i := newIssuer(t)
			keys := []map[string]any{}
			for range n - 1 {
				keys = append(keys, publicJWK(t, "1", ecKeyOf(t, elliptic.P256())))
			}
			// Keys that the algorithm is not made for are not tried.
			keys = append(keys, publicJWK(t, "1", signer), publicJWK(t, "1", ecKeyOf(t, elliptic.P384())))
			i.publish(keys...)
			p := compile(t, &registry.AccessDocument{Mode: registry.AccessJWT, JWT: &registry.JWTGrant{Issuer: i.URL + "/tenant"}}, newKeys(t, i), nil)
			_, refusal := admit(t, p, signed(t, jwt.SigningMethodES256, kid, signer, i.claims(nil)))
			if (refusal == nil) != (n == maxTried) {
				t.Errorf("key %q of %d: %+v", kid, n, refusal)
			}
			if refusal != nil && (refusal.Status != 401 || refusal.Text != "the token does not say which of many keys signed it") {
				t.Errorf("key %q of %d: %d %s", kid, n, refusal.Status, refusal.Text)
			}
		}
	}
}

// TestInspectParts: a token has three parts.
func TestInspectParts(t *testing.T) {
	head, claims := b64([]byte(`{"alg":"ES256","kid":"1"}`)), b64([]byte(`{"iss":"x"}`))
	for token, want := range map[string]string{
		head + "." + claims + ".c2ln":         "",
		head + "." + claims:                   whyMalformed,
		head:                                  whyMalformed,
		head + "." + claims + ".c2ln.":        whyMalformed,
		head + "." + claims + ".c2ln.c2ln.c2": whyMalformed,
	} {
		if got := inspect([]byte(token)); got != want {
			t.Errorf("inspect(%q) = %q, want %q", token, got, want)
		}
	}
}

// TestWhatIsRememberedIsBounded: subjects, verified tokens and keys, at the bound
// and one past it.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	p := &jwtPolicy{grant: &registry.JWTGrant{Limits: &registry.RateLimits{Concurrent: 1}}, subjects: map[string]*limiter{}}
	for n := range maxSubjects {
		p.limiterOf(fmt.Sprint(n))
	}
	if len(p.subjects) != maxSubjects {
		t.Errorf("%d subjects, want %d", len(p.subjects), maxSubjects)
	}
	if p.limiterOf("one more"); len(p.subjects) != 1 {
		t.Errorf("%d subjects one past the bound", len(p.subjects))
	}

	var v verified
	put := func(n int) {
		var sum [sha256.Size]byte
		binary.BigEndian.PutUint32(sum[:], uint32(n))
		v.put(sum, &grant{})
	}
	for n := range maxVerified {
		put(n)
	}
	if len(v.m) != maxVerified {
		t.Errorf("%d tokens, want %d", len(v.m), maxVerified)
	}
	if put(maxVerified); len(v.m) != 1 {
		t.Errorf("%d tokens one past the bound", len(v.m))
	}

	one := publicJWK(t, "1", ecKeyOf(t, elliptic.P256()))
	for _, n := range []int{maxKeys, maxKeys + 1} {
		set := make([]map[string]any, n)
		for i := range set {
			set[i] = one
		}
		b, err := json.Marshal(map[string]any{"keys": set})
		if err != nil {
			t.Fatal(err)
		}
		if keys, err := parseKeys(b); err != nil || len(keys) != maxKeys {
			t.Errorf("%d keys: %d taken, %v", n, len(keys), err)
		}
	}
}

// TestVerifiedAtOnce: tokens are remembered and looked up by many requests at a time.
func TestVerifiedAtOnce(t *testing.T) {
	var v verified
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for n := range 2000 {
				sum := [sha256.Size]byte{byte(i), byte(n), byte(n >> 8)}
				mine := &grant{}
				v.put(sum, mine)
				if got := v.get(sum); got != nil && got != mine { // nil: too many came meanwhile
					t.Errorf("token %d of %d is another's", n, i)
				}
			}
		})
	}
	work.Wait()
}

// TestNoKeysYet: of keys that were never fetched, or too long ago, there is no generation
// that what is remembered may be of.
func TestNoKeysYet(t *testing.T) {
	now := time.Now()
	s := &keySet{fetching: make(chan struct{}, 1), opts: &KeysOptions{}}
	s.asked = now // and it failed: it is not asked again at once
	s.failing.Store(true)
	if got := s.current(t.Context(), now); got != 0 {
		t.Errorf("never fetched: generation %d", got)
	}
	s.state.Store(&keyState{fetched: now.Add(-keysStale), generation: 7})
	s.asked = time.Now()
	if got := s.current(t.Context(), now); got != 7 {
		t.Errorf("just as old as keys may be: generation %d", got)
	}
	if got := s.current(t.Context(), now.Add(1)); got != 0 {
		t.Errorf("older: generation %d", got)
	}
	if s.hold(t.Context(), nil) { // it is a moment later by now
		t.Error("keys that are too old are still those of the server")
	}
	if s.state.Store(&keyState{fetched: time.Now()}); !s.hold(t.Context(), nil) {
		t.Error("keys that were fetched just now are not those of the server")
	}
}

// TestMaxKeysBytes: a document of keys is read up to the bound, and refused beyond it.
func TestMaxKeysBytes(t *testing.T) {
	key, err := json.Marshal(map[string]any{"keys": []any{publicJWK(t, "1", ecKeyOf(t, elliptic.P256()))}})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]error{maxKeysBytes: nil, maxKeysBytes + 1: errNoKeys} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(append(key, strings.Repeat(" ", n-len(key))...))
		}))
		k, err := NewKeys(KeysOptions{HTTP: s.Client()})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := k.set(s.URL, s.URL+"/jwks").find(t.Context(), "1", "ES256"); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v", n, err)
		}
		s.Close()
	}
}

// TestHostName: what of a Host header is compared with the names that are allowed.
func TestHostName(t *testing.T) {
	for host, want := range map[string]string{
		"a.example": "a.example", "a.example:80": "a.example", "a.example.": "a.example", "a.example.:80": "a.example", ":80": "", ":": "", "": "",
		"localhost:80:evil.example:80": "localhost:80:evil.example", "::1": ":",
		"[::1]:80": "::1", "[::1]": "::1", "[": "", "[]": "", "[::1": "",
	} {
		if got := string(HostName([]byte(host))); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}

package access

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

const (
	resource = "https://gw.example/t/acme"
	metadata = "https://gw.example/.well-known/oauth-protected-resource/t/acme"
)

func compile(t testing.TB, doc *registry.AccessDocument, keys *Keys, prev *Policy) *Policy {
	t.Helper()
	doc.FormatVersion, doc.Workspace, doc.Toolset = registry.AccessFormat, "test", "ts_1"
	if err := doc.Validate(); err != nil {
		t.Fatal(err)
	}
	p, err := Compile(registry.Access{Mode: registry.AccessNone}, doc, "ts_1", keys, nil, prev)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func admit(t testing.TB, p *Policy, authorization string) (Pass, *Refusal) {
	t.Helper()
	return p.Admit(t.Context(), []byte(authorization), 10, resource, metadata)
}

func tokenGrant(id, token string, tools ...string) registry.TokenGrant {
	sum := sha256.Sum256([]byte(token))
	return registry.TokenGrant{ID: id, Name: id, Hash: hex.EncodeToString(sum[:]), Tools: tools}
}

func TestModes(t *testing.T) {
	f := func(mode string, doc *registry.AccessDocument, authorization string, status int) {
		t.Helper()
		p, err := Compile(registry.Access{Mode: mode}, doc, "ts_1", nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		if _, refusal := admit(t, p, authorization); refusal != nil {
			got = refusal.Status
		}
		if got != status {
			t.Errorf("mode %q, document %+v, authorization %q: status %d, want %d", mode, doc, authorization, got, status)
		}
	}
	f(registry.AccessNone, nil, "", 0)
	f(registry.AccessNone, nil, "Bearer anything", 0)
	f(registry.AccessToken, nil, "", 401)
	f(registry.AccessToken, nil, "Bearer x", 401)
	f(registry.AccessJWT, nil, "Bearer x", 401)
	f(registry.AccessNone, &registry.AccessDocument{Mode: registry.AccessToken}, "Bearer x", 401) // the document decides
	f(registry.AccessToken, &registry.AccessDocument{Mode: registry.AccessNone}, "", 0)
	if _, err := Compile(registry.Access{Mode: "retina"}, nil, "ts_1", nil, nil, nil); !problem.Is(err, problem.Unsupported) {
		t.Errorf("unknown mode: %v", err)
	}
	if _, err := Compile(registry.Access{}, &registry.AccessDocument{Mode: registry.AccessJWT}, "ts_1", nil, nil, nil); !problem.Is(err, problem.Unsupported) {
		t.Errorf("mode jwt without keys: %v", err)
	}
	if _, refusal := (*Policy)(nil).Admit(t.Context(), nil, 0, "", ""); refusal == nil {
		t.Error("the nil policy is open")
	}
}

func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon := time.Now().Add(time.Minute)
		short := tokenGrant("short", "s3")
		short.Expires = &soon
		p := compile(t, &registry.AccessDocument{Mode: registry.AccessToken, Tokens: []registry.TokenGrant{
			tokenGrant("a", "s1"), tokenGrant("b", "s2", "get_*", "list"), short,
		}}, nil, nil)

		for _, bad := range []string{"", "Bearer", "Bearer ", "Basic s1", "s1", "Bearer s9", "Bearer s1 s2", "Bearer S1"} {
			_, refusal := admit(t, p, bad)
			if refusal == nil || refusal.Status != 401 || !strings.HasPrefix(refusal.Challenge, "Bearer") {
				t.Errorf("%q: %+v", bad, refusal)
			} else if strings.Contains(refusal.Challenge, "resource_metadata") {
				t.Errorf("%q: a token's challenge names metadata: clients would start OAuth", bad)
			} else if sent := strings.HasPrefix(bad, "Bearer s") || strings.HasPrefix(bad, "Bearer S"); sent != strings.Contains(refusal.Challenge, "invalid_token") {
				t.Errorf("%q: challenge %s", bad, refusal.Challenge)
			}
		}
		a, refusal := admit(t, p, "bearer s1")
		if refusal != nil || a.Principal() != TokenPrincipal("ts_1", "a") || !a.SeesAll() || !a.Sees("delete_all") || a.MayCall("delete_all", "") != nil {
			t.Fatalf("token a: %+v, %+v", a, refusal)
		}
		b, refusal := admit(t, p, "Bearer s2")
		if refusal != nil || b.SeesAll() || !b.Sees("get_x") || !b.Sees("list") || b.Sees("delete_all") || b.Sees("list2") {
			t.Fatalf("token b: %+v, %+v", b, refusal)
		}
		if a.Selection() != "" || b.Selection() == "" {
			t.Errorf("selections %q and %q", a.Selection(), b.Selection())
		}
		c, refusal := admit(t, p, "Bearer s3")
		if refusal != nil {
			t.Fatal(refusal)
		}
		if _, valid, same := p.Renew(c); !valid || !same {
			t.Error("a token that is valid was not renewed")
		}
		time.Sleep(time.Minute)
		if _, refusal := admit(t, p, "Bearer s3"); refusal == nil || refusal.Status != 401 {
			t.Errorf("an expired token: %+v", refusal)
		}
		if _, valid, _ := p.Renew(c); valid {
			t.Error("an expired token was renewed")
		}
		if !p.StillAdmits(c) || !p.StillAdmits(a) {
			t.Error("a call that began in time is ended when its token expires")
		}
		// A revocation is a new document; so is another list of tools.
		q := compile(t, &registry.AccessDocument{Mode: registry.AccessToken, Tokens: []registry.TokenGrant{tokenGrant("b", "s2", "list")}}, nil, p)
		if _, refusal := admit(t, q, "Bearer s1"); refusal == nil {
			t.Error("a revoked token was admitted")
		}
		if _, valid, _ := q.Renew(a); valid {
			t.Error("a revoked token was renewed")
		}
		if q.StillAdmits(a) || !q.StillAdmits(b) || (*Policy)(nil).StillAdmits(b) || q.StillAdmits(Pass{}) {
			t.Error("calls of revoked tokens go on, or those of others do not")
		}
		now, valid, same := q.Renew(b)
		if !valid || same {
			t.Errorf("a token with other tools: valid %v, same %v", valid, same)
		}
		if _, valid, same := q.Renew(now); !valid || !same {
			t.Errorf("renewed again: valid %v, same %v", valid, same)
		}
	})
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := tokenGrant("a", "s1")
		one.Limits = &registry.RateLimits{RequestsPerMinute: 60, Burst: 2, Concurrent: 1, RequestBytes: 100}
		doc := func(all *registry.RateLimits) *registry.AccessDocument {
			return &registry.AccessDocument{Mode: registry.AccessToken, Tokens: []registry.TokenGrant{one, tokenGrant("b", "s2")}, Limits: all}
		}
		p := compile(t, doc(&registry.RateLimits{Concurrent: 2}), nil, nil)
		pass, refusal := admit(t, p, "Bearer s1")
		if refusal != nil {
			t.Fatal(refusal)
		}
		if _, refusal := admit(t, p, "Bearer s1"); refusal == nil || refusal.Status != 429 || refusal.Reason != TooManyAtOne || refusal.Retry != 1 {
			t.Fatalf("a second request at the same time: %+v", refusal)
		}
		other, refusal := admit(t, p, "Bearer s2")
		if refusal != nil {
			t.Fatal(refusal)
		}
		if _, refusal := admit(t, p, "Bearer s2"); refusal == nil || refusal.Reason != TooManyAtOne {
			t.Fatalf("a third request of the toolset: %+v", refusal)
		}
		other.Leave()
		pass.Leave()
		if pass, refusal = admit(t, p, "Bearer s1"); refusal != nil { // the second of the burst
			t.Fatal(refusal)
		}
		pass.Leave()
		// The counts go on under the next policy: a release is no way around a limit.
		p = compile(t, doc(&registry.RateLimits{Concurrent: 2}), nil, p)
		if _, refusal := admit(t, p, "Bearer s1"); refusal == nil || refusal.Status != 429 || refusal.Reason != TooMany || refusal.Retry != 1 {
			t.Fatalf("a third request in a second: %+v", refusal)
		}
		time.Sleep(time.Second)
		if pass, refusal = admit(t, p, "Bearer s1"); refusal != nil {
			t.Fatalf("a second later: %+v", refusal)
		}
		pass.Leave()
		for size, want := range map[int]bool{100: true, 101: false} {
			time.Sleep(2 * time.Second)
			pass, refusal := p.Admit(t.Context(), []byte("Bearer s1"), size, "", "")
			if (refusal == nil) != want || refusal != nil && refusal.Status != 413 {
				t.Errorf("a request of %d bytes: %+v", size, refusal)
			}
			pass.Leave()
		}
	})
}

// issuer is an authorization server's side: keys that can be exchanged.
type issuer struct {
	*httptest.Server
	mu       sync.Mutex
	keys     []map[string]any
	fetched  atomic.Int64
	metadata func(base string) any
}

func newIssuer(t testing.TB) *issuer {
	i := &issuer{metadata: func(base string) any {
		return map[string]any{"issuer": base + "/tenant", "jwks_uri": base + "/jwks"}
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tenant/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(i.metadata(i.URL))
	})
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) {
		i.fetched.Add(1)
		i.mu.Lock()
		defer i.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": i.keys})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) publish(keys ...map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func publicJWK(t testing.TB, id string, k crypto.Signer) map[string]any {
	t.Helper()
	switch p := k.Public().(type) {
	case *rsa.PublicKey:
		return map[string]any{"kty": "RSA", "kid": id, "use": "sig", "n": b64(p.N.Bytes()), "e": b64(big.NewInt(int64(p.E)).Bytes())}
	case *ecdsa.PublicKey:
		raw, err := p.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		n := (len(raw) - 1) / 2
		return map[string]any{"kty": "EC", "kid": id, "crv": p.Params().Name, "x": b64(raw[1 : 1+n]), "y": b64(raw[1+n:])}
	case ed25519.PublicKey:
		return map[string]any{"kty": "OKP", "kid": id, "crv": "Ed25519", "x": b64(p)}
	}
	t.Fatal("unknown key")
	return nil
}

func (i *issuer) claims(change map[string]any) jwt.MapClaims {
	c := jwt.MapClaims{
		"iss": i.URL + "/tenant", "sub": "alice", "aud": []string{"other", resource},
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "scope": "read",
	}
	for k, v := range change {
		if c[k] = v; v == nil {
			delete(c, k)
		}
	}
	return c
}

func signed(t testing.TB, m jwt.SigningMethod, id string, key any, c jwt.MapClaims) string {
	t.Helper()
	tok := jwt.NewWithClaims(m, c)
	if id != "" {
		tok.Header["kid"] = id
	}
	s, err := tok.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + s
}

func newKeys(t testing.TB, i *issuer) *Keys {
	t.Helper()
	k, err := NewKeys(KeysOptions{HTTP: i.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func ecKeyOf(t testing.TB, c elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestJWT(t *testing.T) {
	i := newIssuer(t)
	ec := ecKeyOf(t, elliptic.P256())
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	i.publish(publicJWK(t, "ec", ec), publicJWK(t, "ed", ed), publicJWK(t, "rs", rs), publicJWK(t, "weak", weak))
	doc := &registry.AccessDocument{Mode: registry.AccessJWT, JWT: &registry.JWTGrant{
		Issuer: i.URL + "/tenant",
		Scopes: []registry.ScopeGrant{{Scope: "read", Tools: []string{"get_*"}}, {Scope: "write", Tools: []string{"get_*", "put_*"}}},
	}}
	p := compile(t, doc, newKeys(t, i), nil)

	ok := func(authorization string) Pass {
		t.Helper()
		pass, refusal := admit(t, p, authorization)
		if refusal != nil {
			t.Fatalf("refused: %+v", refusal)
		}
		return pass
	}
	pass := ok(signed(t, jwt.SigningMethodES256, "ec", ec, i.claims(nil)))
	if pass.Principal() != JWTPrincipal(i.URL+"/tenant", "alice") {
		t.Errorf("principal %+v", pass.Principal())
	}
	ok(signed(t, jwt.SigningMethodEdDSA, "ed", ed, i.claims(nil)))
	ok(signed(t, jwt.SigningMethodRS256, "rs", rs, i.claims(nil)))
	ok(signed(t, jwt.SigningMethodPS256, "rs", rs, i.claims(nil)))
	ok(signed(t, jwt.SigningMethodES256, "", ec, i.claims(map[string]any{"aud": resource, "scope": nil, "scp": []string{"read"}})))

	// Tools by scope: everything is shown, not everything may be called.
	if !pass.SeesAll() || pass.MayCall("get_x", metadata) != nil {
		t.Error("scope read does not open get_x")
	}
	refusal := pass.MayCall("put_x", metadata)
	if refusal == nil || refusal.Status != 403 || refusal.Challenge != `Bearer error="insufficient_scope", error_description="the token's scopes do not open this tool", scope="read write", resource_metadata="`+metadata+`"` {
		t.Errorf("put_x with scope read: %+v", refusal)
	}
	if refusal := pass.MayCall("delete_x", metadata); refusal == nil {
		t.Error("a tool that no scope opens may be called")
	}
	if pass := ok(signed(t, jwt.SigningMethodES256, "ec", ec, i.claims(map[string]any{"scope": "openid write"}))); pass.MayCall("put_x", "") != nil {
		t.Error("scope write does not open put_x")
	}

	bad := func(authorization, text string) {
		t.Helper()
		_, refusal := admit(t, p, authorization)
		if refusal == nil || refusal.Status != 401 || !strings.Contains(refusal.Text, text) ||
			!strings.Contains(refusal.Challenge, `resource_metadata="`+metadata+`"`) || !strings.Contains(refusal.Challenge, `scope="read write"`) {
			t.Errorf("want %q, got %+v", text, refusal)
		}
	}
	es := func(change map[string]any) string {
		return signed(t, jwt.SigningMethodES256, "ec", ec, i.claims(change))
	}
	bad("", "needs a token")
	bad("Bearer x.y.z", "not a valid")
	bad(es(map[string]any{"aud": resource + "/"}), "another resource")
	bad(es(map[string]any{"aud": "https://gw.example/t/other"}), "another resource")
	bad(es(map[string]any{"aud": nil}), "another resource")
	bad(es(map[string]any{"iss": "https://evil.example"}), "another issuer")
	bad(es(map[string]any{"exp": time.Now().Add(-2 * time.Minute).Unix()}), "expired")
	bad(es(map[string]any{"exp": nil}), "not a valid")
	bad(es(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), "not valid yet")
	bad(es(map[string]any{"sub": nil}), "no subject")
	bad(signed(t, jwt.SigningMethodES256, "ec", ecKeyOf(t, elliptic.P256()), i.claims(nil)), "signature")
	bad(signed(t, jwt.SigningMethodES384, "ec", ecKeyOf(t, elliptic.P384()), i.claims(nil)), "signature")
	bad(signed(t, jwt.SigningMethodRS256, "weak", weak, i.claims(nil)), "signature") // too weak to be taken as a key
	raw, err := ec.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	bad(signed(t, jwt.SigningMethodHS256, "ec", raw, i.claims(nil)), "signature") // a public key as a shared secret
	bad(signed(t, jwt.SigningMethodNone, "ec", jwt.UnsafeAllowNoneSignatureType, i.claims(nil)), "signature")

	// The same token is not for another toolset of this gateway.
	if _, refusal := p.Admit(t.Context(), []byte(es(nil)), 0, "https://gw.example/t/two", metadata); refusal == nil {
		t.Error("a token was taken for another resource")
	}
	if i.fetched.Load() > maxKeysAsked {
		t.Errorf("keys were fetched %d times", i.fetched.Load())
	}

	out, has := p.AppendMetadata(nil, resource, `The "API"`)
	want := fmt.Sprintf(`{"resource":"%s","authorization_servers":["%s"],"scopes_supported":["read","write"],"bearer_methods_supported":["header"],"resource_name":"The \"API\""}`, resource, i.URL+"/tenant")
	if !has || string(out) != want {
		t.Errorf("metadata %s, want %s", out, want)
	}
}

// TestWithdrawnKey: a token that was let in is looked at again when the keys of its
// issuer change, and keys are asked for again also when nothing but tokens comes that
// are known.
func TestWithdrawnKey(t *testing.T) {
	i := newIssuer(t)
	first, second := ecKeyOf(t, elliptic.P256()), ecKeyOf(t, elliptic.P256())
	i.publish(publicJWK(t, "1", first))
	keys := newKeys(t, i)
	p := compile(t, &registry.AccessDocument{Mode: registry.AccessJWT, JWT: &registry.JWTGrant{Issuer: i.URL + "/tenant"}}, keys, nil)
	set := keys.set(i.URL+"/tenant", "")
	age := func(d time.Duration) {
		s := *set.state.Load()
		s.fetched = s.fetched.Add(-d)
		set.state.Store(&s)
		set.asked, set.paid = set.asked.Add(-d), set.paid.Add(-d)
	}
	old := signed(t, jwt.SigningMethodES256, "1", first, i.claims(nil))
	in := func(token string, status int) {
		t.Helper()
		pass, refusal := admit(t, p, token)
		if refusal == nil {
			pass.Leave()
			if status != 0 {
				t.Fatalf("let in, want status %d", status)
			}
		} else if refusal.Status != status {
			t.Fatalf("%+v, want status %d", refusal, status)
		}
	}
	in(old, 0)
	in(old, 0)
	// The same keys again: nothing is verified anew.
	generation := set.state.Load().generation
	age(keysFresh + time.Second)
	in(old, 0)
	if n := i.fetched.Load(); n != 2 || set.state.Load().generation != generation {
		t.Fatalf("fetched %d times, generation %d", n, set.state.Load().generation)
	}
	i.publish(publicJWK(t, "2", second))
	in(old, 0) // the keys are fresh
	age(keysFresh + time.Second)
	in(old, 401)
	in(signed(t, jwt.SigningMethodES256, "2", second, i.claims(nil)), 0)
	// A key of the same id that is another key.
	i.publish(publicJWK(t, "2", first))
	age(keysFresh + time.Second)
	in(signed(t, jwt.SigningMethodES256, "2", second, i.claims(nil)), 401)
	in(signed(t, jwt.SigningMethodES256, "2", first, i.claims(nil)), 0)
	// Keys that could not be asked for over a day let nobody in any more.
	i.Close()
	known := signed(t, jwt.SigningMethodES256, "2", first, i.claims(nil))
	in(known, 0)
	age(keysStale + time.Second)
	in(known, 503)
}

// TestKeyRotation: a new key is found by its id without waiting, an old one is
// forgotten in time, and keys that were known serve while the server is away.
func TestKeyRotation(t *testing.T) {
	i := newIssuer(t)
	first, second := ecKeyOf(t, elliptic.P256()), ecKeyOf(t, elliptic.P384())
	i.publish(publicJWK(t, "1", first))
	keys := newKeys(t, i)
	set := keys.set(i.URL+"/tenant", "")
	find := func(id, alg string, want error) {
		t.Helper()
		if _, _, err := set.find(context.Background(), id, alg); err != want {
			t.Fatalf("key %s: %v, want %v", id, err, want)
		}
	}
	age := func(d time.Duration) {
		s := *set.state.Load()
		s.fetched = s.fetched.Add(-d)
		set.state.Store(&s)
		set.asked, set.paid = set.asked.Add(-d), set.paid.Add(-d)
	}
	find("1", "ES256", nil)
	find("1", "ES384", errNoKey) // another curve
	find("2", "ES384", errNoKey)
	for range 20 {
		find("2", "ES384", errNoKey)
	}
	if n := i.fetched.Load(); n != maxKeysAsked {
		t.Fatalf("fetched %d times, want %d: unknown ids must not make this node ask for each", n, maxKeysAsked)
	}
	i.publish(publicJWK(t, "2", second))
	age(keysPause)
	find("2", "ES384", nil)
	find("1", "ES256", errNoKey)
	n := i.fetched.Load()
	find("2", "ES384", nil)
	if i.fetched.Load() != n {
		t.Fatal("fresh keys were fetched again")
	}
	age(keysFresh + time.Second)
	find("2", "ES384", nil)
	if i.fetched.Load() != n+1 {
		t.Fatal("old keys were not fetched again")
	}
	i.Close()
	age(keysFresh + time.Second)
	find("2", "ES384", nil) // stale, and better than nobody
	age(keysStale)
	find("2", "ES384", errNoKeys)

	doc := &registry.AccessDocument{Mode: registry.AccessJWT, JWT: &registry.JWTGrant{Issuer: i.URL + "/tenant"}}
	_, refusal := admit(t, compile(t, doc, newKeys(t, i), nil), signed(t, jwt.SigningMethodES256, "1", first, i.claims(nil)))
	if refusal == nil || refusal.Status != 503 || refusal.Retry == 0 {
		t.Fatalf("without keys: %+v", refusal)
	}
}

func TestDiscovery(t *testing.T) {
	i := newIssuer(t)
	i.publish(publicJWK(t, "1", ecKeyOf(t, elliptic.P256())))
	i.metadata = func(base string) any {
		return map[string]any{"issuer": "https://other.example", "jwks_uri": base + "/jwks"}
	}
	if _, _, err := newKeys(t, i).set(i.URL+"/tenant", "").find(t.Context(), "1", "ES256"); err != errNoKeys {
		t.Fatalf("metadata of another issuer was believed: %v", err)
	}
	if _, _, err := newKeys(t, i).set(i.URL+"/tenant", i.URL+"/jwks").find(t.Context(), "1", "ES256"); err != nil {
		t.Fatalf("with the address of the keys: %v", err)
	}
}

// TestPatternsOfItems: a selection of tools opens no prompts and resources by accident.
func TestPatternsOfItems(t *testing.T) {
	f := func(pattern, name string, want bool) {
		t.Helper()
		if got := (patterns{pattern}).match(name); got != want {
			t.Fatalf("%s matches %s: %v, want %v", pattern, name, got, want)
		}
	}
	f("*", "read", true)
	f("*", "prompt:read", true)
	f("*", "resource:file:///a/b", true)
	f("*read", "prompt:read", false)
	f("?*", "prompt:read", false)
	f("p*", "prompt:read", false)
	f("prompt:*", "prompt:read", true)
	f("prompt:*", "resource:read", false)
	f("prompt:*", "read", false)
	f("resource:file:///a/*", "resource:file:///a/b/c", true)
	f("resource:file:///a/*", "resource:file:///ab", false)
	f("resource:*", "resource:file:///a/b", true)
	f("*/*", "a/b", true)
}

// TestPaused: nobody is let in or stays, and only who would be let in reads why.
func TestPaused(t *testing.T) {
	for _, mode := range []string{registry.AccessNone, registry.AccessToken} {
		doc := &registry.AccessDocument{Mode: mode}
		if mode == registry.AccessToken {
			doc.Tokens = []registry.TokenGrant{tokenGrant("act_1", "slt_right")}
		}
		open := compile(t, doc, nil, nil)
		pass, refusal := admit(t, open, "Bearer slt_right")
		if refusal != nil {
			t.Fatal(refusal)
		}
		doc.Paused = &registry.Pause{Reason: `"moving"`}
		p := compile(t, doc, nil, open)
		if _, valid, _ := p.Renew(pass); valid {
			t.Errorf("mode %s: a stream outlasts the pause", mode)
		}
		pass.Leave()
		_, refusal = admit(t, p, "Bearer slt_right")
		if refusal == nil || refusal.Status != 503 || refusal.Reason != Paused || refusal.Text != `this toolset is paused by its operators: "moving"` {
			t.Errorf("mode %s: %+v", mode, refusal)
		}
		if _, refusal = admit(t, p, "Bearer slt_wrong"); mode == registry.AccessToken && (refusal == nil || refusal.Status != 401) {
			t.Errorf("a wrong token: %+v", refusal)
		}
		doc.Paused = nil
		if _, refusal = admit(t, compile(t, doc, nil, p), "Bearer slt_right"); refusal != nil {
			t.Errorf("mode %s, resumed: %+v", mode, refusal)
		}
	}
}

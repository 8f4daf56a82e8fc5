package access

import (
	"context"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// TestLoopbackWithoutNames: on the loopback interface nothing but local names and origins
// is served where none are configured: a rebound name is not.
func TestLoopbackWithoutNames(t *testing.T) {
	g, err := NewGuard(Options{Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.9.9.9": true, "[::1]:80": true, "a.localhost": true,
		"": false, "evil.example": false, "evil.site": false, "a.evil12345": false, ".123456789": false, "localhos.": false, "10.0.0.1": false, "notlocalhost": false,
	} {
		if got := g.Host([]byte(host)); got != want {
			t.Errorf("Host(%q) = %v", host, got)
		}
	}
	for origin, want := range map[string]bool{
		"": true, "http://localhost": true, "https://localhost:1": true, "http://": false, "localhost": false, "https://evil.site": false, "http://localhost/": false,
		"http://localhost?": false, "http://localhost#": false, "http://a@localhost": false, "ftp://localhost": false,
	} {
		if got := g.Origin([]byte(origin)); got != want {
			t.Errorf("Origin(%q) = %v", origin, got)
		}
	}
	for _, bad := range []string{"", "http://[::1", "//app.example", "https://", "https:", "https:app.example", "https://app.example/", "https://app.example?a", "https://u@app.example", "app.example"} {
		if g, err := NewGuard(Options{Origins: []string{bad}}); !problem.Is(err, problem.InvalidArgument) || g != nil {
			t.Errorf("origin %q: %v", bad, err)
		}
	}
	if IsLoopback(&net.UnixAddr{Name: "/run/x", Net: "unix"}) || IsLoopback(nil) {
		t.Error("what has no IP address is on the loopback interface")
	}
}

// TestZeroPass: what was not admitted may do nothing and is nobody.
func TestZeroPass(t *testing.T) {
	var p Pass
	if p.Sees("x") || p.SeesAll() || p.Selection() != "" || p.MaxRequest() != 0 || p.Principal() != (Principal{}) || !p.Expires().IsZero() {
		t.Errorf("%+v", p)
	}
	if r := p.MayCall("x", ""); r != nil {
		t.Errorf("%+v", r)
	}
	p.Leave()
}

// TestDamagedHash: a token whose hash is not SHA-256 in hex makes no policy, rather than one
// that another token opens.
func TestDamagedHash(t *testing.T) {
	good := tokenGrant("a", "s").Hash
	for _, hash := range []string{"", "00", good[:62], good[:63], "zz" + good[2:]} {
		doc := &registry.AccessDocument{Mode: registry.AccessToken, Tokens: []registry.TokenGrant{{ID: "a", Hash: hash}}}
		if p, err := Compile(registry.Access{}, doc, "ts_1", nil, nil, nil); !problem.Is(err, problem.InvalidRelease) || p != nil {
			t.Errorf("hash %q: %v", hash, err)
		}
	}
}

// TestTokenRules: how a header is read, what a pass says of its token, and that a token
// of some tools is not asked about scopes.
func TestTokenRules(t *testing.T) {
	ends := time.Now().Add(time.Hour)
	g := tokenGrant("a", "s1", "get_*", "list")
	g.Expires = &ends
	doc := func(grants ...registry.TokenGrant) *registry.AccessDocument {
		return &registry.AccessDocument{Mode: registry.AccessToken, Tokens: grants}
	}
	p := compile(t, doc(g), nil, nil)
	for header, want := range map[string]Reason{
		"": Missing, "Bearer": Missing, "Bearer ": Missing, "Bearer    ": Missing, "Basic s1": Missing, "Bearer s": BadToken, "Bearer x1": BadToken,
		"Bearer s1": "", "bearer s1": "", "BEARER   s1 ": "",
	} {
		_, refusal := admit(t, p, header)
		if got := reason(refusal); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
	pass, _ := admit(t, p, "Bearer s1")
	if !pass.Expires().Equal(ends) || pass.Selection() != "get_*\x00list" || pass.SeesAll() || pass.Sees("put") || pass.MayCall("put", "") != nil {
		t.Errorf("%+v", pass)
	}
	// A token that is new has a limit of its own.
	limited := tokenGrant("b", "s2")
	limited.Limits = &registry.RateLimits{Concurrent: 1}
	next := compile(t, doc(g, limited), nil, p)
	if _, refusal := admit(t, next, "Bearer s2"); refusal != nil {
		t.Errorf("%+v", refusal)
	}
	if _, refusal := admit(t, next, "Bearer s2"); reason(refusal) != TooManyAtOne {
		t.Errorf("%+v", refusal)
	}
}

func reason(r *Refusal) Reason {
	if r == nil {
		return ""
	}
	return r.Reason
}

// TestLeast: of two limits the smaller one, of which 0 is none, and bodies at it.
func TestLeast(t *testing.T) {
	for _, c := range [][3]int{{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}, {1, 2, 1}, {2, 1, 1}, {5, 1, 1}, {1, 5, 1}, {0, 5, 5}} {
		if got := least(c[0], c[1]); got != c[2] {
			t.Errorf("least(%d, %d) = %d, want %d", c[0], c[1], got, c[2])
		}
	}
	p := compile(t, &registry.AccessDocument{Mode: registry.AccessNone, Limits: &registry.RateLimits{RequestBytes: 1}}, nil, nil)
	for size, want := range map[int]Reason{0: "", 1: "", 2: TooLarge} {
		if _, refusal := p.Admit(t.Context(), nil, size, "", ""); reason(refusal) != want {
			t.Errorf("%d bytes: %+v", size, refusal)
		}
	}
}

// TestLimiterChanges: a limiter that goes on has the limits of the newest document.
func TestLimiterChanges(t *testing.T) {
	for _, l := range []*registry.RateLimits{nil, {}, {RequestBytes: 5}, {Burst: 3}} {
		if got := newLimiter(l, nil, "k", nil); got != nil {
			t.Errorf("%+v is a limit: %+v", l, got)
		}
	}
	var l *limiter
	for _, c := range []struct {
		limits registry.RateLimits
		burst  int // 0: any rate
		most   int64
	}{
		{registry.RateLimits{RequestsPerMinute: 60}, 6, 0},
		{registry.RateLimits{RequestsPerMinute: 120, Burst: 3, Concurrent: 4}, 3, 4},
		{registry.RateLimits{RequestsPerMinute: 5}, 1, 0},
		{registry.RateLimits{RequestsPerMinute: 19}, 1, 0},
		{registry.RateLimits{RequestsPerMinute: 20}, 2, 0},
		{registry.RateLimits{Concurrent: 2}, 0, 2},
		{registry.RateLimits{RequestsPerMinute: 1, Concurrent: 1}, 1, 1},
	} {
		next := newLimiter(&c.limits, l, "k", nil)
		if l != nil && next != l {
			t.Fatal("another limiter, whose counts begin again")
		}
		l = next
		r := l.rate.Load()
		if got := l.most.Load(); got != c.most || (r == nil) != (c.burst == 0) {
			t.Errorf("%+v: %d at once, rate %v", c.limits, got, r)
		} else if r != nil && (r.Burst() != c.burst || float64(r.Limit())*60 < float64(c.limits.RequestsPerMinute)-0.01 || float64(r.Limit())*60 > float64(c.limits.RequestsPerMinute)+0.01) {
			t.Errorf("%+v: %v a second, burst %d", c.limits, r.Limit(), r.Burst())
		}
	}
}

// counting is a pool that tells what it was asked.
type counting struct {
	verdict pool.Verdict
	err     error
	asked   []pool.Limit
	whose   []string
	left    []string
}

func (c *counting) Enter(_ context.Context, whose string, l pool.Limit) (pool.Verdict, error) {
	c.asked, c.whose = append(c.asked, l), append(c.whose, whose)
	return c.verdict, c.err
}

func (c *counting) Leave(lease string) { c.left = append(c.left, lease) }

// TestSharedCounts: the pool is asked for exactly the limits, its verdict holds, a lease is
// given back once, and where it cannot be asked this node counts.
func TestSharedCounts(t *testing.T) {
	limits := &registry.RateLimits{RequestsPerMinute: 60, Burst: 2, Concurrent: 1}
	c := &counting{verdict: pool.Verdict{Lease: "lease"}}
	l := newLimiter(limits, nil, "mine", c)
	for range 3 { // more than this node would let in
		lease, refusal := l.enter(t.Context(), "token")
		if refusal != nil || lease != "lease" {
			t.Fatalf("%q, %+v", lease, refusal)
		}
	}
	want := pool.Limit{Every: 1e6, Burst: 2, Most: 1}
	if len(c.asked) != 3 || c.asked[0] != want || c.whose[0] != "mine" {
		t.Errorf("asked for %+v of %q, want %+v", c.asked, c.whose, want)
	}
	for range 3 {
		l.leave("lease")
	}
	if len(c.left) != 3 || c.left[0] != "lease" || l.running.Load() != 0 {
		t.Errorf("left %q, %d run", c.left, l.running.Load())
	}
	l.running.Add(1)
	if l.leave(""); len(c.left) != 3 || l.running.Load() != 0 {
		t.Errorf("without a lease: left %q, %d run", c.left, l.running.Load())
	}
	for verdict, want := range map[pool.Verdict]Refusal{
		{Crowded: true}:                    {Status: 429, Reason: TooManyAtOne, Retry: 1, Text: "too many requests of this token are running"},
		{Wait: 1}:                          {Status: 429, Reason: TooMany, Retry: 1, Text: "too many requests of this token"},
		{Wait: 1500 * time.Millisecond}:    {Status: 429, Reason: TooMany, Retry: 2, Text: "too many requests of this token"},
		{Wait: 100 * time.Hour, Lease: ""}: {Status: 429, Reason: TooMany, Retry: 3600, Text: "too many requests of this token"},
	} {
		c.verdict = verdict
		if _, refusal := l.enter(t.Context(), "token"); refusal == nil || *refusal != want || l.running.Load() != 0 {
			t.Errorf("%+v: %+v, %d run", verdict, refusal, l.running.Load())
		}
	}
	c.err = errors.New("the pool is away")
	if _, refusal := l.enter(t.Context(), "token"); refusal != nil {
		t.Errorf("%+v", refusal)
	}
	if _, refusal := l.enter(t.Context(), "token"); reason(refusal) != TooManyAtOne {
		t.Errorf("%+v", refusal)
	}
}

// TestOneScope: an authorization server with one scope opens what that scope opens, not all.
func TestOneScope(t *testing.T) {
	i := newIssuer(t)
	key := ecKeyOf(t, elliptic.P256())
	i.publish(publicJWK(t, "1", key))
	keys := newKeys(t, i)
	door := func(grant registry.JWTGrant, prev *Policy) *Policy {
		if grant.Issuer == "" {
			grant.Issuer = i.URL + "/tenant"
		}
		return compile(t, &registry.AccessDocument{Mode: registry.AccessJWT, JWT: &grant}, keys, prev)
	}
	token := func(change map[string]any) string {
		return signed(t, jwt.SigningMethodES256, "1", key, i.claims(change))
	}
	one := []registry.ScopeGrant{{Scope: "read", Tools: []string{"get_*"}}}
	p := door(registry.JWTGrant{Scopes: one}, nil)
	for scope, may := range map[string]bool{"read": true, "write": false, "": false, "read write": true} {
		pass, refusal := admit(t, p, token(map[string]any{"scope": scope}))
		if refusal != nil {
			t.Fatalf("%+v", refusal)
		}
		if got := pass.MayCall("get_x", metadata); (got == nil) != may {
			t.Errorf("scope %q may call get_x: %+v", scope, got)
		}
		if got := pass.MayCall("put_x", metadata); got == nil || got.Status != 403 || got.Reason != BadScope || !strings.Contains(got.Challenge, "insufficient_scope") {
			t.Errorf("scope %q may call put_x: %+v", scope, got)
		}
		if !pass.Sees("put_x") || !pass.SeesAll() || pass.Selection() != "" {
			t.Errorf("scope %q: the holder of a JWT is not shown what another scope opens", scope)
		}
	}
	all, refusal := admit(t, door(registry.JWTGrant{}, nil), token(map[string]any{"scope": nil}))
	if refusal != nil || all.MayCall("put_x", metadata) != nil {
		t.Errorf("without scopes all is open: %+v", refusal)
	}

	// A stream goes on while the issuer is the one that vouched for its caller.
	pass, _ := admit(t, p, token(nil))
	closed, err := Compile(registry.Access{Mode: registry.AccessJWT}, nil, "ts_1", nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		p     *Policy
		valid bool
	}{
		"the same": {p, true}, "other scopes": {door(registry.JWTGrant{}, p), true}, "another issuer": {door(registry.JWTGrant{Issuer: "https://other.example"}, p), false}, "closed": {closed, false},
	} {
		if _, valid, _ := c.p.Renew(pass); valid != c.valid {
			t.Errorf("renewed under %s: %v", name, valid)
		}
		if c.p.StillAdmits(pass) != c.valid {
			t.Errorf("a call goes on under %s: %v", name, !c.valid)
		}
	}

	// RFC 9728 documents and challenges are for doors of this kind.
	meta := func(p *Policy) string {
		b, ok := p.AppendMetadata([]byte(">"), resource, "Acme")
		if ok == (string(b) == ">") {
			t.Errorf("%s, %v", b, ok)
		}
		return strings.ReplaceAll(string(b), i.URL, "BASE")
	}
	const head, tail = `>{"resource":"` + resource + `","authorization_servers":`, `,"bearer_methods_supported":["header"],"resource_name":"Acme"}`
	if got := meta(p); got != head+`["BASE/tenant"],"scopes_supported":["read"]`+tail {
		t.Errorf("%s", got)
	}
	if got := meta(door(registry.JWTGrant{AuthorizationServers: []string{"https://a.example", "https://b.example"}}, nil)); got != head+`["https://a.example","https://b.example"]`+tail {
		t.Errorf("%s", got)
	}
	for _, other := range []*Policy{nil, closed, compile(t, &registry.AccessDocument{Mode: registry.AccessNone}, nil, nil)} {
		if got := meta(other); got != ">" {
			t.Errorf("%s", got)
		}
	}
	for name, want := range map[string]string{
		"":       `Bearer scope="read", resource_metadata="` + metadata + `"`,
		"Bearer": `Bearer scope="read", resource_metadata="` + metadata + `"`,
	} {
		if _, refusal := admit(t, p, name); refusal == nil || refusal.Challenge != want || refusal.Reason != Missing {
			t.Errorf("%q: %+v", name, refusal)
		}
	}
	if got := p.jwt.challenge("m", "", "", nil); got != `Bearer resource_metadata="m"` {
		t.Errorf("%s", got)
	}
	if got := p.jwt.challenge("m", "f", "d", []string{"a", "b"}); got != `Bearer error="f", error_description="d", scope="a b", resource_metadata="m"` {
		t.Errorf("%s", got)
	}
}

// TestSubjectLimits: tokens of one subject are counted together, those of another apart,
// and the counts go on under the next policy of the same issuer only.
func TestSubjectLimits(t *testing.T) {
	keys, err := NewKeys(KeysOptions{HTTP: http.DefaultClient})
	if err != nil {
		t.Fatal(err)
	}
	grant := func(issuer string, most int) *registry.JWTGrant {
		return &registry.JWTGrant{Issuer: issuer, Limits: &registry.RateLimits{Concurrent: most}}
	}
	first := newJWTPolicy(grant("https://a.example", 1), keys, "ts_1", nil, nil)
	alice := first.limiterOf("alice")
	if first.limiterOf("alice") != alice || first.limiterOf("bob") == alice {
		t.Error("subjects are not told apart, or not counted together")
	}
	byToken := compile(t, &registry.AccessDocument{Mode: registry.AccessToken}, nil, nil)
	for name, c := range map[string]struct {
		grant *registry.JWTGrant
		prev  *Policy
		same  bool
	}{
		"the same issuer": {grant("https://a.example", 2), &Policy{jwt: first}, true},
		"another issuer":  {grant("https://b.example", 2), &Policy{jwt: first}, false},
		"no policy":       {grant("https://a.example", 2), nil, false},
		"tokens":          {grant("https://a.example", 2), byToken, false},
	} {
		next := newJWTPolicy(c.grant, keys, "ts_1", nil, c.prev)
		if got := next.limiterOf("alice"); (got == alice) != c.same || got.most.Load() != 2 {
			t.Errorf("%s: the same counts %v, %d at once", name, got == alice, got.most.Load())
		}
	}
	first.limiterOf("carol") // nothing is left locked
}

// TestWhoIsCountedTogether: a pool counts apart what no other caller, issuer or toolset
// may use up.
func TestWhoIsCountedTogether(t *testing.T) {
	keys, err := NewKeys(KeysOptions{HTTP: http.DefaultClient})
	if err != nil {
		t.Fatal(err)
	}
	limits := &registry.RateLimits{Concurrent: 1}
	c := &counting{}
	for _, toolset := range []string{"ts_1", "ts_2"} {
		for _, issuer := range []string{"https://a.example", "https://b.example"} {
			p := newJWTPolicy(&registry.JWTGrant{Issuer: issuer, Limits: limits}, keys, toolset, c, nil)
			for _, subject := range []string{"alice", "bob"} {
				if _, refusal := p.limiterOf(subject).enter(t.Context(), "token"); refusal != nil {
					t.Fatal(refusal)
				}
			}
		}
		doc := &registry.AccessDocument{Mode: registry.AccessToken, Limits: limits}
		for _, id := range []string{"act_1", "act_2"} {
			g := tokenGrant(id, "slt_"+id)
			g.Limits = limits
			doc.Tokens = append(doc.Tokens, g)
		}
		p, err := Compile(registry.Access{}, doc, toolset, nil, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{"Bearer slt_act_1", "Bearer slt_act_2"} {
			if _, refusal := admit(t, p, token); refusal != nil {
				t.Fatal(refusal)
			}
		}
	}
	const want = 2*2*2 + 2*2 + 2 // subjects, tokens, and each toolset for its callers together
	seen := map[string]bool{}
	for _, w := range c.whose {
		seen[w] = true
	}
	if len(seen) != want {
		t.Errorf("%d are counted apart, want %d: %q", len(seen), want, c.whose)
	}
}

// TestKeysOfOneAddress: an issuer's keys of one address verify nothing where another
// address, or none, is configured.
func TestKeysOfOneAddress(t *testing.T) {
	keys, err := NewKeys(KeysOptions{HTTP: http.DefaultClient})
	if err != nil {
		t.Fatal(err)
	}
	sets := map[*keySet]bool{}
	for _, issuer := range []string{"https://a.example", "https://b.example"} {
		for _, address := range []string{"", "https://a.example/1", "https://a.example/2"} {
			s := keys.set(issuer, address)
			if sets[s] || s.issuer != issuer || s.address != address || keys.set(issuer, address) != s {
				t.Errorf("the keys of %s at %q are those of %s at %q", issuer, address, s.issuer, s.address)
			}
			sets[s] = true
		}
	}
}

// TestAlgorithmsThatNobodyMayUse: a token of such an algorithm is refused before any key is
// looked for, so that it makes no authorization server work.
func TestAlgorithmsThatNobodyMayUse(t *testing.T) {
	i := newIssuer(t)
	p := compile(t, &registry.AccessDocument{Mode: registry.AccessJWT, JWT: &registry.JWTGrant{Issuer: i.URL + "/tenant", JWKSURL: i.URL + "/jwks"}}, newKeys(t, i), nil)
	for name, token := range map[string]string{
		"none":  signed(t, jwt.SigningMethodNone, "1", jwt.UnsafeAllowNoneSignatureType, i.claims(nil)),
		"HS256": signed(t, jwt.SigningMethodHS256, "1", []byte("a secret that both sides know..."), i.claims(nil)),
	} {
		if _, refusal := admit(t, p, token); reason(refusal) != BadToken {
			t.Errorf("%s: %+v", name, refusal)
		}
	}
	if n := i.fetched.Load(); n != 0 {
		t.Errorf("the keys were asked for %d times", n)
	}
}

// TestPartsOfTokens: each part is an object in base64 and nothing else, with members of
// different names.
func TestPartsOfTokens(t *testing.T) {
	for in, want := range map[string]bool{
		"{}": true, `{"a":1,"b":2}`: true, "[]": false, "null": false, `""`: false, "1": false, "": false, "{": false, "{}x": false, `{"a":1,"a":2}`: false, `{"a":1,"\u0061":2}`: false,
	} {
		if _, ok := object([]byte(b64([]byte(in)))); ok != want {
			t.Errorf("object(%s) = %v", in, ok)
		}
	}
	whole := b64([]byte(`{ }`)) // three bytes: what stands behind it begins another group
	for _, bad := range []string{whole + "!", whole + "=", base64.StdEncoding.EncodeToString([]byte("{}")), "e31"} {
		if _, ok := object([]byte(bad)); ok {
			t.Errorf("object(%q)", bad)
		}
	}
	head := b64([]byte(`{"alg":"ES256"}`))
	for _, bad := range []string{head + "." + whole + "..x", head + "." + whole + "..", head + ".." + whole + ".x"} {
		if got := inspect([]byte(bad)); got != whyMalformed {
			t.Errorf("%q: %q", bad, got)
		}
	}
	for _, bad := range []string{"[]", "1", `"x"`, `{"iss":1}`, `{"exp":"x"}`, `{"nbf":-1}`, `{"iat":1e300}`, `{"scope":1}`, `{"scp":{}}`, `{"aud":7}`, `{"jti":[]}`} {
		var c claims
		if err := c.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("claims %s: %+v", bad, c)
		}
	}
	var c claims
	if err := c.UnmarshalJSON([]byte(`{"exp":0,"nbf":253402300799,"iat":0,"scope":"a b","scp":["c"]}`)); err != nil || strings.Join(c.scopes, ",") != "a,b,c" || c.other {
		t.Errorf("%+v, %v", c, err)
	}
	for typ, other := range map[string]bool{"Bearer": false, "at+JWT": false, "JWT": false, "DPoP": false, "": true, "ID": true, "Refresh": true, "access": true} {
		raw, err := json.Marshal(typ)
		if err != nil {
			t.Fatal(err)
		}
		if got := notAccess(map[string]json.RawMessage{"typ": raw}); got != other {
			t.Errorf("typ %q is of another kind: %v", typ, got)
		}
	}
	for use, other := range map[string]bool{"access": false, "at+jwt": false, "jwt": false, "dpop": false, "id": true, "bearer": true} {
		if got := notAccess(map[string]json.RawMessage{"token_use": json.RawMessage(`"` + use + `"`)}); got != other {
			t.Errorf("token_use %q is of another kind: %v", use, got)
		}
	}
}

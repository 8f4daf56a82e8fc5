package access

import (
	"context"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
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

// TestDamagedHash: a token whose hash is no SHA-256 in hex makes no policy, rather than one
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

// TestTokenRules: how a header is read, what a pass tells of its token, and that a token
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
	door := func(grant registry.JWTGrant, prev *Policy) *Policy {
		if grant.Issuer == "" {
			grant.Issuer = i.URL + "/tenant"
		}
		return compile(t, &registry.AccessDocument{Mode: registry.AccessJWT, JWT: &grant}, newKeys(t, i), prev)
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

// TestKeysAge: keys serve for ten minutes unasked and for a day when the server is away, and
// the server is asked every ten seconds at most; of each bound the last moment and the next.
func TestKeysAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		status, body := 200, []byte(nil)
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked++
			if r.Header.Get("Accept") != "application/json" {
				t.Errorf("Accept %q", r.Header.Get("Accept"))
			}
			w := httptest.NewRecorder()
			w.WriteHeader(status)
			_, _ = w.Write(body)
			return w.Result(), nil
		})}
		keySetOf := func(ids ...string) []byte {
			var keys []any
			for _, id := range ids {
				keys = append(keys, publicJWK(t, id, ecKeyOf(t, elliptic.P256())))
			}
			b, err := json.Marshal(map[string]any{"keys": keys})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		k, err := NewKeys(KeysOptions{HTTP: client})
		if err != nil {
			t.Fatal(err)
		}
		s := k.set("https://as.example", "https://as.example/jwks")
		find := func(what, id string, want error, asks int) uint64 {
			t.Helper()
			asked = 0
			_, generation, err := s.find(t.Context(), id, "ES256")
			if !errors.Is(err, want) || asked != asks {
				t.Errorf("%s: %v after %d requests; want %v after %d", what, err, asked, want, asks)
			}
			return generation
		}
		status = 500
		find("no server", "1", errNoKeys, 1)
		status, body = 200, keySetOf("1")
		find("asked again at once", "1", errNoKeys, 0)
		time.Sleep(keysPause - 1)
		find("just before the pause ends", "1", errNoKeys, 0)
		time.Sleep(time.Nanosecond)
		first := find("the pause is over", "1", nil, 1)
		time.Sleep(keysFresh)
		find("as old as fresh keys may be", "1", nil, 0)
		if got := s.current(t.Context(), time.Now()); got != first {
			t.Errorf("generation %d, want %d", got, first)
		}
		time.Sleep(time.Nanosecond)
		if got := find("older", "1", nil, 1); got != first {
			t.Errorf("the same keys are of generation %d, want %d", got, first)
		}
		time.Sleep(keysPause)
		body = keySetOf("1", "2")
		if got := find("an id that is new", "2", nil, 1); got != first+1 {
			t.Errorf("other keys are of generation %d, want %d", got, first+1)
		}
		time.Sleep(keysPause)
		find("an id that nobody has", "3", errNoKey, 1)
		find("and again", "3", errNoKey, 0)
		fetched := s.state.Load().fetched
		status = 503
		time.Sleep(keysStale - time.Since(fetched))
		find("as old as stale keys may be", "1", nil, 1)
		time.Sleep(time.Nanosecond)
		find("older than a day", "1", errNoKeys, 0)
		if got := s.current(t.Context(), time.Now()); got != 0 {
			t.Errorf("generation %d of keys that are too old", got)
		}
		// Who finds that another call was faster takes what that one got.
		known := s.state.Load()
		faster := &keyState{keys: known.keys, fetched: time.Now(), generation: 9}
		s.state.Store(faster)
		time.Sleep(keysPause)
		asked = 0
		if got := s.refresh(t.Context(), known); got != faster || asked != 0 {
			t.Errorf("%+v after %d requests", got, asked)
		}
		s.fetching.Lock()
		if got := s.refresh(t.Context(), faster); got != faster || asked != 0 {
			t.Errorf("while another call fetches: %+v after %d requests", got, asked)
		}
		s.fetching.Unlock()
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestPlacesOfMetadata: metadata counts from each of its places, and none that is not of the issuer.
func TestPlacesOfMetadata(t *testing.T) {
	answers := map[string]string{}
	k, err := NewKeys(KeysOptions{HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		if answer, ok := answers[r.URL.String()]; ok {
			_, _ = w.WriteString(answer)
		} else {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.WriteString(`{"issuer":"https://as.example","jwks_uri":"https://evil.example"}`)
		}
		return w.Result(), nil
	})}})
	if err != nil {
		t.Fatal(err)
	}
	const oauth, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	for _, c := range []struct{ issuer, at, answer, want, fault string }{
		{"https://as.example", "https://as.example" + oauth, `{"issuer":"https://as.example","jwks_uri":"https://as.example/k"}`, "https://as.example/k", ""},
		{"https://as.example", "https://as.example" + openid, `{"issuer":"https://as.example","jwks_uri":"https://as.example/k"}`, "https://as.example/k", ""},
		{"https://as.example/t", "https://as.example" + oauth + "/t", `{"issuer":"https://as.example/t","jwks_uri":"https://cdn.example/k"}`, "https://cdn.example/k", ""},
		{"https://as.example/t", "https://as.example" + openid + "/t", `{"issuer":"https://as.example/t","jwks_uri":"https://cdn.example/k"}`, "https://cdn.example/k", ""},
		{"https://as.example/t", "https://as.example/t" + openid, `{"issuer":"https://as.example/t","jwks_uri":"https://cdn.example/k"}`, "https://cdn.example/k", ""},
		{"https://as.example/t/", "https://as.example/t" + openid, `{"issuer":"https://as.example/t/","jwks_uri":"https://cdn.example/k"}`, "https://cdn.example/k", ""},
		{"http://as.example", "http://as.example" + oauth, `{"issuer":"http://as.example","jwks_uri":"http://as.example/k"}`, "http://as.example/k", ""},
		{"https://as.example", "https://as.example" + oauth, `{"issuer":"https://as.example","jwks_uri":"http://as.example/k"}`, "", "in the clear"},
		{"https://as.example", "https://as.example" + oauth, `{"issuer":"https://as.example","jwks_uri":""}`, "", "is not the metadata of an authorization server"},
		{"https://as.example", "https://as.example" + oauth, `{"issuer":"https://as.example","jwks_uri":"https://as.example/k"`, "", "is not the metadata of an authorization server"},
		{"https://as.example", "https://as.example" + oauth, `{"issuer":"https://other.example","jwks_uri":"https://as.example/k"}`, "", "of another issuer"},
		{"https://as.example", "https://as.example" + oauth, `{"jwks_uri":"https://as.example/k"}`, "", "of another issuer"},
		{"https://as.example", "", "", "", "status 404"},
		{"https://as.example/%zz", "", "", "", "reading the issuer"},
		{"https://as.example\x7f", "", "", "", "reading the issuer"},
	} {
		answers = map[string]string{c.at: c.answer}
		got, err := k.set(c.issuer, "").discover(t.Context())
		if got != c.want || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s at %s: %q, %v; want %q, %q", c.issuer, c.at, got, err, c.want, c.fault)
		}
		if _, err := k.set(c.issuer, "").fetch(t.Context()); c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("fetch of %s: %v", c.issuer, err)
		}
	}
	if _, err := k.set("x", "https://as.example\x7f").fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "asking for") {
		t.Errorf("%v", err)
	}
	k.opts.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no network") })}
	if _, err := k.set("y", "https://as.example/k").fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "no network") {
		t.Errorf("%v", err)
	}
	k.opts.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: broken{}}, nil
	})}
	if _, err := k.set("z", "https://as.example/k").fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "reading https://as.example/k") {
		t.Errorf("%v", err)
	}
	if k, err := NewKeys(KeysOptions{}); !problem.Is(err, problem.InvalidArgument) || k != nil {
		t.Errorf("without a client: %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("cut off") }
func (broken) Close() error             { return nil }

// TestWhichKeys: of a set those are taken that may verify and are whole, with their id and
// algorithm; and of those the ones that a token may name.
func TestWhichKeys(t *testing.T) {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change map[string]any) map[string]any {
		k := map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b64(public), "kid": "1"}
		maps.Copy(k, change)
		return k
	}
	long := append(append([]byte{}, public...), 1) // 33 bytes, a multiple of three
	for _, c := range []struct {
		change map[string]any
		ok     bool
	}{
		{nil, true},
		{map[string]any{"use": "sig"}, true},
		{map[string]any{"use": "enc"}, false},
		{map[string]any{"key_ops": []string{"verify"}}, true},
		{map[string]any{"key_ops": []string{"sign", "verify"}}, true},
		{map[string]any{"key_ops": []string{"encrypt"}}, false},
		{map[string]any{"key_ops": []string{"sign", "wrapKey"}}, false},
		{map[string]any{"key_ops": []string{}}, true},
		{map[string]any{"use": "enc", "key_ops": []string{"verify"}}, false},
		{map[string]any{"use": "sig", "key_ops": []string{"encrypt"}}, false},
		{map[string]any{"crv": "X25519"}, false},
		{map[string]any{"crv": ""}, false},
		{map[string]any{"x": b64(public[:31])}, false},
		{map[string]any{"x": b64(long)}, false},
		{map[string]any{"x": b64(public) + "!"}, false},
		{map[string]any{"x": ""}, false},
		{map[string]any{"kty": "oct"}, false},
		{map[string]any{"kty": ""}, false},
	} {
		b, err := json.Marshal(map[string]any{"keys": []any{with(c.change)}})
		if err != nil {
			t.Fatal(err)
		}
		if keys, err := parseKeys(b); (err == nil) != c.ok || (len(keys) == 1) != c.ok || !c.ok && !errors.Is(err, errBadKeys) {
			t.Errorf("%v: %d keys, %v", c.change, len(keys), err)
		}
	}
	good, err := json.Marshal(with(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{"", "{}", "[]", `{"keys":[]}`, `{"keys":[` + string(good) + `]`, `{"keys":[` + string(good) + `,{"kty":7}]}`} {
		if keys, err := parseKeys([]byte(doc)); !errors.Is(err, errBadKeys) || keys != nil {
			t.Errorf("%s: %v, %v", doc, keys, err)
		}
	}
	state := &keyState{keys: []key{{id: "a", public: public}, {id: "b", alg: "EdDSA", public: public}, {id: "c", alg: "ES256", public: public}, {id: "EdDSA", alg: "b", public: public}}}
	for _, c := range []struct {
		id, alg string
		n       int
	}{{"a", "EdDSA", 1}, {"b", "EdDSA", 1}, {"c", "EdDSA", 0}, {"c", "ES256", 0}, {"a", "ES256", 0}, {"", "EdDSA", 2}, {"x", "EdDSA", 0}, {"EdDSA", "b", 0}} {
		if got := state.find(c.id, c.alg); len(got) != c.n {
			t.Errorf("%q for %s: %d keys, want %d", c.id, c.alg, len(got), c.n)
		}
	}
	// What decoding stops at is refused, though what stands before it would do.
	number := b64(new(big.Int).Lsh(big.NewInt(1), 2063).Bytes()) // whole groups of base64
	if k := rsaKey(number, "AQAB"); k == nil {
		t.Error("the control")
	}
	for _, bad := range [][2]string{{number + "!", "AQAB"}, {number, "AQAB!"}, {number + "!", "AQAB!"}, {number, ""}, {"", "AQAB"}} {
		if k := rsaKey(bad[0], bad[1]); k != nil {
			t.Errorf("a key of %.10q and %q", bad[0], bad[1])
		}
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

package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/cache"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

const origin, elsewhere = "https://api.example", "https://other.example"

// keyring is a source of credentials, with what it was asked for.
type keyring struct {
	has       map[string]credentials.Credential
	refreshed map[string]credentials.Credential // by id; none: it fails
	asked     []string
}

func (k *keyring) Credential(_ context.Context, id string) (credentials.Credential, error) {
	c, ok := k.has[id]
	if !ok {
		return c, problem.New(problem.NotFound, "no credential %s", id)
	}
	return c, nil
}

func (k *keyring) Refresh(_ context.Context, id string, _ uint64) (credentials.Credential, error) {
	k.asked = append(k.asked, "refresh "+id)
	c, ok := k.refreshed[id]
	if !ok {
		return c, errors.New("the login has ended")
	}
	return c, nil
}

// withUsers is a keyring that has logins of callers, too.
type withUsers struct{ *keyring }

func (k withUsers) UserCredential(_ context.Context, id string, user registry.User, rejected uint64, scopes []string) (credentials.Credential, error) {
	k.asked = append(k.asked, "user "+id+" "+user.ID+" "+strings.Join(scopes, "+"))
	if rejected != 0 {
		if c, ok := k.refreshed[id]; ok {
			return c, nil
		}
		return credentials.Credential{}, problem.New(problem.Unauthenticated, "log in again")
	}
	return k.Credential(context.Background(), id)
}

func key(value string, version uint64, origins ...string) credentials.Credential {
	return credentials.Credential{Value: secrets.New(value), Version: version, Origins: origins}
}

func exchangeOf(t *testing.T, source credentials.Source, rules ...credentials.Rule) *exchange {
	t.Helper()
	x := newExchange()
	x.input = input{
		c: &Caller{credentials: source, log: slog.New(slog.DiscardHandler)}, ctx: t.Context(), ts: &snapshot.Toolset{ID: "ts_1", Slug: "shop", Name: "Shop"},
		tool: &snapshot.Tool{Name: "list"}, ready: &snapshot.Ready{Rules: rules}, principal: access.TokenPrincipal("ts_1", "ann"), start: time.Now(), deadline: time.Now().Add(time.Hour),
	}
	return x
}

func request(url string) *fasthttp.Request {
	req := &fasthttp.Request{}
	req.SetRequestURI(url)
	return req
}

// TestWhereCredentialsGo: each goes to an origin that it is for and to no other, also where
// no request is at hand, as with an MCP server; an operation that is served elsewhere is
// called without those that are not for there.
func TestWhereCredentialsGo(t *testing.T) {
	header := credentials.Rule{Type: credentials.Header, Name: "X-Key", ID: "a"}
	second := credentials.Rule{Type: credentials.Header, Name: "X-Second", ID: "b"}
	for name, c := range map[string]struct {
		has       map[string]credentials.Credential
		origin    string
		elsewhere bool
		kind      problem.Kind
		sent      string // of X-Key and X-Second
	}{
		"to its origin":              {map[string]credentials.Credential{"a": key("one", 1, origin), "b": key("two", 1, origin)}, origin, false, "", "one two"},
		"to another one":             {map[string]credentials.Credential{"a": key("one", 1, elsewhere), "b": key("two", 1, origin)}, origin, false, problem.Forbidden, " "},
		"the second to another":      {map[string]credentials.Credential{"a": key("one", 1, origin), "b": key("two", 1, elsewhere)}, origin, false, problem.Forbidden, "one "},
		"to nowhere":                 {map[string]credentials.Credential{"a": key("one", 1), "b": key("two", 1)}, origin, false, problem.Forbidden, " "},
		"elsewhere, where it may go": {map[string]credentials.Credential{"a": key("one", 1, elsewhere), "b": key("two", 1, origin)}, elsewhere, true, "", "one "},
		"elsewhere, none may":        {map[string]credentials.Credential{"a": key("one", 1, origin), "b": key("two", 1, origin)}, elsewhere, true, "", " "},
		"there is none":              {map[string]credentials.Credential{"a": key("one", 1, origin)}, origin, false, problem.Unauthenticated, "one "},
	} {
		for _, remote := range []bool{false, true} {
			x := exchangeOf(t, &keyring{has: c.has}, header, second)
			x.ready.Elsewhere = c.elsewhere
			var wire *fasthttp.Request
			if !remote {
				wire = request(c.origin + "/x")
			}
			b, err := x.authenticate(wire, c.origin)
			if c.kind == "" && err != nil || c.kind != "" && !problem.Is(err, c.kind) || x.missingCredential != (c.kind != "") {
				t.Errorf("%s: %v, missing %v", name, err, x.missingCredential)
			}
			var bound []string
			for i, r := range b.Rules {
				bound = append(bound, r.Name+"="+b.Values[i].Value.Reveal())
			}
			var want []string
			if first, rest, _ := strings.Cut(c.sent, " "); first != "" {
				if want = append(want, "X-Key="+first); rest != "" {
					want = append(want, "X-Second="+rest)
				}
			}
			if !slices.Equal(bound, want) {
				t.Errorf("%s: bound %q, want %q", name, bound, want)
			}
			if wire == nil {
				continue
			}
			if got := string(wire.Header.Peek("X-Key")) + " " + string(wire.Header.Peek("X-Second")); got != c.sent {
				t.Errorf("%s: sent %q, want %q", name, got, c.sent)
			}
		}
	}
}

// signer is an auth plugin that answers with a patch.
type signer struct {
	patch         string
	asked, refuse int
	refused       error
	keys          *guest.Keys
}

func (s *signer) Transform(_ context.Context, dst, _ []byte, _ *snapshot.Plugin, c *guest.Context) ([]byte, error) {
	s.asked++
	s.keys = c.Keys
	return append(dst, s.patch...), nil
}

func (s *signer) Check(_ *snapshot.Plugin, _ string, check func() error) error {
	err := check()
	if err != nil {
		s.refuse, s.refused = s.refuse+1, err
	}
	return err
}

func authPlugin() *snapshot.Plugin {
	return &snapshot.Plugin{Ref: &registry.PluginRef{Name: "sign"}, Package: &guest.Package{Manifest: &manifest.Manifest{}}}
}

// TestSignedRequests: where a plugin signs, no credential is put on the request but by it, it
// is asked only when all credentials go there, and a patch that it may not make sends nothing.
func TestSignedRequests(t *testing.T) {
	rule := credentials.Rule{Type: credentials.Header, Name: "X-Key", ID: "a"}
	sign := func(s *signer, elsewhere bool, at string) (*exchange, *fasthttp.Request, error) {
		x := exchangeOf(t, &keyring{has: map[string]credentials.Credential{"a": key("the-secret", 1, origin)}}, rule)
		x.ready.Auth, x.ready.Elsewhere = authPlugin(), elsewhere
		if s != nil {
			x.c.plugins = s
		}
		wire := request(at + "/x?a=1")
		var err error
		x.bound, err = x.authenticate(wire, at)
		return x, wire, err
	}
	if _, wire, err := sign(nil, false, origin); !problem.Is(err, problem.InvalidPlugin) || bytes.Contains(wire.Header.Header(), []byte("the-secret")) {
		t.Errorf("without plugins: %v, %s", err, wire.Header.Header())
	}
	good := &signer{patch: `{"headers":{"X-Signature":"s1"},"query":[["sig","a b&c"]]}`}
	x, wire, err := sign(good, false, origin)
	if err != nil || string(wire.Header.Peek("X-Signature")) != "s1" || string(wire.URI().QueryString()) != "a=1&sig=a%20b%26c" || wire.Header.Peek("X-Key") != nil || good.refuse != 0 {
		t.Errorf("signed: %v, %s", err, wire.Header.Header())
	}
	if left := reflect.ValueOf(good.keys).Elem().FieldByName("keys").Len(); left != 0 {
		t.Errorf("%d keys are in memory when the request was signed", left)
	}
	// On the way to another origin all of it comes off.
	x.stripCredentials().Strip(wire)
	if wire.Header.Peek("X-Signature") != nil || string(wire.URI().QueryString()) != "a=1" {
		t.Errorf("behind a redirect: %s", wire.Header.Header())
	}
	plain := exchangeOf(t, &keyring{has: map[string]credentials.Credential{"a": key("the-secret", 1, origin)}}, rule)
	wire = request(origin + "/x")
	if plain.bound, err = plain.authenticate(wire, origin); err != nil || string(wire.Header.Peek("X-Key")) != "the-secret" {
		t.Fatal(err)
	}
	if plain.stripCredentials().Strip(wire); wire.Header.Peek("X-Key") != nil {
		t.Errorf("behind a redirect: %s", wire.Header.Header())
	}
	left := &signer{}
	if _, _, err := sign(left, true, elsewhere); err != nil || left.asked != 0 {
		t.Errorf("a request without the credential was signed: %v, %d times", err, left.asked)
	}
	bad := map[string]string{`{"headers":{"X-Key":"v"},"more":1}`: "is not a patch", `{"headers":{"X-Fine":"1"},"tokens":{"X-Token":{"handle":1,"prefix":""}}}`: "a token that it has not"}
	for _, name := range []string{"Host", "content-length", "X-HTTP-Method-Override", "x-forwarded-host", "Forwarded", "X-Original-URL"} {
		bad[`{"headers":{"X-Fine":"1","`+name+`":"v"}}`] = "which belongs to the connection or gives the method"
		bad[`{"headers":{"X-Fine":"1"},"tokens":{"`+name+`":{"handle":1,"prefix":""}}}`] = "which belongs to the connection or gives the method"
	}
	for patch, why := range bad {
		s := &signer{patch: patch}
		_, wire, err := sign(s, false, origin)
		if !problem.Is(err, problem.InvalidPlugin) || s.refuse != 1 || !strings.Contains(fmt.Sprint(s.refused), why) || strings.Contains(err.Error(), "the-secret") {
			t.Errorf("%s: %v, refused %d times: %v", patch, err, s.refuse, s.refused)
		}
		if wire.Header.Peek("X-Fine") != nil {
			t.Errorf("%s: a part of it was applied", patch)
		}
	}
}

// TestHandles: a plugin gets a handle for each secret that a request carries, of a user name and
// password the name, and none for a certificate, which belongs to the connection or gives the method.
func TestHandles(t *testing.T) {
	x := exchangeOf(t, nil)
	x.ready.Auth = authPlugin()
	b := credentials.Bound{Rules: credentials.Rules{
		{Type: credentials.Certificate, ID: "c"}, {Type: credentials.Basic, ID: "b", Scheme: "login"}, {Type: credentials.Header, ID: "h"},
	}, Values: []credentials.Credential{key("PEM", 1), key("ann:pass:word", 1), key("k", 1)}}
	given, keys := x.handles(b)
	defer keys.Wipe()
	if len(given) != 2 || given[0].Handle != 1 || given[0].Type != "basic" || given[0].Username != "ann" || given[0].Scheme != "login" || given[1].Handle != 2 || given[1].Type != "header" || given[1].Username != "" {
		t.Errorf("%+v", given)
	}
	var signs []string // what a plugin signs with: of a password not the name
	for i := range 2 {
		signs = append(signs, string(reflect.ValueOf(keys).Elem().FieldByName("keys").Index(i).FieldByName("bytes").Bytes()))
	}
	if !slices.Equal(signs, []string{"pass:word", "k"}) {
		t.Errorf("it signs with %q", signs)
	}
	for range guest.MaxSecrets + 1 {
		b.Rules, b.Values = append(b.Rules, credentials.Rule{Type: credentials.Header}), append(b.Values, key("k", 1))
	}
	if given, _ := x.handles(b); len(given) != guest.MaxSecrets {
		t.Errorf("%d handles, want %d", len(given), guest.MaxSecrets)
	}
}

// TestRenewTokens: a refused access token is replaced once by one of another version, that of
// a caller by the caller's own; nothing else is replaced, and a request that was redirected
// or signed is not sent again.
func TestRenewTokens(t *testing.T) {
	rule := credentials.Rule{Type: credentials.Token, ID: "a"}
	own := rule
	own.User = true
	newer := map[string]credentials.Credential{"a": key("new", 2, origin)}
	for name, c := range map[string]struct {
		rule      credentials.Rule
		refreshed map[string]credentials.Credential
		plain     bool // the source cannot refresh
		change    func(x *exchange)
		status    int
		want      bool
		asked     string
	}{
		"a token":                      {rule, newer, false, nil, 401, true, "refresh a"},
		"another status":               {rule, newer, false, nil, 403, false, ""},
		"redirected":                   {rule, newer, false, func(x *exchange) { x.http.Redirects = 1 }, 401, false, ""},
		"signed":                       {rule, newer, false, func(x *exchange) { x.ready.Auth = authPlugin() }, 401, false, ""},
		"the same version":             {rule, map[string]credentials.Credential{"a": key("old", 1, origin)}, false, nil, 401, false, "refresh a"},
		"it fails":                     {rule, nil, false, nil, 401, false, "refresh a"},
		"for another origin":           {rule, map[string]credentials.Credential{"a": key("new", 2, elsewhere)}, false, nil, 401, false, "refresh a"},
		"a key":                        {credentials.Rule{Type: credentials.Bearer, ID: "a"}, newer, false, nil, 401, false, ""},
		"a source without":             {rule, newer, true, nil, 401, false, ""},
		"of the caller":                {own, newer, false, nil, 401, true, "user a ann "},
		"of the caller, who must act":  {own, nil, false, nil, 401, false, "user a ann "},
		"of an MCP server, no request": {rule, newer, false, func(x *exchange) { x.wire = nil }, 401, true, "refresh a"},
	} {
		ring := &keyring{refreshed: c.refreshed}
		x := exchangeOf(t, withUsers{ring}, c.rule)
		if c.plain {
			x.c.credentials = struct{ credentials.Source }{ring}
		}
		x.wire = request(origin + "/x")
		x.bound = credentials.Bound{Rules: credentials.Rules{c.rule}, Values: []credentials.Credential{key("old", 1, origin)}}
		wire := x.wire
		if c.change != nil {
			c.change(x)
		}
		if got := x.renew(c.status); got != c.want || strings.Join(ring.asked, ",") != c.asked {
			t.Errorf("%s: renewed %v, want %v; asked for %q", name, got, c.want, ring.asked)
		}
		value, header := "old", ""
		if c.want {
			value = "new"
			if x.wire != nil {
				header = "Bearer new"
			}
		}
		if x.bound.Values[0].Value.Reveal() != value || string(wire.Header.Peek("Authorization")) != header {
			t.Errorf("%s: the value is %s, the header %q", name, x.bound.Values[0].Value.Reveal(), wire.Header.Peek("Authorization"))
		}
		if (x.mustLogin != nil) != (name == "of the caller, who must act") {
			t.Errorf("%s: must log in: %v", name, x.mustLogin)
		}
	}
}

// TestClientCertificate: a connection shows the certificate of the call, told apart by its
// version: one that was replaced is not used on.
func TestClientCertificate(t *testing.T) {
	x := exchangeOf(t, nil)
	x.bound = credentials.Bound{Rules: credentials.Rules{{Type: credentials.Header, ID: "h"}}, Values: []credentials.Credential{key("k", 3)}}
	if c := x.clientCertificate(); c != nil {
		t.Errorf("%+v of a key", c)
	}
	x.bound.Rules, x.bound.Values = append(x.bound.Rules, credentials.Rule{Type: credentials.Certificate, ID: "c"}), append(x.bound.Values, key("PEM", 7))
	if c := x.clientCertificate(); c == nil || c.ID != "c" || c.Version != 7 || c.PEM.Reveal() != "PEM" {
		t.Errorf("%+v", c)
	}
}

// TestWhoCalls: a login belongs to a token of one toolset, or to a subject of one issuer.
func TestWhoCalls(t *testing.T) {
	for p, want := range map[access.Principal]registry.User{
		access.TokenPrincipal("ts_1", "ann"):             {Kind: registry.UserToken, ID: "ann", Toolset: "ts_1"},
		access.JWTPrincipal("https://id.example", "ann"): {Kind: registry.UserJWT, ID: "ann", Issuer: "https://id.example"},
		{}: {},
	} {
		x := exchangeOf(t, nil)
		x.principal = p
		if got := x.user(); got != want {
			t.Errorf("%s: %+v, want %+v", p.Kind(), got, want)
		}
	}
	x := exchangeOf(t, &keyring{})
	if _, err := x.userCredential("a", 0, nil); !problem.Is(err, problem.Unavailable) {
		t.Errorf("a node that keeps no logins: %v", err)
	}
	x.bound.Rules = credentials.Rules{{Type: credentials.Token}}
	if x.personal() {
		t.Error("a toolset's token is a caller's")
	}
	if x.bound.Rules = append(x.bound.Rules, credentials.Rule{Type: credentials.Token, User: true}); !x.personal() {
		t.Error("a caller's token is nobody's")
	}
}

// TestStepUp: only an upstream that says which scopes it wants has a login begun for them,
// by the caller where the token is the caller's.
func TestStepUp(t *testing.T) {
	wants := `Bearer error="insufficient_scope", scope="read write"`
	for name, c := range map[string]struct {
		challenge string
		rule      credentials.Rule
		says      string // of the remedy, or of what the source was asked
	}{
		"of the toolset": {wants, credentials.Rule{Type: credentials.Token, ID: "a"}, "login --scope read,write"},
		"of the caller":  {wants, credentials.Rule{Type: credentials.Token, ID: "a", User: true}, "user a ann read+write"},
		"a key":          {wants, credentials.Rule{Type: credentials.Bearer, ID: "a"}, ""},
		"another error":  {`Bearer error="invalid_token", scope="read"`, credentials.Rule{Type: credentials.Token, ID: "a"}, ""},
		"no scopes":      {`Bearer error="insufficient_scope"`, credentials.Rule{Type: credentials.Token, ID: "a"}, ""},
		"no challenge":   {"", credentials.Rule{Type: credentials.Token, ID: "a"}, ""},
	} {
		ring := &keyring{}
		x := exchangeOf(t, withUsers{ring})
		x.bound.Rules = credentials.Rules{c.rule}
		err := x.stepUp(c.challenge)
		got := strings.Join(ring.asked, ",")
		if p := problem.As(err); p != nil && !c.rule.User {
			got += p.Remedy
		}
		if (err != nil) != (c.says != "") || !strings.Contains(got, c.says) || c.says == "" && got != "" {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
	header := &copiedHeaders{}
	for status, want := range map[int]bool{401: false, 403: true, 200: false} {
		r := received{status: status, header: header}
		if got := r.challenge(); got != "" {
			t.Errorf("%d: %q of no header (%v)", status, got, want)
		}
	}
}

// TestSettleLogin: a client that can open a page is asked to once; every other caller is told
// the link.
func TestSettleLogin(t *testing.T) {
	const able = `{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}`
	login := func(url string) *problem.Error {
		return problem.As(problem.New(problem.Unauthenticated, "you must log in").Because(&registry.LoginError{URL: url}))
	}
	for name, c := range map[string]struct {
		p       *problem.Error
		request *mcp.CallParams
		settled bool
		link    string
		missing bool
	}{
		"another problem":      {problem.New(problem.Timeout, "late"), &mcp.CallParams{Version: mcp.V20260728, Meta: jsonscan.Trusted([]byte(able))}, false, "", false},
		"no page":              {login(""), &mcp.CallParams{Version: mcp.V20260728, Meta: jsonscan.Trusted([]byte(able))}, false, "", true},
		"able":                 {login("https://s/l"), &mcp.CallParams{Version: mcp.V20260728, Meta: jsonscan.Trusted([]byte(able))}, true, "https://s/l", true},
		"of an older revision": {login("https://s/l"), &mcp.CallParams{Version: mcp.V20251125, Meta: jsonscan.Trusted([]byte(able))}, false, "https://s/l", true},
		"not able":             {login("https://s/l"), &mcp.CallParams{Version: mcp.V20260728, Meta: jsonscan.Trusted([]byte(`{}`))}, false, "https://s/l", true},
		"completion":           {login("https://s/l"), &mcp.CallParams{Version: mcp.V20260728, Method: mcp.MethodComplete, Meta: jsonscan.Trusted([]byte(able))}, false, "https://s/l", true},
		"asked before":         {login("https://s/l"), &mcp.CallParams{Version: mcp.V20260728, Meta: jsonscan.Trusted([]byte(able)), InputResponses: jsonscan.Trusted([]byte(`{"sluice_login":{}}`))}, false, "https://s/l", true},
		"no client":            {login("https://s/l"), nil, false, "https://s/l", true},
	} {
		x := exchangeOf(t, nil)
		x.request = c.request
		got := x.settleLogin(c.p)
		if got != c.settled || x.settled != c.settled || x.link != c.link || x.missingCredential != c.missing || c.request != nil && c.request.InputRequired != c.settled {
			t.Errorf("%s: settled %v, link %q, missing %v", name, got, x.link, x.missingCredential)
		}
		if c.settled && string(x.members) != `"inputRequests":{"sluice_login":{"method":"elicitation/create","params":{"mode":"url","message":"Log in to use Shop: you must log in.","url":"https://s/l"}}}` {
			t.Errorf("%s: %s", name, x.members)
		}
	}
}

// TestAnswersForServer: what a client answered to our question goes to no server.
func TestAnswersForServer(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"b":{"c":2}}`: `{"a":1,"b":{"c":2}}`, `{"a":1,"sluice_login":{"x":1},"b":2}`: `{"a":1,"b":2}`, `{"sluice_login":{}}`: "", `{}`: `{}`,
		`{"sluice_login":1,"sluice_login":2,"a":3}`: `{"a":3}`,
	} {
		if _, got := answersForServer([]byte("kept"), jsonscan.Trusted([]byte(in))); string(got) != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// answered is the headers of an answer.
type answered map[string]string

func (a answered) Header(name string) []byte { return []byte(a[name]) }

// TestWhatIsKept: an answer is kept for calls that are the same only when it is whole, came
// from where it was asked for and may be kept, and as a copy; only calls that change nothing
// look for one.
func TestWhatIsKept(t *testing.T) {
	fresh := answered{"Cache-Control": "max-age=60"}
	for name, c := range map[string]struct {
		status, redirects int
		header            answered
		kept              bool
	}{
		"an answer":         {200, 0, fresh, true},
		"redirected":        {200, 1, fresh, false},
		"an error":          {404, 0, fresh, false},
		"without a body":    {204, 0, fresh, false},
		"not to be kept":    {200, 0, answered{"Cache-Control": "no-store"}, false},
		"with a cookie":     {200, 0, answered{"Cache-Control": "max-age=60", "Set-Cookie": "a=b"}, false},
		"of any variant":    {200, 0, answered{"Vary": "*"}, false},
		"by the toolset":    {200, 0, answered{}, true},
		"already no longer": {200, 0, answered{"Cache-Control": "max-age=0"}, false},
	} {
		kept, x := cache.New(1<<20, nil, nil), exchangeOf(t, nil)
		x.c.kept, x.ready.Method, x.ready.Safe, x.ts.CacheTTL, x.tool.Binding = kept, "GET", true, time.Minute, &snapshot.Binding{Digest: "sha256:1"}
		x.url = []byte(origin + "/x")
		entry, flight, err := x.lookUp()
		if entry != nil || flight == nil || err != nil {
			t.Fatalf("%s: the first call finds %v, %v, %v", name, entry, flight, err)
		}
		x.flight, x.http.Redirects = flight, c.redirects
		body := []byte(`{"a":1}`)
		x.remember(&received{status: c.status, contentType: []byte("application/json"), body: body, header: c.header})
		copy(body, "another") // the memory serves another call
		if e := flight.Entry(); (e != nil) != c.kept || e != nil && (string(e.Body) != `{"a":1}` || e.Status != 200 || string(e.ContentType) != "application/json") {
			t.Errorf("%s: %+v is shared, want %v", name, e, c.kept)
		}
		x.leave()
		kept.Wait()
		if e := kept.Get(x.cacheKey, time.Now()); (e != nil) != c.kept {
			t.Errorf("%s: %+v is kept, want %v", name, e, c.kept)
		}
		for what, change := range map[string]func(){"an unsafe method": func() { x.ready.Safe = false }, "a toolset that keeps nothing": func() { x.ready.Safe, x.ts.CacheTTL = true, 0 }} {
			change()
			if e, f, err := x.lookUp(); e != nil || f != nil || err != nil {
				t.Errorf("%s: %s looks for an answer: %v, %v, %v", name, what, e, f, err)
			}
		}
		kept.Close()
	}
}

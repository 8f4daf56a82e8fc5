package credentials

import (
	"bufio"
	"bytes"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

const key = "s3cr3t-key"

func wire(t *testing.T, req *fasthttp.Request) string {
	t.Helper()
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	if err := req.Write(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestApply(t *testing.T) {
	f := func(r Rule, c Credential, uri, want string) {
		t.Helper()
		req := fasthttp.AcquireRequest()
		defer fasthttp.ReleaseRequest(req)
		req.SetRequestURI(uri)
		c.Origins = registry.Origins{"http://h"}
		req.Header.Set("X-Key", "from the agent")
		if err := r.Apply(req, c); err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		if got := wire(t, req); !strings.Contains(got, want+"\r\n") {
			t.Fatalf("%+v sent\n%swithout %q", r, got, want)
		}
		r.Strip(req)
		if got := wire(t, req); strings.Contains(got, key) || strings.Contains(got, "Authorization") {
			t.Fatalf("%+v left a secret after Strip:\n%s", r, got)
		}
	}
	k := secrets.New(key)
	f(Rule{Type: Header, Name: "Authorization", Prefix: "Bearer "}, Credential{Value: k}, "http://h/", "Authorization: Bearer "+key)
	f(Rule{Type: Header, Name: "X-Key"}, Credential{Value: k}, "http://h/", "X-Key: "+key)
	f(Rule{Type: Header, Name: "Authorization", Prefix: "token="}, Credential{Value: k}, "http://h/", "Authorization: token="+key)
	f(Rule{Type: Query, Name: "api_key"}, Credential{Value: k}, "http://h/a?b=%2F&c", "GET /a?b=%2F&c&api_key="+key+" HTTP/1.1")
	f(Rule{Type: Query, Name: "api_key"}, Credential{Value: k}, "http://h/a?api%5Fkey=mine&b=1", "GET /a?b=1&api_key="+key+" HTTP/1.1")
	f(Rule{Type: Cookie, Name: "sid"}, Credential{Value: k}, "http://h/", "Cookie: sid="+key)
	f(Rule{Type: Basic}, Credential{Value: secrets.New("Aladdin:open sesame")}, "http://h/",
		"Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==") // RFC 7617 §2
	f(Rule{Type: Bearer}, Credential{Value: k}, "http://h/", "Authorization: Bearer "+key)
	f(Rule{Type: Token}, Credential{Value: k}, "http://h/", "Authorization: Bearer "+key)
}

func TestApplyNone(t *testing.T) {
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	req.SetRequestURI("http://h/?a=1")
	before := wire(t, req)
	if err := (Rule{}).Apply(req, Credential{Value: secrets.New(key)}); err != nil {
		t.Fatal(err)
	}
	if got := wire(t, req); got != before {
		t.Fatalf("sent %q, want %q", got, before)
	}
}

func TestApplyRefuses(t *testing.T) {
	f := func(r Rule, c Credential) {
		t.Helper()
		req := fasthttp.AcquireRequest()
		defer fasthttp.ReleaseRequest(req)
		req.SetRequestURI("http://h/")
		c.Origins = registry.Origins{"http://h"}
		err := r.Apply(req, c)
		if !problem.Is(err, problem.Unauthenticated) {
			t.Fatalf("%+v: %v, want unauthenticated", r, err)
		}
		if strings.Contains(err.Error(), "evil") {
			t.Fatalf("the value is in the error: %v", err)
		}
		if got := wire(t, req); strings.Contains(got, "evil") {
			t.Fatalf("sent %q", got)
		}
	}
	for _, v := range []string{"evil\r\nX-Evil: 1", "evil\x00", "evilé", "evil "} {
		f(Rule{Type: Header, Name: "X-Key"}, Credential{Value: secrets.New(v)})
		f(Rule{Type: Bearer}, Credential{Value: secrets.New(v)})
		f(Rule{Type: Cookie, Name: "sid"}, Credential{Value: secrets.New(v)})
	}
	// One character each, so that no rule hides behind another.
	for _, c := range "\x00\x1f \x7f\u0080\",;\\" {
		f(Rule{Type: Cookie, Name: "sid"}, Credential{Value: secrets.New("evil" + string(c) + "a=b")})
	}
	f(Rule{Type: Header, Name: "X-Key", Prefix: "Bearer "}, Credential{})
	f(Rule{Type: Query, Name: "k"}, Credential{})
	f(Rule{Type: Cookie, Name: "k"}, Credential{})
	f(Rule{Type: Basic}, Credential{})
	f(Rule{Type: Bearer}, Credential{})
	f(Rule{Type: Token}, Credential{})
	f(Rule{Type: Certificate}, Credential{})
}

// TestApplyElsewhere: a credential is put on requests to its own origins only, and one
// without origins on none.
func TestApplyElsewhere(t *testing.T) {
	rules := Rules{
		{Type: Header, Name: "X-Key"}, {Type: Query, Name: "api_key"}, {Type: Cookie, Name: "sid"}, {Type: Basic}, {Type: Bearer}, {Type: Token}, {Type: Certificate},
	}
	f := func(uri string, allowed bool, origins ...string) {
		t.Helper()
		for _, r := range rules {
			req := fasthttp.AcquireRequest()
			req.SetRequestURI(uri)
			before := wire(t, req)
			err := r.Apply(req, Credential{Value: secrets.New(key), Origins: origins})
			if allowed != (err == nil) || err != nil && !problem.Is(err, problem.Forbidden) || err != nil && strings.Contains(err.Error(), key) {
				t.Errorf("%s of %v to %s: %v", r, origins, uri, err)
			}
			if got := wire(t, req); !allowed && got != before {
				t.Errorf("%s of %v to %s: sent %s", r, origins, uri, got)
			}
			fasthttp.ReleaseRequest(req)
		}
	}
	f("http://h/", true, "http://h")
	f("http://H:80/x", true, "http://other", "http://h")
	f("https://h/", true, "https://h")
	f("http://h/", false)
	f("http://h/", false, "")
	f("http://h/", false, "https://h")
	f("https://h/", false, "http://h")
	f("http://h:8080/", false, "http://h")
	f("http://h.evil/", false, "http://h")
	f("http://evil/?x=http://h", false, "http://h")
	f("http://h@evil/", false, "http://h")
}

// TestStripRepeated: what a server repeats of a credential in the address that it
// redirects to does not go there, by whatever name.
func TestStripRepeated(t *testing.T) {
	for uri, want := range map[string]string{
		"http://evil/x?a=1&api_key=" + key + "&b=%2F": "http://evil/x?a=1&b=%2F",
		"http://evil/x?token=" + key:                  "http://evil/x?token=" + secrets.Redacted,
		"http://evil/" + key + "/x":                   "http://evil/" + secrets.Redacted + "/x",
		"http://evil/x?a=%2F&b":                       "http://evil/x?a=%2F&b",
	} {
		req := fasthttp.AcquireRequest()
		req.SetRequestURI(uri)
		b := &Bound{Rules: Rules{{Type: Query, Name: "api_key"}}, Values: []Credential{{Value: secrets.New(key)}}}
		b.Strip(req)
		if got := wire(t, req); strings.Contains(got, key) {
			t.Errorf("%s: sent %s", uri, got)
		}
		if got, err := url.QueryUnescape(string(req.URI().FullURI())); err != nil || got != strings.ReplaceAll(want, "%2F", "/") {
			t.Errorf("%s becomes %s, want %s; %v", uri, got, want, err)
		}
		fasthttp.ReleaseRequest(req)
	}
}

func TestCompile(t *testing.T) {
	f := func(s *registry.AuthShape, want ...Rule) {
		t.Helper()
		got, err := Compile(s)
		if err != nil || !slices.Equal(got, Rules(want)) {
			t.Fatalf("Compile(%+v) = %+v, %v; want %+v", s, got, err, want)
		}
	}
	f(nil)
	f(&registry.AuthShape{Type: registry.AuthNone})
	f(&registry.AuthShape{Type: registry.AuthHeader, HeaderName: "X-Key", HeaderPrefix: "p ", CredentialID: "c1"},
		Rule{Type: Header, Name: "X-Key", Prefix: "p ", ID: "c1"})
	f(&registry.AuthShape{Type: registry.AuthList, Items: []registry.AuthShape{
		{Type: registry.AuthQuery, ParameterName: "k", CredentialID: "a", Scheme: "s"},
		{Type: registry.AuthCookie, CookieName: "sid", CredentialID: "b"},
		{Type: registry.AuthBasic, CredentialID: "c"},
		{Type: registry.AuthBearer, CredentialID: "d"},
		{Type: registry.AuthOAuth2, CredentialID: "e"},
		{Type: registry.AuthOIDC, CredentialID: "f"},
		{Type: registry.AuthMTLS, CredentialID: "g"},
	}}, Rule{Type: Query, Name: "k", ID: "a", Scheme: "s"}, Rule{Type: Cookie, Name: "sid", ID: "b"}, Rule{Type: Basic, ID: "c"},
		Rule{Type: Bearer, ID: "d"}, Rule{Type: Token, ID: "e"}, Rule{Type: Token, ID: "f"}, Rule{Type: Certificate, ID: "g"})
	if _, err := Compile(&registry.AuthShape{Type: "magic"}); !problem.Is(err, problem.Unsupported) {
		t.Fatalf("unknown type: %v", err)
	}
}

func TestRedact(t *testing.T) {
	f := func(r Rule, value, in, want string) {
		t.Helper()
		if got := string(r.Redact([]byte(in), Credential{Value: secrets.New(value)})); got != want {
			t.Errorf("%v: Redact(%s) = %s, want %s", r, in, got, want)
		}
	}
	f(Rule{Type: Header, Name: "X"}, "12345678", `{"you sent":"12345678"}`, `{"you sent":"[redacted]"}`)
	f(Rule{Type: Bearer}, "1234567", `{"n":1234567}`, `{"n":1234567}`) // too short to be looked for
	f(Rule{Type: Token}, "12345678", "x12345678x", "x[redacted]x")
	f(Rule{Type: Basic}, "Aladdin:open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ== open sesame Aladdin", "Basic [redacted] [redacted] Aladdin")
	in := []byte("nothing here")
	if got := (Rule{Type: Query}).Redact(in, Credential{Value: secrets.New("12345678")}); &got[0] != &in[0] {
		t.Fatal("a body without secrets was copied")
	}
}

func TestFor(t *testing.T) {
	key, user, extra := Rule{Type: Header, ID: "key", Scheme: "key"}, Rule{Type: Basic, ID: "user", Scheme: "user"}, Rule{Type: Query, ID: "extra"}
	f := func(rules Rules, security []operation.Requirement, declared bool, want ...Rule) {
		t.Helper()
		if got := rules.For(security, declared); !slices.Equal(got, Rules(want)) {
			t.Errorf("%v for %q = %v, want %v", rules, security, got, Rules(want))
		}
	}
	type alternatives = []operation.Requirement
	both := Rules{key, user}
	f(nil, alternatives{{"key"}}, true)
	f(both, nil, true, key, user)                           // the specification does not say
	f(both, alternatives{}, false, key, user)               // it cannot say
	f(both, alternatives{}, true)                           // security: []
	f(both, alternatives{{"key"}}, true, key)               // one
	f(both, alternatives{{"user"}, {"key"}}, true, user)    // the first of two
	f(both, alternatives{{"other"}, {"key"}}, true, key)    // the first that is configured
	f(both, alternatives{{"user", "key"}}, true, key, user) // both together
	f(Rules{key}, alternatives{{"user", "key"}}, true)      // one of two is not enough
	f(both, alternatives{{"key", "other"}, {"user"}}, true, user)
	f(both, alternatives{{}, {"key"}}, true, key)       // optional: used when configured
	f(both, alternatives{{}, {"other"}}, true)          // optional: not configured
	f(Rules{extra}, alternatives{{"key"}}, true, extra) // bound to no scheme
	f(Rules{extra}, alternatives{{}}, true, extra)
	f(Rules{extra}, alternatives{}, true)
	f(Rules{key, extra}, alternatives{{"key"}}, true, extra, key)
	f(Rules{key, extra}, alternatives{{"other"}}, true, extra)
}

func TestRulesStrings(t *testing.T) {
	f := func(r Rule, want string) {
		t.Helper()
		if got := r.String(); got != want {
			t.Errorf("%#v: %s, want %s", r, got, want)
		}
	}
	f(Rule{}, "nothing")
	f(Rule{Type: Header, Name: "X"}, "header X without a prefix")
	f(Rule{Type: Header, Name: "X", Prefix: "Bearer "}, `header X with the prefix "Bearer " (with its trailing space)`)
	f(Rule{Type: Header, Name: "X", Prefix: "key="}, `header X with the prefix "key=" (without a trailing space)`)
	f(Rule{Type: Query, Name: "k"}, "query parameter k")
	f(Rule{Type: Cookie, Name: "k"}, "cookie k")
	f(Rule{Type: Certificate}, "client certificate")
	if got := (Rules{{Type: Query, Name: "k"}, {Type: Cookie, Name: "c"}}).String(); got != "query parameter k and cookie c" {
		t.Error(got)
	}
	if got := (Rules{}).String(); got != "nothing" {
		t.Error(got)
	}
}

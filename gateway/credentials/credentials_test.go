package credentials

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
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
	f(Rule{Type: Header, Name: "Authorization", Prefix: "Bearer "}, Credential{APIKey: k}, "http://h/", "Authorization: Bearer "+key)
	f(Rule{Type: Header, Name: "X-Key"}, Credential{APIKey: k}, "http://h/", "X-Key: "+key)
	f(Rule{Type: Header, Name: "Authorization", Prefix: "token="}, Credential{APIKey: k}, "http://h/", "Authorization: token="+key)
	f(Rule{Type: Query, Name: "api_key"}, Credential{APIKey: k}, "http://h/a?b=%2F&c", "GET /a?b=%2F&c&api_key="+key+" HTTP/1.1")
	f(Rule{Type: Query, Name: "api_key"}, Credential{APIKey: k}, "http://h/a?api%5Fkey=mine&b=1", "GET /a?b=1&api_key="+key+" HTTP/1.1")
	f(Rule{Type: Cookie, Name: "sid"}, Credential{APIKey: k}, "http://h/", "Cookie: sid="+key)
	f(Rule{Type: Basic}, Credential{Username: "Aladdin", Password: secrets.New("open sesame")}, "http://h/",
		"Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==") // RFC 7617 §2
	f(Rule{Type: Bearer}, Credential{Token: k}, "http://h/", "Authorization: Bearer "+key)
}

func TestApplyNone(t *testing.T) {
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	req.SetRequestURI("http://h/?a=1")
	before := wire(t, req)
	if err := (Rule{}).Apply(req, Credential{APIKey: secrets.New(key)}); err != nil {
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
		f(Rule{Type: Header, Name: "X-Key"}, Credential{APIKey: secrets.New(v)})
		f(Rule{Type: Bearer}, Credential{Token: secrets.New(v)})
		f(Rule{Type: Cookie, Name: "sid"}, Credential{APIKey: secrets.New(v)})
	}
	f(Rule{Type: Cookie, Name: "sid"}, Credential{APIKey: secrets.New("evil; a=b")})
	f(Rule{Type: Header, Name: "X-Key", Prefix: "Bearer "}, Credential{})
	f(Rule{Type: Query, Name: "k"}, Credential{})
	f(Rule{Type: Cookie, Name: "k"}, Credential{})
	f(Rule{Type: Basic}, Credential{})
	f(Rule{Type: Bearer}, Credential{})
}

func TestCompile(t *testing.T) {
	f := func(s *registry.AuthShape, want Rule) {
		t.Helper()
		got, err := Compile(s)
		if err != nil || got != want {
			t.Fatalf("Compile(%+v) = %+v, %v; want %+v", s, got, err, want)
		}
	}
	f(nil, Rule{})
	f(&registry.AuthShape{Type: registry.AuthNone}, Rule{})
	f(&registry.AuthShape{Type: registry.AuthHeader, HeaderName: "X-Key", HeaderPrefix: "p ", CredentialID: "c1"},
		Rule{Type: Header, Name: "X-Key", Prefix: "p ", ID: "c1"})
	if _, err := Compile(&registry.AuthShape{Type: "magic"}); !problem.Is(err, problem.Unsupported) {
		t.Fatalf("unknown type: %v", err)
	}
}

func TestRedact(t *testing.T) {
	c := Credential{APIKey: secrets.New("12345678"), Token: secrets.New("1234567")}
	if got := string(c.Redact([]byte(`{"you sent":"12345678","n":1234567}`))); got != `{"you sent":"[redacted]","n":1234567}` {
		t.Fatalf("Redact = %s", got)
	}
	in := []byte("nothing here")
	if got := c.Redact(in); &got[0] != &in[0] {
		t.Fatal("a body without secrets was copied")
	}
}

package oidc

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

func TestConfig(t *testing.T) {
	f := func(c Config, fault string) {
		t.Helper()
		err := c.Check()
		if fault == "" && err != nil || fault != "" && (!problem.Is(err, problem.InvalidArgument) || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%+v: %v, want %q", c, err, fault)
		}
	}
	many := func(n int) map[string]string {
		roles := make(map[string]string, n)
		for i := range n {
			roles[strings.Repeat("g", i+1)] = "viewer"
		}
		return roles
	}
	f(Config{}, "")
	f(Config{ClientID: "x"}, "no issuer")
	f(Config{Issuer: "https://id.example", ClientID: "x"}, "")
	f(Config{Issuer: "http://id.example", ClientID: "x"}, "not https")
	f(Config{Issuer: "http://localhost:8080", ClientID: "x"}, "")
	f(Config{Issuer: "https://a:b@id.example", ClientID: "x"}, "not an https URL")
	f(Config{Issuer: "id.example", ClientID: "x"}, "not an https URL")
	f(Config{Issuer: "https://id.example"}, "no client ID")
	f(Config{Issuer: "https://id.example", ClientID: "x", Roles: map[string]string{"a": "owner"}}, "cannot have the role")
	f(Config{Issuer: "https://id.example", ClientID: "x", Roles: many(maxRoles)}, "")
	f(Config{Issuer: "https://id.example", ClientID: "x", Roles: many(maxRoles + 1)}, "groups have a role")
	c := Config{Issuer: "https://id.example/x", ClientID: "x", Roles: map[string]string{"a": "viewer", "b": "admin"}}
	if err := c.Check(); err != nil || c.Name != "id.example" || c.GroupsClaim != "groups" || strings.Join(c.Scopes, " ") != "openid email profile groups" {
		t.Errorf("completed %+v, %v", c, err)
	}
	if got := c.roleOf([]string{"b", "a", "c"}); got != "admin" {
		t.Errorf("the highest role is %q", got)
	}
}

func TestClaims(t *testing.T) {
	m := &Room{o: Options{Config: Config{GroupsClaim: "groups"}}}
	f := func(document, email string, verified bool, groups string) {
		t.Helper()
		from := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(document), &from); err != nil {
			t.Fatal(err)
		}
		if c := m.read(from); c.email != email || c.verified != verified || strings.Join(c.groups, ",") != groups {
			t.Errorf("%s: read %+v", document, c)
		}
	}
	f(`{"email":"a@b.c","email_verified":true,"groups":["x","y"]}`, "a@b.c", true, "x,y")
	f(`{"email":"a@b.c","email_verified":"true","groups":"x"}`, "a@b.c", true, "x")
	f(`{"email":"a@b.c","email_verified":false,"groups":{"x":1}}`, "a@b.c", false, "")
	f(`{"email":["a@b.c"],"email_verified":1,"groups":[1]}`, "", false, "")
	f(`{}`, "", false, "")
}

func TestLocal(t *testing.T) {
	long := "/" + strings.Repeat("x", maxBack-1)
	for back, want := range map[string]string{
		"/": "/", "/toolsets?a=b": "/toolsets?a=b", "": "/", "//evil": "/", "/\\evil": "/", "https://evil": "/", "toolsets": "/", "/a\nb": "/", long: long, long + "x": "/",
	} {
		if got := local(back); got != want {
			t.Errorf("%.40q leads to %.40q, want %.40q", back, got, want)
		}
	}
}

// TestBounds: of what comes from outside no more is read than is needed.
func TestBounds(t *testing.T) {
	size := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", size)) }))
	defer srv.Close()
	m, err := New(Options{HTTP: &http.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	for size = maxAnswer; size <= maxAnswer+1; size++ {
		res, err := m.o.HTTP.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || len(b) != maxAnswer {
			t.Errorf("of %d bytes %d are read, %v", size, len(b), err)
		}
	}
	for _, n := range []int{maxKept, maxKept + 1} {
		if _, err := m.open(secrets.New(strings.Repeat("A", n))); !problem.Is(err, problem.Unauthenticated) {
			t.Errorf("a cookie of %d bytes: %v", n, err)
		}
	}
}

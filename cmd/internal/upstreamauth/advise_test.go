package upstreamauth

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/login/credential"
)

// TestAdvise: the command that is printed sets all that a call needs at once, with the least
// effort.
func TestAdvise(t *testing.T) {
	header := func(id, name string, with ...string) credential.AuthMethod {
		return credential.AuthMethod{ID: id, Operations: 3, With: with, Suggestion: &credential.Suggest{AuthType: "header", HeaderName: name}}
	}
	login := credential.AuthMethod{ID: "login", Operations: 3, Suggestion: &credential.Suggest{
		AuthType: "oauth2", Grant: "authorization_code", AuthorizationURL: "https://a.example/go", TokenURL: "https://a.example/token",
	}}
	one := header("key", "X-Key")
	one.Operations = 1
	unused := header("old", "X-Old")
	unused.Operations = 0
	for _, c := range []struct {
		methods []credential.AuthMethod
		want    string
	}{
		{[]credential.AuthMethod{login, header("key", "X-Key")}, "! 3 tools take a key: sluice toolset auth acme set --auth header:X-Key --api-key-file FILE"},
		{[]credential.AuthMethod{unused, login}, "! 3 tools need authentication: sluice toolset auth acme set --auth oauth2:CLIENT_ID --grant authorization_code --authorization-url https://a.example/go --token-url https://a.example/token --api-key-file FILE"},
		{[]credential.AuthMethod{unused}, "! no tool requires authentication; if the API does: sluice toolset auth acme set --auth header:X-Old --api-key-file FILE"},
		{[]credential.AuthMethod{one}, "! 1 tool takes a key: sluice toolset auth acme set --auth header:X-Key --api-key-file FILE"},
		{
			[]credential.AuthMethod{header("id", "X-Id", "secret", "gone"), header("secret", "X-Secret", "id")},
			"! 3 tools take several keys together: sluice toolset auth acme set --auth header:X-Id --api-key-file FILE --auth header:X-Secret --api-key-file FILE",
		},
		{[]credential.AuthMethod{login}, "! 3 tools need authentication: sluice toolset auth acme set --auth oauth2:CLIENT_ID --grant authorization_code --authorization-url https://a.example/go --token-url https://a.example/token --api-key-file FILE"},
		{
			[]credential.AuthMethod{header("id", "X-Id", "login"), login},
			"! 3 tools need authentication: sluice toolset auth acme set --auth header:X-Id --api-key-file FILE --auth oauth2:CLIENT_ID --grant authorization_code --authorization-url https://a.example/go --token-url https://a.example/token --api-key-file FILE",
		},
		{[]credential.AuthMethod{{ID: "d", Type: "http", Scheme: "digest", Operations: 3}}, "! the specification asks for 1 authentication method (http digest), which is not supported yet"},
	} {
		var b strings.Builder
		Advise(&b, &view.Toolset{Slug: "acme", Methods: c.methods})
		if got := strings.TrimSpace(b.String()); got != c.want {
			t.Errorf("%+v\n got %s\nwant %s", c.methods, got, c.want)
		}
	}
}

// TestAdviseCountsEnabledTools: a toolset of 25 of 594 tools does not say that 594 take a key.
func TestAdviseCountsEnabledTools(t *testing.T) {
	for _, c := range []struct {
		accept, all, enabled int
		want                 string
	}{
		{594, 594, 25, "! 25 tools take a key: "},
		{594, 594, 1, "! 1 tool takes a key: "},
		{594, 594, 594, "! 594 tools take a key: "},
		{500, 594, 25, "! tools take a key: "},
		{2, 3, 4, "! 2 tools take a key: "}, // workflows are tools, too
	} {
		var b strings.Builder
		key := credential.AuthMethod{ID: "key", Operations: c.accept, Suggestion: &credential.Suggest{AuthType: "header", HeaderName: "X-Key"}}
		Advise(&b, &view.Toolset{Slug: "acme", ToolCount: c.all, EnabledTools: c.enabled, Methods: []credential.AuthMethod{key}})
		if got := b.String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestMend: what an API refused is replaced by one command, which names the connector where
// there are several.
func TestMend(t *testing.T) {
	set := func(kind, grant string) *credential.Authentication {
		return &credential.Authentication{AuthenticationItem: credential.AuthenticationItem{AuthType: kind, Grant: grant}}
	}
	key := []credential.AuthMethod{{ID: "key", Operations: 3, Suggestion: &credential.Suggest{AuthType: "header", HeaderName: "X-Key"}}}
	for _, c := range []struct {
		of   view.Toolset
		want string
	}{
		{view.Toolset{Authentication: set("header", "")}, "sluice toolset auth acme rotate --api-key-file FILE"},
		{view.Toolset{Authentication: set("oauth2", "client_credentials")}, "sluice toolset auth acme rotate --api-key-file FILE"},
		{view.Toolset{Authentication: set("oidc", "authorization_code")}, "sluice toolset auth acme login"},
		{view.Toolset{Authentication: set("mtls", "")}, "sluice toolset auth acme rotate --client-cert FILE --client-key FILE"},
		{view.Toolset{Authentication: set("list", "")}, "sluice toolset auth acme"},
		{view.Toolset{Methods: key}, "sluice toolset auth acme set --auth header:X-Key --api-key-file FILE"},
		{view.Toolset{Authentication: set("none", ""), Methods: key}, "sluice toolset auth acme set --auth header:X-Key --api-key-file FILE"},
		{view.Toolset{}, ""},
		{view.Toolset{Connectors: []view.ToolsetConnector{{Name: "a", Methods: key}}, Authentication: set("bearer", "")}, "sluice toolset auth acme rotate --api-key-file FILE"},
		{
			view.Toolset{Connectors: []view.ToolsetConnector{{Name: "b"}, {Name: "a", Authentication: set("bearer", "")}}},
			"sluice toolset auth acme rotate --api-key-file FILE --connector a",
		},
		{
			view.Toolset{Connectors: []view.ToolsetConnector{{Name: "b", Authentication: set("bearer", "")}, {Name: "a", Methods: key}}, Authentication: set("bearer", "")},
			"sluice toolset auth acme set --auth header:X-Key --api-key-file FILE --connector a",
		},
	} {
		c.of.Slug = "acme"
		if got := Mend(&c.of, "a"); got != c.want {
			t.Errorf("%+v\n got %s\nwant %s", c.of, got, c.want)
		}
	}
}

// TestSentTo: credentials of one list that go to one place are reported once.
func TestSentTo(t *testing.T) {
	item := func(id string, at ...string) credential.AuthenticationItem {
		return credential.AuthenticationItem{CredentialID: id, Origins: at}
	}
	a := &credential.Authentication{
		Items:              []credential.AuthenticationItem{item("a", "https://a.example"), item("b", "https://a.example"), item("c", "https://c.example"), item("", "https://d.example")},
		AuthenticationItem: item("", ""),
	}
	if got := strings.Join(SentTo(a), " "); got != "https://a.example https://c.example" {
		t.Errorf("%s", got)
	}
}

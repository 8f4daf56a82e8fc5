package registry

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestAuthShapes(t *testing.T) {
	check := func(a AuthShape) []string {
		s := sample()
		s.Connectors[0].Auth = &a
		err := s.Validate()
		if err == nil {
			// What is valid survives its form in a bundle.
			b, err := s.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parseToolset(b); err != nil {
				t.Errorf("%+v is not read again: %v", a, err)
			}
			return nil
		}
		var at []string
		e := problem.As(err)
		for _, p := range append([]*problem.Error{e}, e.Parts...) {
			at = append(at, p.Place.Pointer)
		}
		return at
	}
	good := []AuthShape{
		{Type: AuthNone},
		{Type: AuthHeader, HeaderName: "X-Key", HeaderPrefix: "Key ", CredentialID: "c"},
		{Type: AuthQuery, ParameterName: "api key", CredentialID: "c"},
		{Type: AuthCookie, CookieName: "sid", CredentialID: "c"},
		{Type: AuthBasic, CredentialID: "c"},
		{Type: AuthBearer, CredentialID: "c", Scheme: "token"},
		{Type: AuthOAuth2, CredentialID: "c"},
		{Type: AuthOIDC, CredentialID: "c"},
		{Type: AuthMTLS, CredentialID: "c"},
	}
	for _, a := range good {
		if at := check(a); at != nil {
			t.Errorf("%+v is refused at %q", a, at)
		}
	}
	if at := check(AuthShape{Type: AuthList, Items: good[1:]}); at != nil {
		t.Errorf("the list of all is refused at %q", at)
	}
	refused := func(at string, a AuthShape) {
		t.Helper()
		if got := check(a); !slices.Contains(got, "/connectors/0/auth"+at) {
			t.Errorf("%+v: faults at %q, want %q", a, got, at)
		}
	}
	refused("/parameterName", AuthShape{Type: AuthQuery, CredentialID: "c"})
	refused("/parameterName", AuthShape{Type: AuthQuery, ParameterName: strings.Repeat("p", 129), CredentialID: "c"})
	refused("/parameterName", AuthShape{Type: AuthBearer, ParameterName: "p", CredentialID: "c"})
	refused("/cookieName", AuthShape{Type: AuthCookie, CookieName: "a;b", CredentialID: "c"})
	refused("/headerName", AuthShape{Type: AuthCookie, CookieName: "a", HeaderName: "X", CredentialID: "c"})
	refused("/credentialId", AuthShape{Type: AuthBasic})
	refused("/scheme", AuthShape{Type: AuthBasic, CredentialID: "c", Scheme: strings.Repeat("s", MaxSchemeBytes+1)})
	refused("/items", AuthShape{Type: AuthList})
	refused("/items", AuthShape{Type: AuthList, Items: slices.Repeat([]AuthShape{{Type: AuthBasic, CredentialID: "c"}}, MaxAuthItems+1)})
	refused("/items", AuthShape{Type: AuthBasic, CredentialID: "c", Items: good[1:2]})
	refused("/items/0/type", AuthShape{Type: AuthList, Items: []AuthShape{{Type: AuthList, Items: good[1:2]}}})
	refused("/items/0/type", AuthShape{Type: AuthList, Items: []AuthShape{{Type: AuthNone}}})
	refused("/items/1/scheme", AuthShape{Type: AuthList, Items: []AuthShape{{Type: AuthBasic, CredentialID: "a", Scheme: "s"}, {Type: AuthBearer, CredentialID: "b", Scheme: "s"}}})
	if at := check(AuthShape{Type: AuthList, Items: slices.Repeat([]AuthShape{{Type: AuthQuery, ParameterName: "p", CredentialID: "c"}}, MaxAuthItems)}); at != nil {
		t.Errorf("a list of %d is refused at %q", MaxAuthItems, at)
	}
}

func TestAuthShapeEach(t *testing.T) {
	one := AuthShape{Type: AuthBasic, CredentialID: "c"}
	f := func(a *AuthShape, want int) {
		t.Helper()
		if got := len(a.Each()); got != want {
			t.Errorf("%+v has %d items, want %d", a, got, want)
		}
	}
	f(nil, 0)
	f(&AuthShape{Type: AuthNone}, 0)
	f(&one, 1)
	f(&AuthShape{Type: AuthList, Items: []AuthShape{one, one}}, 2)
}

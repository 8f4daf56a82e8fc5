package credential

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// TestScopeBounds: a configuration and a login ask for scopes up to the bounds, and for none
// past them.
func TestScopeBounds(t *testing.T) {
	person := func(scopes ...string) *SetAuth {
		return &SetAuth{AuthItem: AuthItem{
			AuthType: registry.AuthOIDC, Grant: oauth.AuthorizationCode, Issuer: "https://id.example", ClientID: "app", Scopes: scopes,
		}}
	}
	for _, c := range []struct {
		name   string
		scopes []string
		at     string // of the fault; "": there is none
	}{
		{"none", nil, ""},
		{"as many as go", slices.Repeat([]string{"read"}, maxScopes), ""},
		{"one more", slices.Repeat([]string{"read"}, maxScopes+1), "/authentication/scopes"},
		{"the longest", []string{"read", strings.Repeat("s", maxScopeText)}, ""},
		{"one byte more", []string{"read", strings.Repeat("s", maxScopeText+1)}, "/authentication/scopes/1"},
	} {
		var faults []string
		if p := problem.As(person(c.scopes...).Check("/authentication", KeepAny)); p != nil {
			for _, part := range p.Parts {
				faults = append(faults, part.Place.Pointer)
			}
		}
		if want := slices.DeleteFunc([]string{c.at}, func(s string) bool { return s == "" }); !slices.Equal(faults, want) {
			t.Errorf("%s: faults at %q, want %q", c.name, faults, want)
		}
	}
	if err := CheckScopes([]string{strings.Repeat("s", maxScopeText)}); err != nil {
		t.Errorf("a login asks for the longest scope: %v", err)
	}
	if p := problem.As(CheckScopes([]string{"read", strings.Repeat("s", maxScopeText+1)})); p == nil || p.Place.Pointer != "/scopes/1" {
		t.Errorf("a login asks for a scope that is too long: %v, want a fault at /scopes/1", p)
	}
}

package upstreamauth

import (
	"reflect"
	"testing"

	"github.com/sluicegate/sluice/admin/login/credential"
)

func TestParseAuth(t *testing.T) {
	f := func(spec string, want credential.AuthItem) {
		t.Helper()
		got, err := parseAuth(spec)
		if err != nil || !reflect.DeepEqual(got.AuthItem, want) {
			t.Errorf("parseAuth(%q) = %+v, %v; want %+v", spec, got, err, want)
		}
	}
	f("header:X-Api-Key", credential.AuthItem{AuthType: "header", HeaderName: "X-Api-Key"})
	f("header:Authorization:Bearer", credential.AuthItem{AuthType: "header", HeaderName: "Authorization", HeaderPrefix: "Bearer "})
	f("header:Authorization:Bearer ", credential.AuthItem{AuthType: "header", HeaderName: "Authorization", HeaderPrefix: "Bearer "})
	f("header:Authorization:key=", credential.AuthItem{AuthType: "header", HeaderName: "Authorization", HeaderPrefix: "key="})
	f("query:app id", credential.AuthItem{AuthType: "query", ParameterName: "app id"})
	f("cookie:sid", credential.AuthItem{AuthType: "cookie", CookieName: "sid"})
	f("bearer", credential.AuthItem{AuthType: "bearer"})
	f("basic:ann", credential.AuthItem{AuthType: "basic", Username: "ann"})
	f("oauth2:app", credential.AuthItem{AuthType: "oauth2", ClientID: "app"})
	f("oidc:https://app.example/", credential.AuthItem{AuthType: "oidc", ClientID: "https://app.example/"})
	f("mtls", credential.AuthItem{AuthType: "mtls"})
	f("none", credential.AuthItem{AuthType: "none"})
	for _, bad := range []string{"", "header", "header:", "basic", "bearer:x", "oauth2", "oidc:", "query", "cookie:", "mtls:x", "none:x"} {
		if got, err := parseAuth(bad); err == nil {
			t.Errorf("parseAuth(%q) = %+v, want an error", bad, got)
		}
	}
}

package upstreamauth

import (
	"reflect"
	"testing"

	"github.com/sluicegate/sluice/admin"
)

func TestParseAuth(t *testing.T) {
	f := func(spec string, want admin.AuthItem) {
		t.Helper()
		got, err := parseAuth(spec)
		if err != nil || !reflect.DeepEqual(got.AuthItem, want) {
			t.Errorf("parseAuth(%q) = %+v, %v; want %+v", spec, got, err, want)
		}
	}
	f("header:X-Api-Key", admin.AuthItem{AuthType: "header", HeaderName: "X-Api-Key"})
	f("header:Authorization:Bearer", admin.AuthItem{AuthType: "header", HeaderName: "Authorization", HeaderPrefix: "Bearer "})
	f("header:Authorization:Bearer ", admin.AuthItem{AuthType: "header", HeaderName: "Authorization", HeaderPrefix: "Bearer "})
	f("header:Authorization:key=", admin.AuthItem{AuthType: "header", HeaderName: "Authorization", HeaderPrefix: "key="})
	f("query:app id", admin.AuthItem{AuthType: "query", ParameterName: "app id"})
	f("cookie:sid", admin.AuthItem{AuthType: "cookie", CookieName: "sid"})
	f("bearer", admin.AuthItem{AuthType: "bearer"})
	f("basic:ann", admin.AuthItem{AuthType: "basic", Username: "ann"})
	f("oauth2:app", admin.AuthItem{AuthType: "oauth2", ClientID: "app"})
	f("oidc:https://app.example/", admin.AuthItem{AuthType: "oidc", ClientID: "https://app.example/"})
	f("mtls", admin.AuthItem{AuthType: "mtls"})
	f("none", admin.AuthItem{AuthType: "none"})
	for _, bad := range []string{"", "header", "header:", "basic", "bearer:x", "oauth2", "oidc:", "query", "cookie:", "mtls:x", "none:x"} {
		if got, err := parseAuth(bad); err == nil {
			t.Errorf("parseAuth(%q) = %+v, want an error", bad, got)
		}
	}
}

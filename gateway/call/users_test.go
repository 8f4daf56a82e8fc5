package call_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/registry"
)

// TestCallersOwnTokens: each caller's token goes with their calls and with nobody
// else's, also when answers are kept and the versions of the tokens are the same.
func TestCallersOwnTokens(t *testing.T) {
	s, err := gatewaytest.New(gatewaytest.Options{CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	w := &world{t: t, up: upstreamtest.New(t), s: s}
	asked := 0
	w.up.Handle("/", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked++
		switch who := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer token-of-"); {
		case who == "late":
			rw.WriteHeader(http.StatusUnauthorized)
		case who == "small":
			rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="more"`)
			rw.WriteHeader(http.StatusForbidden)
		default:
			rw.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(rw, `{"items":[{"id":1,"name":%q}],"total":1}`, "pet of "+who)
		}
	}))
	tool := w.serve(petOperation(), func(b *registry.Toolset) {
		b.Cache = &registry.CachePolicy{TTLSeconds: 60}
		b.Connectors[0].Auth = &registry.AuthShape{Type: registry.AuthOAuth2, User: true, CredentialID: "cred_1"}
	})
	ts := tool.Toolset.ID
	user := func(id string) registry.User {
		return registry.User{Kind: registry.UserToken, ID: id, Toolset: ts}
	}
	for _, id := range []string{"ann", "bob", "late", "small"} {
		s.Secrets.SetUser("cred_1", user(id), credentials.Credential{Value: secrets.New("token-of-" + id), Version: 1, Origins: registry.Origins{w.up.URL}})
	}
	subject := registry.User{Kind: registry.UserJWT, ID: "ann", Issuer: "https://id.example"}
	s.Secrets.SetUser("cred_1", subject, credentials.Credential{Value: secrets.New("token-of-subject"), Version: 1, Origins: registry.Origins{w.up.URL}})
	f := func(who access.Principal, isError bool, text string) {
		t.Helper()
		r := w.call(tool, "{}", call.CallOptions{Principal: who})
		s.Caller.WaitCache()
		if r.IsError != isError || !strings.Contains(r.Content[0].Text, text) {
			t.Errorf("%s: %v %s, want %q", who.ID(), r.IsError, r.Content[0].Text, text)
		}
	}
	for range 2 {
		f(access.TokenPrincipal(ts, "ann"), false, "pet of ann")
		f(access.TokenPrincipal(ts, "bob"), false, "pet of bob")
		f(access.JWTPrincipal("https://id.example", "ann"), false, "pet of subject")
	}
	if asked != 3 {
		t.Errorf("%d requests for three callers, want one each", asked)
	}
	f(access.Principal{}, true, "callers cannot be told apart")
	unknown := user("carl")
	f(access.TokenPrincipal(ts, "carl"), true, "https://sluice.example/oauth/login/"+unknown.Key())
	f(access.JWTPrincipal("https://other.example", "ann"), true, "oauth/login/")
	late, small := user("late"), user("small")
	f(access.TokenPrincipal(ts, "late"), true, "/oauth/login/"+late.Key())   // a token that cannot be renewed
	f(access.TokenPrincipal(ts, "small"), true, "/oauth/login/"+small.Key()) // one that may not enough
	if asked != 5 {
		t.Errorf("%d requests, want 5", asked)
	}
}

package gateway_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/plugin"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

// TestAuthPlugin: requests are signed by a plugin that has handles only, the secret
// itself is not sent, and what it cannot sign is not sent at all.
func TestAuthPlugin(t *testing.T) {
	code, err := os.ReadFile("../testdata/plugins/stamp/stamp.wasm")
	if err != nil {
		t.Fatal(err)
	}
	stamp := open(t, code)
	h, err := extism.New(extism.Options{Functions: guest.Functions(), Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r, err := plugin.New(plugin.Options{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := start(t, gatewaytest.Options{Plugins: r, CacheBytes: -1})
	up, other := upstreamtest.New(t), upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, `{"id": 1}`))
	up.Handle("GET /moved", upstreamtest.Redirect(302, other.URL+"/there"))
	other.Handle("GET /there", upstreamtest.JSON(200, `{}`))
	const secret = "a-secret-access-key"
	s.Secrets.Set("cred_1", credentials.Credential{Value: secrets.New("AKID:" + secret), Version: 1, Origins: registry.Origins{up.URL}})
	serve := func(mood string) {
		t.Helper()
		c, err := gatewaytest.Connector("acme", up.URL, getItem(), gatewaytest.Operation("moved", "GET", "/moved"))
		if err != nil {
			t.Fatal(err)
		}
		ref := refTo(stamp)
		ref.Config = json.RawMessage(`{"mood":"` + mood + `"}`)
		in := gatewaytest.Toolset("acme", 1, c, func(ts *registry.Toolset) {
			ts.Plugins = []registry.PluginRef{ref}
			ts.Connectors[0].Auth = &registry.AuthShape{Type: registry.AuthBasic, CredentialID: "cred_1"}
		})
		in.Plugins = []*guest.Package{stamp}
		in.Digest = registry.DigestOf([]byte(mood))
		if err := s.Serve(in); err != nil {
			t.Fatal(err)
		}
		up.Forget()
		other.Forget()
	}
	serve("")
	status, got := post(t, s.URL("acme"), callBody("get_item", `{"id":1}`))
	if status != 200 || strings.Contains(got, `"isError":true`) {
		t.Fatalf("%d %s", status, got)
	}
	sent := up.Requests()
	if len(sent) != 1 || len(sent[0].Header.Get("X-Signature")) != 64 || sent[0].Header.Get("Authorization") != "" || !strings.HasSuffix(sent[0].Target, "?signed%20by=stamp") {
		t.Fatalf("sent %+v", sent)
	}
	if all, err := json.Marshal(sent); err != nil || strings.Contains(string(all), secret) {
		t.Errorf("the secret is sent: %s", all)
	}
	post(t, s.URL("acme"), callBody("moved", `{}`))
	if there := other.Requests(); len(there) != 1 || there[0].Header.Get("X-Signature") != "" {
		t.Errorf("sent to another origin: %+v", there)
	}
	for _, mood := range []string{"fail", "nonsense", "host", "early", "steal"} {
		serve(mood)
		_, got := post(t, s.URL("acme"), callBody("get_item", `{"id":1}`))
		if !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "was not sent: the plugin stamp could not sign it") || len(up.Requests()) != 0 {
			t.Errorf("%s: %s, sent %d", mood, got, len(up.Requests()))
		}
	}
}

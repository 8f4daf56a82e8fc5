package node_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/internal/secrets"
)

const anywhere = "127.0.0.1:0"

// start runs a node until the test ends, or stop is called, and checks that it stops
// cleanly.
func start(t *testing.T, o node.Options) (n *node.Node, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	o.Gateway.Listen, o.Admin.Listen, o.Edge.Listen, o.Upstreams.AllowPrivate = cmp.Or(o.Gateway.Listen, anywhere), anywhere, anywhere, true
	n, err := node.New(ctx, o)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); !stopped {
			stopped = true
			if err := <-done; err != nil {
				t.Errorf("role %s ended with %v", o.Role, err)
			}
		}
	}
	t.Cleanup(stop)
	return n, stop
}

// api asks the admin API of a node and reads the answer into out.
func api(t *testing.T, n *node.Node, method, path string, in, out any) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, n.AdminURL()+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + n.Token().Reveal()}, "Content-Type": {"application/json"}, "Prefer": {"wait=60"}, "If-Match": {"*"}}
	status, b := do(t, r)
	if status/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, status, b)
	}
	if err := json.Unmarshal(b, out); err != nil {
		t.Fatal(err)
	}
}

func do(t *testing.T, r *http.Request) (int, []byte) {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, b
}

// call calls the one tool of the toolset "shop".
func call(t *testing.T, n *node.Node) string {
	t.Helper()
	const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_pet","arguments":{"id":"7"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL()+"/t/shop", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"get_pet"}}
	status, b := do(t, r)
	return fmt.Sprint(status, " ", string(b))
}

// deploy makes a toolset "shop" of an API and deploys it.
func deploy(t *testing.T, n *node.Node) {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"pet":%q}`, r.URL.Path) // the client is gone when this fails
	}))
	t.Cleanup(up.Close)
	spec := fmt.Sprintf(`{"openapi":"3.0.3","info":{"title":"Shop","version":"1"},"servers":[{"url":%q}],"paths":{"/pets/{id}":{"get":{"operationId":"getPet","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],"responses":{"200":{"description":"a pet"}}}}}}`, up.URL)
	var made struct{ ID string }
	api(t, n, http.MethodPost, "/v1/toolsets", map[string]any{"name": "shop", "slug": "shop", "access": "none", "source": map[string]any{"openapi": map[string]any{"document": spec}}}, &made)
	api(t, n, http.MethodPost, "/v1/toolsets/"+made.ID+"/deploy", map[string]any{"reason": "test"}, &made)
}

// TestAll: a node deploys to its own gateway, and serves the same after a restart.
func TestAll(t *testing.T) {
	dir := t.TempDir()
	n, stop := start(t, node.Options{Data: dir})
	deploy(t, n)
	if got := call(t, n); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, "/pets/7") {
		t.Errorf("a call: %s", got)
	}
	if n.OperationsURL() != "" {
		t.Errorf("operations at %s", n.OperationsURL())
	}
	stop()
	n, _ = start(t, node.Options{Data: dir, Role: node.RoleAll})
	if err := n.AwaitRelease(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := call(t, n); !strings.Contains(got, "/pets/7") {
		t.Errorf("a call after a restart: %s", got)
	}
}

// TestEdge: an edge that joins a control plane serves what is deployed there, and goes on
// when the control plane is gone, after a restart too.
func TestEdge(t *testing.T) {
	plane, stopPlane := start(t, node.Options{Data: t.TempDir(), Role: node.RoleControl})
	deploy(t, plane)
	var join struct{ Token string }
	api(t, plane, http.MethodPost, "/v1/edges/join-tokens", map[string]any{"maxUses": 1}, &join)
	dir := t.TempDir()
	edge := func() (*node.Node, func()) {
		t.Helper()
		n, stop := start(t, node.Options{Data: dir, Role: node.RoleEdge, Edge: node.EdgeOptions{
			ControlPlane: plane.AdminURL(), Name: "one", JoinToken: func() (secrets.Secret, error) { return secrets.New(join.Token), nil },
		}})
		if err := n.AwaitRelease(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := call(t, n); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, "/pets/7") {
			t.Errorf("a call: %s", got)
		}
		if n.AdminURL() != "" || !n.Token().IsZero() || n.OperationsURL() == "" {
			t.Errorf("an edge with an admin API at %q, operations at %q", n.AdminURL(), n.OperationsURL())
		}
		return n, stop
	}
	_, stop := edge()
	stop()
	stopPlane()
	edge()
}

// TestRefused: a node that cannot start says why, and holds nothing.
func TestRefused(t *testing.T) {
	f := func(o node.Options, want string) {
		t.Helper()
		n, err := node.New(t.Context(), o)
		if err == nil {
			t.Errorf("it starts: %v", n.Close())
			return
		}
		if n != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v; want %s", n, err, want)
		}
	}
	dir := t.TempDir()
	f(node.Options{}, "Data is required")
	f(node.Options{Data: dir, Role: "gateway"}, `"gateway" is not one of`)
	f(node.Options{Data: dir, Role: node.RoleEdge}, "ControlPlane and Name are required")
	open := node.Options{Data: dir, Gateway: node.GatewayOptions{Listen: anywhere}, Admin: node.AdminOptions{Listen: "0.0.0.0:0"}}
	f(open, "without TLS")
	open.Admin.Listen = anywhere
	n, err := node.New(t.Context(), open) // the lock was given back
	if err != nil {
		t.Fatal(err)
	}
	f(open, "another node runs in "+dir)
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "keys", "release.key")); err != nil {
		t.Fatal(err)
	}
	f(open, "the file of the release key is missing")
}

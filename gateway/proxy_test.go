package gateway_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/registry"
)

// behind are proxies at addresses of this machine.
func behind(t *testing.T, list ...string) forwarded.Proxies {
	t.Helper()
	p, err := forwarded.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestClientsOfAProxy: requests are counted by the client that the proxy names, a client
// that has too many hinders no other, and connections of the proxy are not bounded by its
// address. What others than the proxy say of their clients is not believed.
func TestClientsOfAProxy(t *testing.T) {
	const most = 8 // 6 of them of one address
	_, up, addr := door(t, gatewaytest.Options{MaxConns: most, Proxies: behind(t, "127.0.0.9")}, nil)
	release := make(chan struct{})
	end := sync.OnceFunc(func() { close(release) })
	t.Cleanup(end) // before the gateway waits for its calls
	arrived := make(chan struct{}, most)
	up.Handle("GET /items/{id}", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	call := callBody("get_item", `{"id":1}`)
	of := func(from, client string) *peer {
		p := dial(t, addr, from)
		p.send(postHead("/t/acme", len(call), jsonHead+"X-Forwarded-For: 10.9.9.9, "+client+"\r\n") + call)
		return p
	}
	for range 6 {
		of("127.0.0.9", "198.51.100.1")
		<-arrived
	}
	if status, head, _ := of("127.0.0.9", "198.51.100.1").answer(); status != 503 || head.Get("Retry-After") == "" {
		t.Errorf("the seventh of a client: %d %v", status, head)
	}
	// A seventh connection of the proxy, of another client, who goes and comes back as the
	// first one: connections belong to nobody between requests.
	p := dial(t, addr, "127.0.0.9")
	for _, c := range []struct {
		client string
		want   int
	}{{"198.51.100.2", 200}, {"198.51.100.1", 503}} {
		p.send("GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: " + c.client + "\r\n\r\n")
		if status, _, _ := p.answer(); status != c.want {
			t.Errorf("client %s on a kept connection: %d, want %d", c.client, status, c.want)
		}
	}

	// Others are counted by their own address, whatever they write.
	_, up, addr = door(t, gatewaytest.Options{MaxConns: most, Proxies: behind(t, "127.0.0.9")}, nil)
	t.Cleanup(end)
	up.Handle("GET /items/{id}", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	for i := range 6 {
		of("127.0.0.2", "198.51.100."+string(rune('1'+i)))
		<-arrived
	}
	if status, _, _ := of("127.0.0.2", "198.51.100.77").answer(); status != 503 {
		t.Errorf("the seventh of an address that writes other clients: %d", status)
	}
}

// TestProtocolOfAProxy: tokens must be issued for the https URL when the proxy was asked
// over https, and only the proxy can say so.
func TestProtocolOfAProxy(t *testing.T) {
	for proxy, want := range map[string]string{"127.0.0.1": "https://", "127.0.0.9": "http://"} {
		s := start(t, gatewaytest.Options{Proxies: behind(t, proxy)})
		keys, err := access.NewKeys(access.KeysOptions{HTTP: http.DefaultClient})
		if err != nil {
			t.Fatal(err)
		}
		doc := &registry.AccessDocument{Mode: registry.AccessJWT, JWT: &registry.JWTGrant{Issuer: "https://issuer.example", JWKSURL: "https://issuer.example/keys", Scopes: []registry.ScopeGrant{{Scope: "read", Tools: []string{"*"}}}}}
		snap, err := snapshot.Compile(snapshot.Input{Keys: keys, Toolsets: []snapshot.ToolsetInput{guarded(t, upstreamtest.New(t), 1, doc, getItem())}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Holder.Store(snap)
		for name, value := range map[string]string{"X-Forwarded-Proto": "https", "Forwarded": "for=198.51.100.1;proto=https"} {
			resp := request(t, http.MethodPost, s.URL("acme"), "{}", name, value)
			if got := resp.Header.Get("Www-Authenticate"); !strings.Contains(got, `"`+want+s.Gateway.Addr().String()+"/.well-known/") {
				t.Errorf("%s of 127.0.0.1, with the proxy %s: %q, want %s", name, proxy, got, want)
			}
		}
	}
}

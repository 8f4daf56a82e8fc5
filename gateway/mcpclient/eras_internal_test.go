package mcpclient

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// TestLookAgain: whether a server of 2026-07-28 got sessions is asked at most once in
// lookAgain, and then all clients with sessions have one there.
func TestLookAgain(t *testing.T) {
	var shaken, sessions atomic.Int32 // handshakes; whether there are sessions
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		id, _, _ := strings.Cut(strings.TrimPrefix(string(b), `{"jsonrpc":"2.0","id":`), ",")
		w.Header().Set("Content-Type", "application/json")
		switch own := r.Header.Get("Mcp-Session-Id"); {
		case r.Method == http.MethodDelete:
		case strings.Contains(string(b), `"server/discover"`):
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`, id)
		case strings.Contains(string(b), `"initialize"`):
			n := shaken.Add(1)
			if sessions.Load() == 0 {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no"}}`, id)
				return
			}
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", n))
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`, id)
		case strings.Contains(string(b), "notifications/"):
			w.WriteHeader(http.StatusAccepted)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"session":%q}}`, id, own)
		}
	}))
	t.Cleanup(up.Close)
	c := newClient(t, safedial.Options{AllowPrivate: true})
	at := target(t, up.URL).Endpoint
	as := func(caller string) *Target {
		return &Target{Endpoint: at, Hint: manifest.MCPServer{Protocol: versionModern}, Owner: "o", Caller: caller, Session: true}
	}
	in := func(caller string) string {
		t.Helper()
		var x Exchange
		if err := c.Call(&x, as(caller), &Call{Tool: "t"}); err != nil {
			t.Fatal(err)
		}
		return string(x.Result().Get("session").AppendText(nil))
	}
	for _, caller := range []string{"a", "b", "a"} {
		if got := in(caller); got != "" {
			t.Errorf("%s is in session %q of a server without", caller, got)
		}
	}
	if n := shaken.Load(); n != 1 {
		t.Errorf("it was asked for a session %d times", n)
	}
	sessions.Store(1)
	if got := in("a"); got != "" {
		t.Errorf("it was asked again at once: %q", got)
	}
	later := func(seconds time.Duration) { // as if this time had passed
		c.mu.Lock()
		defer c.mu.Unlock()
		p := c.peers[as("a").peerKey()]
		p.without.Add(-int64(seconds / time.Second))
		l := p.link.Load()
		l.until = l.until.Add(-seconds)
	}
	later(lookAgain / 2)
	if got := in("a"); got != "" {
		t.Errorf("it was asked again too early: %q", got)
	}
	later(lookAgain/2 + time.Second)
	a, b := in("a"), in("b")
	if a == "" || b == "" || a == b || in("a") != a {
		t.Errorf("the sessions are %q and %q", a, b)
	}
}

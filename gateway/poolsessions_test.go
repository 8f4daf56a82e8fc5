package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/gateway/pool/pooltest"
	"github.com/sluicegate/sluice/internal/secrets"
)

// nodes are three gateways that share their state, and a balancer that sends every request to
// the next one.
type nodes struct {
	state *pooltest.Server
	all   []*gatewaytest.Stack
	pools []*pool.Store
	url   string // of the toolset acme, behind the balancer
	next  atomic.Uint64
}

func newNodes(t *testing.T, serve func(*gatewaytest.Stack)) *nodes {
	t.Helper()
	n := &nodes{state: pooltest.Start(t)}
	var targets []*httputil.ReverseProxy
	for range 3 {
		p, err := pool.Open(pool.Options{URL: secrets.New(n.state.URL()), Key: func() []byte { return bytes.Repeat([]byte("k"), 32) }, Timeout: 5 * time.Second, Patience: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		n.awaitState(t, p)
		s := start(t, gatewaytest.Options{Pool: p, Plugins: &scrubber{}})
		serve(s)
		n.all, n.pools = append(n.all, s), append(n.pools, p)
		at, err := url.Parse(strings.TrimSuffix(s.URL("acme"), "/t/acme"))
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }})
	}
	balancer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		targets[n.next.Add(1)%uint64(len(targets))].ServeHTTP(w, r)
	}))
	endWith(t, balancer)
	n.url = balancer.URL + "/t/acme"
	return n
}

// awaitState waits until the shared state answers a node.
func (n *nodes) awaitState(t *testing.T, p *pool.Store) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		if _, err := p.Get(t.Context(), "nobody", "nothing"); errors.Is(err, pool.ErrNone) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the shared state does not answer")
		}
	}
}

// noteAt calls the tool of a notebook in a session, and returns the status and what was noted
// before.
func noteAt(t testing.TB, at, session, caller, text string) (status int, before string) {
	t.Helper()
	resp := request(t, http.MethodPost, at, callBody("note", `{"text":"`+text+`"}`), "Authorization", tokenOf(caller), "Mcp-Session-Id", session)
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, before, _ = strings.Cut(string(b), "noted before: [")
	before, _, ok := strings.Cut(before, "]")
	if resp.StatusCode == http.StatusOK && !ok {
		t.Fatalf("a call answers %s", b)
	}
	return resp.StatusCode, before
}

// TestPoolSessions: a session is its caller's at every node, each goes on with the session at
// the server, and its end is the end at all.
func TestPoolSessions(t *testing.T) {
	book := newNotebook(t, false)
	n := newNodes(t, func(s *gatewaytest.Stack) { serveNotebooks(t, s, book, false, "acme", "other") })
	id := openSession(t, n.all[0].URL("acme"), "ada")
	last := ""
	for i := range 12 {
		text := fmt.Sprint("note ", i)
		status, before := noteAt(t, n.all[(i+1)%3].URL("acme"), id, "ada", text)
		if status != http.StatusOK || before != last {
			t.Fatalf("call %d: %d, the server remembers %q, want %q", i, status, before, last)
		}
		last = text
	}
	for i, s := range n.all {
		for what, c := range map[string]struct{ slug, caller string }{"another caller": {"acme", "bob"}, "another toolset": {"other", "ada"}} {
			for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
				if got := statusOf(t, method, s.URL(c.slug), id, c.caller); got != http.StatusNotFound {
					t.Errorf("%s of %s at node %d: %d", method, what, i, got)
				}
			}
		}
	}
	if status, before := noteAt(t, n.all[2].URL("acme"), id, "ada", ""); status != http.StatusOK || before != last {
		t.Errorf("after what others tried: %d %q", status, before)
	}
	if got := statusOf(t, http.MethodDelete, n.all[1].URL("acme"), id, "ada"); got != http.StatusNoContent {
		t.Errorf("its end: %d", got)
	}
	for i, s := range n.all {
		if got := statusOf(t, http.MethodPost, s.URL("acme"), id, "ada"); got != http.StatusNotFound {
			t.Errorf("node %d after its end: %d", i, got)
		}
	}
	book.mu.Lock()
	defer book.mu.Unlock()
	if book.opened != 1 {
		t.Errorf("%d sessions at the server", book.opened)
	}
}

// asked is how many operations a node made at the shared state, by what the metrics say.
func (n *nodes) asked(node int) string {
	var page bytes.Buffer
	n.pools[node].WritePrometheus(&page)
	var out []string
	for line := range strings.Lines(page.String()) {
		if rest, ok := strings.CutPrefix(line, `sluice_state_operations_total{op="`); ok && !strings.HasPrefix(rest, "get") && !strings.HasPrefix(rest, "probe") && !strings.HasPrefix(rest, "extend") {
			out = append(out, strings.TrimSpace(strings.Replace(rest, `",result="ok"}`, "", 1)))
		}
	}
	return strings.Join(out, ", ")
}

// TestPoolSessionsCost: a request in a session asks the shared state once, one without never.
func TestPoolSessionsCost(t *testing.T) {
	book := newNotebook(t, false)
	n := newNodes(t, func(s *gatewaytest.Stack) { serveNotebooks(t, s, book, true, "acme") })
	at := n.all[0].URL("acme")
	for range 5 {
		noteAt(t, at, "", "", "")
	}
	if got := n.asked(0); got != "" {
		t.Errorf("without a session it was asked: %s", got)
	}
	id := openSession(t, at, "")
	noteAt(t, at, id, "", "") // the first call of the server
	if got := n.asked(0); got != "open 1, set 2, touch 1" {
		t.Errorf("after the first call it was asked: %s", got)
	}
	for range 10 {
		noteAt(t, at, id, "", "")
	}
	if got := n.asked(0); got != "open 1, set 2, touch 11" {
		t.Errorf("after ten more: %s", got)
	}
}

// TestPoolSubscriptions: a client of the official SDK behind a balancer that sends each request
// elsewhere hears of what it subscribed to, whatever era the server is of.
func TestPoolSubscriptions(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			l := newLibrary(t, version)
			n := newNodes(t, func(s *gatewaytest.Stack) {
				if err := s.Serve(gatewaytest.Toolset("acme", 1, connectorOf(t, l, version), nil)); err != nil {
					t.Fatal(err)
				}
			})
			told := make(chan string, 64)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				Capabilities:           &mcp.ClientCapabilities{},
				ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { told <- r.Params.URI },
			})
			c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: n.url}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for range 3 { // each at another node
				if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://a"}); err != nil {
					t.Fatal(err)
				}
			}
			for _, uri := range []string{"test://a", "test://b"} {
				if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
					t.Fatal(err)
				}
				if err := l.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
					t.Fatal(err)
				}
				for got := ""; got != uri; {
					select {
					case got = <-told:
					case <-time.After(15 * time.Second):
						t.Fatalf("of %s nothing came", uri)
					}
				}
			}
			for range 2 {
				if err := c.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "test://a"}); err != nil {
					t.Fatal(err)
				}
			}
			if version < "2026" {
				waitFor(t, "at the server", l.parted, "test://a")
			}
		})
	}
}

// TestPoolStreamMoves: what a client subscribed to is told on the stream that it opened last,
// at whichever node, and the stream before ends.
func TestPoolStreamMoves(t *testing.T) {
	l := newLibrary(t, "2025-11-25")
	n := newNodes(t, func(s *gatewaytest.Stack) {
		if err := s.Serve(gatewaytest.Toolset("acme", 1, connectorOf(t, l, "2025-11-25"), nil)); err != nil {
			t.Fatal(err)
		}
	})
	id := openSession(t, n.all[0].URL("acme"), "")
	subscribe := func(at int, uri string) {
		t.Helper()
		resp := request(t, http.MethodPost, n.all[at].URL("acme"), `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+uri+`"}}`, "Mcp-Session-Id", id)
		if b, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || !strings.Contains(string(b), `"result"`) {
			t.Fatalf("subscribing: %d %s", resp.StatusCode, b)
		}
		waitFor(t, "at the server", l.joined, uri)
	}
	subscribe(1, "test://a") // before there is a stream
	first := lines(t, n.all[0].URL("acme"), id)
	waitFor(t, "again by the node with the stream", l.joined, "test://a")
	hear := func(from <-chan string, uri string) {
		t.Helper()
		if err := l.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
		for line := range from {
			if strings.Contains(line, uri) {
				return
			}
		}
		t.Fatalf("of %s nothing came", uri)
	}
	hear(first, "test://a")
	subscribe(2, "test://b")
	hear(first, "test://b")
	second := lines(t, n.all[1].URL("acme"), id)
	for range first { // until it ends
	}
	<-l.joined // by the node with the stream now
	hear(second, "test://b")
	hear(second, "test://a")
}

// lines opens the stream of a session; the channel is closed at its end.
func lines(t testing.TB, at, session string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", session)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	out := make(chan string, 256)
	go func() {
		defer close(out)
		for scan := bufio.NewScanner(resp.Body); scan.Scan(); {
			out <- scan.Text()
		}
	}()
	return out
}

// TestPoolAsks: what a server asks on the stream of the session reaches the client at the node
// that it listens at, and the answer that it gives to another the server.
func TestPoolAsks(t *testing.T) {
	o := newOutspoken(t)
	n := newNodes(t, func(s *gatewaytest.Stack) { serveOutspoken(t, s, o, nil) })
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"said": r.Params.Message}}, nil
		},
	})
	c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: n.url}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	heard := false
	for i := range 7 {
		got, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "outside"})
		if err != nil {
			t.Fatal(err)
		}
		text := got.Content[0].(*mcp.TextContent).Text
		if text == "nobody listens" && !heard { // the client's stream is not open yet
			continue
		}
		if heard = true; !strings.Contains(text, `"said":"Who at s1?"`) {
			t.Fatalf("call %d: %s", i, text)
		}
	}
	if !heard {
		t.Error("the server could never ask")
	}
}

// TestPoolWithoutState: with the shared state gone a node goes on with the sessions it knows,
// others are 404, and with the first request after it is back they are everybody's again.
func TestPoolWithoutState(t *testing.T) {
	book := newNotebook(t, false)
	n := newNodes(t, func(s *gatewaytest.Stack) { serveNotebooks(t, s, book, true, "acme") })
	at := func(i int) string { return n.all[i].URL("acme") }
	id := openSession(t, at(0), "")
	noteAt(t, at(0), id, "", "one")
	n.state.Kill()
	if status, before := noteAt(t, at(0), id, "", "two"); status != http.StatusOK || before != "one" {
		t.Errorf("at home: %d %q", status, before)
	}
	if status, _ := noteAt(t, at(1), id, "", ""); status != http.StatusNotFound {
		t.Errorf("at another node: %d", status)
	}
	late := openSession(t, at(1), "")
	if status, _ := noteAt(t, at(1), late, "", "late"); status != http.StatusOK {
		t.Errorf("a session that began meanwhile: %d", status)
	}
	n.state.Run()
	for session, c := range map[string]struct {
		home int
		want string
	}{id: {0, "two"}, late: {1, "late"}} {
		for deadline := time.Now().Add(30 * time.Second); ; {
			if status, before := noteAt(t, at(c.home), session, "", ""); status != http.StatusOK || before != c.want {
				t.Fatalf("at home, when it is back: %d %q", status, before)
			}
			status, before := noteAt(t, at(2), session, "", "")
			if status == http.StatusOK && before == c.want {
				break
			}
			if status == http.StatusOK || time.Now().After(deadline) {
				t.Fatalf("at another node, when it is back: %d %q", status, before)
			}
		}
	}
}

// TestPoolSessionsUnderLoad: clients whose requests each go elsewhere lose nothing while the
// shared state is killed and comes back: every node that knows a session goes on with it, and
// nobody gets what is another's.
func TestPoolSessionsUnderLoad(t *testing.T) {
	book := newNotebook(t, false)
	n := newNodes(t, func(s *gatewaytest.Stack) { serveNotebooks(t, s, book, true, "acme") })
	const clients, calls = 12, 60
	var ready, work sync.WaitGroup
	var lost, foreign, served atomic.Int64
	go1 := make(chan struct{})
	ready.Add(clients)
	for i := range clients {
		work.Go(func() {
			id := openSession(t, n.all[i%3].URL("acme"), "")
			last := ""
			for k := range calls {
				if k == 6 { // every node has served it
					ready.Done()
					<-go1
				}
				text := fmt.Sprintf("%d of client %d.", k, i)
				status, before := noteAt(t, n.all[(i+k)%3].URL("acme"), id, "", text)
				switch {
				case status != http.StatusOK:
					lost.Add(1)
				case before != last && !strings.HasSuffix(before, fmt.Sprintf(" of client %d.", i)):
					foreign.Add(1)
				case before != last:
					lost.Add(1)
				default:
					served.Add(1)
				}
				last = text
			}
		})
	}
	ready.Wait()
	n.state.Kill()
	close(go1)
	for served.Load() < clients*calls/3 && lost.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	n.state.Run()
	work.Wait()
	if lost.Load() != 0 || foreign.Load() != 0 || served.Load() != clients*calls {
		t.Errorf("%d served, %d lost, %d of another session", served.Load(), lost.Load(), foreign.Load())
	}
}

package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/pool/pooltest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/registry"
)

// counting is an API that says with which request it was asked, and by whom.
func counting(t *testing.T) (up *upstreamtest.Server, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	up = upstreamtest.New(t)
	up.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"n":%d,"who":%q,"secret":%q}`, asked.Add(1), r.Header.Get("X-Who"), canary)
	}))
	return up, asked
}

// keeps lets a toolset keep answers for so many seconds, of a connector that is the same at all
// nodes.
func keeps(b *registry.Toolset, seconds int) {
	b.Cache = &registry.CachePolicy{TTLSeconds: seconds}
	b.Connectors[0].Digest = registry.DigestOf([]byte("one"))
}

// ask calls a tool at a node and returns what it answered, when all that is kept can be found.
func (n *nodes) ask(t *testing.T, node int, tool, args string) string {
	t.Helper()
	status, body := post(t, n.all[node].URL("acme"), callBody(tool, args))
	if status != http.StatusOK || strings.Contains(body, `"isError":true`) {
		t.Fatalf("node %d: %d %s", node, status, body)
	}
	n.settle(t, node)
	return body
}

// settle waits until what a node keeps can be found, in the pool too.
func (n *nodes) settle(t *testing.T, node int) {
	t.Helper()
	n.all[node].Caller.WaitCache()
	pooltest.Settle(t, n.pools[node])
}

// TestPoolAnswers: what one node keeps others answer with, for the same request with the same
// credential, and of safe methods only.
func TestPoolAnswers(t *testing.T) {
	up, asked := counting(t)
	auth := &registry.AuthShape{Type: registry.AuthHeader, HeaderName: "X-Who", CredentialID: "c1"}
	key := func(s *gatewaytest.Stack, value string, version uint64) {
		s.Secrets.Set("c1", credentials.Credential{Value: secrets.New(value), Version: version, Origins: registry.Origins{up.URL}})
	}
	n := newNodes(t, func(s *gatewaytest.Stack) {
		key(s, "first", 1)
		serve(t, s, up, func(b *registry.Toolset) {
			keeps(b, 60)
			b.Connectors[0].Auth = auth
		}, getItem(), gatewaytest.Operation("create", "POST", "/items"))
	})
	expect := func(node int, tool, args string, want int64) {
		t.Helper()
		if got := n.ask(t, node, tool, args); !strings.Contains(got, fmt.Sprintf(`\"n\":%d,`, want)) || asked.Load() < want {
			t.Errorf("node %d answers %s after %d requests, want request %d", node, got, asked.Load(), want)
		}
	}
	expect(0, "get_item", `{"id":1}`, 1)
	for node := range n.all {
		expect(node, "get_item", `{"id":1}`, 1)
		expect(node, "get_item", `{"id":1}`, 1) // which it has itself now
	}
	expect(2, "get_item", `{"id":2}`, 2)
	expect(0, "get_item", `{"id":2}`, 2)
	expect(0, "create", `{}`, 3)
	expect(1, "create", `{}`, 4)
	key(n.all[1], "second", 2)
	expect(1, "get_item", `{"id":1}`, 5) // another key, another answer
	expect(2, "get_item", `{"id":1}`, 1)
	key(n.all[2], "second", 2)
	expect(2, "get_item", `{"id":1}`, 5)
	if asked.Load() != 5 {
		t.Errorf("%d requests", asked.Load())
	}
	var page strings.Builder
	n.all[0].Meter.WritePrometheus(&page)
	if want := `sluice_cache_requests_total{cache="response",result="pool"} 1`; !strings.Contains(page.String(), want) {
		t.Errorf("the metrics do not say %s", want)
	}
}

// TestPoolAnswersOfCallers: an answer to a caller's own credential is no other caller's at any
// node.
func TestPoolAnswersOfCallers(t *testing.T) {
	up, asked := counting(t)
	n := newNodes(t, func(s *gatewaytest.Stack) {
		in := guarded(t, up, 1, tokens(tokenGrant("ann"), tokenGrant("bob")), getItem())
		keeps(in.Bundle, 60)
		in.Bundle.Connectors[0].Auth = &registry.AuthShape{Type: registry.AuthHeader, HeaderName: "X-Who", User: true, CredentialID: "c1"}
		if err := s.Serve(in); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"ann", "bob"} {
			s.Secrets.SetUser("c1", registry.User{Kind: registry.UserToken, ID: id, Toolset: in.Bundle.ID},
				credentials.Credential{Value: secrets.New(id), Version: 1, Origins: registry.Origins{up.URL}})
		}
	})
	for range 2 {
		for node := range n.all {
			for _, id := range []string{"ann", "bob"} {
				_, body := post(t, n.all[node].URL("acme"), callBody("get_item", `{"id":1}`), "Authorization", "Bearer slt_"+id)
				n.settle(t, node)
				if strings.Contains(body, "ann") == (id == "bob") || strings.Contains(body, "bob") == (id == "ann") {
					t.Errorf("node %d answers %s with %s", node, id, body)
				}
			}
		}
	}
	if asked.Load() != 2 {
		t.Errorf("%d requests for two callers", asked.Load())
	}
}

// TestPoolAnswersAreFilteredWhenRead: an answer is kept as it came, so that what is bound later,
// at whichever node, still runs on it.
func TestPoolAnswersAreFilteredWhenRead(t *testing.T) {
	up, asked := counting(t)
	serveIt := func(s *gatewaytest.Stack, revision uint64, bind func(*snapshot.ToolsetInput)) {
		c, err := gatewaytest.Connector("acme", up.URL, getItem())
		if err != nil {
			t.Fatal(err)
		}
		in := gatewaytest.Toolset("acme", revision, c, func(b *registry.Toolset) { keeps(b, 60) })
		if bind != nil {
			bind(&in)
		}
		if in.Programs, err = in.Bundle.CompilePrograms(); err != nil {
			t.Fatal(err)
		}
		if err := s.Serve(in); err != nil {
			t.Fatal(err)
		}
	}
	n := newNodes(t, func(s *gatewaytest.Stack) { serveIt(s, 1, nil) })
	if got := n.ask(t, 0, "get_item", `{"id":1}`); !strings.Contains(got, canary) {
		t.Fatal(got)
	}
	n.ask(t, 2, "get_item", `{"id":1}`)
	for i, g := range guards() {
		for node := range 2 {
			serveIt(n.all[node], uint64(i)+2, g.bind)
			_, body := post(t, n.all[node].URL("acme"), callBody("get_item", `{"id":1}`))
			if strings.Contains(body, canary) || !strings.Contains(body, `"result"`) {
				t.Errorf("%s: node %d answers %s", g.name, node, body)
			}
		}
	}
	if got := n.ask(t, 2, "get_item", `{"id":1}`); !strings.Contains(got, canary) || asked.Load() != 1 {
		t.Errorf("without a filter: %s after %d requests", got, asked.Load())
	}
}

// TestPoolAnswersWithoutState: with the shared state gone each node keeps its own, no call fails,
// and it is shared again when it is back.
func TestPoolAnswersWithoutState(t *testing.T) {
	up, asked := counting(t)
	n := newNodes(t, func(s *gatewaytest.Stack) {
		serve(t, s, up, func(b *registry.Toolset) { keeps(b, 60) }, getItem())
	})
	n.ask(t, 0, "get_item", `{"id":1}`)
	n.state.Kill()
	if n.ask(t, 0, "get_item", `{"id":1}`); asked.Load() != 1 {
		t.Error("a node asks again for what it keeps")
	}
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() { n.ask(t, i%3, "get_item", fmt.Sprintf(`{"id":%d}`, i%3+1)) })
	}
	wg.Wait()
	n.state.Run()
	for i, deadline := 10, time.Now().Add(30*time.Second); ; i++ {
		before := asked.Load()
		n.ask(t, 0, "get_item", fmt.Sprintf(`{"id":%d}`, i))
		n.ask(t, 1, "get_item", fmt.Sprintf(`{"id":%d}`, i))
		if asked.Load() == before+1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is shared when it is back")
		}
	}
}

// TestPoolLearns: a call may follow a search at another node, and is counted once wherever it and
// its repetitions are; without the shared state each node learns for itself.
func TestPoolLearns(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	n := newNodes(t, func(s *gatewaytest.Stack) {
		err := s.Serve(searchInput(t, up, tokens(tokenGrant("one"), tokenGrant("two")), func(ts *registry.Toolset) { ts.Selection.Learn = true }, getItem(), deleteItem()))
		if err != nil {
			t.Fatal(err)
		}
	})
	agents := map[string][3]*agent{}
	for _, token := range []string{"one", "two"} {
		var of [3]*agent
		for i, s := range n.all {
			of[i] = connectAs(t, s, "2026-07-28", "slt_"+token)
		}
		agents[token] = of
	}
	search := func(who string, node int, query string) {
		agents[who][node].call("search_tools", map[string]any{"query": query}, false)
		pooltest.Settle(t, n.pools[node])
	}
	execute := func(who string, node int, want string) {
		t.Helper()
		agents[who][node].execute("get_item", map[string]any{"id": 7}, false)
		pooltest.Settle(t, n.pools[node])
		got := ""
		for _, f := range n.all[node].Meter.Drain().Found {
			got += f.Query
		}
		if got != want {
			t.Errorf("a call of %s at node %d learns %q, want %q", who, node, got, want)
		}
	}
	search("one", 0, "read an item")
	execute("two", 1, "")
	execute("one", 1, "read an item")
	execute("one", 0, "") // it was followed
	execute("one", 2, "")
	search("one", 0, "an older search")
	search("one", 1, "a newer search")
	execute("one", 0, "a newer search")
	execute("one", 1, "")
	n.state.Kill()
	search("one", 2, "read it here")
	execute("one", 2, "read it here")
	execute("one", 2, "")
}

package e2e

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const ordersScript = `await tools.orders.get_item({id: 1});
const waited = await tools.orders.slow({});
const ordered = await tools.orders.create_order({});
return {waited: waited.name, ordered: ordered.name};`

// runs are the tools that make several calls: each reads an item, then what takes its time,
// and then makes an order.
var runs = map[string]any{
	"batch": map[string]any{"allow_writes": true, "calls": []any{
		map[string]any{"tool": "get_item", "arguments": map[string]any{"id": 1}}, map[string]any{"tool": "slow"}, map[string]any{"tool": "create_order"},
	}},
	"look_and_order": map[string]any{}, "saved_order": map[string]any{}, "run_code": map[string]any{"code": ordersScript},
}

// ordersAPI answers as testdata/orders.yaml says. What takes its time waits until it is let
// go, or orders do where they are to.
type ordersAPI struct {
	*httptest.Server

	mu      sync.Mutex
	slow    int // guarded by mu, as are the others; that began
	left    int // whose client went before there was an answer
	orders  int
	hold    bool          // orders wait, and nothing else
	release chan struct{} // closed: nothing waits
}

func startOrders(t *testing.T) *ordersAPI {
	t.Helper()
	a := &ordersAPI{}
	a.again(false)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(w http.ResponseWriter, _ *http.Request) { answerItem(w, 200, "anvil") })
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.slow++
		release := a.release
		if a.hold {
			release = closed
		}
		a.mu.Unlock()
		a.wait(w, r, release, 200, "waited")
	})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.orders++
		release, hold := a.release, a.hold
		a.mu.Unlock()
		if !hold {
			release = closed
		}
		a.wait(w, r, release, 201, "ordered")
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		_ = a.Listener.Close() // or a client is back before the end
		a.CloseClientConnections()
		a.Close()
	})
	return a
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func answerItem(w http.ResponseWriter, status int, name string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"id":1,"name":"`+name+`"}`)
}

func (a *ordersAPI) wait(w http.ResponseWriter, r *http.Request, release chan struct{}, status int, name string) {
	select {
	case <-release:
		answerItem(w, status, name)
	case <-r.Context().Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		a.left++
	}
}

// again begins to count anew. hold: only orders wait.
func (a *ordersAPI) again(hold bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.slow, a.left, a.orders, a.hold, a.release = 0, 0, 0, hold, make(chan struct{})
}

func (a *ordersAPI) let() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.release)
}

func (a *ordersAPI) counts() (slow, left, orders int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.slow, a.left, a.orders
}

// mcp sends a request to the toolset and returns the body of the answer, or why there is
// none.
func (e *follower) mcp(ctx context.Context, method string, params any) string {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err.Error()
	}
	return e.post(ctx, "orders", string(body))
}

// runAll calls all the tools at once; the map has the answers when wait returns.
func (e *follower) runAll(ctx context.Context) (answers map[string]string, wait func()) {
	var (
		all sync.WaitGroup
		mu  sync.Mutex
	)
	answers = map[string]string{}
	for tool, arguments := range runs {
		all.Go(func() {
			got := e.mcp(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
			mu.Lock()
			defer mu.Unlock()
			answers[tool] = got
		})
	}
	return answers, all.Wait
}

// tools is what the toolset lists, and what is found in it.
func (e *follower) tools() string {
	search := map[string]any{"name": "search_tools", "arguments": map[string]any{"query": "get item, look and order", "limit": 20}}
	return e.mcp(context.Background(), "tools/list", map[string]any{}) + e.mcp(context.Background(), "tools/call", search)
}

func has(text string, all ...string) bool {
	return !slices.ContainsFunc(all, func(s string) bool { return !strings.Contains(text, s) })
}

// TestRuns: batches, workflows and scripts on an edge of its own process, through the ends
// that a run can have.
func TestRuns(t *testing.T) {
	p, api := startPlane(t), startOrders(t)
	e := p.edge("edge", p.join)
	spec, err := filepath.Abs("testdata/orders.yaml")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(p.dir, "saved.js")
	if err := os.WriteFile(script, []byte(ordersScript), 0o600); err != nil {
		t.Fatal(err)
	}
	p.cli(t, "add", spec, "--public", "--name", "orders", "--base-url", api.URL, "--no-deploy")
	p.cli(t, "toolset", "optimize", "orders", "--selection", "code", "--batch", "on")
	p.cli(t, "toolset", "workflow", "add", "orders", strings.TrimSuffix(spec, ".yaml")+".arazzo.yaml")
	p.cli(t, "toolset", "script", "save", "orders", "saved_order", "--from", script, "--description", "Looks and orders")
	p.cli(t, "toolset", "deploy", "orders", "--reason", "the test")
	tools := slices.Sorted(maps.Keys(runs))
	p.until("the edge serves the tools", func() bool {
		return has(e.tools(), tools...)
	})
	until := func(t *testing.T, what string, ok func() bool) {
		t.Helper()
		own := *p
		own.t = t
		own.until(what, ok)
	}
	begun := func(n int) func() bool { return func() bool { slow, _, _ := api.counts(); return slow == n } }
	gone := func(n int) func() bool { return func() bool { _, left, _ := api.counts(); return left == n } }
	whole := func(t *testing.T, answers map[string]string) {
		t.Helper()
		for _, name := range tools {
			if got := answers[name]; !strings.Contains(got, "waited") || !strings.Contains(got, "ordered") || strings.Contains(got, `"isError":true`) {
				t.Errorf("%s answered %s", name, got)
			}
		}
		if slow, left, orders := api.counts(); slow != len(runs) || left != 0 || orders != len(runs) {
			t.Errorf("%d slow calls, %d of them given up, and %d orders", slow, left, orders)
		}
	}

	t.Run("a new revision", func(t *testing.T) {
		api.again(false)
		answers, wait := e.runAll(t.Context())
		until(t, "they run", begun(len(runs)))
		p.cli(t, "toolset", "workflow", "remove", "orders", "look_and_order", "--yes")
		p.cli(t, "toolset", "script", "remove", "orders", "saved_order", "--yes")
		p.cli(t, "toolset", "optimize", "orders", "--selection", "all", "--batch", "off")
		p.cli(t, "toolset", "tools", "orders", "disable", "create_order")
		p.cli(t, "toolset", "deploy", "orders", "--reason", "the test")
		until(t, "the edge has the revision without them", func() bool {
			text := e.tools()
			return has(text, "get_item") && !slices.ContainsFunc(append(tools, "create_order"), func(name string) bool { return has(text, name) })
		})
		api.let()
		wait()
		whole(t, answers)
		p.cli(t, "toolset", "rollback", "orders")
		until(t, "the edge has the revision with them", func() bool { return has(e.tools(), tools...) })
	})

	p.stop(t) // nothing below needs the control plane
	e.stop(t)
	e.flags = []string{"--shutdown-timeout", "10s"}
	e.again()

	t.Run("a restart without the control plane", func(t *testing.T) {
		api.again(false)
		api.let()
		answers, wait := e.runAll(t.Context())
		wait()
		whole(t, answers)
	})

	t.Run("a client that goes", func(t *testing.T) {
		api.again(false)
		ctx, cancel := context.WithCancel(t.Context())
		_, wait := e.runAll(ctx)
		until(t, "they run", begun(len(runs)))
		cancel()
		wait()
		until(t, "the API sees it", gone(len(runs)))
	})

	t.Run("a stop that waits", func(t *testing.T) {
		_, _, before := api.counts()
		if before != 0 {
			t.Errorf("%d orders were made after their clients had gone", before)
		}
		api.again(false)
		answers, wait := e.runAll(t.Context())
		until(t, "they run", begun(len(runs)))
		if err := e.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		until(t, "it stops", func() bool { return strings.Contains(e.out.String(), "gateway drains") })
		api.let()
		wait()
		whole(t, answers)
		e.stop(t)
	})

	// cut stops the edge while what it waits for goes on for ever.
	cut := func(t *testing.T, hold bool) map[string]string {
		t.Helper()
		e.flags = []string{"--shutdown-timeout", "300ms"}
		e.again()
		api.again(hold)
		answers, wait := e.runAll(t.Context())
		until(t, "they run", func() bool {
			slow, _, orders := api.counts()
			return slow == len(runs) && (!hold || orders == len(runs))
		})
		begin := time.Now()
		e.stop(t)
		t.Logf("it stopped within %s", time.Since(begin))
		wait()
		until(t, "the API sees it", gone(len(runs)))
		return answers
	}

	t.Run("a stop that does not wait for ever", func(t *testing.T) {
		answers := cut(t, false)
		for _, name := range tools {
			got := answers[name]
			for _, want := range []string{"stopped", "get_item"} {
				if !strings.Contains(got, want) {
					t.Errorf("%s answered %s, without %q", name, got, want)
				}
			}
			if strings.Contains(got, "changed data") || strings.Contains(got, "client has gone") {
				t.Errorf("%s answered %s", name, got)
			}
		}
		if _, _, orders := api.counts(); orders != 0 {
			t.Errorf("%d orders were made", orders)
		}
	})

	t.Run("a stop in the middle of a write", func(t *testing.T) {
		answers := cut(t, true)
		for _, name := range tools {
			if got := answers[name]; !strings.Contains(got, "create_order") || !strings.Contains(got, "may have changed data") {
				t.Errorf("%s answered %s", name, got)
			}
		}
		if _, _, orders := api.counts(); orders != len(runs) {
			t.Errorf("%d orders were made, want %d: none twice", orders, len(runs))
		}
	})
}

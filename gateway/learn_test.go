package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// TestLearn: a search and a successful call of what it found, by one caller, are
// reported once, redacted; nothing else is, and nothing of a toolset that does not
// learn.
func TestLearn(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	up.Handle("DELETE /items/{id}", upstreamtest.JSON(404, `{"message":"no such item"}`))
	s := start(t, gatewaytest.Options{})
	err := s.Serve(searchInput(t, up, tokens(tokenGrant("one"), tokenGrant("two")), func(ts *registry.Toolset) { ts.Selection.Learn = true }, getItem(), deleteItem()))
	if err != nil {
		t.Fatal(err)
	}
	found := func() (out []string) {
		for _, f := range s.Meter.Drain().Found {
			if f.Workspace != "test" || f.Toolset == "" || f.Connector == "" || f.Calls != 1 {
				t.Errorf("%+v", f)
			}
			out = append(out, f.Method+" "+f.Path+": "+f.Query)
		}
		slices.Sort(out)
		return out
	}
	search := func(a *agent, query string) { a.call("search_tools", map[string]any{"query": query}, false) }
	id := map[string]any{"id": 7}
	for _, version := range eras {
		one, two := connectAs(t, s, version, "slt_one"), connectAs(t, s, version, "slt_two")
		search(one, "look an item up for ann@example.com,\n password=hunter2secret")
		two.execute("get_item", id, false) // somebody else's search
		if got := found(); len(got) != 0 {
			t.Errorf("%s: another caller's search counts: %q", version, got)
		}
		one.execute("get_item", id, false)
		one.execute("get_item", id, false) // the second follows no search of its own
		one.execute("delete_item", id, true)
		got := found()
		if len(got) != 1 || !strings.HasPrefix(got[0], "GET /items/{id}: look an item up for") || strings.Contains(got[0], "ann@") || strings.Contains(got[0], "hunter2") || strings.Contains(got[0], "\n") {
			t.Errorf("%s: %q", version, got)
		}
		// The newest search that found the tool counts, and no older one after it.
		search(one, "item by its number")
		search(one, "read the item")
		one.execute("get_item", id, false)
		if got := found(); !slices.Equal(got, []string{"GET /items/{id}: read the item"}) {
			t.Errorf("%s: %q", version, got)
		}
		one.execute("get_item", id, false)
		if got := found(); len(got) != 0 {
			t.Errorf("%s: %q", version, got)
		}
	}
}

// TestLearnOff: a toolset in search mode does not learn unless it is told to.
func TestLearnOff(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	s := start(t, gatewaytest.Options{})
	serveSearch(t, s, up, getItem())
	a := connectAs(t, s, "2026-07-28", "")
	a.call("search_tools", map[string]any{"query": "read an item"}, false)
	a.execute("get_item", map[string]any{"id": 7}, false)
	if got := s.Meter.Drain().Found; len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestLearnAnonymous: callers of an open toolset are told apart by their address.
func TestLearnAnonymous(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	s := start(t, gatewaytest.Options{})
	if err := s.Serve(searchInput(t, up, nil, func(ts *registry.Toolset) { ts.Selection.Learn = true }, []*operation.Operation{getItem()}...)); err != nil {
		t.Fatal(err)
	}
	a := connectAs(t, s, "2026-07-28", "")
	a.call("search_tools", map[string]any{"query": "read an item"}, false)
	a.execute("get_item", map[string]any{"id": 7}, false)
	if got := s.Meter.Drain().Found; len(got) != 1 || got[0].Query != "read an item" {
		t.Errorf("%+v", got)
	}
}

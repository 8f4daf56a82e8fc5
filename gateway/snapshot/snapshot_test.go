package snapshot_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

func mustConnector(t testing.TB, name, server string, ops ...*operation.Operation) *connector.Connector {
	t.Helper()
	c, err := gatewaytest.Connector(name, server, ops...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustCompile(t testing.TB, prev *snapshot.Snapshot, toolsets ...snapshot.ToolsetInput) *snapshot.Snapshot {
	t.Helper()
	s, err := snapshot.Compile(snapshot.Input{Toolsets: toolsets}, prev)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func names(t testing.TB, ts *snapshot.Toolset) string {
	t.Helper()
	tools, err := ts.Tools()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, tool := range tools {
		out = append(out, tool.Name)
		if got, err := ts.Tool([]byte(tool.Name)); err != nil || got != tool {
			t.Fatalf("Tool(%s) = %v, %v", tool.Name, got, err)
		}
	}
	return strings.Join(out, " ")
}

func TestRoutes(t *testing.T) {
	c := mustConnector(t, "a", "http://h", gatewaytest.Operation("get", "GET", "/x"))
	s := mustCompile(t, nil, gatewaytest.Toolset("acme", 1, c, nil), gatewaytest.Toolset("b", 1, c, nil))
	f := func(path, want string) {
		t.Helper()
		ts := s.Toolset([]byte("any.host"), []byte(path))
		if got := ts; (got == nil) != (want == "") || got != nil && got.Slug != want {
			t.Fatalf("Toolset(%q) = %v, want %q", path, got, want)
		}
	}
	f("/t/acme", "acme")
	f("/t/acme/", "acme")
	f("/t/b", "b")
	f("/t/", "")
	f("/t//", "")
	f("/t/acme//", "")
	f("/t/acme/x", "")
	f("/T/acme", "")
	f("/t/ACME", "")
	f("/acme", "")
	f("", "")
	var none *snapshot.Snapshot
	if none.Toolset(nil, []byte("/t/acme")) != nil || none.Slug("acme") != nil || none.Toolsets() != nil || none.Release() != nil {
		t.Fatal("no snapshot serves something")
	}
}

// TestShared: what did not change is the same toolset with everything it has made
// ready; what did is another.
func TestShared(t *testing.T) {
	c := mustConnector(t, "a", "http://h", gatewaytest.Operation("get", "GET", "/x"))
	one := mustCompile(t, nil, gatewaytest.Toolset("acme", 1, c, nil), gatewaytest.Toolset("b", 1, c, nil))
	two := mustCompile(t, one, gatewaytest.Toolset("acme", 1, c, nil), gatewaytest.Toolset("b", 2, c, nil))
	if one.Slug("acme") != two.Slug("acme") {
		t.Error("an unchanged toolset was made again")
	}
	if one.Slug("b") == two.Slug("b") {
		t.Error("a new revision is the old toolset")
	}
	draft := gatewaytest.Toolset("acme", 1, c, nil)
	draft.Digest = ""
	if mustCompile(t, two, draft).Slug("acme") == two.Slug("acme") {
		t.Error("a draft without a digest was taken for what is live")
	}
	if three := mustCompile(t, two, gatewaytest.Toolset("b", 2, c, nil)); three.Slug("acme") != nil {
		t.Error("a removed toolset is still served")
	}
}

// TestSharedOfMany: of 10,000 toolsets exactly those are made again that changed.
func TestSharedOfMany(t *testing.T) {
	const many = 10_000
	c := mustConnector(t, "a", "http://h", gatewaytest.Operation("get", "GET", "/x"))
	in := make([]snapshot.ToolsetInput, many)
	for i := range in {
		in[i] = gatewaytest.Toolset("t"+strconv.Itoa(i), 1, c, nil)
	}
	live := mustCompile(t, nil, in...)
	if got := snapshot.Shared(nil, live); got != 0 {
		t.Fatalf("%d of no toolsets are shared", got)
	}
	for _, changed := range [][]int{{}, {0}, {many - 1}, {17, 4711, 9000}} {
		for _, i := range changed {
			in[i] = gatewaytest.Toolset("t"+strconv.Itoa(i), live.Slug("t"+strconv.Itoa(i)).Revision+1, c, nil)
		}
		next := mustCompile(t, live, in...)
		if got := snapshot.Shared(live, next); got != many-len(changed) {
			t.Fatalf("%d changed and %d of %d are shared", len(changed), got, many)
		}
		for _, i := range changed {
			if slug := "t" + strconv.Itoa(i); next.Slug(slug) == live.Slug(slug) {
				t.Fatalf("%s changed and is the old toolset", slug)
			}
		}
		live = next
	}
}

func TestEdits(t *testing.T) {
	c := mustConnector(t, "a", "http://h",
		gatewaytest.Operation("get_item", "GET", "/items/{id}", gatewaytest.Param("id", operation.InPath, operation.TypeInteger, true)),
		gatewaytest.Operation("delete_item", "DELETE", "/items/{id}", gatewaytest.Param("id", operation.InPath, operation.TypeInteger, true)),
		gatewaytest.Operation("list_items", "GET", "/items"))
	name, title, description := "fetch", "Fetch it", "Fetches \"one\"."
	s := mustCompile(t, nil, gatewaytest.Toolset("acme", 1, c, func(b *registry.Toolset) {
		b.Tools = []registry.ToolEdit{
			{Connector: "api", Method: "GET", Path: "/items/{id}", Name: &name, Title: &title, Description: &description},
			{Connector: "api", Method: "DELETE", Path: "/items/{id}", Disabled: true},
		}
	}))
	ts := s.Slug("acme")
	if got := names(t, ts); got != "fetch list_items" {
		t.Fatalf("tools %q", got)
	}
	if got, err := ts.Tool([]byte("delete_item")); got != nil || err != nil {
		t.Fatalf("a disabled tool is served: %v, %v", got, err)
	}
	if ts.Count() != 2 {
		t.Fatalf("Count = %d, want 2", ts.Count())
	}
	whole, err := ts.List()
	if err != nil {
		t.Fatal(err)
	}
	raw, next, ok := whole.Page(nil)
	if !ok || next != "" {
		t.Fatalf("the first page: next %q, %v", next, ok)
	}
	var list []struct {
		Name, Title, Description string
		InputSchema              map[string]any
		Annotations              map[string]bool
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if l := list[0]; len(list) != 3 || list[2].Name != snapshot.FetchTool || l.Name != name || l.Title != title || l.Description != description || l.InputSchema["type"] != "object" || len(l.Annotations) != 2 {
		t.Fatalf("list %s", raw)
	}
	tool, err := ts.Tool([]byte("fetch"))
	if err != nil {
		t.Fatal(err)
	}
	ready, err := tool.Load()
	if err != nil || ready.Method != http.MethodGet || !ready.Safe || ready.Base.Origin() != "http://h" {
		t.Fatalf("ready %+v, %v", ready, err)
	}
}

// TestNames: collisions are settled the same way every time, and a connector that
// comes later renames nothing.
// TestNature: what each call asks of a tool is what its definition and the operator's edit say,
// and after the first time nothing is decoded for it.
func TestNature(t *testing.T) {
	c := mustConnector(t, "a", "http://h", gatewaytest.Operation("get_item", "GET", "/item"), gatewaytest.Operation("list_items", "GET", "/items"))
	yes, no := true, false
	ts := mustCompile(t, nil, gatewaytest.Toolset("acme", 1, c, func(b *registry.Toolset) {
		b.Tools = []registry.ToolEdit{
			{Connector: "api", Method: "GET", Path: "/item", Annotations: &registry.AnnotationEdit{ReadOnly: &yes, Destructive: &no}},
			{Connector: "api", Method: "GET", Path: "/items", Annotations: &registry.AnnotationEdit{ReadOnly: &no, Destructive: &yes}},
		}
	})).Slug("acme")
	for name, want := range map[string]struct {
		reads bool
		at    registry.SelectedTool
	}{
		"get_item":   {true, registry.SelectedTool{Connector: "api", Method: "GET", Path: "/item"}},
		"list_items": {false, registry.SelectedTool{Connector: "api", Method: "GET", Path: "/items"}},
	} {
		tool, err := ts.Tool([]byte(name))
		if err != nil {
			t.Fatal(err)
		}
		if at, ok := tool.Operation(); !ok || at != want.at {
			t.Errorf("%s is %+v, %v, want %+v", name, at, ok, want.at)
		}
		if tool.OnlyReads() != want.reads || ts.ScriptMayCall(tool) != want.reads {
			t.Errorf("%s only reads: %v, scripts may call it: %v, want %v", name, tool.OnlyReads(), ts.ScriptMayCall(tool), want.reads)
		}
		if n := testing.AllocsPerRun(100, func() { tool.OnlyReads(); ts.ScriptMayCall(tool); tool.Operation() }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestNames(t *testing.T) {
	ops := func(names ...string) (out []*operation.Operation) {
		for i, n := range names {
			out = append(out, gatewaytest.Operation(n, "GET", fmt.Sprintf("/%d", i)))
		}
		return out
	}
	long := strings.Repeat("x", 40)
	a := mustConnector(t, "a", "http://h", ops("list", "get", long)...)
	b := mustConnector(t, "b", "http://h", ops("list", "create", "b_api_list", long)...)
	f := func(want string, edits []registry.ToolEdit, connectors ...string) {
		t.Helper()
		in := gatewaytest.Toolset("acme", 1, a, func(ts *registry.Toolset) {
			ts.Tools = edits
			ref := ts.Connectors[0]
			ts.Connectors = nil
			for _, c := range connectors {
				ref.Name = c
				ts.Connectors = append(ts.Connectors, ref)
			}
		})
		in.Connectors = map[string]*connector.Connector{"a": a, "b-api": b}
		if got := names(t, mustCompile(t, nil, in).Slug("acme")); got != want {
			t.Fatalf("names %q, want %q", got, want)
		}
	}
	alone := "list get " + long
	f(alone, nil, "a")
	f(alone+" b_api_list create b_api_b_api_list b_api_"+long, nil, "a", "b-api")
	chosen := "LIST"
	f("a_list get "+long+" LIST create b_api_list b_api_"+long,
		[]registry.ToolEdit{{Connector: "b-api", Method: "GET", Path: "/0", Name: &chosen}}, "a", "b-api")
}

func TestCompileRefuses(t *testing.T) {
	c := mustConnector(t, "a", "http://h", gatewaytest.Operation("get", "GET", "/x"))
	f := func(what string, kind problem.Kind, change func(*snapshot.ToolsetInput)) {
		t.Helper()
		in := gatewaytest.Toolset("acme", 1, c, nil)
		change(&in)
		_, err := snapshot.Compile(snapshot.Input{Toolsets: []snapshot.ToolsetInput{in}}, nil)
		if err == nil || kind != "" && !problem.Is(err, kind) || !strings.Contains(err.Error(), "acme") {
			t.Fatalf("%s: %v", what, err)
		}
	}
	f("no bundle", "", func(in *snapshot.ToolsetInput) { in.Bundle = nil })
	f("no connector", "", func(in *snapshot.ToolsetInput) { in.Connectors = nil })
	f("unknown access", problem.Unsupported, func(in *snapshot.ToolsetInput) { in.Bundle.Access.Mode = "retina" })
	f("unknown authentication", problem.Unsupported, func(in *snapshot.ToolsetInput) {
		in.Bundle.Connectors[0].Auth = &registry.AuthShape{Type: "magic"}
	})
	f("bad base URL", problem.InvalidArgument, func(in *snapshot.ToolsetInput) { in.Bundle.Connectors[0].BaseURL = "ftp://x" })
	twice := gatewaytest.Toolset("acme", 1, c, nil)
	if _, err := snapshot.Compile(snapshot.Input{Toolsets: []snapshot.ToolsetInput{twice, twice}}, nil); err == nil {
		t.Fatal("one slug for two toolsets was accepted")
	}
}

func TestServers(t *testing.T) {
	f := func(base, specification, own, want string, credential bool) {
		t.Helper()
		op := gatewaytest.Operation("get", "GET", "/x")
		if own != "" {
			op.Servers = []operation.Server{{URL: own}}
		}
		c := mustConnector(t, "a", specification, op)
		s := mustCompile(t, nil, gatewaytest.Toolset("acme", 1, c, func(b *registry.Toolset) {
			b.Connectors[0].BaseURL = base
			b.Connectors[0].Auth = &registry.AuthShape{Type: registry.AuthBasic, CredentialID: "c"}
		}))
		tool, err := s.Slug("acme").Tool([]byte("get"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := tool.Load()
		if err != nil || string(r.Base.AppendURL(nil, []byte("/x"))) != want || (len(r.Rules) > 0) != credential {
			t.Fatalf("base %q, specification %q, operation %q: %s, credential %v, %v", base, specification, own,
				r.Base.AppendURL(nil, []byte("/x")), r.Rules, err)
		}
	}
	f("", "https://api.example/v1", "", "https://api.example/v1/x", true)
	f("", "https://api.example/v1", "https://upload.example", "https://upload.example/x", false)
	f("", "https://api.example/v1", "https://api.example/v2", "https://api.example/v2/x", true)
	f("https://mine.example", "https://api.example/v1", "https://upload.example", "https://mine.example/x", true)
}

func TestHolder(t *testing.T) {
	var h snapshot.Holder
	if h.Load() != nil {
		t.Fatal("the zero Holder holds something")
	}
	changed := h.Changed()
	if h.Changed() != changed {
		t.Fatal("two channels for one change")
	}
	s := mustCompile(t, nil)
	h.Store(s)
	<-changed
	if h.Load() != s || h.Changed() == changed {
		t.Fatal("the change was not seen")
	}
}

// TestConcurrentUse makes a toolset ready from many goroutines at once.
func TestConcurrentUse(t *testing.T) {
	var ops []*operation.Operation
	for i := range 20 {
		ops = append(ops, gatewaytest.Operation(fmt.Sprintf("get_%d", i), "GET", fmt.Sprintf("/x/%d", i)))
	}
	c := mustConnector(t, "a", "http://h", ops...)
	s := mustCompile(t, nil, gatewaytest.Toolset("acme", 1, c, nil))
	lists := make([]*snapshot.List, 8)
	var wg sync.WaitGroup
	for i := range lists {
		wg.Go(func() {
			if i%2 == 0 {
				if err := s.Warm(t.Context()); err != nil {
					t.Error(err)
				}
			}
			var err error
			if lists[i], err = s.Slug("acme").List(); err != nil {
				t.Error(err)
			}
			for j := range 20 {
				tool, err := s.Slug("acme").Tool(fmt.Appendf(nil, "get_%d", j))
				if err != nil || tool == nil {
					t.Errorf("get_%d: %v", j, err)
					return
				}
				if r, err := tool.Load(); err != nil || r.Path != fmt.Sprintf("/x/%d", j) {
					t.Errorf("get_%d: %v", j, err)
				}
			}
		})
	}
	wg.Wait()
	for _, l := range lists {
		if l != lists[0] {
			t.Fatal("the list was rendered more than once")
		}
	}
	if page, _, _ := lists[0].Page(nil); slices.Contains(page, '\n') {
		t.Fatal("the list is not minified")
	}
}

// TestPages: a list is one page up to the bound, and two with one tool more; a
// cursor of another list or revision is refused.
func TestPages(t *testing.T) {
	var ops []*operation.Operation
	for i := range 1001 {
		ops = append(ops, gatewaytest.Operation(fmt.Sprintf("get_%d", i), "GET", fmt.Sprintf("/x/%d", i)))
	}
	count := func(page []byte) int {
		t.Helper()
		var tools []struct{ Name string }
		if err := json.Unmarshal(page, &tools); err != nil {
			t.Fatal(err)
		}
		return len(tools)
	}
	list := func(revision uint64, n int) *snapshot.List {
		t.Helper()
		s := mustCompile(t, nil, gatewaytest.Toolset("acme", revision, mustConnector(t, "a", "http://h", ops[:n]...), nil))
		l, err := s.Slug("acme").List()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if page, next, ok := list(1, 1000).Page(nil); !ok || next != "" || count(page) != 1001 { // and fetch_result, which opens no page
		t.Fatalf("1000 tools: next %q, %v", next, ok)
	}
	l := list(1, 1001)
	page, next, ok := l.Page(nil)
	if !ok || next == "" || count(page) != 1000 {
		t.Fatalf("first page of 1001 tools: next %q, %v", next, ok)
	}
	if page, last, ok := l.Page([]byte(next)); !ok || last != "" || count(page) != 2 {
		t.Fatalf("second page of 1001 tools: next %q, %v", last, ok)
	}
	for _, bad := range []string{next + "0", strings.TrimSuffix(next, "1") + "01", "x", strings.TrimSuffix(next, "1") + "2", strings.TrimSuffix(next, "1") + "0"} {
		if _, _, ok := l.Page([]byte(bad)); ok {
			t.Errorf("cursor %q was accepted", bad)
		}
	}
	if _, _, ok := list(2, 1001).Page([]byte(next)); ok {
		t.Error("a cursor of another revision was accepted")
	}
}

// TestListOf: callers who see different tools get different lists.
func TestListOf(t *testing.T) {
	c := mustConnector(t, "a", "http://h", gatewaytest.Operation("get_a", "GET", "/a"), gatewaytest.Operation("get_b", "GET", "/b"))
	ts := mustCompile(t, nil, gatewaytest.Toolset("acme", 1, c, nil)).Slug("acme")
	for _, name := range []string{"get_a", "get_b"} {
		l, err := ts.ListOf(name, func(tool string) bool { return tool == name })
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := ts.ListOf(name, nil); again != l {
			t.Error("the list was rendered twice")
		}
		page, _, _ := l.Page(nil)
		if !strings.Contains(string(page), name) || strings.Count(string(page), `"name":"get_`) != 1 || !strings.Contains(string(page), snapshot.FetchTool) {
			t.Errorf("the list of %s is %s", name, page)
		}
	}
	if l, err := ts.ListOf("none", func(string) bool { return false }); err != nil {
		t.Error(err)
	} else if page, _, _ := l.Page(nil); string(page) != "[]" {
		t.Errorf("nothing is %s", page)
	}
}

// TestConnectorSettings: of profile, format and budget the narrower wins, and each
// connector has its own.
func TestConnectorSettings(t *testing.T) {
	c := mustConnector(t, "a", "http://h", gatewaytest.Operation("list", "GET", "/0"), gatewaytest.Operation("get", "GET", "/1"))
	in := gatewaytest.Toolset("acme", 1, c, func(ts *registry.Toolset) {
		ts.Profile, ts.Answers = registry.ProfileConcise, &registry.Answers{Budget: 1000, Format: registry.FormatJSON}
		second := ts.Connectors[0]
		second.Name, second.Answers = "second", &registry.Answers{Profile: registry.ProfileOff, Budget: 2000}
		ts.Connectors = append(ts.Connectors, second)
		ts.Tools = []registry.ToolEdit{{Connector: "second", Method: "GET", Path: "/1", Answers: &registry.Answers{Profile: registry.ProfileLossless, Budget: 3000}}}
	})
	for name := range in.Connectors {
		in.Connectors["second"] = in.Connectors[name]
	}
	ts := mustCompile(t, nil, in).Slug("acme")
	for name, want := range map[string]struct {
		profile string
		budget  int
	}{"list": {registry.ProfileConcise, 1000}, "second_list": {registry.ProfileOff, 2000}, "second_get": {registry.ProfileLossless, 3000}} {
		tool, err := ts.Tool([]byte(name))
		if err != nil || tool == nil {
			t.Fatalf("%s: %v, %v", name, tool, err)
		}
		r, err := tool.Load()
		if err != nil || r.Answer.Profile != want.profile || r.Answer.Budget != want.budget || r.Answer.Format != answer.FormatJSON {
			t.Errorf("%s: %+v, %v; want %+v", name, r.Answer, err, want)
		}
	}
}

package draft

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// drafted is a draft of connectors with these tools, each a GET of its path.
func drafted(connectors map[string][]string) *Draft {
	d := &Draft{Toolset: &store.Toolset{ID: "ts_1", Slug: "shop"}}
	names := make([]string, 0, len(connectors))
	for name := range connectors {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		conn := &toolset.Generated{ByOp: map[toolset.Operation]int{}}
		for i, tool := range connectors[name] {
			conn.ByOp[toolset.Operation{Method: "GET", Path: "/" + tool}] = i
			conn.Tools = append(conn.Tools, toolset.GeneratedTool{Head: connector.Head{Name: tool, Method: "GET", Path: "/" + tool, InputSchema: json.RawMessage(`{"type":"object"}`)}})
		}
		d.Parts = append(d.Parts, &Part{Row: store.ToolsetConnector{Name: name}, Conn: conn})
	}
	d.Part = d.Parts[0]
	return d
}

func named(d *Draft) (out []string) {
	for _, t := range d.Tools(false) {
		out = append(out, t.Operation.Connector+":"+t.Name)
	}
	return out
}

// TestFocus: a draft is about its only connector, or about the one that is named.
func TestFocus(t *testing.T) {
	one, two := drafted(map[string][]string{"a": {"x"}}), drafted(map[string][]string{"a": {"x"}, "b": {"y"}})
	for _, c := range []struct {
		d     *Draft
		name  string
		fault problem.Kind
	}{{one, "", ""}, {two, "b", ""}, {two, "", problem.Conflict}, {two, "c", problem.NotFound}} {
		err := c.d.Focus(c.name)
		if c.fault == "" && (err != nil || c.name != "" && c.d.Row.Name != c.name) || c.fault != "" && !problem.Is(err, c.fault) {
			t.Errorf("%q: got %v, about %s", c.name, err, c.d.Row.Name)
		}
	}
}

// TestSettle: a tool that agents know keeps its name, another one of that name gets the
// name of its connector in front.
func TestSettle(t *testing.T) {
	d := drafted(map[string][]string{"a": {"find", "get"}, "b": {"find", "list"}})
	before := slices.DeleteFunc(d.Tools(false), func(t toolset.Tool) bool { return t.Operation.Connector == "a" })
	kept := d.Settle(before)
	if want := []string{"a:a_find", "a:get", "b:find", "b:list"}; !slices.Equal(named(d), want) {
		t.Errorf("got %q, want %q", named(d), want)
	}
	if len(kept) != 1 || kept[0].Name != "a_find" || kept[0].Generated != "find" {
		t.Errorf("told %+v", kept)
	}
	if err := d.CheckNames(); err != nil {
		t.Error(err)
	}
	if again := d.Settle(d.Tools(false)); again != nil {
		t.Errorf("settled again: %+v", again)
	}
}

// TestEdits: an edit that changes nothing is not kept, and one of an operation that is gone
// waits outside of the bundle.
func TestEdits(t *testing.T) {
	d := drafted(map[string][]string{"a": {"find"}})
	op, gone := toolset.Operation{Connector: "a", Method: "GET", Path: "/find"}, toolset.Operation{Connector: "a", Method: "GET", Path: "/gone"}
	name := "search"
	d.Edit(op, func(e *store.ToolEdit) { e.Name = &name })
	d.Edit(gone, func(e *store.ToolEdit) { e.Disabled = true })
	if edits, err := d.RegistryEdits(); err != nil || len(edits) != 1 || len(d.Edits) != 2 || !slices.Equal(named(d), []string{"a:search"}) {
		t.Errorf("%d edits of %d, %v; tools %q", len(edits), len(d.Edits), err, named(d))
	}
	d.Edit(op, func(e *store.ToolEdit) { e.Name = nil })
	if len(d.Edits) != 1 {
		t.Errorf("an edit that changes nothing is kept: %+v", d.Edits)
	}
}

// TestDrop: the last connector stays, and so does one without which no tool is enabled.
func TestDrop(t *testing.T) {
	if err := drafted(map[string][]string{"a": {"x"}}).Drop(); !problem.Is(err, problem.Conflict) {
		t.Errorf("the only one: %v", err)
	}
	d := drafted(map[string][]string{"a": {"x"}, "b": {"y"}})
	d.Edit(toolset.Operation{Connector: "b", Method: "GET", Path: "/y"}, func(e *store.ToolEdit) { e.Disabled = true })
	if err := d.Drop(); !problem.Is(err, problem.Conflict) {
		t.Errorf("the one with enabled tools: %v", err)
	}
	d = drafted(map[string][]string{"a": {"x"}, "b": {"y"}})
	d.Toolset.Plugins = store.JSON([]Binding{{Plugin: "mask", Connector: "a"}, {Plugin: "count"}})
	d.Edit(toolset.Operation{Connector: "a", Method: "GET", Path: "/x"}, func(e *store.ToolEdit) { e.Disabled = true })
	if err := d.Drop(); err != nil || len(d.Edits) != 0 || d.Row.Name != "b" {
		t.Fatalf("got %v, %+v", err, d.Edits)
	}
	if bound, err := d.Bindings(); err != nil || len(bound) != 1 || bound[0].Plugin != "count" {
		t.Errorf("bindings %+v, %v", bound, err)
	}
}

// TestFreeName: another connector of a name gets a number, also where that makes it too long.
func TestFreeName(t *testing.T) {
	long := string(slices.Repeat([]byte("a"), registry.MaxSlugBytes))
	d := drafted(map[string][]string{"a": {"x"}, "a-2": {"y"}, long: {"z"}})
	for want, got := range map[string]string{"a-3": freeName(d, "a"), "b": freeName(d, "b"), long[:len(long)-2] + "-2": freeName(d, long)} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

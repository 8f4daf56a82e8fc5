package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/store"
)

// testConnectorsOf: the first connector of a toolset is in its own record and the
// others beside it; order and content stay, and what goes takes its source along.
func testConnectorsOf(t *testing.T, h harness) {
	s := h.open(t, nil)
	w, ctx := s.Workspace("one"), t.Context()
	ts := seed(t, w, "pets")
	rows, err := w.ToolsetConnectors(ctx, ts)
	if err != nil || len(rows) != 1 || rows[0].Name != "pets" || rows[0].BaseURL != "https://api.example" || rows[0].SourceKind != "openapi" {
		t.Fatalf("one connector: %+v, %v", rows, err)
	}
	for i, name := range []string{"notes", "a-third"} {
		rows = append(rows, store.ToolsetConnector{
			Name: name, SourceKind: "mcp", SourceURL: fmt.Sprintf("https://mcp%d.example/mcp", i), SourceTitle: name, Connector: "pets", ConnectorDigest: "sha256:c1",
			BaseURL: "https://b.example", Answers: `{"profile":"off"}`, UpstreamPolicy: "warn",
		})
	}
	save := func(rows []store.ToolsetConnector) {
		t.Helper()
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			for i := range rows {
				if err := tx.PutToolsetSource(ctx, &store.ToolsetSource{ToolsetID: ts.ID, Connector: rows[i].Name, ETag: rows[i].Name}); err != nil {
					return err
				}
			}
			if err := tx.SaveConnectors(ctx, ts, rows); err != nil {
				return err
			}
			return tx.SaveToolset(ctx, ts)
		})
	}
	check := func(names ...string) {
		t.Helper()
		read, err := w.Toolset(ctx, ts.ID)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.ToolsetConnectors(ctx, read)
		if err != nil || len(got) != len(names) {
			t.Fatalf("%+v, %v; want %v", got, err, names)
		}
		for i, name := range names {
			c := got[i]
			if c.Name != name || name != "pets" && (c.UpstreamPolicy != "warn" || c.Answers != `{"profile":"off"}` || !strings.HasPrefix(c.SourceURL, "https://mcp") || c.SourceTitle != name) {
				t.Errorf("connector %d is %+v, want %s", i, c, name)
			}
		}
		for _, name := range []string{"pets", "notes", "a-third"} {
			src, err := w.ToolsetSource(ctx, ts.ID, name)
			if want := slices.Contains(names, name); err != nil || (src.ETag == name) != want {
				t.Errorf("source of %s: %+v, %v", name, src, err)
			}
		}
	}
	rows[0].Entry, rows[2].Entry = "{1}", "{2}"
	save(rows)
	check("pets", "notes", "a-third")
	want := []store.EntryUse{{ToolsetID: ts.ID, Slug: ts.Slug, Connector: "a-third", Entry: "{2}"}, {ToolsetID: ts.ID, Slug: ts.Slug, Connector: "pets", Entry: "{1}"}}
	if got, err := w.EntryUses(ctx); err != nil || !slices.Equal(got, want) {
		t.Errorf("made of entries: %+v, %v", got, err)
	}
	if got, err := s.Workspace("two").EntryUses(ctx); err != nil || len(got) != 0 {
		t.Errorf("another workspace sees %+v, %v", got, err)
	}
	if of, err := s.ToolsetsOfKind(ctx, "mcp"); err != nil || len(of) != 1 || of[0].ID != ts.ID {
		t.Errorf("toolsets with an MCP server: %+v, %v", of, err)
	}
	save(slices.Clone(rows[1:])) // the first goes, and the second is the first
	check("notes", "a-third")
	save(slices.Clone(rows[1:2]))
	check("notes")
	if of, err := s.ToolsetsOfKind(ctx, "openapi"); err != nil || len(of) != 0 {
		t.Errorf("toolsets of a specification: %+v, %v", of, err)
	}
	other := s.Workspace("two")
	if got, err := other.ToolsetConnectors(ctx, &store.Toolset{ID: ts.ID}); err != nil || len(got) != 1 {
		t.Errorf("another workspace sees %+v, %v", got, err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddToolsetChange(ctx, &store.ToolsetChange{ToolsetID: ts.ID, Connector: "notes", Report: "{}"}); err != nil {
			return err
		}
		return tx.AddToolsetChange(ctx, &store.ToolsetChange{ToolsetID: ts.ID, Connector: "pets", Report: "{}"})
	})
	for name, n := range map[string]int{"": 2, "notes": 1, "none": 0} {
		if got, _, err := w.ToolsetChanges(ctx, ts.ID, name, store.Page{Limit: 9}); err != nil || len(got) != n {
			t.Errorf("changes of %q: %d, %v", name, len(got), err)
		}
	}
	rows[1].Name = "notes-2"
	save([]store.ToolsetConnector{rows[0], rows[1], rows[2]})
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteToolset(ctx, ts.ID, ts.Version) })
	if got, err := w.ToolsetConnectors(ctx, ts); err != nil || len(got) != 1 {
		t.Errorf("after the deletion: %+v, %v", got, err)
	}
}

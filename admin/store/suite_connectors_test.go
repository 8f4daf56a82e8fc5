package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
	save(rows)
	check("pets", "notes", "a-third")
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

// before70 is a dump of the time when a toolset had one connector.
const before70 = `{"format":"sluice-records","version":1,"schema":61}
{"table":"workspaces","columns":["id","name","created_at"]}
["one","one",1]
{"table":"specifications","columns":["workspace_id","digest","name","url","format","spec_version","size_bytes","content","created_at"]}
["one","sha256:s1","s","","yaml","3.1.0",1,{"b":"AA=="},1]
{"table":"connectors","columns":["workspace_id","name","title","kind","source","latest_digest","created_at","updated_at"]}
["one","pets","Pets","custom","openapi","sha256:c1",1,1]
{"table":"connector_versions","columns":["workspace_id","connector","digest","manifest","repository","tag","version","spec_digest","tools","report","created_at"]}
["one","pets","sha256:c1","sha256:m1","one/connectors/pets","1","1","sha256:s1",2,"{}",1]
{"table":"toolsets","columns":["workspace_id","id","version","slug","name","description","instructions","source_kind","source_url","source_title","connector","connector_digest","base_url","profile","cache_seconds","enabled_tools","draft_digest","live_digest","live_repository","live_revision","created_at","updated_at","upstream_policy"]}
["one","ts_1",3,"pets","Pets","","","openapi","https://api.example/o.json","Pets","pets","sha256:c1","https://api.example","lossless",0,2,"sha256:d1","sha256:d1","one/toolsets/pets",1,1,1,"warn"]
{"table":"tool_edits","columns":["workspace_id","toolset_id","connector","method","path","name","title","description","disabled"]}
["one","ts_1","pets","GET","/pets","all_pets",null,null,false]
{"table":"toolset_sources","columns":["workspace_id","toolset_id","etag","last_modified","overlays","checked_at"]}
["one","ts_1","\"e\"","","[]",5]
{"table":"toolset_changes","columns":["workspace_id","toolset_id","id","from_digest","to_digest","from_version","to_version","actor","report","created_at"]}
["one","ts_1","chg_1","a","b","1","2","tok_1","{}",5]
{"end":true,"rows":8}
`

// testUpgrade: records of the time when a toolset had one connector are what they
// were, and it has a name.
func testUpgrade(t *testing.T, h harness) {
	check := func(opts store.Options) {
		t.Helper()
		opts.Now = time.Now
		if rows, err := store.Load(t.Context(), opts, strings.NewReader(before70)); err != nil || rows != 8 {
			t.Fatal(rows, err)
		}
		opts.Existing = true
		s, err := store.Open(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		w := s.Workspace("one")
		ts, err := w.Toolset(t.Context(), "ts_1")
		if err != nil || ts.ConnectorName != "pets" || ts.UpstreamPolicy != "warn" || ts.Version != 3 {
			t.Fatalf("%+v, %v", ts, err)
		}
		rows, err := w.ToolsetConnectors(t.Context(), ts)
		if err != nil || len(rows) != 1 || rows[0].Name != "pets" || rows[0].SourceURL != "https://api.example/o.json" {
			t.Errorf("%+v, %v", rows, err)
		}
		if src, err := w.ToolsetSource(t.Context(), "ts_1", "pets"); err != nil || src.ETag != `"e"` || src.Overlays != "[]" {
			t.Errorf("%+v, %v", src, err)
		}
		if edits, err := w.ToolEdits(t.Context(), "ts_1"); err != nil || len(edits) != 1 || edits[0].Connector != "pets" {
			t.Errorf("%+v, %v", edits, err)
		}
		if c, _, err := w.ToolsetChanges(t.Context(), "ts_1", "pets", store.Page{Limit: 2}); err != nil || len(c) != 1 {
			t.Errorf("%+v, %v", c, err)
		}
	}
	check(store.Options{Path: filepath.Join(t.TempDir(), "old.db")})
	if h.empty != nil {
		check(store.Options{URL: h.empty(t)})
	}
}

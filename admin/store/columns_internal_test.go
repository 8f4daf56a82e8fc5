package store

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store/listing"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestColumnsOfLists: each field of a list is a column of its table, or an expression of columns.
func TestColumnsOfLists(t *testing.T) {
	t.Parallel()
	s := loose(t, time.Unix(1_700_000_000, 0))
	tables := map[string]struct {
		list  *listing.Spec
		table string
	}{
		"ToolsetList": {ToolsetList, "toolsets AS toolset"}, "ConnectorList": {ConnectorList, "connectors"}, "ConnectorVersionList": {ConnectorVersionList, "connector_versions"},
		"RevisionList": {RevisionList, "revisions"}, "PublishedList": {PublishedList, "revisions"}, "JobList": {JobList, "jobs"}, "AuditList": {AuditList, "audit_records AS audit"},
		"MemberList": {MemberList, "members"}, "TokenList": {TokenList, "api_tokens"}, "AccessTokenList": {AccessTokenList, "access_tokens"}, "SessionList": {SessionList, "sessions"},
		"PasskeyList": {PasskeyList, "passkeys"}, "EdgeList": {EdgeList, "edges"}, "DomainList": {DomainList, "domains"}, "JoinTokenList": {JoinTokenList, "edge_join_tokens"},
		"AlertList": {AlertList, "alerts"}, "ChannelList": {ChannelList, "channels"}, "DeliveryList": {DeliveryList, "deliveries"}, "EventList": {EventList, "events"},
		"ConnectorRequestList": {ConnectorRequestList, "(SELECT id, name, website, use_case, state, created_at, updated_at, 0 AS votes FROM connector_requests)"}, "PublisherKeyList": {PublisherKeyList, "publisher_keys"},
		"PluginList":    {PluginList, "plugin_versions"},
		"UserTokenList": {UserTokenList, "oauth_tokens"}, "ChangeList": {ChangeList, "toolset_changes"}, "CallList": {CallList, "calls"}, "WorkspaceList": {WorkspaceList, "workspaces"},
		"credentialList": {credentialList, "credentials"},
	}
	for _, name := range listsOf(t) {
		if _, ok := tables[name]; !ok {
			t.Errorf("of which table is %s?", name)
		}
	}
	for name, x := range tables {
		fields := x.list.Fields
		for _, o := range x.list.Default {
			fields = append(slices.Clip(fields), o.Field)
		}
		for _, f := range fields {
			if f.Column == "" {
				continue
			}
			if _, err := s.read.ExecContext(t.Context(), fmt.Sprintf("SELECT %s FROM %s LIMIT 0", f.Column, x.table)); err != nil {
				t.Errorf("%s, %s: %v", name, f.Name, err)
			}
		}
	}
}

// listsOf are the lists that lists.go declares.
func listsOf(t *testing.T) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "lists.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasSuffix(v.Names[0].Name, "List") {
			names = append(names, v.Names[0].Name)
		}
		return true
	})
	if len(names) < 20 {
		t.Fatalf("lists.go has %q", names)
	}
	return names
}

// TestFaultThatPasses: a database that was full for a moment is well again, and what says already
// what is wrong is not explained.
func TestFaultThatPasses(t *testing.T) {
	t.Parallel()
	s := loose(t, time.Unix(1_700_000_000, 0), `CREATE TABLE big (b BLOB)`, `PRAGMA max_page_count = 1`)
	_, err := s.write.NewRaw(`INSERT INTO big VALUES (zeroblob(1000000))`).Exec(t.Context())
	if Fault(err) == nil {
		t.Fatalf("a full database: %v", err)
	}
	if p := problem.As(s.Explain(err)); p == nil || p.Place.File != s.path {
		t.Errorf("explained: %v", p)
	}
	said := problem.New(problem.Conflict, "it cannot be written").Because(err)
	if got := s.Explain(said); !errors.Is(got, said) || problem.As(got) != said {
		t.Errorf("explained again: %v", got)
	}
	if _, err := s.write.ExecContext(t.Context(), `PRAGMA max_page_count = 1000000`); err != nil {
		t.Fatal(err)
	}
	if err := s.Health(t.Context()); err != nil {
		t.Errorf("a database that was full: %v", err)
	}
}

// TestStaleAccess: who wrote on what had changed keeps the version that was read, and is told.
func TestStaleAccess(t *testing.T) {
	t.Parallel()
	s := loose(t, time.Unix(1_700_000_000, 0))
	if err := s.EnsureWorkspace(t.Context(), "x", "x"); err != nil {
		t.Fatal(err)
	}
	save := func(row *ToolsetAccess) error {
		return s.Workspace("x").Update(t.Context(), func(tx *Tx) error { return tx.SaveAccess(t.Context(), row) })
	}
	first := &ToolsetAccess{ToolsetID: "t", Mode: "open"}
	if err := save(first); err != nil || first.Version != 1 {
		t.Fatalf("%v, version %d", err, first.Version)
	}
	for read := range uint64(3) {
		row := &ToolsetAccess{ToolsetID: "t", Mode: "open", Version: read}
		err := save(row)
		if read > 0 { // of the version that is there
			if err != nil || row.Version != read+1 {
				t.Errorf("read at version %d: %v, version %d", read, err, row.Version)
			}
			continue
		}
		if !errors.Is(err, ErrStale) || !problem.Is(err, problem.Precondition) || row.Version != read {
			t.Errorf("read at version %d: %v, version %d", read, err, row.Version)
		}
	}
	if _, err := s.write.ExecContext(t.Context(), `DROP TABLE toolset_access`); err != nil {
		t.Fatal(err)
	}
	row := &ToolsetAccess{ToolsetID: "t", Version: 3}
	if err := save(row); err == nil || !strings.Contains(err.Error(), "writing the access of t") || row.Version != 3 {
		t.Errorf("without its table: %v, version %d", err, row.Version)
	}
}

// TestWhatIsLookedFor: deliveries are those that were asked for, a report is of one edge of one
// workspace, and a roll-out that is not there is called that.
func TestWhatIsLookedFor(t *testing.T) {
	t.Parallel()
	s := loose(t, time.Unix(1_700_000_000, 0))
	for _, ws := range []string{"x", "y"} {
		if err := s.EnsureWorkspace(t.Context(), ws, ws); err != nil {
			t.Fatal(err)
		}
		if _, err := s.write.NewInsert().Model(&Edge{InWorkspace: InWorkspace{WorkspaceID: ws}, ID: "e", Name: "e", SealKey: []byte{1}, SignKey: []byte{1}, TokenHash: []byte(ws)}).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.ReportEdge(t.Context(), "x", "e", `{"a":1}`); err != nil {
		t.Fatal(err)
	}
	for ws, want := range map[string]string{"x": `{"a":1}`, "y": ""} {
		row := new(Edge)
		if err := s.read.NewSelect().Model(row).Where("token_hash = ?", []byte(ws)).Scan(t.Context()); err != nil || row.Status != want {
			t.Errorf("the edge of %s reported %q, %v", ws, row.Status, err)
		}
	}
	w := s.Workspace("x")
	for i, d := range []Delivery{{ChannelID: "c1", State: DeliveryPending, AlertID: "a1"}, {ChannelID: "c1", State: DeliveryDead, AlertID: "a2"}, {ChannelID: "c2", State: DeliveryDead, AlertID: "a1"}} {
		d.InWorkspace, d.ID = InWorkspace{WorkspaceID: "x"}, fmt.Sprint("d", i)
		if _, err := s.write.NewInsert().Model(&d).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for f, want := range map[DeliveryFilter]string{
		{}: "d2 d1 d0", {Channel: "c1"}: "d1 d0", {State: DeliveryDead}: "d2 d1", {Alert: "a1"}: "d2 d0", {Channel: "c2", State: DeliveryPending}: "",
	} {
		rows, _, err := w.Deliveries(t.Context(), f, Page{})
		var got []string
		for i := range rows {
			got = append(got, rows[i].ID)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%+v: %q, want %q; %v", f, got, want, err)
		}
	}
	if _, err := w.Trial(t.Context(), "t", "roll_9"); !problem.Is(err, problem.NotFound) || !strings.Contains(err.Error(), `no roll-out "roll_9"`) {
		t.Errorf("no roll-out: %v", err)
	}
}

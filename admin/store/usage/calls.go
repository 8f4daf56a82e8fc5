package usage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/listing"
	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

const (
	// DefaultCallLogRows is how many calls of a workspace are kept: a day of a call a
	// second, 30 MB without captured texts.
	DefaultCallLogRows = 100_000
	// DefaultCallLogAge is how long calls are kept.
	DefaultCallLogAge = 7 * 24 * time.Hour

	callPrefix = "call_"
)

// Call is one call of a tool. Durations are microseconds.
type Call struct {
	bun.BaseModel `bun:"table:calls,alias:c"`
	table.InWorkspace
	Seq          uint64     `bun:"seq,pk"` // 1, 2, … in its workspace as they arrived
	Node         string     `bun:"node"`
	At           table.Time `bun:"at"`
	ToolsetID    string     `bun:"toolset_id"`
	Tool         string     `bun:"tool"`
	Connector    string     `bun:"connector"` // that served it; empty: a workflow, or not known
	Revision     uint64     `bun:"revision"`
	Outcome      string     `bun:"outcome"`
	Cause        string     `bun:"cause"`
	Credential   string     `bun:"credential"`
	Status       int        `bun:"status"`
	Cached       bool       `bun:"cached"`
	CallerKind   string     `bun:"caller_kind"`
	Caller       string     `bun:"caller"`
	Request      string     `bun:"request"`
	Trace        string     `bun:"trace"`
	Duration     uint64     `bun:"duration"`
	Prepare      uint64     `bun:"prepare"`
	Upstream     uint64     `bun:"upstream"`
	Shape        uint64     `bun:"shape"`
	Encode       uint64     `bun:"encode"`
	BytesBefore  uint64     `bun:"bytes_before"`
	BytesAfter   uint64     `bun:"bytes_after"`
	TokensBefore uint64     `bun:"tokens_before"`
	TokensAfter  uint64     `bun:"tokens_after"`
	Captured     bool       `bun:"captured"`
	Arguments    string     `bun:"arguments"` // redacted
	Answer       string     `bun:"answer"`    // redacted
	Inner        bool       `bun:"inner_call"`
	Script       string     `bun:"script"` // digest of the script that ran
	Run          []byte     `bun:"run"`    // of a script that succeeded, sealed; empty: none was kept
}

// ScriptRunAge is how long the run of a script can be made a tool.
const ScriptRunAge = 7 * 24 * time.Hour

// RunRecord is what the run of a script is sealed for: it is another record in another
// toolset, or of another script.
func RunRecord(workspace, toolset, script string) secrets.Record {
	return secrets.Record{Key: "workspaces/" + workspace + "/toolsets/" + toolset + "/runs/" + script, Version: 1}
}

// CallList is what can be done with the list of calls.
var CallList = &listing.Spec{
	Fields: []listing.Field{
		{Name: "tool", Kind: listing.Text, Search: true, Column: "tool"},
		{Name: "outcome", Column: "outcome"},
		{Name: "cause", Column: "cause"},
		{Name: "caller", Kind: listing.Text, Search: true, Column: "caller"},
		{Name: "node", Column: "node"},
		{Name: "toolsetId", Column: "toolset_id"},
		{Name: "status", Kind: listing.Number, Column: "status"},
		callAt,
		{Name: "durationMs", Kind: listing.Number, Column: "duration", Scale: 1000},
	},
	Default: []listing.Order{{Field: callAt, Desc: true}, {Field: listing.Field{Name: "seq", Kind: listing.Number, Column: "seq"}, Desc: true}},
}

var callAt = listing.Field{Name: "at", Kind: listing.Time, Column: "at"}

// ID names the call in its workspace: call_1, call_2, …
func (c *Call) ID() string { return callPrefix + strconv.FormatUint(c.Seq, 10) }

type callCounter struct {
	bun.BaseModel `bun:"table:call_counters"`
	table.InWorkspace
	Seq uint64 `bun:"seq"`
}

type callsOmitted struct {
	bun.BaseModel `bun:"table:calls_omitted,alias:o"`
	table.InWorkspace
	Minute    int64  `bun:"minute,pk"`
	ToolsetID string `bun:"toolset_id,pk"`
	Calls     uint64 `bun:"calls"`
}

// addCalls appends the calls of a report to the log, and removes as many of the oldest
// as there are beyond the bound. The writers of each workspace run one after the other,
// so a reader who has seen a number has seen all below it.
func (w *Writer) addCalls(ctx context.Context, tx bun.Tx, node string, r *registry.UsageReport) error {
	calls := make([]*registry.UsageCall, len(r.Calls))
	for i := range r.Calls {
		calls[i] = &r.Calls[i]
	}
	slices.SortStableFunc(calls, func(a, b *registry.UsageCall) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), a.At.Compare(b.At))
	})
	// A report has thousands of calls: their rows are made for one statement at a time.
	rows := make([]Call, 0, min(len(calls), table.Chunk))
	for len(calls) > 0 {
		ws, next := calls[0].Workspace, slices.IndexFunc(calls, func(x *registry.UsageCall) bool { return x.Workspace != calls[0].Workspace })
		if next < 0 {
			next = len(calls)
		}
		n := callCounter{InWorkspace: table.InWorkspace{WorkspaceID: ws}}
		if err := tx.NewSelect().Model(&n).WherePK().Scan(ctx); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		for chunk := range slices.Chunk(calls[:next], table.Chunk) {
			rows = rows[:0]
			for _, x := range chunk {
				n.Seq++
				rows = append(rows, callOf(node, n.Seq, x))
			}
			if _, err := tx.NewInsert().Model(&rows).Exec(ctx); err != nil {
				return err
			}
		}
		calls = calls[next:]
		if _, err := tx.NewInsert().Model(&n).On("CONFLICT (workspace_id) DO UPDATE").Set("seq = EXCLUDED.seq").Exec(ctx); err != nil {
			return err
		}
		if n.Seq <= w.CallRows {
			continue
		}
		if _, err := tx.NewDelete().Table("calls").Where("workspace_id = ?", ws).Where("seq <= ?", n.Seq-w.CallRows).Exec(ctx); err != nil {
			return err
		}
	}
	omitted := make([]callsOmitted, 0, len(r.Omitted))
	for i := range r.Omitted {
		o := &r.Omitted[i]
		row := callsOmitted{InWorkspace: table.InWorkspace{WorkspaceID: o.Workspace}, Minute: r.Minute, ToolsetID: o.Toolset, Calls: o.Calls}
		if i := slices.IndexFunc(omitted, func(x callsOmitted) bool { return x.WorkspaceID == row.WorkspaceID && x.ToolsetID == row.ToolsetID }); i >= 0 {
			omitted[i].Calls += row.Calls // two workspaces became one
			continue
		}
		omitted = append(omitted, row)
	}
	for chunk := range slices.Chunk(omitted, table.Chunk) {
		if _, err := tx.NewInsert().Model(&chunk).On("CONFLICT (workspace_id, minute, toolset_id) DO UPDATE").
			Set("calls = o.calls + EXCLUDED.calls").Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// callOf is the row of a call that a node reports.
func callOf(node string, seq uint64, x *registry.UsageCall) Call {
	return Call{
		InWorkspace: table.InWorkspace{WorkspaceID: x.Workspace}, Seq: seq, Node: node, At: table.Time{Time: x.At}, ToolsetID: x.Toolset, Tool: x.Tool, Connector: x.Connector, Revision: x.Revision,
		Outcome: x.Outcome, Cause: x.Cause, Credential: x.Credential, Status: x.Status, Cached: x.Cached, CallerKind: x.CallerKind, Caller: x.Caller,
		Request: x.Request, Trace: x.Trace, Duration: x.Duration, Prepare: x.Prepare, Upstream: x.Upstream, Shape: x.Shape, Encode: x.Encode,
		BytesBefore: x.BytesBefore, BytesAfter: x.BytesAfter, TokensBefore: x.TokensBefore, TokensAfter: x.TokensAfter,
		Captured: x.Captured, Arguments: x.Arguments, Answer: x.Answer, Inner: x.Inner, Script: x.Script, Run: append([]byte{}, x.Sealed...),
	}
}

// CallFilter says which calls are wanted. Zero fields do not restrict.
type CallFilter struct {
	From, To       time.Time // when they began; To is not part of it
	Toolset        string    // identifier
	Tool           string
	Outcomes       []string
	Failed         bool // every outcome but ok
	CallerKind     string
	Caller         string
	Node           string
	SlowerThan     time.Duration // at least
	Cause, Request string
	Trace          string
}

// where adds the filter to a query.
func (f *CallFilter) where(q *bun.SelectQuery) *bun.SelectQuery {
	if !f.From.IsZero() {
		q = q.Where("at >= ?", table.Time{Time: f.From})
	}
	if !f.To.IsZero() {
		q = q.Where("at < ?", table.Time{Time: f.To})
	}
	for _, x := range []struct{ column, value string }{
		{"toolset_id", f.Toolset},
		{"tool", f.Tool},
		{"caller_kind", f.CallerKind},
		{"caller", f.Caller},
		{"node", f.Node},
		{"cause", f.Cause},
		{"request", f.Request},
		{"trace", f.Trace},
	} {
		if x.value != "" {
			q = q.Where("? = ?", bun.Ident(x.column), x.value)
		}
	}
	if len(f.Outcomes) > 0 {
		q = q.Where("outcome IN (?)", bun.List(f.Outcomes))
	}
	if f.Failed {
		q = q.Where("outcome <> ?", "ok")
	}
	if f.SlowerThan > 0 {
		q = q.Where("duration >= ?", f.SlowerThan.Microseconds())
	}
	return q
}

// Calls lists calls, newest first. Keys of the page are those of this method.
func (r *Reader) Calls(ctx context.Context, f *CallFilter, p table.Page) ([]Call, string, error) {
	var rows []Call
	return table.Read(ctx, r.db, f.where(r.from(&rows).ExcludeColumn("run")), &rows, CallList, p, "calls")
}

// CallsAfter lists calls that arrived after the one with number seq, in the order in
// which they arrived, and the number to go on after: the last that was looked at.
func (r *Reader) CallsAfter(ctx context.Context, f *CallFilter, seq uint64, limit int) (rows []Call, last uint64, err error) {
	if last, err = r.LastCall(ctx); err != nil || last <= seq {
		return nil, seq, err
	}
	q := f.where(r.from(&rows).ExcludeColumn("run")).Where("seq > ?", seq).Where("seq <= ?", last).Order("seq").Limit(table.Page{Limit: limit}.Size())
	if err := q.Scan(ctx); err != nil {
		return nil, seq, fmt.Errorf("listing calls: %w", err)
	}
	if int64(len(rows)) == (table.Page{Limit: limit}).Size() {
		last = rows[len(rows)-1].Seq
	}
	return rows, last, nil
}

// CallsRefused lists the calls after the one with number seq whose credential the upstream
// refused, in the order in which they arrived, without their texts, at most limit; and the
// number to go on after.
func (r *Reader) CallsRefused(ctx context.Context, seq uint64, limit int) (rows []Call, last uint64, err error) {
	if last, err = r.LastCall(ctx); err != nil || last <= seq {
		return nil, min(seq, last), err
	}
	err = r.from(&rows).Column("seq", "node", "at", "toolset_id", "tool", "connector", "revision", "outcome", "cause", "credential", "status", "caller_kind", "caller").
		Where("seq > ?", seq).Where("seq <= ?", last).Where("credential = 'refused'").Order("seq").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, seq, fmt.Errorf("reading the call log: %w", err)
	}
	if len(rows) == limit {
		last = rows[limit-1].Seq
	}
	return rows, last, nil
}

// LastCall is the number of the call that arrived last; 0: none ever did.
func (r *Reader) LastCall(ctx context.Context) (uint64, error) {
	var n callCounter
	if err := r.from(&n).Scan(ctx); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("reading the call log: %w", err)
	}
	return n.Seq, nil
}

// Call returns a call by its identifier. It fails with [problem.NotFound].
func (r *Reader) Call(ctx context.Context, id string) (*Call, error) {
	number, ok := strings.CutPrefix(id, callPrefix)
	seq, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil {
		return nil, table.Found(sql.ErrNoRows, "call", id)
	}
	row := new(Call)
	if err := r.from(row).Where("seq = ?", seq).Scan(ctx); err != nil {
		return nil, table.Found(err, "call", id)
	}
	return row, nil
}

// CallsOmitted is how many calls of a range are counted in usage and not in the log.
// Empty toolset: of all.
func (r *Reader) CallsOmitted(ctx context.Context, from, to time.Time, toolset string) (uint64, error) {
	q := r.db.NewSelect().Model((*callsOmitted)(nil)).ColumnExpr("CAST(COALESCE(SUM(calls), 0) AS BIGINT)").
		Where("workspace_id = ?", r.workspace).Where("minute < ?", endSecond(to))
	if !from.IsZero() {
		q = q.Where("minute >= ?", from.Truncate(time.Minute).Unix())
	}
	if toolset != "" {
		q = q.Where("toolset_id = ?", toolset)
	}
	var n uint64
	if err := q.Scan(ctx, &n); err != nil {
		return 0, fmt.Errorf("reading the call log: %w", err)
	}
	return n, nil
}

// RefusedCalls sums up the calls of a connector of a toolset that were refused with a
// status since a time: how many, of how many callers, and by which tools, at most 20.
func (r *Reader) RefusedCalls(ctx context.Context, toolset, connector string, status int, since time.Time) (calls, callers uint64, tools []string, err error) {
	refused := func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("toolset_id = ?", toolset).Where("connector = ?", connector).Where("credential = 'refused'").Where("status = ?", status).Where("at >= ?", table.Time{Time: since})
	}
	var sums struct {
		Calls   uint64 `bun:"calls"`
		Callers uint64 `bun:"callers"`
	}
	err = refused(r.from((*Call)(nil)).ColumnExpr("COUNT(*) AS calls, COUNT(DISTINCT caller_kind || ' ' || caller) AS callers")).Scan(ctx, &sums)
	if err == nil {
		err = refused(r.from((*Call)(nil)).Distinct().Column("tool")).Order("tool").Limit(20).Scan(ctx, &tools)
	}
	if err != nil {
		return 0, 0, nil, fmt.Errorf("reading the call log: %w", err)
	}
	return sums.Calls, sums.Callers, tools, nil
}

// LastAccepted returns the newest call of a connector of a toolset since a time whose
// credential the upstream took; nil when there is none.
func (r *Reader) LastAccepted(ctx context.Context, toolset, connector string, since time.Time) (*Call, error) {
	row := new(Call)
	err := r.from(row).Column("seq", "at").Where("at > ?", table.Time{Time: since}).Where("toolset_id = ?", toolset).Where("connector = ?", connector).
		Where("credential = 'accepted'").Where("cached = ?", false).Where("outcome = 'ok'").OrderExpr("at DESC, seq DESC").Limit(1).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // nil: there is none
	}
	if err != nil {
		return nil, fmt.Errorf("reading the call log: %w", err)
	}
	return row, nil
}

// RewrapRuns puts the runs of scripts that a workspace keeps under the current key-encryption
// key and returns how many it changed. One whose key is gone is removed.
func RewrapRuns(ctx context.Context, tx bun.IDB, workspace string, ring *secrets.Keyring) (int, error) {
	r := Of(tx, workspace)
	var rows []Call
	if err := r.from(&rows).Column("workspace_id", "seq", "toolset_id", "script", "run").Where("script <> ''").Where("LENGTH(run) > 0").Scan(ctx); err != nil {
		return 0, fmt.Errorf("reading runs of scripts: %w", err)
	}
	changed := 0
	for i := range rows {
		row := &rows[i]
		sealed, did, err := ring.Rewrap(RunRecord(row.WorkspaceID, row.ToolsetID, row.Script), row.Run)
		switch {
		case err != nil:
			row.Run = []byte{}
		case did:
			row.Run = sealed
			changed++
		default:
			continue
		}
		if _, err := tx.NewUpdate().Model((*Call)(nil)).Where("workspace_id = ?", workspace).Set("run = ?", row.Run).Where("seq = ?", row.Seq).Exec(ctx); err != nil {
			return changed, fmt.Errorf("sealing the run of a script again: %w", err)
		}
	}
	return changed, nil
}

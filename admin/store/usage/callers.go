package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/rollup"
	"github.com/sluicegate/sluice/registry"
)

const (
	// MaxCallers of a workspace are told apart in an hour: as many rows for each toolset are
	// written then, and as many alerts of one rule can be open. The calls of those beyond it
	// are counted together, as [CallerOther].
	MaxCallers = 1000
	// CallerOther is the kind of the callers that are not told apart.
	CallerOther = "other"
	// callerAnonymous is the kind of callers that nobody knows.
	callerAnonymous = "anonymous"
	// callerMinuteAge is how long the minutes of callers are kept: the hour that rules look
	// back, and the day on which they are tried.
	callerMinuteAge = 26 * time.Hour
	// callerHourAge is how long the hours are kept: a month, which is the longest window.
	callerHourAge = 32 * 24 * time.Hour
)

// callerRow is a row of caller_minutes or caller_hours; minute is where its time begins.
type callerRow struct {
	bun.BaseModel `bun:"table:caller_minutes,alias:u"`
	table.InWorkspace
	Minute     int64  `bun:"minute,pk"`
	ToolsetID  string `bun:"toolset_id,pk"`
	Tool       string `bun:"tool,pk"` // of an hour it is empty
	CallerKind string `bun:"caller_kind,pk"`
	Caller     string `bun:"caller,pk"`
	Calls      uint64 `bun:"calls"`
	Errors     uint64 `bun:"errors"`
	Tokens     uint64 `bun:"tokens"`
	callerTimes
}

// callerTimes are how long the calls of a minute took; hours have none.
type callerTimes struct {
	Duration        uint64 `bun:"duration"` // microseconds: of whole calls, and of waiting for the upstream
	Upstream        uint64 `bun:"upstream"`
	Latency         []byte `bun:"latency"` // encoded histograms of both
	UpstreamLatency []byte `bun:"upstream_latency"`
}

// timeColumns are those of callerTimes.
var timeColumns = []string{"duration", "upstream", "latency", "upstream_latency"}

// CallerUsage is the usage of a caller at a tool, or of all tools of a toolset.
type CallerUsage struct {
	ToolsetID  string `bun:"toolset_id"`
	Tool       string `bun:"tool"`
	CallerKind string `bun:"caller_kind"` // token, jwt or CallerOther
	Caller     string `bun:"caller"`
	Calls      uint64 `bun:"calls"`
	Errors     uint64 `bun:"errors"`
	Tokens     uint64 `bun:"tokens"` // that the caller got
	callerTimes
}

// addCallers adds the calls of a report to the usage of those who made them. Calls of
// anonymous callers are nobody's.
func addCallers(ctx context.Context, tx bun.Tx, r *registry.UsageReport) error {
	byWorkspace := map[string][]*registry.UsageCall{}
	for i := range r.Calls {
		if c := &r.Calls[i]; c.CallerKind != callerAnonymous && c.Caller != "" {
			byWorkspace[c.Workspace] = append(byWorkspace[c.Workspace], c)
		}
	}
	hour := r.Minute - r.Minute%3600
	for _, ws := range slices.Sorted(maps.Keys(byWorkspace)) {
		calls := byWorkspace[ws]
		apart, err := callersApart(ctx, tx, ws, hour, calls)
		if err != nil {
			return err
		}
		sums, err := minuteSums(ctx, tx, ws, r.Minute, calls, apart)
		if err != nil {
			return err
		}
		if err := insertCallers(ctx, tx, "caller_minutes", sums, true); err != nil {
			return err
		}
		hours := map[cellKey]*callerRow{}
		for _, c := range calls {
			k := cellOf(c, apart)
			k.tool = ""
			rowOf(hours, ws, hour, k).count(c)
		}
		if err := insertCallers(ctx, tx, "caller_hours", hours, false); err != nil {
			return err
		}
	}
	return nil
}

// cellKey is what is counted by itself in a minute or an hour.
type cellKey struct {
	toolset, tool string
	callerKey
}

// cellOf is where a call is counted.
func cellOf(c *registry.UsageCall, apart map[callerKey]bool) cellKey {
	k := cellKey{c.Toolset, c.Tool, callerKey{c.CallerKind, c.Caller}}
	if !apart[k.callerKey] {
		k.callerKey = callerKey{kind: CallerOther}
	}
	return k
}

// rowOf is the row of a key, which is made when it is not there.
func rowOf(rows map[cellKey]*callerRow, ws string, at int64, k cellKey) *callerRow {
	row := rows[k]
	if row == nil {
		row = &callerRow{InWorkspace: table.InWorkspace{WorkspaceID: ws}, Minute: at, ToolsetID: k.toolset, Tool: k.tool, CallerKind: k.kind, Caller: k.caller}
		row.Latency, row.UpstreamLatency = []byte{}, []byte{}
		rows[k] = row
	}
	return row
}

// count adds a call. What a report adds up to is bounded as its counters are: a column overflows
// where thousands of calls say the most that one may.
func (row *callerRow) count(c *registry.UsageCall) {
	if row.Calls++; c.Outcome != "ok" {
		row.Errors++
	}
	for _, sum := range []struct {
		of *uint64
		n  uint64
	}{{&row.Tokens, c.TokensAfter}, {&row.Duration, c.Duration}, {&row.Upstream, c.Upstream}} {
		*sum.of = min(*sum.of+sum.n, registry.MaxUsageCount)
	}
}

// minuteSums are the rows that calls add to those of a minute. Their histograms are with what
// is there already, which SQL cannot add.
func minuteSums(ctx context.Context, tx bun.Tx, ws string, minute int64, calls []*registry.UsageCall, apart map[callerKey]bool) (map[cellKey]*callerRow, error) {
	sums := map[cellKey]*callerRow{}
	took, waited := map[cellKey]*rollup.Histogram{}, map[cellKey]*rollup.Histogram{}
	for _, c := range calls {
		k := cellOf(c, apart)
		if sums[k] == nil {
			took[k], waited[k] = new(rollup.Histogram), new(rollup.Histogram)
		}
		rowOf(sums, ws, minute, k).count(c)
		took[k].Add(micros(c.Duration))
		if c.Upstream > 0 {
			waited[k].Add(micros(c.Upstream))
		}
	}
	callers := map[string]bool{}
	for k := range sums {
		callers[k.caller] = true
	}
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(callers)), table.Chunk) {
		var have []CallerUsage
		err := tx.NewSelect().Table("caller_minutes").Column("toolset_id", "tool", "caller_kind", "caller", "latency", "upstream_latency").
			Where("workspace_id = ?", ws).Where("minute = ?", minute).Where("caller IN (?)", bun.List(chunk)).Scan(ctx, &have)
		if err != nil {
			return nil, err
		}
		for i := range have {
			h := &have[i]
			k := cellKey{h.ToolsetID, h.Tool, callerKey{h.CallerKind, h.Caller}}
			if sums[k] == nil {
				continue
			}
			if err := errors.Join(took[k].MergeBinary(h.Latency), waited[k].MergeBinary(h.UpstreamLatency)); err != nil {
				return nil, err
			}
		}
	}
	for k, row := range sums {
		row.Latency, row.UpstreamLatency = took[k].AppendBinary(row.Latency), waited[k].AppendBinary(row.UpstreamLatency)
	}
	return sums, nil
}

// micros is a number of microseconds; one that no duration can hold is the longest.
func micros(n uint64) time.Duration {
	return time.Duration(min(n, uint64(math.MaxInt64/int64(time.Microsecond)))) * time.Microsecond
}

// insertCallers adds rows to those of a table; only minutes have times.
func insertCallers(ctx context.Context, tx bun.Tx, into string, sums map[cellKey]*callerRow, times bool) error {
	rows := slices.Collect(maps.Values(sums))
	for chunk := range slices.Chunk(rows, table.Chunk) {
		q := tx.NewInsert().Model(&chunk).ModelTableExpr(into + " AS u").On("CONFLICT (workspace_id, minute, toolset_id, tool, caller_kind, caller) DO UPDATE")
		added := []string{"calls", "errors", "tokens"}
		if times {
			added = append(added, "duration", "upstream")
			q = q.Set("latency = EXCLUDED.latency").Set("upstream_latency = EXCLUDED.upstream_latency")
		} else {
			q = q.ExcludeColumn(timeColumns...)
		}
		for _, c := range added {
			q = q.Set("? = u.? + EXCLUDED.?", bun.Ident(c), bun.Ident(c), bun.Ident(c))
		}
		if _, err := q.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

type callerKey struct{ kind, caller string }

// callersApart are the callers of calls that are told apart in an hour: those that are
// already, and as many more as there is room for.
func callersApart(ctx context.Context, tx bun.Tx, ws string, hour int64, calls []*registry.UsageCall) (map[callerKey]bool, error) {
	apart := map[callerKey]bool{}
	for _, c := range calls {
		apart[callerKey{c.CallerKind, c.Caller}] = false
	}
	all := slices.SortedFunc(maps.Keys(apart), func(a, b callerKey) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.caller, b.caller))
	})
	hours := func() *bun.SelectQuery {
		return tx.NewSelect().Table("caller_hours").Where("workspace_id = ?", ws).Where("minute = ?", hour).Where("caller_kind <> ?", CallerOther)
	}
	for chunk := range slices.Chunk(all, table.Chunk) {
		ids := make([]string, len(chunk))
		for i, k := range chunk {
			ids[i] = k.caller
		}
		var rows []CallerUsage
		if err := hours().Distinct().Column("caller_kind", "caller").Where("caller IN (?)", bun.List(ids)).Scan(ctx, &rows); err != nil {
			return nil, err
		}
		for i := range rows {
			if k := (callerKey{rows[i].CallerKind, rows[i].Caller}); slices.Contains(chunk, k) {
				apart[k] = true
			}
		}
	}
	fresh := slices.DeleteFunc(all, func(k callerKey) bool { return apart[k] })
	if len(fresh) == 0 {
		return apart, nil
	}
	var have int
	if err := hours().ColumnExpr("COUNT(DISTINCT caller_kind || ' ' || caller)").Scan(ctx, &have); err != nil {
		return nil, err
	}
	for _, k := range fresh[:min(len(fresh), max(MaxCallers-have, 0))] {
		apart[k] = true
	}
	return apart, nil
}

// MinuteCallers is the usage of callers in the minute that begins at a second, by toolset,
// tool and caller.
func (r *Reader) MinuteCallers(ctx context.Context, minute int64) ([]CallerUsage, error) {
	var out []CallerUsage
	err := r.db.NewSelect().Table("caller_minutes").Column("toolset_id", "tool", "caller_kind", "caller", "calls", "errors", "tokens").Column(timeColumns...).
		Where("workspace_id = ?", r.workspace).Where("minute = ?", minute).Order("toolset_id", "tool", "caller_kind", "caller").Scan(ctx, &out)
	if err != nil {
		return nil, fmt.Errorf("reading the usage of callers: %w", err)
	}
	return out, nil
}

// CallerTotals sums up the usage of callers in the hours from one on, by toolset and caller;
// to is not part of it.
func (r *Reader) CallerTotals(ctx context.Context, from, to time.Time) ([]CallerUsage, error) {
	var out []CallerUsage
	err := r.db.NewSelect().Table("caller_hours").Column("toolset_id", "caller_kind", "caller").
		ColumnExpr("CAST(SUM(calls) AS BIGINT) AS calls, CAST(SUM(errors) AS BIGINT) AS errors, CAST(SUM(tokens) AS BIGINT) AS tokens").
		Where("workspace_id = ?", r.workspace).Where("minute >= ?", from.Truncate(time.Hour).Unix()).Where("minute < ?", endSecond(to)).
		Group("toolset_id", "caller_kind", "caller").Order("toolset_id", "caller_kind", "caller").Scan(ctx, &out)
	if err != nil {
		return nil, fmt.Errorf("reading the usage of callers: %w", err)
	}
	return out, nil
}

package usage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
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
}

// CallerUsage is the usage of a caller at a tool, or of all tools of a toolset.
type CallerUsage struct {
	ToolsetID  string `bun:"toolset_id"`
	Tool       string `bun:"tool"`
	CallerKind string `bun:"caller_kind"` // token, jwt or CallerOther
	Caller     string `bun:"caller"`
	Calls      uint64 `bun:"calls"`
	Errors     uint64 `bun:"errors"`
	Tokens     uint64 `bun:"tokens"` // that the caller got
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
		for _, t := range []struct {
			table string
			at    int64
			tools bool
		}{{"caller_minutes", r.Minute, true}, {"caller_hours", hour, false}} {
			sums := map[callerRow]*callerRow{}
			for _, c := range calls {
				k := callerRow{InWorkspace: table.InWorkspace{WorkspaceID: ws}, Minute: t.at, ToolsetID: c.Toolset, CallerKind: CallerOther}
				if t.tools {
					k.Tool = c.Tool
				}
				if apart[callerKey{c.CallerKind, c.Caller}] {
					k.CallerKind, k.Caller = c.CallerKind, c.Caller
				}
				sum := sums[k]
				if sum == nil {
					row := k
					sum = &row
					sums[k] = sum
				}
				if sum.Calls, sum.Tokens = sum.Calls+1, sum.Tokens+c.TokensAfter; c.Outcome != "ok" {
					sum.Errors++
				}
			}
			rows := slices.Collect(maps.Values(sums))
			for chunk := range slices.Chunk(rows, table.Chunk) {
				q := tx.NewInsert().Model(&chunk).ModelTableExpr(t.table + " AS u").On("CONFLICT (workspace_id, minute, toolset_id, tool, caller_kind, caller) DO UPDATE")
				for _, c := range []string{"calls", "errors", "tokens"} {
					q = q.Set("? = u.? + EXCLUDED.?", bun.Ident(c), bun.Ident(c), bun.Ident(c))
				}
				if _, err := q.Exec(ctx); err != nil {
					return err
				}
			}
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
	err := r.db.NewSelect().Table("caller_minutes").Column("toolset_id", "tool", "caller_kind", "caller", "calls", "errors", "tokens").
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

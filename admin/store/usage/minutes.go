package usage

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
)

// Mark is how many reports were added to a minute.
type Mark struct {
	bun.BaseModel `bun:"table:usage_marks,alias:m"`
	table.InWorkspace
	Minute  int64  `bun:"minute,pk"`
	Reports uint64 `bun:"reports"`
}

// markUsage notes that a report changed a minute.
func markUsage(ctx context.Context, tx bun.Tx, workspaces []string, minute int64) error {
	for _, ws := range workspaces {
		row := &Mark{InWorkspace: table.InWorkspace{WorkspaceID: ws}, Minute: minute, Reports: 1}
		if _, err := tx.NewInsert().Model(row).On("CONFLICT (workspace_id, minute) DO UPDATE").Set("reports = m.reports + 1").Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// UsageMarks is how many reports were added to each minute since a time: a minute whose
// number is the same is the same.
func (r *Reader) UsageMarks(ctx context.Context, since time.Time) (map[int64]uint64, error) {
	var rows []Mark
	if err := r.from(&rows).Where("minute >= ?", since.Unix()).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading usage: %w", err)
	}
	out := make(map[int64]uint64, len(rows))
	for _, r := range rows {
		out[r.Minute] = r.Reports
	}
	return out, nil
}

// MinuteSeries is the usage of a tool in one minute that ended in one way.
type MinuteSeries struct {
	Toolset, Tool, Outcome   string
	Calls, Cached            uint64
	TokensAfter              uint64
	Duration, Upstream       uint64
	Latency, UpstreamLatency []byte
}

// MinuteUsage reads the usage of a workspace in the minute that begins at a second, in any
// order.
func (r *Reader) MinuteUsage(ctx context.Context, minute int64, each func(*MinuteSeries)) error {
	rows, err := r.db.NewSelect().Table("usage_minutes").
		Column("toolset_id", "tool", "outcome", "calls", "cached", "tokens_after", "duration", "upstream", "latency", "upstream_latency").
		Where("workspace_id = ?", r.workspace).Where("minute = ?", minute).Rows(ctx)
	if err != nil {
		return fmt.Errorf("reading usage: %w", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err says what matters
	for rows.Next() {
		var s MinuteSeries
		if err := rows.Scan(&s.Toolset, &s.Tool, &s.Outcome, &s.Calls, &s.Cached, &s.TokensAfter, &s.Duration, &s.Upstream, &s.Latency, &s.UpstreamLatency); err != nil {
			return fmt.Errorf("reading usage: %w", err)
		}
		each(&s)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading usage: %w", err)
	}
	return nil
}

// MinuteCauses reads what calls of a minute failed of.
func (r *Reader) MinuteCauses(ctx context.Context, minute int64) ([]Cause, error) {
	var out []Cause
	if err := r.db.NewSelect().Model((*usageCauseRow)(nil)).Column("toolset_id", "tool", "cause", "calls").
		Where("workspace_id = ?", r.workspace).Where("minute = ?", minute).Scan(ctx, &out); err != nil {
		return nil, fmt.Errorf("reading causes of failed calls: %w", err)
	}
	return out, nil
}

// Total sums up the usage of a tool.
type Total struct {
	ToolsetID string `bun:"toolset_id"`
	Tool      string `bun:"tool"`
	Calls     uint64 `bun:"calls"`
	Errors    uint64 `bun:"errors"`
	Tokens    uint64 `bun:"tokens"`
}

// UsageTotals sums up the usage of the hours from one on, by toolset and tool; to is not part
// of it.
func (r *Reader) UsageTotals(ctx context.Context, from, to time.Time) ([]Total, error) {
	var out []Total
	err := r.db.NewSelect().Table("usage_hours").Column("toolset_id", "tool").
		ColumnExpr("CAST(SUM(calls) AS BIGINT) AS calls, CAST(SUM(CASE WHEN outcome = 'ok' THEN 0 ELSE calls END) AS BIGINT) AS errors, CAST(SUM(tokens_after) AS BIGINT) AS tokens").
		Where("workspace_id = ?", r.workspace).Where("minute >= ?", from.Truncate(time.Hour).Unix()).Where("minute < ?", endSecond(to)).Group("toolset_id", "tool").Scan(ctx, &out)
	if err != nil {
		return nil, fmt.Errorf("reading usage: %w", err)
	}
	return out, nil
}

// ToolConnectors is which connector served the calls of each tool of a toolset since a time,
// as far as the call log has them.
func (r *Reader) ToolConnectors(ctx context.Context, toolset string, since time.Time) (map[string]string, error) {
	var rows []struct {
		Tool      string `bun:"tool"`
		Connector string `bun:"connector"`
	}
	if err := r.from((*Call)(nil)).Column("tool", "connector").Where("toolset_id = ?", toolset).Where("at >= ?", table.Time{Time: since}).Where("connector <> ''").
		Group("tool", "connector").Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading the call log: %w", err)
	}
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.Tool] = r.Connector
	}
	return out, nil
}

// FailedCalls sums up the failed calls of tools of toolsets since a time: of how many callers
// they are, and the first and the last of them; nil when the call log has none.
func (r *Reader) FailedCalls(ctx context.Context, toolsets, tools []string, cause string, since time.Time) (callers uint64, first, last *Call, err error) {
	failed := func(q *bun.SelectQuery) *bun.SelectQuery {
		q = q.Where("toolset_id IN (?)", bun.List(toolsets)).Where("at >= ?", table.Time{Time: since}).Where("outcome <> 'ok'")
		if len(tools) > 0 {
			q = q.Where("tool IN (?)", bun.List(tools))
		}
		if cause != "" {
			q = q.Where("cause = ?", cause)
		}
		return q
	}
	if err := failed(r.from((*Call)(nil)).ColumnExpr("COUNT(DISTINCT caller_kind || ' ' || caller)")).Scan(ctx, &callers); err != nil || callers == 0 {
		if err != nil {
			err = fmt.Errorf("reading the call log: %w", err)
		}
		return 0, nil, nil, err
	}
	first, last = new(Call), new(Call)
	for _, x := range []struct {
		row   *Call
		order string
	}{{first, "at, seq"}, {last, "at DESC, seq DESC"}} {
		if err := failed(r.from(x.row).Column("seq", "at", "status")).OrderExpr(x.order).Limit(1).Scan(ctx); err != nil {
			return 0, nil, nil, fmt.Errorf("reading the call log: %w", err)
		}
	}
	return callers, first, last, nil
}

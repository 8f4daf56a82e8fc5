package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/internal/problem"
)

// AlertRule is a rule over usage that people added, or their settings of a preset. What its
// fields may hold is decided by package rule.
type AlertRule struct {
	bun.BaseModel `bun:"table:alert_rules"`
	InWorkspace
	ID        string `bun:"id,pk"` // rule_…
	Version   uint64 `bun:"version"`
	Name      string `bun:"name"`       // unique in the workspace with ToolsetID
	ToolsetID string `bun:"toolset_id"` // empty: of all toolsets
	Document  string `bun:"document"`   // JSON: its settings
	CreatedAt Time   `bun:"created_at"`
	UpdatedAt Time   `bun:"updated_at"`
}

// AlertRules lists the rules of a workspace those of the workspace first.
func (c *scope) AlertRules(ctx context.Context) ([]AlertRule, error) {
	var rows []AlertRule
	if err := c.from(&rows).Order("toolset_id", "name").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing alert rules: %w", err)
	}
	return rows, nil
}

// AlertRulesMark is another text when a rule was added, changed or removed.
func (c *scope) AlertRulesMark(ctx context.Context) (string, error) {
	var m struct {
		Rules   int64 `bun:"rules"`
		Version int64 `bun:"version"`
		Last    int64 `bun:"last"`
	}
	err := c.from((*AlertRule)(nil)).ColumnExpr("COUNT(*) AS rules, CAST(COALESCE(SUM(version), 0) AS BIGINT) AS version, COALESCE(MAX(updated_at), 0) AS last").Scan(ctx, &m)
	if err != nil {
		return "", fmt.Errorf("reading alert rules: %w", err)
	}
	return fmt.Sprint(m), nil
}

// AlertRule reads the rule of a name and toolset. It fails with [problem.NotFound].
func (c *scope) AlertRule(ctx context.Context, name, toolset string) (*AlertRule, error) {
	row := new(AlertRule)
	return row, found(c.from(row).Where("name = ?", name).Where("toolset_id = ?", toolset).Scan(ctx), "alert rule", name)
}

// NamedAlertRule reads the only rule of a name, of whichever toolset. It fails with
// [problem.NotFound].
func (c *scope) NamedAlertRule(ctx context.Context, name string) (*AlertRule, error) {
	row := new(AlertRule)
	return row, found(c.from(row).Where("name = ?", name).Limit(1).Scan(ctx), "alert rule", name)
}

// AddAlertRule writes a new rule. It fails with [problem.Conflict] when there is one of its
// name and toolset.
func (t *Tx) AddAlertRule(ctx context.Context, row *AlertRule) error {
	row.ID, row.Version, row.CreatedAt, row.UpdatedAt = t.NewID("rule"), 1, Time{Time: t.Now()}, Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); isUnique(err) {
		return problem.New(problem.Conflict, "there is a rule %.80q already", row.Name).Fix("choose another name, or change that one")
	} else if err != nil {
		return fmt.Errorf("writing alert rule %s: %w", row.Name, err)
	}
	return nil
}

// SaveAlertRule writes a rule that was read before. It fails with [ErrStale] when it was
// changed meanwhile.
func (t *Tx) SaveAlertRule(ctx context.Context, row *AlertRule) error {
	was := row.Version
	row.Version, row.UpdatedAt = was+1, Time{Time: t.Now()}
	n, err := affected(t.updateOf(row).ExcludeColumn("workspace_id", "id", "created_at").Where("id = ?", row.ID).Where("version = ?", was).Exec(ctx))
	if err == nil && n == 0 {
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("writing alert rule %s: %w", row.Name, err)
	}
	return nil
}

// DeleteAlertRule removes a rule.
func (t *Tx) DeleteAlertRule(ctx context.Context, id string) error {
	if _, err := t.deleteOf((*AlertRule)(nil)).Where("id = ?", id).Exec(ctx); err != nil {
		return fmt.Errorf("deleting alert rule %s: %w", id, err)
	}
	return nil
}

type usageMark struct {
	bun.BaseModel `bun:"table:usage_marks,alias:m"`
	InWorkspace
	Minute  int64  `bun:"minute,pk"`
	Reports uint64 `bun:"reports"`
}

// markUsage notes that a report changed a minute.
func markUsage(ctx context.Context, tx bun.Tx, workspaces []string, minute int64) error {
	for _, ws := range workspaces {
		row := &usageMark{InWorkspace: InWorkspace{WorkspaceID: ws}, Minute: minute, Reports: 1}
		if _, err := tx.NewInsert().Model(row).On("CONFLICT (workspace_id, minute) DO UPDATE").Set("reports = m.reports + 1").Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// UsageMarks is how many reports were added to each minute since a time: a minute whose
// number is the same is the same.
func (c *scope) UsageMarks(ctx context.Context, since time.Time) (map[int64]uint64, error) {
	var rows []usageMark
	if err := c.from(&rows).Where("minute >= ?", since.Unix()).Scan(ctx); err != nil {
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
func (w *Workspace) MinuteUsage(ctx context.Context, minute int64, each func(*MinuteSeries)) error {
	rows, err := w.db.NewSelect().Table("usage_minutes").
		Column("toolset_id", "tool", "outcome", "calls", "cached", "tokens_after", "duration", "upstream", "latency", "upstream_latency").
		Where("workspace_id = ?", w.id).Where("minute = ?", minute).Rows(ctx)
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
func (c *scope) MinuteCauses(ctx context.Context, minute int64) ([]UsageCause, error) {
	var out []UsageCause
	if err := c.db.NewSelect().Model((*usageCauseRow)(nil)).Column("toolset_id", "tool", "cause", "calls").
		Where("workspace_id = ?", c.id).Where("minute = ?", minute).Scan(ctx, &out); err != nil {
		return nil, fmt.Errorf("reading causes of failed calls: %w", err)
	}
	return out, nil
}

// UsageTotal sums up the usage of a tool.
type UsageTotal struct {
	ToolsetID string `bun:"toolset_id"`
	Tool      string `bun:"tool"`
	Calls     uint64 `bun:"calls"`
	Errors    uint64 `bun:"errors"`
	Tokens    uint64 `bun:"tokens"`
}

// UsageTotals sums up the usage of the hours from one on, by toolset and tool; to is not part
// of it.
func (c *scope) UsageTotals(ctx context.Context, from, to time.Time) ([]UsageTotal, error) {
	var out []UsageTotal
	err := c.db.NewSelect().Table("usage_hours").Column("toolset_id", "tool").
		ColumnExpr("CAST(SUM(calls) AS BIGINT) AS calls, CAST(SUM(CASE WHEN outcome = 'ok' THEN 0 ELSE calls END) AS BIGINT) AS errors, CAST(SUM(tokens_after) AS BIGINT) AS tokens").
		Where("workspace_id = ?", c.id).Where("minute >= ?", from.Truncate(time.Hour).Unix()).Where("minute < ?", endSecond(to)).Group("toolset_id", "tool").Scan(ctx, &out)
	if err != nil {
		return nil, fmt.Errorf("reading usage: %w", err)
	}
	return out, nil
}

// ToolConnectors is which connector served the calls of each tool of a toolset since a time,
// as far as the call log has them.
func (c *scope) ToolConnectors(ctx context.Context, toolset string, since time.Time) (map[string]string, error) {
	var rows []struct {
		Tool      string `bun:"tool"`
		Connector string `bun:"connector"`
	}
	if err := c.from((*Call)(nil)).Column("tool", "connector").Where("toolset_id = ?", toolset).Where("at >= ?", Time{Time: since}).Where("connector <> ''").
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
func (c *scope) FailedCalls(ctx context.Context, toolsets, tools []string, cause string, since time.Time) (callers uint64, first, last *Call, err error) {
	failed := func(q *bun.SelectQuery) *bun.SelectQuery {
		q = q.Where("toolset_id IN (?)", bun.List(toolsets)).Where("at >= ?", Time{Time: since}).Where("outcome <> 'ok'")
		if len(tools) > 0 {
			q = q.Where("tool IN (?)", bun.List(tools))
		}
		if cause != "" {
			q = q.Where("cause = ?", cause)
		}
		return q
	}
	if err := failed(c.from((*Call)(nil)).ColumnExpr("COUNT(DISTINCT caller_kind || ' ' || caller)")).Scan(ctx, &callers); err != nil || callers == 0 {
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
		if err := failed(c.from(x.row).Column("seq", "at", "status")).OrderExpr(x.order).Limit(1).Scan(ctx); err != nil {
			return 0, nil, nil, fmt.Errorf("reading the call log: %w", err)
		}
	}
	return callers, first, last, nil
}

// LastAction is when the newest record of the audit log of an action was written; zero: there
// is none.
func (c *scope) LastAction(ctx context.Context, action string) (time.Time, error) {
	row := new(Audit)
	err := c.from(row).Column("at").Where("action = ?", action).Order("seq DESC").Limit(1).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the audit log: %w", err)
	}
	return row.At.Time, nil
}

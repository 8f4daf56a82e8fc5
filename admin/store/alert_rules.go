package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
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
	return row, table.Found(c.from(row).Where("name = ?", name).Where("toolset_id = ?", toolset).Scan(ctx), "alert rule", name)
}

// NamedAlertRule reads the only rule of a name, of whichever toolset. It fails with
// [problem.NotFound].
func (c *scope) NamedAlertRule(ctx context.Context, name string) (*AlertRule, error) {
	row := new(AlertRule)
	return row, c.found(ctx, c.from(row).Where("name = ?", name).Limit(1).Scan(ctx), (*AlertRule)(nil), "name", "alert rule", name)
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

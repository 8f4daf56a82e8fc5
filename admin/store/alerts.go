package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
)

// Alert is something that is wrong, from when it was first seen to when it was over. What
// its fields may hold is decided by package alert.
type Alert struct {
	bun.BaseModel `bun:"table:alerts,alias:a"`
	InWorkspace
	ID           string `bun:"id,pk"` // alert_…
	Version      uint64 `bun:"version"`
	Key          string `bun:"dedup_key"` // of the cause: one open alert has it
	Kind         string `bun:"kind"`
	Severity     string `bun:"severity"`
	State        string `bun:"state"`
	Stage        string `bun:"stage"` // of a reminder; an alert that changes it is reported again
	ToolsetID    string `bun:"toolset_id"`
	Title        string `bun:"title"`
	Document     string `bun:"document"` // JSON: cause and remedy; never a secret
	Since        Time   `bun:"since"`
	FiredAt      Time   `bun:"fired_at"`      // zero: not yet
	AbsentAt     Time   `bun:"absent_at"`     // since when the cause is not seen any more; zero: it is
	Linger       int64  `bun:"linger"`        // seconds that the cause must be gone before the alert is resolved
	HandledBy    string `bun:"handled_by"`    // who acknowledged or snoozed it
	HandledAt    Time   `bun:"handled_at"`    // and when
	Note         string `bun:"note"`          // and what they said
	SnoozedUntil Time   `bun:"snoozed_until"` // zero: not
	ResolvedAt   Time   `bun:"resolved_at"`   // zero: it is open
	UpdatedAt    Time   `bun:"updated_at"`
}

// AlertFilter says which alerts are wanted. Zero fields do not restrict.
type AlertFilter struct {
	States   []string
	Kind     string
	Severity string
	Toolset  string // identifier
	Open     bool   // only those that are not resolved
}

// Alerts lists alerts, newest first.
func (c *scope) Alerts(ctx context.Context, f AlertFilter, p Page) ([]Alert, string, error) {
	var rows []Alert
	q := c.from(&rows)
	if len(f.States) > 0 {
		q = q.Where("state IN (?)", bun.List(f.States))
	}
	for _, x := range []struct{ column, value string }{{"kind", f.Kind}, {"severity", f.Severity}, {"toolset_id", f.Toolset}} {
		if x.value != "" {
			q = q.Where("? = ?", bun.Ident(x.column), x.value)
		}
	}
	if f.Open {
		q = q.Where("resolved_at = 0")
	}
	return table.Read(ctx, c.db, q, &rows, AlertList, p, "alerts")
}

// OpenAlerts returns every alert that is not resolved.
func (c *scope) OpenAlerts(ctx context.Context) ([]Alert, error) {
	var rows []Alert
	if err := c.from(&rows).Where("resolved_at = 0").Order("id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing alerts: %w", err)
	}
	return rows, nil
}

// LastResolved returns the newest resolved alert of a key; nil when there is none.
func (c *scope) LastResolved(ctx context.Context, key string) (*Alert, error) {
	row := new(Alert)
	err := c.from(row).Where("dedup_key = ?", key).Where("resolved_at > 0").Order("id DESC").Limit(1).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // nil: there is none
	}
	if err != nil {
		return nil, fmt.Errorf("reading alerts: %w", err)
	}
	return row, nil
}

// Alert reads an alert. It fails with [problem.NotFound].
func (c *scope) Alert(ctx context.Context, id string) (*Alert, error) {
	row := new(Alert)
	return row, table.Found(c.from(row).Where("id = ?", id).Scan(ctx), "alert", id)
}

// AddAlert writes a new alert. It fails with [problem.Conflict] when there is an open one
// of its key.
func (t *Tx) AddAlert(ctx context.Context, row *Alert) error {
	row.ID, row.Version, row.UpdatedAt = t.NewID("alert"), 1, Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); isUnique(err) {
		return problem.New(problem.Conflict, "there is an open alert of %.80q", row.Key)
	} else if err != nil {
		return fmt.Errorf("writing alert %s: %w", row.Key, err)
	}
	return nil
}

// SaveAlert writes an alert that was read before. It fails with [ErrStale] when it was
// changed meanwhile.
func (t *Tx) SaveAlert(ctx context.Context, row *Alert) error {
	was := row.Version
	row.Version, row.UpdatedAt = was+1, Time{Time: t.Now()}
	n, err := affected(t.updateOf(row).ExcludeColumn("workspace_id", "id").Where("id = ?", row.ID).Where("version = ?", was).Exec(ctx))
	if err == nil && n == 0 {
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("writing alert %s: %w", row.ID, err)
	}
	return nil
}

// DeleteAlert removes an alert that never fired.
func (t *Tx) DeleteAlert(ctx context.Context, id string) error {
	if _, err := t.deleteOf((*Alert)(nil)).Where("id = ?", id).Exec(ctx); err != nil {
		return fmt.Errorf("deleting alert %s: %w", id, err)
	}
	return nil
}

type alertCursor struct {
	bun.BaseModel `bun:"table:alert_cursors"`
	InWorkspace
	Source   string `bun:"source,pk"`
	Position string `bun:"position"`
}

// AlertCursor is how far a source of alerts has read; "" when it did not begin.
func (c *scope) AlertCursor(ctx context.Context, source string) (string, error) {
	row := new(alertCursor)
	err := c.from(row).Where("source = ?", source).Scan(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("reading how far %s was read: %w", source, err)
	}
	return row.Position, nil
}

// SetAlertCursor writes down how far a source of alerts has read.
func (t *Tx) SetAlertCursor(ctx context.Context, source, position string) error {
	row := &alertCursor{Source: source, Position: position}
	if _, err := t.insert(row).On("CONFLICT (workspace_id, source) DO UPDATE").Set("position = EXCLUDED.position").Exec(ctx); err != nil {
		return fmt.Errorf("writing how far %s was read: %w", source, err)
	}
	return nil
}

// changeDepth is how many records of the audit log are looked through for a change.
const changeDepth = 2000

// LastChange returns the newest record of the audit log before a time that changed
// something, of the resources; nil when there is none among the last few thousand.
func (c *scope) LastChange(ctx context.Context, before Time, resources ...string) (*Audit, error) {
	row := new(Audit)
	err := c.from(row).Where("seq > (SELECT COALESCE(MAX(seq), 0) - ? FROM audit_records WHERE workspace_id = ?)", changeDepth, c.id).
		Where("resource IN (?)", bun.List(resources)).Where("at <= ?", before).Where("outcome = 'ok'").Where("action NOT LIKE '%.test'").
		Order("seq DESC").Limit(1).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // nil: there is none
	}
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	return row, nil
}

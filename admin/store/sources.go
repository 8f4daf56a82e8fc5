package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
)

// ToolsetSource is what reading the source of a toolset's connector again needs
// besides its URL.
type ToolsetSource struct {
	bun.BaseModel `bun:"table:toolset_sources"`
	InWorkspace
	ToolsetID    string `bun:"toolset_id,pk"`
	Connector    string `bun:"connector,pk"`  // its name in the toolset
	ETag         string `bun:"etag"`          // of the document that was read last; empty: none was given
	LastModified string `bun:"last_modified"` // the same
	Overlays     string `bun:"overlays"`      // JSON; its form is package admin's
	CheckedAt    Time   `bun:"checked_at"`    // when it was last read or found unchanged
	EverySeconds int64  `bun:"every_seconds"` // between checks; 0: it is not read again by itself
	TriedAt      Time   `bun:"tried_at"`      // when the last check by itself began
	Failures     int64  `bun:"failures"`      // checks in a row that could not read it
	Fault        string `bun:"fault"`         // why, the last time
}

// ToolsetChange is what a new version of a specification changed in a toolset.
type ToolsetChange struct {
	bun.BaseModel `bun:"table:toolset_changes"`
	InWorkspace
	ID          string `bun:"id,pk"` // chg_…
	ToolsetID   string `bun:"toolset_id"`
	Connector   string `bun:"connector"`   // its name in the toolset
	FromDigest  string `bun:"from_digest"` // of the specifications
	ToDigest    string `bun:"to_digest"`
	FromVersion string `bun:"from_version"` // info.version
	ToVersion   string `bun:"to_version"`
	Actor       string `bun:"actor"`
	Report      string `bun:"report"` // JSON; its form is package admin's
	CreatedAt   Time   `bun:"created_at"`
}

// PutToolsetSource writes how a toolset's specification was read.
func (t *Tx) PutToolsetSource(ctx context.Context, row *ToolsetSource) error {
	row.CheckedAt, row.Failures, row.Fault = Time{Time: t.Now()}, 0, ""
	_, err := t.insert(row).On("CONFLICT (workspace_id, toolset_id, connector) DO UPDATE").Set("etag = EXCLUDED.etag").
		Set("last_modified = EXCLUDED.last_modified").Set("overlays = EXCLUDED.overlays").Set("checked_at = EXCLUDED.checked_at").Set("failures = 0").Set("fault = ''").Exec(ctx)
	if err != nil {
		return fmt.Errorf("writing the source of toolset %s: %w", row.ToolsetID, err)
	}
	return nil
}

// ToolsetSource reads how the source of a toolset's connector was read; a zero one
// when nothing is known.
func (c *scope) ToolsetSource(ctx context.Context, toolset, connector string) (*ToolsetSource, error) {
	row := new(ToolsetSource)
	err := c.from(row).Where("toolset_id = ?", toolset).Where("connector = ?", connector).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return &ToolsetSource{ToolsetID: toolset, Connector: connector}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the source of toolset %s: %w", toolset, err)
	}
	return row, nil
}

// AddToolsetChange keeps what a new version changed.
func (t *Tx) AddToolsetChange(ctx context.Context, row *ToolsetChange) error {
	row.ID, row.CreatedAt = t.NewID("chg"), Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("writing a change of toolset %s: %w", row.ToolsetID, err)
	}
	return nil
}

// ToolsetChange reads one of them. It fails with [problem.NotFound].
func (c *scope) ToolsetChange(ctx context.Context, toolset, id string) (*ToolsetChange, error) {
	row := new(ToolsetChange)
	return row, table.Found(c.from(row).Where("toolset_id = ?", toolset).Where("id = ?", id).Scan(ctx), "change", id)
}

// ToolsetChanges lists what new versions changed, newest first: of one connector of
// the toolset, or of all of them for "".
func (c *scope) ToolsetChanges(ctx context.Context, toolset, connector string, p Page) ([]ToolsetChange, string, error) {
	var rows []ToolsetChange
	q := c.from(&rows).Where("toolset_id = ?", toolset)
	if connector != "" {
		q = q.Where("connector = ?", connector)
	}
	return table.Read(ctx, c.db, q, &rows, ChangeList, p, "the changes of toolset "+toolset)
}

// WaitingChanges lists the newest change of each connector of a toolset that may wait to
// be accepted, as its report says.
func (c *scope) WaitingChanges(ctx context.Context) ([]ToolsetChange, error) {
	var rows []ToolsetChange
	err := c.db.NewSelect().Model(&rows).ModelTableExpr("toolset_changes AS toolset_change").Where("toolset_change.workspace_id = ?", c.id).
		Where("toolset_change.report LIKE ?", `%"quarantined":true%`).
		Where("NOT EXISTS (SELECT 1 FROM toolset_changes AS n WHERE n.workspace_id = toolset_change.workspace_id AND n.toolset_id = toolset_change.toolset_id " +
			"AND n.connector = toolset_change.connector AND n.id > toolset_change.id)").
		Order("toolset_change.id").Limit(MaxLimit).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing changes that wait: %w", err)
	}
	return rows, nil
}

// FailingSources lists the sources of the workspace that could not be read, at least so
// often in a row.
func (c *scope) FailingSources(ctx context.Context, failures int64) ([]ToolsetSource, error) {
	var rows []ToolsetSource
	err := c.from(&rows).Where("failures >= ?", failures).Where("every_seconds > 0").Order("toolset_id", "connector").Limit(MaxLimit).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing sources that fail: %w", err)
	}
	return rows, nil
}

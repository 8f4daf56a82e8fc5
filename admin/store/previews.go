package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/internal/problem"
)

// MaxPreviews that are good at the same time in a workspace: each is a toolset that a
// gateway may have to open.
const MaxPreviews = 50

// Preview is a draft that can be called at a URL of its own for a while.
type Preview struct {
	bun.BaseModel `bun:"table:previews"`
	InWorkspace
	ToolsetID  string `bun:"toolset_id,pk"`
	ID         string `bun:"id"`         // in the URL
	Digest     string `bun:"digest"`     // of the draft's bundle
	Repository string `bun:"repository"` // of the bundle
	Envelope   []byte `bun:"envelope"`   // the signed release of it
	Actor      string `bun:"actor"`
	ExpiresAt  Time   `bun:"expires_at"`
	CreatedAt  Time   `bun:"created_at"`
}

func noPreview() error {
	return problem.New(problem.NotFound, "there is no preview, or it has ended").Fix("make a new one")
}

// Preview reads the preview of a toolset. It fails with [problem.NotFound] when there is
// none or its time is over.
func (c *scope) Preview(ctx context.Context, toolset string, now Time) (*Preview, error) {
	row := new(Preview)
	err := c.from(row).Where("toolset_id = ?", toolset).Where("expires_at > ?", now).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noPreview()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the preview of %s: %w", toolset, err)
	}
	return row, nil
}

// PreviewByID finds a preview in any workspace: it is how a gateway finds the toolset
// of a URL. It fails with [problem.NotFound] when there is none or its time is over.
func (s *Store) PreviewByID(ctx context.Context, id string) (*Preview, error) {
	row := new(Preview)
	err := s.read.NewSelect().Model(row).Where("id = ?", id).Where("expires_at > ?", Time{Time: s.now()}).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noPreview()
	}
	if err != nil {
		return nil, fmt.Errorf("reading a preview: %w", err)
	}
	return row, nil
}

// PutPreview writes the preview of a toolset in place of the one it had. It fails with
// [problem.Conflict] when the workspace has [MaxPreviews] others.
func (t *Tx) PutPreview(ctx context.Context, row *Preview) error {
	if _, err := t.deleteOf((*Preview)(nil)).Where("toolset_id = ? OR expires_at <= ?", row.ToolsetID, Time{Time: t.Now()}).Exec(ctx); err != nil {
		return fmt.Errorf("removing previews: %w", err)
	}
	var n int
	if err := t.from((*Preview)(nil)).ColumnExpr("COUNT(*)").Scan(ctx, &n); err != nil {
		return fmt.Errorf("counting previews: %w", err)
	}
	if n >= MaxPreviews {
		return problem.New(problem.Conflict, "the workspace has %d previews", n).Fix("end one of them, or wait until one has ended")
	}
	row.CreatedAt = Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("writing the preview of %s: %w", row.ToolsetID, err)
	}
	return nil
}

// EndPreview removes the preview of a toolset. It fails with [problem.NotFound].
func (t *Tx) EndPreview(ctx context.Context, toolset string) error {
	n, err := affected(t.deleteOf((*Preview)(nil)).Where("toolset_id = ?", toolset).Exec(ctx))
	if err != nil {
		return fmt.Errorf("ending the preview of %s: %w", toolset, err)
	}
	if n == 0 {
		return noPreview()
	}
	return nil
}

package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// Kinds of draft copies.
const (
	CopyPublished = "published" // of a digest that was published; named by the digest
	CopyKept      = "kept"      // edits that a roll-back took out of the draft
)

// MaxDraftCopies of each kind and toolset; beyond it the oldest go. Retention keeps ten
// revisions, and a roll-back goes no further.
const MaxDraftCopies = 20

// DraftCopy is a draft as it was: its settings, connectors and edits, and no secret.
type DraftCopy struct {
	bun.BaseModel `bun:"table:draft_copies"`
	InWorkspace
	ToolsetID string `bun:"toolset_id,pk"`
	Kind      string `bun:"kind,pk"`
	Name      string `bun:"name,pk"`
	Digest    string `bun:"digest"`   // of its bundle
	Document  string `bun:"document"` // JSON
	Reason    string `bun:"reason"`   // of the roll-back
	CreatedAt Time   `bun:"created_at"`
}

// PutDraftCopy writes a copy, in the place of one of its kind and name, and removes the
// oldest beyond [MaxDraftCopies].
func (t *Tx) PutDraftCopy(ctx context.Context, row *DraftCopy) error {
	row.CreatedAt = Time{Time: t.Now()}
	_, err := t.insert(row).On("CONFLICT (workspace_id, toolset_id, kind, name) DO UPDATE").
		Set("digest = EXCLUDED.digest").Set("document = EXCLUDED.document").Set("reason = EXCLUDED.reason").Set("created_at = EXCLUDED.created_at").Exec(ctx)
	if err != nil {
		return fmt.Errorf("keeping a draft of %s: %w", row.ToolsetID, err)
	}
	rows, err := t.DraftCopies(ctx, row.ToolsetID, row.Kind)
	for i := MaxDraftCopies; err == nil && i < len(rows); i++ {
		err = t.DropDraftCopy(ctx, row.ToolsetID, row.Kind, rows[i].Name)
	}
	return err
}

// DropDraftCopy removes a copy. It fails with [problem.NotFound].
func (t *Tx) DropDraftCopy(ctx context.Context, toolset, kind, name string) error {
	if _, err := t.DraftCopy(ctx, toolset, kind, name); err != nil {
		return err
	}
	_, err := t.deleteOf((*DraftCopy)(nil)).Where("toolset_id = ?", toolset).Where("kind = ?", kind).Where("name = ?", name).Exec(ctx)
	if err != nil {
		return fmt.Errorf("removing a draft of %s: %w", toolset, err)
	}
	return nil
}

// DraftCopy reads a copy. It fails with [problem.NotFound].
func (c *scope) DraftCopy(ctx context.Context, toolset, kind, name string) (*DraftCopy, error) {
	row := new(DraftCopy)
	err := c.from(row).Where("toolset_id = ?", toolset).Where("kind = ?", kind).Where("name = ?", name).Scan(ctx)
	return row, c.found(ctx, err, (*DraftCopy)(nil), "name", "draft", name)
}

// DraftCopies lists the copies of a kind of a toolset, newest first.
func (c *scope) DraftCopies(ctx context.Context, toolset, kind string) ([]DraftCopy, error) {
	var rows []DraftCopy
	if err := c.from(&rows).Where("toolset_id = ?", toolset).Where("kind = ?", kind).Order("created_at DESC", "name DESC").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing the drafts of %s: %w", toolset, err)
	}
	return rows, nil
}

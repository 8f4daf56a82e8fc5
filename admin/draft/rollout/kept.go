package rollout

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// KeptDraft is a draft that a roll-back kept aside.
type KeptDraft struct {
	Name      string    `json:"name"`
	Digest    string    `json:"digest" doc:"Of its bundle."`
	Reason    string    `json:"reason,omitempty" doc:"Of the roll-back."`
	CreatedAt time.Time `json:"createdAt"`
}

// KeptDraftDetail is a draft that was kept aside, with its content.
type KeptDraftDetail struct {
	KeptDraft
	Document json.RawMessage `json:"document" doc:"Settings, connectors and edits of tools. It holds no secret."`
}

func showKept(row *store.DraftCopy) KeptDraft {
	return KeptDraft{Name: row.Name, Digest: row.Digest, Reason: row.Reason, CreatedAt: row.CreatedAt.Time}
}

// KeptDrafts lists the drafts that roll-backs kept aside, newest first.
func (r *Room) KeptDrafts(ctx context.Context, ws *store.Workspace, id string) ([]KeptDraft, error) {
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	rows, err := ws.DraftCopies(ctx, ts.ID, store.CopyKept)
	out := []KeptDraft{}
	for i := range rows {
		out = append(out, showKept(&rows[i]))
	}
	return out, err
}

// KeptDraft reads a draft that was kept aside.
func (r *Room) KeptDraft(ctx context.Context, ws *store.Workspace, id, name string) (*KeptDraftDetail, error) {
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	row, err := ws.DraftCopy(ctx, ts.ID, store.CopyKept, name)
	if err != nil {
		return nil, err
	}
	content, err := shownContent(row)
	if err != nil {
		return nil, err
	}
	return &KeptDraftDetail{showKept(row), content}, nil
}

// DropKept drops a draft that was kept aside.
func (r *Room) DropKept(ctx context.Context, ws *store.Workspace, id, name string) error {
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return err
	}
	return ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.DropDraftCopy(ctx, ts.ID, store.CopyKept, name); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.draft.drop", ts.ID)
		rec.Before = store.JSON(map[string]string{"name": name})
		return tx.Audit(ctx, rec)
	})
}

// ApplyKept makes a draft that was kept aside the draft again. Nothing becomes live by it.
func (r *Room) ApplyKept(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput, name string) (*draft.Draft, error) {
	d, err := r.Drafts.LoadMatching(ctx, ws, id, match)
	if err != nil {
		return nil, err
	}
	row, err := ws.DraftCopy(ctx, d.Toolset.ID, store.CopyKept, name)
	if err != nil {
		return nil, err
	}
	if d.Toolset.LiveRevision > 0 && d.Toolset.DraftDigest != d.Toolset.LiveDigest {
		return nil, problem.New(problem.Conflict, "the draft of toolset %s has edits that are not live", d.Toolset.Slug).Fix("deploy them, or roll back to the live revision's content first")
	}
	before := d.Document()
	if err := r.Drafts.Fill(ctx, ws, d, row); err != nil {
		return nil, err
	}
	if err := r.Drafts.Save(ctx, ws, d, "toolset.draft.apply", before, d.Document(), true); err != nil {
		return nil, err
	}
	return d, nil
}

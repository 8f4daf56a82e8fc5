package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

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

// KeptDraftInput is the path of a draft that was kept aside.
type KeptDraftInput struct {
	ToolsetInput
	Name string `path:"name" maxLength:"64"`
}

type applyDraftInput struct {
	KeptDraftInput
	request.MatchInput
}

func showKept(r *store.DraftCopy) KeptDraft {
	return KeptDraft{Name: r.Name, Digest: r.Digest, Reason: r.Reason, CreatedAt: r.CreatedAt.Time}
}

func (s *Server) registerKeptDrafts() {
	const path = "/v1/toolsets/{id}/drafts"
	tags := []string{"toolsets"}
	register(s, huma.Operation{
		OperationID: "list-kept-drafts", Method: http.MethodGet, Path: path, Summary: "List the drafts that roll-backs kept aside, newest first", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*bodyOutput[List[KeptDraft]], error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		rows, err := ws.DraftCopies(ctx, ts.ID, store.CopyKept)
		out := List[KeptDraft]{Items: []KeptDraft{}}
		for i := range rows {
			out.Items = append(out.Items, showKept(&rows[i]))
		}
		return &bodyOutput[List[KeptDraft]]{out}, err
	})
	register(s, huma.Operation{
		OperationID: "get-kept-draft", Method: http.MethodGet, Path: path + "/{name}", Summary: "Read a draft that was kept aside", Tags: tags,
	}, func(ctx context.Context, in *KeptDraftInput) (*bodyOutput[KeptDraftDetail], error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		row, err := ws.DraftCopy(ctx, ts.ID, store.CopyKept, in.Name)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[KeptDraftDetail]{KeptDraftDetail{showKept(row), json.RawMessage(row.Document)}}, nil
	})
	register(s, huma.Operation{
		OperationID: "apply-kept-draft", Method: http.MethodPost, Path: path + "/{name}/apply", Summary: "Make a draft that was kept aside the draft again", Tags: tags,
		Description: "Nothing becomes live by it. The draft must have no edits that are not live. If-Match: the toolset's ETag.",
	}, s.applyKept)
	register(s, huma.Operation{
		OperationID: "drop-kept-draft", Method: http.MethodDelete, Path: path + "/{name}", Summary: "Drop a draft that was kept aside", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *KeptDraftInput) (*struct{}, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return nil, ws.Update(ctx, func(tx *store.Tx) error {
			if err := tx.DropDraftCopy(ctx, ts.ID, store.CopyKept, in.Name); err != nil {
				return err
			}
			rec := request.Audit(ctx, "toolset.draft.drop", ts.ID)
			rec.Before = store.JSON(map[string]string{"name": in.Name})
			return tx.Audit(ctx, rec)
		})
	})
}

func (s *Server) applyKept(ctx context.Context, in *applyDraftInput) (*toolsetOutput, error) {
	ws := s.workspace(ctx)
	d, err := s.drafts.LoadMatching(ctx, ws, in.ID, &in.MatchInput)
	if err != nil {
		return nil, err
	}
	row, err := ws.DraftCopy(ctx, d.Toolset.ID, store.CopyKept, in.Name)
	if err != nil {
		return nil, err
	}
	if d.Toolset.LiveRevision > 0 && d.Toolset.DraftDigest != d.Toolset.LiveDigest {
		return nil, problem.New(problem.Conflict, "the draft of toolset %s has edits that are not live", d.Toolset.Slug).Fix("deploy them, or roll back to the live revision's content first")
	}
	before := d.Document()
	if err := s.drafts.Fill(ctx, ws, d, row); err != nil {
		return nil, err
	}
	if err := s.drafts.Save(ctx, ws, d, "toolset.draft.apply", before, d.Document(), true); err != nil {
		return nil, err
	}
	return s.toolsetAnswer(ctx, ws, d)
}

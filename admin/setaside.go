package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// draftDocument is a draft as it is kept: its settings, connectors and edits.
// Credentials are not in it: the draft and what is live share them.
type draftDocument struct {
	Name         string                   `json:"name"`
	Description  string                   `json:"description,omitempty"`
	Instructions string                   `json:"instructions,omitempty"`
	Profile      string                   `json:"profile,omitempty"`
	CacheSeconds int64                    `json:"cacheSeconds,omitempty"`
	Answers      string                   `json:"answers,omitempty"`
	Selection    string                   `json:"selection,omitempty"`
	Plugins      string                   `json:"plugins,omitempty"`
	Workflows    string                   `json:"workflows,omitempty"`
	Connectors   []store.ToolsetConnector `json:"connectors"`
	Edits        []store.ToolEdit         `json:"edits,omitempty"`
}

func (d *draft) document() draftDocument {
	ts := d.ts
	return draftDocument{
		Name: ts.Name, Description: ts.Description, Instructions: ts.Instructions, Profile: ts.Profile, CacheSeconds: ts.CacheSeconds,
		Answers: ts.Answers, Selection: ts.Selection, Plugins: ts.Plugins, Workflows: ts.Workflows, Connectors: d.rows(), Edits: d.edits,
	}
}

// copyOf is a draft as a record.
func (d *draft) copyOf(kind, name, reason string) *store.DraftCopy {
	return &store.DraftCopy{ToolsetID: d.ts.ID, Kind: kind, Name: name, Digest: d.ts.DraftDigest, Document: store.JSON(d.document()), Reason: reason}
}

// fill makes a draft what a copy has, without saving it.
func (s *Server) fill(ctx context.Context, ws *store.Workspace, d *draft, row *store.DraftCopy) error {
	var doc draftDocument
	if err := json.Unmarshal([]byte(row.Document), &doc); err != nil {
		return fmt.Errorf("reading draft %s of %s: %w", row.Name, row.ToolsetID, err)
	}
	if len(doc.Connectors) == 0 {
		return fmt.Errorf("draft %s of %s has no connector", row.Name, row.ToolsetID)
	}
	ts := d.ts
	ts.Name, ts.Description, ts.Instructions, ts.Profile, ts.CacheSeconds = doc.Name, doc.Description, doc.Instructions, doc.Profile, doc.CacheSeconds
	ts.Answers, ts.Selection, ts.Plugins, ts.Workflows = doc.Answers, doc.Selection, doc.Plugins, doc.Workflows
	parts := make([]*part, len(doc.Connectors))
	for i := range doc.Connectors {
		var err error
		if parts[i], err = loadPart(ctx, ws, &doc.Connectors[i]); err != nil {
			return err
		}
		if parts[i].conn, err = s.opened.Open(ctx, parts[i].version); err != nil {
			return err
		}
	}
	d.parts, d.part, d.edits = parts, parts[0], doc.Edits
	return nil
}

// draftAfterRollback makes the draft what is live again, after a roll-back to a
// digest, and keeps what it was under a name. A digest of a version before copies has
// none: the draft stays. The roll-back itself is done, so a failure is logged and the
// draft stays.
func (s *Server) draftAfterRollback(ctx context.Context, ws *store.Workspace, id string, revision uint64, reason string) {
	if err := s.resetDraft(ctx, ws, id, revision, reason); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the draft stays as it was before the roll-back", slog.String("toolset", id), slog.Any("error", err))
	}
}

func (s *Server) resetDraft(ctx context.Context, ws *store.Workspace, id string, revision uint64, reason string) error {
	d, err := s.load(ctx, ws, id)
	if err != nil || d.ts.DraftDigest == d.ts.LiveDigest {
		return err
	}
	row, err := ws.DraftCopy(ctx, id, store.CopyPublished, d.ts.LiveDigest)
	if err != nil {
		return err
	}
	before := d.document()
	kept := d.copyOf(store.CopyKept, fmt.Sprintf("before-revision-%d", revision), reason)
	if err := s.fill(ctx, ws, d, row); err != nil {
		return err
	}
	if err := s.saveDraft(ctx, ws, d, "toolset.draft.reset", before, d.document(), true); err != nil {
		return err
	}
	return ws.Update(ctx, func(tx *store.Tx) error { return tx.PutDraftCopy(ctx, kept) })
}

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
	d, err := s.loadMatching(ctx, ws, in.ID, &in.MatchInput)
	if err != nil {
		return nil, err
	}
	row, err := ws.DraftCopy(ctx, d.ts.ID, store.CopyKept, in.Name)
	if err != nil {
		return nil, err
	}
	if d.ts.LiveRevision > 0 && d.ts.DraftDigest != d.ts.LiveDigest {
		return nil, problem.New(problem.Conflict, "the draft of toolset %s has edits that are not live", d.ts.Slug).Fix("deploy them, or roll back to the live revision's content first")
	}
	before := d.document()
	if err := s.fill(ctx, ws, d, row); err != nil {
		return nil, err
	}
	if err := s.saveDraft(ctx, ws, d, "toolset.draft.apply", before, d.document(), true); err != nil {
		return nil, err
	}
	return s.toolsetAnswer(ctx, ws, d)
}

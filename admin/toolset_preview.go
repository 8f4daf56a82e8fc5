package admin

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/access"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Lives of previews.
const (
	// DefaultPreviewLife is an afternoon's look at a draft.
	DefaultPreviewLife = time.Hour
	// MaxPreviewLife: what is to be used for longer than a day is to be deployed.
	MaxPreviewLife = 24 * time.Hour
	// minPreviewLife leaves time to paste the URL into a client.
	minPreviewLife = time.Minute
)

// DraftPreview is a draft at a URL of its own.
type DraftPreview struct {
	URL       string    `json:"url" doc:"For an MCP client. Listed nowhere; without the token it answers 401."`
	Token     string    `json:"token,omitempty" doc:"Access token of the URL. Shown once, in the answer that makes it."`
	Digest    string    `json:"digest" doc:"What it serves: the draft as it was when the preview was made."`
	Current   bool      `json:"current" doc:"The draft is still that."`
	Live      bool      `json:"live,omitempty" doc:"It is what the toolset URL serves too."`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// CreateDraftPreview asks for a preview.
type CreateDraftPreview struct {
	TTLSeconds int64 `json:"ttlSeconds,omitempty" minimum:"60" maximum:"86400" doc:"Default: 3600."`
}

type createPreviewInput struct {
	ToolsetInput
	Body *CreateDraftPreview
}

func (s *Server) registerPreviews() {
	tags := []string{"toolsets"}
	const path = "/v1/toolsets/{id}/preview"
	register(s, huma.Operation{
		OperationID: "create-draft-preview", Method: http.MethodPost, Path: path, Summary: "Serve the draft at a URL of its own for a while", Tags: tags,
		DefaultStatus: http.StatusCreated,
		Description: "The gateway of this node serves the draft as it is now at an address that is listed nowhere, to whoever shows the token of this answer. " +
			"What is live does not change, and nothing is counted. A new preview takes the place of the one before. Edges serve no previews.",
	}, s.createDraftPreview)
	register(s, huma.Operation{
		OperationID: "get-draft-preview", Method: http.MethodGet, Path: path, Summary: "Read the preview of the draft", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*bodyOutput[DraftPreview], error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		row, err := ws.Preview(ctx, ts.ID, store.Time{Time: ws.Now()})
		if err != nil {
			return nil, err
		}
		return &bodyOutput[DraftPreview]{s.showPreview(ts, row)}, nil
	})
	register(s, huma.Operation{
		OperationID: "end-draft-preview", Method: http.MethodDelete, Path: path, Summary: "End the preview of the draft", Tags: tags,
		DefaultStatus: http.StatusNoContent, Description: "The next request to its URL gets 404.",
	}, func(ctx context.Context, in *ToolsetInput) (*struct{}, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return nil, ws.Update(ctx, func(tx *store.Tx) error {
			if err := tx.EndPreview(ctx, ts.ID); err != nil {
				return err
			}
			return tx.Audit(ctx, request.Audit(ctx, "toolset.preview_end", ts.ID))
		})
	})
}

func (s *Server) showPreview(ts *store.Toolset, row *store.Preview) DraftPreview {
	return DraftPreview{
		URL: s.o.PreviewURL + row.ID, Digest: row.Digest, Current: row.Digest == ts.DraftDigest, Live: row.Digest == ts.LiveDigest,
		CreatedAt: row.CreatedAt.Time, ExpiresAt: row.ExpiresAt.Time,
	}
}

func (s *Server) createDraftPreview(ctx context.Context, in *createPreviewInput) (*bodyOutput[DraftPreview], error) {
	if s.o.PreviewURL == "" {
		return nil, problem.New(problem.Unsupported, "this node has no gateway, and edges serve no drafts").
			Fix("test the draft: sluice toolset test   or preview it on a node with both, as sluice run starts")
	}
	life := DefaultPreviewLife
	if in.Body != nil && in.Body.TTLSeconds > 0 {
		life = min(max(time.Duration(in.Body.TTLSeconds)*time.Second, minPreviewLife), MaxPreviewLife)
	}
	ws := s.workspace(ctx)
	d, err := s.drafts.Load(ctx, ws, in.ID)
	if err != nil {
		return nil, err
	}
	was := d.Toolset.DraftDigest
	if err := s.drafts.Push(ctx, d); err != nil {
		return nil, err
	}
	if d.Toolset.DraftDigest != was {
		return nil, fmt.Errorf("previewing %s: the draft makes the digest %s, its record has %s", d.Toolset.ID, d.Toolset.DraftDigest, was)
	}
	if err := d.CheckServers(); err != nil {
		return nil, err
	}
	if err := s.drafts.RequireConfirmed(ctx, d); err != nil {
		return nil, err
	}
	_, id, _ := strings.Cut(strings.ToLower(ws.NewID("preview")), "_")
	token, now := access.NewTokenFor(access.ToolsetPrefix), ws.Now()
	expires := now.Add(life).Truncate(time.Second)
	repository := ws.ID() + "/toolsets/" + d.Toolset.Slug
	door, err := s.o.Publisher.Access(ctx, repository, &registry.AccessDocument{
		FormatVersion: registry.AccessFormat, Workspace: ws.ID(), Toolset: d.Toolset.ID, Mode: registry.AccessToken,
		Tokens: []registry.TokenGrant{{ID: "preview-" + id, Name: "preview", Hash: hex.EncodeToString(access.HashToken(token)), Expires: &expires}},
	})
	if err != nil {
		return nil, err
	}
	envelope, err := s.o.Publisher.Preview(ctx, id, registry.ReleaseToolset{
		ID: d.Toolset.ID, Workspace: ws.ID(), Slug: d.Toolset.Slug, Revision: d.Toolset.LiveRevision + 1, Repository: repository, Bundle: registry.Digest(was), Access: door,
	}, now, expires)
	if err != nil {
		return nil, err
	}
	row := &store.Preview{
		ToolsetID: d.Toolset.ID, ID: id, Digest: was, Repository: repository, Envelope: envelope, Actor: request.Of(ctx).ActorID(), ExpiresAt: store.Time{Time: expires},
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PutPreview(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.preview", d.Toolset.ID)
		rec.Digest, rec.After = was, store.JSON(map[string]any{"expires": expires})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	out := s.showPreview(d.Toolset, row)
	out.Token = token.Reveal()
	return &bodyOutput[DraftPreview]{out}, nil
}

// PreviewRelease returns the signed release of a preview, for the gateway of this
// node. It fails with [problem.NotFound] when there is none or its time is over.
func (s *Server) PreviewRelease(ctx context.Context, id string) ([]byte, error) {
	row, err := s.o.Store.PreviewByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return row.Envelope, nil
}

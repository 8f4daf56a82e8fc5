package rollout

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
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
	Digest    string    `json:"digest" doc:"Digest of the draft that it serves: that of the time when the preview was created."`
	Current   bool      `json:"current" doc:"The draft is still that."`
	Live      bool      `json:"live,omitempty" doc:"It is what the toolset URL serves too."`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// CreateDraftPreview asks for a preview.
type CreateDraftPreview struct {
	TTLSeconds int64 `json:"ttlSeconds,omitempty" minimum:"60" maximum:"86400" doc:"Default: 3600."`
}

// previewLife is how long a preview lives for which so many seconds are asked; 0: as long
// as most do.
func previewLife(seconds int64) time.Duration {
	if seconds <= 0 {
		return DefaultPreviewLife
	}
	return min(max(time.Duration(seconds)*time.Second, minPreviewLife), MaxPreviewLife)
}

// DraftPreview reads the preview of a draft.
func (r *Room) DraftPreview(ctx context.Context, ws *store.Workspace, id string) (*DraftPreview, error) {
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	row, err := ws.Preview(ctx, ts.ID, store.Time{Time: ws.Now()})
	if err != nil {
		return nil, err
	}
	return r.showPreview(ts, row), nil
}

// EndPreview ends the preview of a draft.
func (r *Room) EndPreview(ctx context.Context, ws *store.Workspace, id string) error {
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return err
	}
	return ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.EndPreview(ctx, ts.ID); err != nil {
			return err
		}
		return tx.Audit(ctx, request.Audit(ctx, "toolset.preview_end", ts.ID))
	})
}

func (r *Room) showPreview(ts *store.Toolset, row *store.Preview) *DraftPreview {
	return &DraftPreview{
		URL: r.PreviewURL + row.ID, Digest: row.Digest, Current: row.Digest == ts.DraftDigest, Live: row.Digest == ts.LiveDigest,
		CreatedAt: row.CreatedAt.Time, ExpiresAt: row.ExpiresAt.Time,
	}
}

// PreviewDraft serves the draft as it is now at a URL of its own for a while. It fails with
// [problem.Precondition] when the request names another version of it.
func (r *Room) PreviewDraft(ctx context.Context, ws *store.Workspace, toolset string, match *request.MatchInput, in *CreateDraftPreview) (*DraftPreview, error) {
	if r.PreviewURL == "" {
		return nil, problem.New(problem.Unsupported, "this node has no gateway, and edges serve no drafts").
			Fix("test the draft: sluice toolset test   or preview it on a node with both, as sluice run starts")
	}
	life := DefaultPreviewLife
	if in != nil {
		life = previewLife(in.TTLSeconds)
	}
	d, err := r.Drafts.LoadMatching(ctx, ws, toolset, match)
	if err != nil {
		return nil, err
	}
	was := d.Toolset.DraftDigest
	if err := r.Drafts.Push(ctx, d); err != nil {
		return nil, err
	}
	if d.Toolset.DraftDigest != was {
		return nil, fmt.Errorf("previewing %s: the draft makes the digest %s, its record has %s", d.Toolset.ID, d.Toolset.DraftDigest, was)
	}
	if err := d.CheckServers(); err != nil {
		return nil, err
	}
	if err := r.Drafts.RequireConfirmed(ctx, d); err != nil {
		return nil, err
	}
	_, id, _ := strings.Cut(strings.ToLower(ws.NewID("preview")), "_")
	token, now := access.NewTokenFor(access.ToolsetPrefix), ws.Now()
	expires := now.Add(life).Truncate(time.Second)
	repository := ws.ID() + "/toolsets/" + d.Toolset.Slug
	door, err := r.Publisher.Access(ctx, repository, &registry.AccessDocument{
		FormatVersion: registry.AccessFormat, Workspace: ws.ID(), Toolset: d.Toolset.ID, Mode: registry.AccessToken,
		Tokens: []registry.TokenGrant{{ID: "preview-" + id, Name: "preview", Hash: hex.EncodeToString(access.HashToken(token)), Expires: &expires}},
	})
	if err != nil {
		return nil, err
	}
	envelope, err := r.Publisher.Preview(ctx, id, registry.ReleaseToolset{
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
	out := r.showPreview(d.Toolset, row)
	out.Token = token.Reveal()
	return out, nil
}

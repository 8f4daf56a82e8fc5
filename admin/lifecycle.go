package admin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/server"
)

// Types of events.
const (
	EventDeployed   = "toolset.deployed"
	EventRolledBack = "toolset.rolled_back"
	EventArchived   = "toolset.archived"
	EventTested     = "toolset.tested"   // a test of the draft passed: draft → tested
	EventReplaced   = "toolset.replaced" // another revision is live in its place: published → superseded or rolled_back
)

// replaced tells of the revision that was live until now.
func (s *Server) replaced(workspace string, before *store.Toolset, step store.Step) {
	if before.LiveRevision == 0 {
		return
	}
	to, err := store.Next(store.Published, step)
	if err != nil {
		panic("BUG: a live revision cannot be replaced: " + err.Error())
	}
	s.events.Emit(publish.Event{
		Type: EventReplaced, Workspace: workspace, Toolset: before.ID, Revision: before.LiveRevision, Digest: before.LiveDigest,
		From: string(store.Published), To: string(to),
	})
}

// Retention is what stays beside what is live and every draft.
type Retention struct {
	Revisions int           // newest revisions of each toolset. Default: 10
	Age       time.Duration // and every one younger than this. Default: 30 days
	Releases  int           // newest releases of each group. Default: 50
	Grace     time.Duration // contents that no record names yet. Default: 24 h
}

func (r *Retention) defaults() {
	if r.Revisions <= 0 {
		r.Revisions = 10
	}
	if r.Age <= 0 {
		r.Age = 30 * 24 * time.Hour
	}
	if r.Releases <= 0 {
		r.Releases = 50
	}
	if r.Grace <= 0 {
		r.Grace = 24 * time.Hour
	}
}

// RollbackRequest names the revision to go back to.
type RollbackRequest struct {
	Revision uint64 `json:"revision,omitempty" doc:"Default: the newest one before the live one that differs from it."`
	Reason   string `json:"reason,omitempty" maxLength:"500"`
}

type rollbackInput struct {
	ToolsetInput
	request.MatchInput
	Body *RollbackRequest
}

// Collected is what a collection of garbage did.
type Collected struct {
	Archived  int   `json:"archived" doc:"Revisions that retention let go."`
	Manifests int   `json:"manifests" doc:"OCI manifests removed."`
	Blobs     int   `json:"blobs" doc:"Contents removed."`
	Bytes     int64 `json:"bytes"`
	Kept      int   `json:"kept" doc:"Contents that stay."`
}

func (s *Server) registerLifecycle() {
	register(s, huma.Operation{
		OperationID: "rollback-toolset", Method: http.MethodPost, Path: "/v1/toolsets/{id}/rollback", Summary: "Go back to an older revision", Tags: []string{"toolsets"},
		Description: "Publishes the digest of an older revision as a new revision. The draft becomes what is live; what it was is kept aside under a name (see list-kept-drafts).",
	}, s.rollback)
	register(s, huma.Operation{
		OperationID: "collect-garbage", Method: http.MethodPost, Path: "/v1/registry/collect", Summary: "Remove what nothing needs from the registry", Tags: []string{"registry"},
		Description: "Operator only. It happens by itself every hour. What a live or retained revision, a draft or a tag needs stays.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[Collected], error) {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, err
		}
		if s.o.Registry == nil {
			return nil, problem.New(problem.Unsupported, "the registry is not kept by this control plane")
		}
		c, err := s.collect(ctx)
		return &bodyOutput[Collected]{c}, err
	})
}

func (s *Server) rollback(ctx context.Context, in *rollbackInput) (*toolsetOutput, error) {
	ws := s.workspace(ctx)
	req := RollbackRequest{}
	if in.Body != nil {
		req = *in.Body
	}
	if err := s.rollBack(ctx, ws, in, req); err != nil {
		return nil, err
	}
	d, err := s.load(ctx, ws, in.ID)
	if err != nil {
		return nil, err
	}
	return s.toolsetAnswer(ctx, ws, d)
}

func (s *Server) rollBack(ctx context.Context, ws *store.Workspace, in *rollbackInput, req RollbackRequest) error {
	ts, err := ws.FindToolset(ctx, in.ID)
	if err != nil {
		return err
	}
	if err := in.Check(ts.Version, false); err != nil {
		return err
	}
	if ts.LiveRevision == 0 {
		return problem.New(problem.Conflict, "toolset %s is not live", ts.Slug).Fix("deploy it")
	}
	var old *store.Revision
	if req.Revision == 0 {
		old, err = ws.LastRevisionBefore(ctx, ts.ID, ts.LiveRevision, ts.LiveDigest)
	} else {
		old, err = ws.Revision(ctx, ts.ID, req.Revision)
	}
	if err != nil {
		return err
	}
	if old.N == ts.LiveRevision || old.Digest == ts.LiveDigest {
		return problem.New(problem.Conflict, "revision %d is already live", old.N)
	}
	if _, err := store.Next(old.State, store.Restore); err != nil {
		return err
	}
	content, err := s.o.Publisher.Content(ctx, old.Repository, registry.Digest(old.Digest))
	if err != nil {
		return err
	}
	for _, id := range content.Credentials {
		if _, err := ws.CredentialByID(ctx, id); problem.Is(err, problem.NotFound) {
			return problem.New(problem.Conflict, "revision %d uses an authentication that was deleted since", old.N).
				Fix("choose a newer revision, or set the authentication and deploy the draft")
		} else if err != nil {
			return err
		}
	}
	bundle, err := s.o.Publisher.Toolset(ctx, old.Repository, registry.Digest(old.Digest))
	if err != nil {
		return err
	}
	if err := s.bringsBackYanked(ctx, ws, ts, bundle.Plugins); err != nil {
		return err
	}
	if err := s.logins.Origins.Restorable(ctx, ws, ts.Slug, old.Repository, registry.Digest(old.Digest)); err != nil {
		return err
	}
	before := *ts
	rev := &store.Revision{
		ToolsetID: ts.ID, Digest: old.Digest, Repository: old.Repository, ConnectorDigest: old.ConnectorDigest,
		Author: request.Of(ctx).ActorID(), Reason: req.Reason, TestRunID: old.TestRunID, Restores: old.N,
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PublishRevision(ctx, rev, old.State, store.Restore, before.LiveRevision); err != nil {
			return err
		}
		ts.LiveDigest, ts.LiveRevision, ts.LiveRepository = rev.Digest, rev.N, rev.Repository
		if err := tx.SaveToolset(ctx, ts); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.rollback", ts.ID)
		rec.Digest, rec.Reason = rev.Digest, req.Reason
		rec.Before = store.JSON(map[string]any{"revision": before.LiveRevision, "digest": before.LiveDigest, "becomes": store.RolledBack})
		rec.After = store.JSON(map[string]any{"revision": rev.N, "digest": rev.Digest, "restores": old.N})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return err
	}
	if _, err := s.o.Publisher.Release(ctx); err != nil {
		back := context.WithoutCancel(ctx)
		return errors.Join(err, ws.Update(back, func(tx *store.Tx) error {
			ts.LiveDigest, ts.LiveRevision, ts.LiveRepository = before.LiveDigest, before.LiveRevision, before.LiveRepository
			if err := tx.SaveToolset(back, ts); err != nil {
				return err
			}
			if err := tx.UnpublishRevision(back, ts.ID, rev.N, before.LiveRevision); err != nil {
				return err
			}
			rec := request.Audit(back, "toolset.rollback", ts.ID)
			rec.Outcome, rec.Reason = request.OutcomeFailed, "the release could not be made"
			return tx.Audit(back, rec)
		}))
	}
	s.draftAfterRollback(ctx, ws, ts.ID, rev.N, req.Reason)
	s.awaitLive(ctx, ts.ID, rev.N)
	s.replaced(ws.ID(), &before, store.RollBack)
	s.events.Emit(publish.Event{Type: EventRolledBack, Workspace: ws.ID(), Toolset: ts.ID, Revision: rev.N, Digest: rev.Digest, From: string(old.State), To: string(rev.State)})
	return nil
}

// collect archives what retention lets go and removes from the registry what no
// record needs. Publishing goes on meanwhile: contents that are younger than the
// grace stay, and pushing again makes them young.
func (s *Server) collect(ctx context.Context) (Collected, error) {
	var out Collected
	ids, err := s.o.Store.Workspaces(ctx)
	if err != nil {
		return out, err
	}
	for _, id := range ids {
		var archived []store.Revision
		ws := s.o.Store.Workspace(id)
		err := ws.Update(ctx, func(tx *store.Tx) (err error) {
			if archived, err = tx.ArchiveRevisions(ctx, s.o.Retention.Revisions, s.o.Retention.Age); err != nil {
				return err
			}
			for i := range archived {
				rec := request.Audit(ctx, EventArchived, archived[i].ToolsetID)
				rec.Digest, rec.After = archived[i].Digest, store.JSON(map[string]any{"revision": archived[i].N})
				if err := tx.Audit(ctx, rec); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return out, err
		}
		out.Archived += len(archived)
		for i := range archived {
			r := &archived[i]
			s.events.Emit(publish.Event{Type: EventArchived, Workspace: id, Toolset: r.ToolsetID, Revision: r.N, Digest: r.Digest, From: string(store.Superseded), To: string(r.State)})
		}
	}
	// Before the records are read: what is pushed from here on is young.
	started := time.Now()
	bundles, err := s.o.Store.NeededBundles(ctx)
	if err != nil {
		return out, err
	}
	needed := make(map[registry.Digest]bool, 2*len(bundles))
	for _, b := range bundles {
		c, err := s.o.Publisher.Content(ctx, b.Repository, registry.Digest(b.Digest))
		if errors.Is(err, registry.ErrNotFound) {
			continue // gone already: nothing of it can be kept
		}
		if err != nil {
			return out, err // what it needs is not known, so nothing may go
		}
		for _, d := range c.Digests {
			needed[d] = true
		}
	}
	published, err := s.o.Store.PluginContents(ctx)
	if err != nil {
		return out, err
	}
	for _, d := range published {
		needed[d] = true
	}
	rep, err := s.o.Registry.Collect(ctx, server.CollectOptions{
		Needed: needed, Before: started.Add(-s.o.Retention.Grace), Releases: s.o.Retention.Releases,
	})
	out.Manifests, out.Blobs, out.Bytes, out.Kept = rep.Manifests, rep.Blobs, rep.Bytes, rep.Kept
	return out, err
}

package rollout

import (
	"context"
	"errors"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Types of events.
const (
	EventDeployed   = "toolset.deployed"
	EventRolledBack = "toolset.rolled_back"
	EventTested     = "toolset.tested"   // a test of the draft passed: draft → tested
	EventReplaced   = "toolset.replaced" // another revision is live in its place: published → superseded or rolled_back
)

// replaced reports the revision that was live until now.
func (r *Room) replaced(workspace string, before *store.Toolset, step store.Step) {
	if before.LiveRevision == 0 {
		return
	}
	to, err := store.Next(store.Published, step)
	if err != nil {
		panic("BUG: a live revision cannot be replaced: " + err.Error())
	}
	r.Events.Emit(publish.Event{
		Type: EventReplaced, Workspace: workspace, Toolset: before.ID, Revision: before.LiveRevision, Digest: before.LiveDigest,
		From: string(store.Published), To: string(to),
	})
}

// RollbackRequest names the revision to go back to.
type RollbackRequest struct {
	Revision uint64 `json:"revision,omitempty" doc:"Default: the newest one before the live one that differs from it."`
	Reason   string `json:"reason,omitempty" maxLength:"500"`
}

// RollBack makes the digest of an older revision live as a new one, and the draft what is
// live then.
func (r *Room) RollBack(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput, req RollbackRequest) error {
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return err
	}
	if err := match.Check(ts.Version, false); err != nil {
		return err
	}
	if ts.LiveRevision == 0 {
		return problem.New(problem.Conflict, "toolset %s is not live", ts.Slug).Fix("deploy it")
	}
	var old *store.Revision
	if req.Revision == 0 {
		old, err = ws.LastRevisionBefore(ctx, ts.ID, ts.LiveRevision, ts.LiveDigest)
		if problem.Is(err, problem.NotFound) {
			return problem.New(problem.NotFound, "toolset %s has no older revision than %d that differs from it", ts.Slug, ts.LiveRevision)
		}
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
	content, err := r.Publisher.Content(ctx, old.Repository, registry.Digest(old.Digest))
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
	bundle, err := r.Publisher.Toolset(ctx, old.Repository, registry.Digest(old.Digest))
	if err != nil {
		return err
	}
	if err := r.bringsBackYanked(ctx, ws, ts, bundle.Plugins); err != nil {
		return err
	}
	if err := r.Logins.Origins.Restorable(ctx, ws, ts.Slug, old.Repository, registry.Digest(old.Digest)); err != nil {
		return err
	}
	before := *ts
	rev := &store.Revision{
		ToolsetID: ts.ID, Digest: old.Digest, Repository: old.Repository, ConnectorDigest: old.ConnectorDigest,
		Author: request.Of(ctx).ActorID(), Reason: req.Reason, TestRunID: old.TestRunID, Restores: old.N,
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := endTrial(ctx, tx, ts); err != nil {
			return err
		}
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
	if _, err := r.Publisher.Release(ctx); err != nil {
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
	r.draftAfterRollback(ctx, ws, ts.ID, rev.N, req.Reason)
	r.awaitLive(ctx, ts.ID, rev.N)
	r.replaced(ws.ID(), &before, store.RollBack)
	r.Events.Emit(publish.Event{Type: EventRolledBack, Workspace: ws.ID(), Toolset: ts.ID, Revision: rev.N, Digest: rev.Digest, From: string(old.State), To: string(rev.State)})
	return nil
}

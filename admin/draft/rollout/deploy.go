package rollout

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/grant"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// liveTimeout is how long a deploy waits for the gateway of this node to serve
// it. It follows within milliseconds; a node without a gateway never does.
const liveTimeout = 5 * time.Second

// Deploy makes the digest of d live as the next revision. test is the passed test of
// that digest, or nil with a reason. The records decide: when the draft has another
// digest by now it fails with [store.ErrStale], and when somebody deployed the same
// digest meanwhile there is nothing to do. When the release cannot be made, the records
// go back to what was live.
func (r *Room) Deploy(ctx context.Context, ws *store.Workspace, d *draft.Draft, test *TestRun, reason string) error {
	if err := r.Drafts.RequireConfirmed(ctx, d); err != nil {
		return err
	}
	read, digest := *d.Toolset, d.Toolset.DraftDigest
	if read.LiveDigest == digest {
		return nil // another revision would be the same bytes
	}
	if err := r.draftBringsBackYanked(ctx, ws, d); err != nil {
		return err
	}
	rev := &store.Revision{
		ToolsetID: d.Toolset.ID, Digest: digest, Repository: d.Toolset.WorkspaceID + "/toolsets/" + d.Toolset.Slug,
		ConnectorDigest: d.Toolset.ConnectorDigest, Author: request.Of(ctx).ActorID(), Reason: reason,
	}
	from, step := store.Draft, store.PublishUntested
	if test != nil && test.Passed {
		if test.Digest != digest { // a test is of exactly the bytes that ran
			return problem.New(problem.Conflict, "the draft changed after the test").Fix("test it again")
		}
		rev.TestRunID = test.ID
		from, step = store.Tested, store.Publish
	}
	var before store.Toolset
	err := ws.Update(ctx, func(tx *store.Tx) error {
		now, err := tx.Toolset(ctx, d.Toolset.ID)
		if err != nil {
			return err
		}
		if before = *now; before.DraftDigest != digest {
			return problem.New(problem.Conflict, "the toolset was changed after its test").Fix("test it again").Because(store.ErrStale)
		}
		if *d.Toolset = before; before.LiveDigest == digest {
			return nil
		}
		if err := noTrial(ctx, tx, &before); err != nil {
			return err
		}
		if err := tx.PublishRevision(ctx, rev, from, step, before.LiveRevision); err != nil {
			return err
		}
		d.Toolset.LiveDigest, d.Toolset.LiveRevision, d.Toolset.LiveRepository = rev.Digest, rev.N, rev.Repository
		if err := tx.SaveToolset(ctx, d.Toolset); err != nil {
			return err
		}
		if err := tx.PutDraftCopy(ctx, d.CopyOf(store.CopyPublished, rev.Digest, "")); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.deploy", d.Toolset.ID)
		rec.Digest, rec.Reason = rev.Digest, reason
		was := map[string]any{"revision": before.LiveRevision, "digest": before.LiveDigest}
		if before.LiveRevision > 0 {
			was["becomes"] = store.Superseded
		}
		rec.Before, rec.After = store.JSON(was),
			store.JSON(map[string]any{"revision": rev.N, "digest": rev.Digest, "testRunId": rev.TestRunID})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		*d.Toolset = read
		return err
	}
	if _, err := r.Publisher.Release(ctx); err != nil {
		if before.LiveDigest == digest {
			return err // it is for the one who deployed it to take it back
		}
		return errors.Join(err, r.undeploy(ctx, ws, d, &before, rev.N))
	}
	r.awaitLive(ctx, d.Toolset.ID, d.Toolset.LiveRevision)
	if before.LiveDigest == digest {
		return nil
	}
	r.replaced(ws.ID(), &before, store.Supersede)
	r.Events.Emit(publish.Event{Type: EventDeployed, Workspace: ws.ID(), Toolset: d.Toolset.ID, Revision: rev.N, Digest: rev.Digest, From: string(from), To: string(rev.State)})
	return nil
}

// undeploy takes a revision back whose release could not be made, unless another one
// took its place meanwhile.
func (r *Room) undeploy(ctx context.Context, ws *store.Workspace, d *draft.Draft, before *store.Toolset, n uint64) error {
	ctx = context.WithoutCancel(ctx) // the cause may be that the work was cancelled
	return ws.Update(ctx, func(tx *store.Tx) error {
		now, err := tx.Toolset(ctx, d.Toolset.ID)
		if err != nil {
			return err
		}
		if *d.Toolset = *now; now.LiveRevision != n {
			return nil
		}
		d.Toolset.LiveDigest, d.Toolset.LiveRevision, d.Toolset.LiveRepository = before.LiveDigest, before.LiveRevision, before.LiveRepository
		if err := tx.SaveToolset(ctx, d.Toolset); err != nil {
			return err
		}
		if err := tx.UnpublishRevision(ctx, d.Toolset.ID, n, before.LiveRevision); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.deploy", d.Toolset.ID)
		rec.Digest, rec.Outcome, rec.Reason = d.Toolset.DraftDigest, request.OutcomeFailed, "the release could not be made"
		return tx.Audit(ctx, rec)
	})
}

func (r *Room) awaitLive(ctx context.Context, toolset string, revision uint64) {
	if r.AwaitLive == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	if err := r.AwaitLive(ctx, toolset, revision); err != nil {
		r.Log.LogAttrs(ctx, slog.LevelWarn, "the gateway of this node does not serve the new release yet",
			slog.String("toolset", toolset), slog.Uint64("revision", revision), slog.Any("error", err))
	}
}

// Remove takes a toolset out of the release and then deletes its records.
func (r *Room) Remove(ctx context.Context, ws *store.Workspace, ts *store.Toolset) error {
	before := *ts
	d, err := draft.Outline(ctx, ws, ts)
	if err != nil {
		return err
	}
	if ts.LiveRevision > 0 {
		ts.LiveDigest, ts.LiveRevision, ts.LiveRepository = "", 0, ""
		if err := ws.Update(ctx, func(tx *store.Tx) error { return tx.SaveToolset(ctx, ts) }); err != nil {
			return err
		}
		if _, err := r.Publisher.Release(ctx); err != nil {
			back := context.WithoutCancel(ctx)
			ts.LiveDigest, ts.LiveRevision, ts.LiveRepository = before.LiveDigest, before.LiveRevision, before.LiveRepository
			return errors.Join(err, ws.Update(back, func(tx *store.Tx) error { return tx.SaveToolset(back, ts) }))
		}
		r.awaitLive(ctx, ts.ID, 0)
	}
	grants, err := ws.Grants(ctx, ts.ID)
	if err != nil {
		return err
	}
	var lost login.Gone
	r.Logins.Secrets.CollectLost(ctx, ws, &lost, d.AllCreds(), nil)
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteToolset(ctx, ts.ID, ts.Version); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.delete", ts.ID)
		rec.Digest = before.LiveDigest
		rec.Before = store.JSON(map[string]any{"slug": before.Slug, "name": before.Name, "revision": before.LiveRevision})
		return tx.Audit(ctx, rec)
	})
	if err == nil {
		r.Logins.Secrets.ForgetAll(d.AllCreds())
		r.Grants.Drop(ts.ID)
		// The authorization server may be at an address that was granted.
		r.Logins.Secrets.RevokeGone(safedial.WithAddresses(ctx, grant.Granted(grants)), ws, ts.ID, &lost)
	}
	return err
}

// draftAfterRollback makes the draft what is live again, after a roll-back to a
// digest, and keeps what it was under a name. A digest of a version before copies has
// none: the draft stays. The roll-back itself is done, so a failure is logged and the
// draft stays.
func (r *Room) draftAfterRollback(ctx context.Context, ws *store.Workspace, id string, revision uint64, reason string) {
	if err := r.Drafts.Reset(ctx, ws, id, revision, reason); err != nil {
		r.Log.LogAttrs(ctx, slog.LevelWarn, "the draft stays unchanged", slog.String("toolset", id), slog.Any("error", err))
	}
}

// DeployAsIs deploys the draft as it is: one that has no passed test needs a reason, which
// is recorded.
func (r *Room) DeployAsIs(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput, reason string) (*draft.Draft, error) {
	d, err := r.Drafts.LoadMatching(ctx, ws, id, match)
	if err != nil {
		return nil, err
	}
	row, err := ws.LastTestRun(ctx, d.Toolset.ID, d.Toolset.DraftDigest)
	if err != nil {
		return nil, err
	}
	var test *TestRun
	if row != nil && row.Passed {
		if test, err = ShowTest(row); err != nil {
			return nil, err
		}
		reason = "" // it is tested: a reason would claim otherwise
	} else if reason == "" {
		return nil, problem.New(problem.TestFailed, "this draft has no passed test").
			Fix("test it, or deploy it untested with a reason, which is recorded")
	}
	if err := d.CheckServers(); err != nil {
		return nil, err
	}
	if err := r.Deploy(ctx, ws, d, test, reason); err != nil {
		return nil, err
	}
	return d, nil
}

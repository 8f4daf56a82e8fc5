package rollout

import (
	"context"
	"errors"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Candidate checks that a draft may run beside what is live, as [Room.Deploy] does, and
// returns the test that it passed; nil: it was not tested, and reason says why it runs
// nevertheless.
func (r *Room) Candidate(ctx context.Context, ws *store.Workspace, d *draft.Draft, reason string) (*store.TestRun, error) {
	ts := d.Toolset
	switch {
	case ts.LiveRevision == 0:
		return nil, problem.New(problem.Conflict, "toolset %s is not live, so there is nothing to compare its draft with", ts.Slug).Fix("deploy it")
	case ts.LiveDigest == ts.DraftDigest:
		return nil, problem.New(problem.Conflict, "the draft of %s is identical to the live revision", ts.Slug).
			Fix("change it first, such as with: sluice plugin bind %s PLUGIN --update, or sluice toolset refresh %s --keep-draft", ts.Slug, ts.Slug)
	}
	if err := r.Drafts.RequireConfirmed(ctx, d); err != nil {
		return nil, err
	}
	if err := d.CheckServers(); err != nil {
		return nil, err
	}
	if err := r.draftBringsBackYanked(ctx, ws, d); err != nil {
		return nil, err
	}
	row, err := ws.LastTestRun(ctx, ts.ID, ts.DraftDigest)
	switch {
	case err != nil:
		return nil, err
	case row != nil && row.Passed:
		return row, nil
	case reason == "":
		return nil, problem.New(problem.TestFailed, "this draft has no passed test").
			Fix("test it: sluice toolset test %s --keep-draft; or give a reason to roll it out untested, which is recorded", ts.Slug)
	}
	return nil, nil //nolint:nilnil // untested, with a reason
}

// Promote makes the candidate of a trial live, as the next revision, and ends the trial.
// When the release cannot be made, the records go back.
func (r *Room) Promote(ctx context.Context, ws *store.Workspace, row *store.Trial, reason string) error {
	ts, err := ws.Toolset(ctx, row.ToolsetID)
	if err != nil {
		return err
	}
	bundle, err := r.Publisher.Toolset(ctx, row.Repository, registry.Digest(row.Digest))
	if err != nil {
		return err
	}
	if err := r.bringsBackYanked(ctx, ws, ts, bundle.Plugins); err != nil {
		return err
	}
	if err := r.Logins.Origins.Restorable(ctx, ws, ts.Slug, row.Repository, registry.Digest(row.Digest)); err != nil {
		return err
	}
	rev := &store.Revision{
		ToolsetID: ts.ID, Digest: row.Digest, Repository: row.Repository, ConnectorDigest: row.ConnectorDigest,
		Author: request.Of(ctx).ActorID(), Reason: reason, TestRunID: row.TestRunID,
	}
	from, step := store.Draft, store.PublishUntested
	if row.TestRunID != "" {
		from, step = store.Tested, store.Publish
	}
	var before store.Toolset
	err = ws.Update(ctx, func(tx *store.Tx) error {
		now, err := tx.Toolset(ctx, ts.ID)
		if err != nil {
			return err
		}
		before = *now
		if *ts = before; before.LiveRevision == 0 {
			return problem.New(problem.Conflict, "toolset %s is not live any more", ts.Slug)
		}
		if err := tx.PublishRevision(ctx, rev, from, step, before.LiveRevision); err != nil {
			return err
		}
		ts.LiveDigest, ts.LiveRevision, ts.LiveRepository = rev.Digest, rev.N, rev.Repository
		if err := tx.SaveToolset(ctx, ts); err != nil {
			return err
		}
		if err := tx.EndTrial(ctx, row, store.TrialPromoted, reason, rev.N); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.rollout.promote", ts.ID)
		rec.Digest, rec.Reason = rev.Digest, reason
		rec.Before = store.JSON(map[string]any{"revision": before.LiveRevision, "digest": before.LiveDigest, "becomes": store.Superseded})
		rec.After = store.JSON(map[string]any{"revision": rev.N, "digest": rev.Digest, "rollout": row.ID, "testRunId": rev.TestRunID})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return err
	}
	if _, err := r.Publisher.Release(ctx); err != nil {
		return errors.Join(err, r.demote(ctx, ws, row, &before, rev.N))
	}
	r.awaitLive(ctx, ts.ID, rev.N)
	r.replaced(ws.ID(), &before, store.Supersede)
	r.Events.Emit(publish.Event{Type: EventDeployed, Workspace: ws.ID(), Toolset: ts.ID, Revision: rev.N, Digest: rev.Digest, From: string(from), To: string(rev.State)})
	return nil
}

// demote takes a promotion back whose release could not be made.
func (r *Room) demote(ctx context.Context, ws *store.Workspace, row *store.Trial, before *store.Toolset, n uint64) error {
	ctx = context.WithoutCancel(ctx) // the cause may be that the work was cancelled
	return ws.Update(ctx, func(tx *store.Tx) error {
		now, err := tx.Toolset(ctx, row.ToolsetID)
		if err != nil || now.LiveRevision != n {
			return err
		}
		now.LiveDigest, now.LiveRevision, now.LiveRepository = before.LiveDigest, before.LiveRevision, before.LiveRepository
		if err := tx.SaveToolset(ctx, now); err != nil {
			return err
		}
		if err := tx.UnpublishRevision(ctx, now.ID, n, before.LiveRevision); err != nil {
			return err
		}
		if err := tx.ResumeTrial(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.rollout.promote", now.ID)
		rec.Outcome, rec.Reason = request.OutcomeFailed, "the release could not be made"
		return tx.Audit(ctx, rec)
	})
}

// noTrial refuses to deploy while a candidate is on trial: what it is compared with would
// change under it.
func noTrial(ctx context.Context, tx *store.Tx, ts *store.Toolset) error {
	row, err := tx.RunningTrial(ctx, ts.ID)
	if err != nil || row == nil {
		return err
	}
	return problem.New(problem.Conflict, "a roll-out of toolset %s runs (%s), so its draft is not deployed", ts.Slug, row.ID).
		Fix("end it first: sluice toolset rollout promote %s, or sluice toolset rollout abort %s", ts.Slug, ts.Slug)
}

// endTrial ends the trial of a toolset that goes back to an older revision: that is done in
// a hurry, and what is live then is nothing to compare the candidate with.
func endTrial(ctx context.Context, tx *store.Tx, ts *store.Toolset) error {
	row, err := tx.RunningTrial(ctx, ts.ID)
	if err != nil || row == nil {
		return err
	}
	if err := tx.EndTrial(ctx, row, store.TrialAborted, "the toolset was rolled back to an older revision", 0); err != nil {
		return err
	}
	rec := request.Audit(ctx, "toolset.rollout.abort", ts.ID)
	rec.Digest, rec.Reason, rec.Before = row.Digest, row.Reason, store.JSON(map[string]any{"rollout": row.ID})
	return tx.Audit(ctx, rec)
}

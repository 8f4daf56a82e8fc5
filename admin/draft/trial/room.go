package trial

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Types of events.
const (
	EventStarted    = "toolset.rollout_started"
	EventAborted    = "toolset.rollout_aborted"
	EventRolledBack = "toolset.rollout_rolled_back" // by itself; a promotion is toolset.deployed
)

// interval is how often roll-outs are judged when no node reports calls of one: some are
// promoted when their time has come.
const interval = 5 * time.Second

// MaxPromoteAfter is the longest time after which a roll-out may be promoted by itself: who
// looks at one seldomer than that has forgotten it.
const MaxPromoteAfter = 30 * 24 * time.Hour

// Room starts, judges and ends roll-outs.
type Room struct {
	Store     *store.Store
	Drafts    *draft.Room
	Publisher *publish.Publisher
	Rollouts  *rollout.Room
	Events    *publish.Events
	Log       *slog.Logger
	// Settle posts what the gateway of this node counted, before it is read. nil: what is
	// read may be ten seconds old.
	Settle func(ctx context.Context) error
	// AwaitRelease waits until the gateway of this node serves a release. nil: nobody waits.
	AwaitRelease func(ctx context.Context, revision uint64) error
	// RolledBack is called when a roll-out ended by itself, before its release is made. It
	// must not block. nil: nobody is told.
	RolledBack func()

	wake chan struct{} // capacity 1
}

// New makes a room. The fields of o do not change after it.
func New(o Room) *Room {
	r := o
	r.wake = make(chan struct{}, 1)
	return &r
}

// Wake has roll-outs judged soon, because a node reported calls of one. It does not block.
func (r *Room) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// StartRollout says what to roll out, and how.
type StartRollout struct {
	Mode                string            `json:"mode" enum:"shadow,canary" doc:"shadow: the draft runs beside the live revision, on the same answers, and its results are discarded. canary: a share of the callers gets its results."`
	Percent             int               `json:"percent,omitempty" minimum:"0" maximum:"100" doc:"Share of the callers that a canary gets, 1 to 100. Default: 10."`
	Thresholds          RolloutThresholds `json:"thresholds,omitzero" doc:"When a canary is rolled back by itself."`
	PromoteAfterSeconds int64             `json:"promoteAfterSeconds,omitempty" minimum:"0" maximum:"2592000" doc:"Promote by itself after this time, when a canary has the minimum of calls and is not worse. Default: only by command."`
	UntestedReason      string            `json:"untestedReason,omitempty" maxLength:"500" doc:"Why a draft without a passed test is rolled out; it is audited."`
}

// read checks a start and fills its defaults in.
func (s *StartRollout) read() error {
	switch {
	case s.Mode == registry.TrialShadow && s.Percent != 0:
		return request.FieldFault("/percent", "a shadow has no share of the callers: it runs beside all of their calls")
	case s.Mode == registry.TrialShadow && s.PromoteAfterSeconds != 0:
		return request.FieldFault("/promoteAfterSeconds", "a shadow is promoted by command only: what it showed is for people to judge")
	case s.Mode == registry.TrialShadow && s.Thresholds != (RolloutThresholds{}):
		return request.FieldFault("/thresholds", "a shadow is not rolled back by itself: no caller depends on it")
	case s.Mode == registry.TrialCanary && s.Percent == 0:
		s.Percent = defaultPercent
	}
	if s.PromoteAfterSeconds > int64(MaxPromoteAfter/time.Second) {
		return request.FieldFault("/promoteAfterSeconds", "a roll-out is promoted by itself after %s at most", MaxPromoteAfter)
	}
	if s.Mode == registry.TrialCanary {
		return s.Thresholds.read()
	}
	return nil
}

// defaultPercent of the callers is what a canary gets where nothing is said.
const defaultPercent = 10

// Begin rolls the draft d out.
func (r *Room) Begin(ctx context.Context, ws *store.Workspace, d *draft.Draft, in StartRollout) (*store.Trial, error) {
	if err := in.read(); err != nil {
		return nil, err
	}
	test, err := r.Rollouts.Candidate(ctx, ws, d, in.UntestedReason)
	if err != nil {
		return nil, err
	}
	if err := r.edgesRead(ctx, ws); err != nil {
		return nil, err
	}
	ts := d.Toolset
	row := &store.Trial{
		ToolsetID: ts.ID, Mode: in.Mode, Percent: int64(in.Percent), Repository: ts.WorkspaceID + "/toolsets/" + ts.Slug, Digest: ts.DraftDigest,
		ConnectorDigest: ts.ConnectorDigest, LiveDigest: ts.LiveDigest, LiveRevision: ts.LiveRevision, Thresholds: store.JSON(in.Thresholds),
		StartedBy: request.Of(ctx).ActorID(),
	}
	if in.PromoteAfterSeconds > 0 {
		row.PromoteAt = store.Time{Time: ws.Now().Add(time.Duration(in.PromoteAfterSeconds) * time.Second)}
	}
	if test != nil {
		row.TestRunID = test.ID
	} else {
		row.Reason = in.UntestedReason
	}
	changes, err := r.compare(ctx, ts, row)
	if err != nil {
		return nil, err
	}
	row.Changes = store.JSON(changes)
	err = ws.Update(ctx, func(tx *store.Tx) error {
		now, err := tx.Toolset(ctx, ts.ID)
		if err != nil {
			return err
		}
		if now.DraftDigest != row.Digest || now.LiveDigest != row.LiveDigest {
			return problem.New(problem.Conflict, "the toolset was changed meanwhile").Fix("look at it and start the roll-out again").Because(store.ErrStale)
		}
		if err := tx.AddTrial(ctx, row); err != nil {
			return err
		}
		// What the draft is now, for going back to it when it was published and the draft went on.
		if err := tx.PutDraftCopy(ctx, d.CopyOf(store.CopyPublished, row.Digest, "")); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.rollout.start", ts.ID)
		rec.Digest, rec.Reason = row.Digest, in.UntestedReason
		rec.Before = store.JSON(map[string]any{"revision": row.LiveRevision, "digest": row.LiveDigest})
		rec.After = store.JSON(map[string]any{"rollout": row.ID, "mode": row.Mode, "percent": row.Percent, "digest": row.Digest, "testRunId": row.TestRunID})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	rel, err := r.Publisher.Release(ctx)
	if err != nil {
		back := context.WithoutCancel(ctx)
		if undo := ws.Update(back, func(tx *store.Tx) error {
			rec := request.Audit(back, "toolset.rollout.start", ts.ID)
			rec.Outcome, rec.Reason = request.OutcomeFailed, "the release could not be made"
			if err := tx.Audit(back, rec); err != nil {
				return err
			}
			return tx.DropTrial(back, row.ID)
		}); undo != nil {
			return nil, fmt.Errorf("%w; and the roll-out stays: %w", err, undo)
		}
		return nil, err
	}
	r.await(ctx, rel.Release().Revision)
	r.Events.Emit(publish.Event{Type: EventStarted, Workspace: ws.ID(), Toolset: ts.ID, Revision: row.LiveRevision, Digest: row.Digest, From: row.LiveDigest, To: row.Mode})
	return row, nil
}

// releaseTimeout is how long an answer waits for the gateway of this node.
const releaseTimeout = 5 * time.Second

func (r *Room) await(ctx context.Context, revision uint64) {
	if r.AwaitRelease == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	if err := r.AwaitRelease(ctx, revision); err != nil {
		r.Log.LogAttrs(ctx, slog.LevelWarn, "the gateway of this node does not serve the new release yet", slog.Uint64("revision", revision), slog.Any("error", err))
	}
}

// seenLately is how long ago an edge reported that counts as one that follows releases.
const seenLately = 24 * time.Hour

// edgesRead refuses a roll-out while an edge follows the releases of the workspace that is
// too old to read one with a candidate: it would refuse all releases until the end of it.
func (r *Room) edgesRead(ctx context.Context, ws *store.Workspace) error {
	old, err := r.Store.EdgesWithoutTrials(ctx, ws.ID(), ws.Now().Add(-seenLately))
	if err != nil || len(old) == 0 {
		return err
	}
	return problem.New(problem.Conflict, "edge %s is of a version that cannot read a release with a roll-out, and would not follow releases until its end", old[0]).
		Fix("update it, or take it out: sluice edge revoke %s", old[0])
}

// Running is the roll-out of a toolset that runs. It fails with [problem.Conflict] when
// there is none.
func (r *Room) Running(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (*store.Trial, error) {
	row, err := ws.RunningTrial(ctx, ts.ID)
	if err == nil && row == nil {
		err = problem.New(problem.Conflict, "no roll-out of toolset %s runs", ts.Slug).Fix("start one: sluice toolset rollout start %s", ts.Slug)
	}
	return row, err
}

// Promote makes the candidate live.
func (r *Room) Promote(ctx context.Context, ws *store.Workspace, row *store.Trial, reason string) error {
	if err := r.ended(row); err != nil {
		return err
	}
	return r.Rollouts.Promote(ctx, ws, row, reason)
}

// Abort ends a roll-out: what is live goes on for all callers.
func (r *Room) Abort(ctx context.Context, ws *store.Workspace, row *store.Trial, reason string) error {
	if err := r.ended(row); err != nil {
		return err
	}
	return r.end(ctx, ws, row, store.TrialAborted, "toolset.rollout.abort", EventAborted, reason)
}

func (r *Room) ended(row *store.Trial) error {
	if row.State == store.TrialRunning {
		return nil
	}
	return problem.New(problem.Conflict, "roll-out %s has ended: it was %s", row.ID, stateText(row.State))
}

func stateText(state string) string {
	if state == store.TrialRolledBack {
		return "rolled back"
	}
	return state
}

// end ends a roll-out without its candidate. When no release can be made it is over
// nevertheless: the next release is without it.
func (r *Room) end(ctx context.Context, ws *store.Workspace, row *store.Trial, state, action, event, reason string) error {
	err := ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.EndTrial(ctx, row, state, reason, 0); err != nil {
			return err
		}
		rec := request.Audit(ctx, action, row.ToolsetID)
		rec.Digest, rec.Reason = row.Digest, reason
		rec.Before, rec.After = store.JSON(map[string]any{"rollout": row.ID, "mode": row.Mode, "percent": row.Percent}), store.JSON(map[string]any{"state": state})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return err
	}
	if state == store.TrialRolledBack && r.RolledBack != nil {
		r.RolledBack()
	}
	r.Events.Emit(publish.Event{Type: event, Workspace: ws.ID(), Toolset: row.ToolsetID, Revision: row.LiveRevision, Digest: row.Digest, From: row.Mode, To: state, Reason: reason})
	rel, err := r.Publisher.Release(ctx)
	if err != nil {
		return err
	}
	r.await(ctx, rel.Release().Revision)
	return nil
}

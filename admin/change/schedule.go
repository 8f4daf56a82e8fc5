package change

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// Events of specifications that are read again.
const (
	// EventDrifted: a specification changed. To says what became of that: "deployed",
	// "waiting" to be accepted, or "draft", which waits for a test that passes.
	EventDrifted = "spec.drifted"
	// EventCheckFailed: a specification could not be read again, or is not valid any
	// more. What is live stays.
	EventCheckFailed = "spec.check_failed"
	// EventCheckRecovered: it can be read again.
	EventCheckRecovered = "spec.check_recovered"
)

// Bounds of schedules.
const (
	// minSchedule: nobody publishes an API more often.
	minSchedule = 5 * time.Minute
	// maxSchedule: what is read more seldom is not watched.
	maxSchedule = 30 * 24 * time.Hour
	// parallelChecks of specifications in one round: each may take the memory of a
	// compilation.
	parallelChecks = 2
)

// Schedule says how often a specification is read again by itself.
type Schedule struct {
	Connector    string              `json:"connector,omitempty" maxLength:"63" doc:"Which one, of a toolset with several."`
	EverySeconds int64               `json:"everySeconds" minimum:"0" maximum:"2592000" doc:"At least 300; 0: never."`
	CheckedAt    *time.Time          `json:"checkedAt,omitempty" readOnly:"true" doc:"When it was last read, or found unchanged."`
	Failures     int64               `json:"failures,omitempty" readOnly:"true" doc:"Times in a row that it could not be read."`
	Fault        string              `json:"fault,omitempty" readOnly:"true" doc:"Why, the last time. What is live stays."`
	Waiting      *difference.Changes `json:"waiting,omitempty" readOnly:"true" doc:"What waits to be accepted: POST …/changes/{change}/accept."`
}

// AcceptChange says how a change that waits is taken over.
type AcceptChange struct {
	Test   *rollout.TestRequest `json:"test,omitempty" doc:"Which tool to test with. Default: the first safe one."`
	Deploy *CreateDeploy        `json:"deploy,omitempty"`
}

// Schedule is how often the source that a draft is about is read again, and what waits.
func (r *Room) Schedule(ctx context.Context, d *draft.Draft) (*Schedule, error) {
	ws := r.workspace(ctx)
	src, err := ws.ToolsetSource(ctx, d.Toolset.ID, d.Row.Name)
	if err != nil {
		return nil, err
	}
	out := Schedule{Connector: d.Row.Name, EverySeconds: src.EverySeconds, Failures: src.Failures, Fault: src.Fault}
	if !src.CheckedAt.IsZero() {
		out.CheckedAt = &src.CheckedAt.Time
	}
	last, err := difference.Last(ctx, ws, d.Toolset.ID, d.Row.Name)
	if err != nil {
		return nil, err
	}
	if last != nil && last.Waits {
		out.Waiting = last
	}
	return &out, nil
}

// SetSchedule sets how often a source is read again.
func (r *Room) SetSchedule(ctx context.Context, id string, match *request.MatchInput, in *Schedule) (*Schedule, error) {
	d, err := r.Drafts.Outline(ctx, id, in.Connector)
	if err != nil {
		return nil, err
	}
	if err := match.Check(d.Toolset.Version, false); err != nil {
		return nil, err
	}
	every := time.Duration(in.EverySeconds) * time.Second
	switch {
	case d.Row.SourceKind == store.SourceMCP:
		return nil, problem.New(problem.Conflict, "connector %s is an MCP server, which is looked at all the time", d.Row.Name).
			Fix("choose what happens when it changes: sluice toolset upstream")
	case d.Row.SourceURL == "" && every > 0:
		return nil, problem.New(problem.Conflict, "connector %s of toolset %s was created from an uploaded document, which cannot be read again", d.Row.Name, d.Toolset.Slug).
			Fix("make the toolset of the document's URL")
	}
	if err := checkInterval(every); err != nil {
		return nil, err
	}
	ws := r.workspace(ctx)
	was, err := ws.ToolsetSource(ctx, d.Toolset.ID, d.Row.Name)
	if err != nil {
		return nil, err
	}
	if was.EverySeconds != in.EverySeconds {
		err = ws.Update(ctx, func(tx *store.Tx) error {
			if err := tx.SetSchedule(ctx, d.Toolset.ID, d.Row.Name, every); err != nil {
				return err
			}
			rec := request.Audit(ctx, "toolset.schedule", d.Toolset.ID)
			rec.Before = store.JSON(map[string]any{"connector": d.Row.Name, "everySeconds": was.EverySeconds})
			rec.After = store.JSON(map[string]any{"connector": d.Row.Name, "everySeconds": in.EverySeconds})
			return tx.Audit(ctx, rec)
		})
		if err != nil {
			return nil, err
		}
	}
	return r.Schedule(ctx, d)
}

// StartChecks reads the specifications that are due, unless the last round still runs.
func (r *Room) StartChecks() {
	if !r.checking.CompareAndSwap(false, true) {
		return
	}
	r.Go(func() {
		defer r.checking.Store(false)
		if err := r.CheckSpecifications(r.Work); err != nil && r.Work.Err() == nil {
			r.Log.LogAttrs(r.Work, slog.LevelWarn, "specifications were not read again", slog.Any("error", err))
		}
	})
}

// CheckSpecifications reads the specifications whose time has come again. What breaks
// nothing is tested and deployed; the rest waits. One that cannot be read is noted and
// changes nothing. Run does it all the time; a caller may want it now.
func (r *Room) CheckSpecifications(ctx context.Context) error {
	rows, err := r.Drafts.Store.DueSources(ctx)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelChecks)
	for i := range rows {
		g.Go(func() error { return r.checkSpecification(ctx, &rows[i]) })
	}
	return g.Wait()
}

// checkSpecification reads one specification again. Its error is one of this node, not
// of the specification.
func (r *Room) checkSpecification(ctx context.Context, row *store.ToolsetSource) error {
	ctx = request.With(ctx, &request.Request{Workspace: row.WorkspaceID})
	ws := r.workspace(ctx)
	mine := false
	err := ws.Update(ctx, func(tx *store.Tx) (err error) {
		mine, err = tx.ClaimSource(ctx, row)
		return err
	})
	if err != nil || !mine {
		return err
	}
	ts, err := ws.Toolset(ctx, row.ToolsetID)
	if err != nil {
		return err
	}
	if ts.LiveRevision == 0 { // nobody is served, so nobody is surprised either
		return nil
	}
	_, fault := r.Refresh(ctx, ts.ID, &request.MatchInput{}, &RefreshRequest{Connector: row.Connector, Hold: true}, func(string) {})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := publish.Event{Workspace: ws.ID(), Toolset: ts.ID, Revision: ts.LiveRevision, Digest: ts.LiveDigest}
	if fault == nil {
		if row.Failures > 0 {
			e.Type = EventCheckRecovered
			r.Events.Emit(e)
		}
		return nil
	}
	text, failures := request.Detail(fault), int64(0)
	r.Log.LogAttrs(ctx, slog.LevelWarn, "a specification could not be read again, and its toolset stays unchanged",
		slog.String("toolset", ts.Slug), slog.String("connector", row.Connector), slog.Any("error", fault))
	err = ws.Update(ctx, func(tx *store.Tx) (err error) {
		if failures, err = tx.SourceFailed(ctx, ts.ID, row.Connector, text); err != nil || failures > 1 {
			return err
		}
		rec := request.Audit(ctx, "toolset.check", ts.ID)
		rec.Outcome, rec.Reason = request.OutcomeFailed, text
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return err
	}
	if failures == 1 { // the first of a row: the others are the same news
		e.Type, e.Reason = EventCheckFailed, text
		r.Events.Emit(e)
	}
	return nil
}

// drifted tells what became of a change of a specification.
func (r *Room) drifted(d *draft.Draft, c *difference.Changes, to, reason string) {
	r.Log.LogAttrs(r.Work, slog.LevelInfo, "a specification changed", slog.String("toolset", d.Toolset.Slug), slog.String("connector", c.Connector),
		slog.Int("added", c.Added), slog.Int("removed", c.Removed), slog.Int("changed", c.Changed), slog.Int("breaking", c.Breaking), slog.String("to", to))
	r.Events.Emit(publish.Event{Type: EventDrifted, Workspace: d.Toolset.WorkspaceID, Toolset: d.Toolset.ID, Revision: d.Toolset.LiveRevision, Digest: c.To.Digest, From: c.From.Digest, To: to, Reason: reason})
}

// Accept is the refresh that takes over exactly what a change that waits says.
func (r *Room) Accept(ctx context.Context, toolset, id string, in *AcceptChange) (*RefreshRequest, error) {
	ws := r.workspace(ctx)
	ts, err := ws.FindToolset(ctx, toolset)
	if err != nil {
		return nil, err
	}
	row, err := ws.ToolsetChange(ctx, ts.ID, id)
	if err != nil {
		return nil, err
	}
	req := &RefreshRequest{Connector: row.Connector, approve: row.ID}
	if in != nil {
		req.Test, req.Deploy = in.Test, in.Deploy
	}
	return req, nil
}

// checkInterval refuses an interval of a schedule that is too short or too long; 0 is none.
func checkInterval(every time.Duration) error {
	if every > 0 && (every < minSchedule || every > maxSchedule) {
		return request.FieldFault("/everySeconds", "a schedule is at least %s and at most %s", minSchedule, maxSchedule)
	}
	return nil
}

package admin

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/admin/difference"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/rollout"
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

type scheduleInput struct {
	ToolsetInput
	Connector string `query:"connector" maxLength:"63" doc:"Which one, of a toolset with several."`
}

type setScheduleInput struct {
	ToolsetInput
	request.MatchInput
	Body Schedule
}

type acceptInput struct {
	ToolsetInput
	Change string `path:"change" maxLength:"64" doc:"Id of the change that waits."`
	Body   *AcceptChange
}

// AcceptChange says how a change that waits is taken over.
type AcceptChange struct {
	Test   *rollout.TestRequest `json:"test,omitempty" doc:"Which tool to test with. Default: the first safe one."`
	Deploy *CreateDeploy        `json:"deploy,omitempty"`
}

func (s *Server) registerSchedules() {
	tags := []string{"toolsets"}
	const path, accept = "/v1/toolsets/{id}/schedule", "/v1/toolsets/{id}/changes/{change}/accept"
	register(s, huma.Operation{
		OperationID: "get-schedule", Method: http.MethodGet, Path: path, Summary: "Read how often a specification is read again, and what waits", Tags: tags,
	}, func(ctx context.Context, in *scheduleInput) (*bodyOutput[Schedule], error) {
		d, err := s.drafts.Outline(ctx, in.ID, in.Connector)
		if err != nil {
			return nil, err
		}
		return s.scheduleAnswer(ctx, d)
	})
	register(s, huma.Operation{
		OperationID: "set-schedule", Method: http.MethodPut, Path: path, Summary: "Set how often a specification is read again by itself", Tags: tags,
		Description: "What breaks nothing is tested and deployed when the test passes. What breaks something waits outside of the draft until it is accepted, " +
			"and so does everything while the draft has changes that are not live. What cannot be read changes nothing.",
	}, s.setSchedule)
	register(s, huma.Operation{
		OperationID: "accept-change", Method: http.MethodPost, Path: accept, Summary: "Accept a change that waits", Tags: tags,
		Description: "Reads the source again, takes over exactly what that change says, tests and deploys it. 409 when the source has changed again since.",
	}, func(ctx context.Context, in *acceptInput) (*jobOutput, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		change, err := ws.ToolsetChange(ctx, ts.ID, in.Change)
		if err != nil {
			return nil, err
		}
		req := &RefreshRequest{Connector: change.Connector, approve: change.ID}
		if in.Body != nil {
			req.Test, req.Deploy = in.Body.Test, in.Body.Deploy
		}
		return s.run(ctx, "toolset.accept", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return s.refresh(ctx, in.ID, req, phase)
		})
	})
	documentJob(s.api.OpenAPI(), accept, Refreshed{}, http.StatusOK)
}

func (s *Server) scheduleAnswer(ctx context.Context, d *draft.Draft) (*bodyOutput[Schedule], error) {
	ws := s.workspace(ctx)
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
	return &bodyOutput[Schedule]{out}, nil
}

func (s *Server) setSchedule(ctx context.Context, in *setScheduleInput) (*bodyOutput[Schedule], error) {
	d, err := s.drafts.Outline(ctx, in.ID, in.Body.Connector)
	if err != nil {
		return nil, err
	}
	if err := in.Check(d.Toolset.Version, false); err != nil {
		return nil, err
	}
	every := time.Duration(in.Body.EverySeconds) * time.Second
	switch {
	case d.Row.SourceKind == store.SourceMCP:
		return nil, problem.New(problem.Conflict, "connector %s is an MCP server, which is looked at all the time", d.Row.Name).
			Fix("choose what happens when it changes: sluice toolset upstream")
	case d.Row.SourceURL == "" && every > 0:
		return nil, problem.New(problem.Conflict, "connector %s of toolset %s was made of an uploaded document, which cannot be read again", d.Row.Name, d.Toolset.Slug).
			Fix("make the toolset of the document's URL")
	case every > 0 && (every < minSchedule || every > maxSchedule):
		return nil, request.FieldFault("/everySeconds", "a schedule is at least %s and at most %s", minSchedule, maxSchedule)
	}
	ws := s.workspace(ctx)
	was, err := ws.ToolsetSource(ctx, d.Toolset.ID, d.Row.Name)
	if err != nil {
		return nil, err
	}
	if was.EverySeconds != in.Body.EverySeconds {
		err = ws.Update(ctx, func(tx *store.Tx) error {
			if err := tx.SetSchedule(ctx, d.Toolset.ID, d.Row.Name, every); err != nil {
				return err
			}
			rec := request.Audit(ctx, "toolset.schedule", d.Toolset.ID)
			rec.Before = store.JSON(map[string]any{"connector": d.Row.Name, "everySeconds": was.EverySeconds})
			rec.After = store.JSON(map[string]any{"connector": d.Row.Name, "everySeconds": in.Body.EverySeconds})
			return tx.Audit(ctx, rec)
		})
		if err != nil {
			return nil, err
		}
	}
	return s.scheduleAnswer(ctx, d)
}

// startChecks reads the specifications that are due, unless the last round still runs.
func (s *Server) startChecks() {
	if !s.checking.CompareAndSwap(false, true) {
		return
	}
	s.jobs.Go(func() {
		defer s.checking.Store(false)
		if err := s.CheckSpecifications(s.work); err != nil && s.work.Err() == nil {
			s.log.LogAttrs(s.work, slog.LevelWarn, "specifications were not read again", slog.Any("error", err))
		}
	})
}

// CheckSpecifications reads the specifications whose time has come again. What breaks
// nothing is tested and deployed; the rest waits. One that cannot be read is noted and
// changes nothing. Run does it all the time; a caller may want it now.
func (s *Server) CheckSpecifications(ctx context.Context) error {
	rows, err := s.o.Store.DueSources(ctx)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelChecks)
	for i := range rows {
		g.Go(func() error { return s.checkSpecification(ctx, &rows[i]) })
	}
	return g.Wait()
}

// checkSpecification reads one specification again. Its error is one of this node, not
// of the specification.
func (s *Server) checkSpecification(ctx context.Context, row *store.ToolsetSource) error {
	ctx = request.With(ctx, &request.Request{Workspace: row.WorkspaceID})
	ws := s.workspace(ctx)
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
	_, fault := s.refresh(ctx, ts.ID, &RefreshRequest{Connector: row.Connector, Hold: true}, func(string) {})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := publish.Event{Workspace: ws.ID(), Toolset: ts.ID, Revision: ts.LiveRevision, Digest: ts.LiveDigest}
	if fault == nil {
		if row.Failures > 0 {
			e.Type = EventCheckRecovered
			s.events.Emit(e)
		}
		return nil
	}
	text, failures := request.Detail(fault), int64(0)
	s.log.LogAttrs(ctx, slog.LevelWarn, "a specification could not be read again, its toolset stays as it is",
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
		s.events.Emit(e)
	}
	return nil
}

// drifted tells what became of a change of a specification.
func (s *Server) drifted(d *draft.Draft, c *difference.Changes, to, reason string) {
	s.log.LogAttrs(s.work, slog.LevelInfo, "a specification changed", slog.String("toolset", d.Toolset.Slug), slog.String("connector", c.Connector),
		slog.Int("added", c.Added), slog.Int("removed", c.Removed), slog.Int("changed", c.Changed), slog.Int("breaking", c.Breaking), slog.String("to", to))
	s.events.Emit(publish.Event{Type: EventDrifted, Workspace: d.Toolset.WorkspaceID, Toolset: d.Toolset.ID, Revision: d.Toolset.LiveRevision, Digest: c.To.Digest, From: c.From.Digest, To: to, Reason: reason})
}

package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft/trial"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// RolloutInput is the path of a roll-out.
type RolloutInput struct {
	ToolsetInput
	Rollout string `path:"rollout" maxLength:"64" doc:"Id of a roll-out, or current: the one that runs." example:"current"`
}

type startRolloutInput struct {
	ToolsetInput
	request.MatchInput
	Body trial.StartRollout
}

// EndRollout says why a roll-out ends.
type EndRollout struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"It is recorded and audited."`
}

type endRolloutInput struct {
	RolloutInput
	Body *EndRollout
}

type startedOutput struct {
	Location string `header:"Location" doc:"Of the roll-out."`
	Body     trial.Rollout
}

// openTrials makes the room of roll-outs.
func (s *Server) openTrials() {
	s.trials = trial.New(trial.Room{
		Store: s.o.Store, Drafts: s.drafts, Publisher: s.o.Publisher, Rollouts: s.rollouts, Events: s.events, Log: s.log, Settle: s.o.SettleUsage, AwaitRelease: s.o.AwaitRelease,
		RolledBack: s.alerts.Wake,
	})
}

func registerTrials(s *Server) {
	const path = "/v1/toolsets/{id}/rollouts"
	tags := []string{"toolsets"}
	register(s, huma.Operation{
		OperationID: "list-rollouts", Method: http.MethodGet, Path: path, Summary: "List the roll-outs of a toolset, newest first", Tags: tags,
		Description: "The newest 50. Counts are the sums of all nodes, which report every ten seconds.",
	}, func(ctx context.Context, in *ToolsetInput) (*bodyOutput[trial.RolloutList], error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return answer(s.trials.List(ctx, ws, ts))
	})
	register(s, huma.Operation{
		OperationID: "start-rollout", Method: http.MethodPost, Path: path, Summary: "Roll the draft out beside the live revision", Tags: tags, DefaultStatus: http.StatusCreated,
		Description: "The current draft becomes a candidate: in the shadow of all calls, or as a canary for a share of the callers. The live revision stays live. " +
			"It needs a passed test of the draft, or a reason. While it runs, the draft may change and is not deployed; going back to an older revision ends it.",
	}, func(ctx context.Context, in *startRolloutInput) (*startedOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.drafts.LoadMatching(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		row, err := s.trials.Begin(ctx, ws, d, in.Body)
		if err != nil {
			return nil, err
		}
		out, err := trial.Show(row)
		return &startedOutput{Location: "/v1/toolsets/" + d.Toolset.ID + "/rollouts/" + row.ID, Body: out}, err
	})
	register(s, huma.Operation{
		OperationID: "get-rollout", Method: http.MethodGet, Path: path + "/{rollout}", Summary: "Read a roll-out and what was counted of it", Tags: tags,
	}, func(ctx context.Context, in *RolloutInput) (*bodyOutput[trial.Rollout], error) {
		_, row, err := rolloutOf(ctx, s, in)
		if err != nil {
			return nil, err
		}
		return answer(trial.Show(row))
	})
	register(s, huma.Operation{
		OperationID: "promote-rollout", Method: http.MethodPost, Path: path + "/{rollout}/promote", Summary: "Make the candidate of a roll-out live", Tags: tags, DefaultStatus: http.StatusOK,
		Description: "It becomes the next revision, as if its draft had been deployed.",
	}, endRollout(s, (*trial.Room).Promote))
	register(s, huma.Operation{
		OperationID: "abort-rollout", Method: http.MethodPost, Path: path + "/{rollout}/abort", Summary: "End a roll-out; the live revision stays", Tags: tags, DefaultStatus: http.StatusOK,
	}, endRollout(s, (*trial.Room).Abort))
}

func rolloutOf(ctx context.Context, s *Server, in *RolloutInput) (*store.Workspace, *store.Trial, error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, in.ID)
	if err != nil {
		return ws, nil, err
	}
	row, err := s.trials.Find(ctx, ws, ts, in.Rollout)
	return ws, row, err
}

func endRollout(s *Server, end func(*trial.Room, context.Context, *store.Workspace, *store.Trial, string) error) func(context.Context, *endRolloutInput) (*bodyOutput[trial.Rollout], error) {
	return func(ctx context.Context, in *endRolloutInput) (*bodyOutput[trial.Rollout], error) {
		ws, row, err := rolloutOf(ctx, s, &in.RolloutInput)
		if err != nil {
			return nil, err
		}
		reason := ""
		if in.Body != nil {
			reason = in.Body.Reason
		}
		if err := end(s.trials, ctx, ws, row, reason); err != nil {
			return nil, err
		}
		return answer(trial.Show(row))
	}
}

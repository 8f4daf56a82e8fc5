package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/fleet/artifact"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// DeployRequest deploys the draft as it is.
type DeployRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Needed when this digest has no passed test; recorded in the audit log."`
}

type deployInput struct {
	ToolsetInput
	request.MatchInput
	Body *DeployRequest
}

type toolsetOutput struct {
	ETag string `header:"ETag"`
	Body view.Toolset
}

func registerDeploy(s *Server) {
	register(s, huma.Operation{
		OperationID: "deploy-toolset", Method: http.MethodPost, Path: "/v1/toolsets/{id}/deploy", Summary: "Deploy the draft", Tags: []string{"toolsets"},
		Description: "A draft whose test passed deploys by itself. This deploys one that could not be tested: the reason is needed and audited.",
	}, func(ctx context.Context, in *deployInput) (*toolsetOutput, error) {
		ws := s.workspace(ctx)
		reason := ""
		if in.Body != nil {
			reason = in.Body.Reason
		}
		d, err := s.rollouts.DeployAsIs(ctx, ws, in.ID, &in.MatchInput, reason)
		if err != nil {
			return nil, err
		}
		return s.toolsetAnswer(ctx, ws, d)
	})
}

func (s *Server) toolsetAnswer(ctx context.Context, ws *store.Workspace, d *draft.Draft) (*toolsetOutput, error) {
	t, err := s.views.Toolset(ctx, ws, d)
	if err != nil {
		return nil, err
	}
	return &toolsetOutput{ETag: request.ETag(d.Toolset.Version), Body: t}, nil
}

type rollbackInput struct {
	ToolsetInput
	request.MatchInput
	Body *rollout.RollbackRequest
}

func registerLifecycle(s *Server) {
	register(s, huma.Operation{
		OperationID: "rollback-toolset", Method: http.MethodPost, Path: "/v1/toolsets/{id}/rollback", Summary: "Go back to an older revision", Tags: []string{"toolsets"},
		Description: "Publishes the digest of an older revision as a new revision. The draft becomes identical to it; its earlier state is set aside under a name (see list-kept-drafts).",
	}, of(s, rollback))
	register(s, huma.Operation{
		OperationID: "collect-garbage", Method: http.MethodPost, Path: "/v1/registry/collect", Summary: "Remove what nothing needs from the registry", Tags: []string{"registry"},
		Description: "Operator only. It happens by itself every hour. What a live or retained revision, a draft or a tag needs stays. After some seconds it answers with `more` and goes on by itself.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[artifact.Collected], error) {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, err
		}
		return answer(s.artifacts.Collect(ctx))
	})
}

func rollback(ctx context.Context, s *Server, in *rollbackInput) (*toolsetOutput, error) {
	ws := s.workspace(ctx)
	req := rollout.RollbackRequest{}
	if in.Body != nil {
		req = *in.Body
	}
	if err := s.rollouts.RollBack(ctx, ws, in.ID, &in.MatchInput, req); err != nil {
		return nil, err
	}
	d, err := s.drafts.Load(ctx, ws, in.ID)
	if err != nil {
		return nil, err
	}
	return s.toolsetAnswer(ctx, ws, d)
}

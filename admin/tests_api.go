package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/internal/problem"
)

type testInput struct {
	ToolsetInput
	request.MatchInput
	Body *rollout.TestRequest
}

func registerTests(s *Server) {
	register(s, huma.Operation{
		OperationID: "test-toolset", Method: http.MethodPost, Path: "/v1/toolsets/{id}/test", Summary: "Test the draft; a passed test deploys it", Tags: []string{"toolsets"},
		Description: "Calls one tool for real, or each tool that the draft changes where it can be called by itself. It passes when the upstream answers with a 2xx status and the answer is not empty. " +
			"The answer has status 200 also when the test did not pass: see passed and reason. When nothing can be tested, it is a 422. " +
			"A tool that Sluice adds can be named, too; where it calls no API, as a search does, that is not a test. " +
			"With inspect, the answer has what was sent and received, without credentials. A test that became a job keeps neither that, nor the answer and the arguments. " +
			"With If-Match, nothing is called when the toolset was changed since it was read.",
	}, func(ctx context.Context, in *testInput) (*jobOutput, error) {
		req := rollout.TestRequest{}
		if in.Body != nil {
			req = *in.Body
		}
		return s.run(ctx, "toolset.test", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return testAndDeploy(ctx, s, in, &req, phase)
		})
	})
	documentJob(s.api.OpenAPI(), "/v1/toolsets/{id}/test", TestAnswer{}, http.StatusOK)
	registerDeploy(s)
}

func testAndDeploy(ctx context.Context, s *Server, in *testInput, req *rollout.TestRequest, phase func(string)) (*request.Done, error) {
	ws := s.workspace(ctx)
	d, err := s.drafts.LoadMatching(ctx, ws, in.ID, &in.MatchInput)
	if err != nil {
		return nil, err
	}
	phase("testing a tool")
	run, err := s.rollouts.Test(ctx, ws, d, req)
	if err != nil {
		return nil, err
	}
	if len(run.Waits) > 0 {
		return nil, credential.Refused(d.Toolset.Slug, run.Waits)
	}
	if !run.Possible {
		return nil, problem.New(problem.TestFailed, "nothing can be tested: %s", run.Reason).
			Fix("name a tool with its arguments, configure the authentication, or deploy with a reason")
	}
	deployed := false
	if run.Passed && !run.NoTest && !req.KeepDraft {
		phase("publishing")
		if err := s.rollouts.Deploy(ctx, ws, d, run, ""); err != nil {
			return nil, err
		}
		deployed = true
	}
	t, err := s.views.Toolset(ctx, ws, d)
	if err != nil {
		return nil, err
	}
	answer := TestAnswer{TestRun: *run, Deployed: deployed, Toolset: t}
	kept := answer // a stored job is for every member of the workspace: without what the API said
	kept.TestRun = run.Told()
	answer.Inspection = run.Inspection
	return &request.Done{
		Status: http.StatusOK, Resource: "/v1/toolsets/" + d.Toolset.ID, ETag: request.ETag(d.Toolset.Version), Body: answer, Kept: kept,
	}, nil
}

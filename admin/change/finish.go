package change

import (
	"context"
	"net/http"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/toolset"
)

// tryOut tests the draft and deploys it when the test passed, as far as the request
// wants it; nil: it wants no test.
func (c *change) tryOut(ctx context.Context) (test *rollout.TestRun, deployed bool, err error) {
	if c.in.Deploy != nil && c.in.Deploy.Skip {
		return nil, false, nil
	}
	c.phase("testing a tool")
	req := rollout.TestRequest{}
	if c.in.Test != nil {
		req = *c.in.Test
	}
	if req.Tool == "" && req.Connector == "" && len(c.d.Parts) > 1 {
		req.Connector = c.d.Row.Name
	}
	if test, err = c.r.Rollouts.Test(ctx, c.ws, c.d, &req); err != nil {
		return nil, false, err
	}
	reason := ""
	if !test.Possible && len(test.Waits) == 0 && c.in.Deploy != nil {
		reason = c.in.Deploy.UntestedReason
	}
	// A program that adds its specification at each start, or reads it again by schedule, must
	// not fail because somebody rolls the toolset out: the new version waits in the draft.
	running, err := c.ws.RunningTrial(ctx, c.d.Toolset.ID)
	if err != nil || running != nil {
		return test, false, err
	}
	if deployed = test.Passed && !req.KeepDraft || reason != ""; deployed {
		c.phase("publishing")
		err = c.r.Rollouts.Deploy(ctx, c.ws, c.d, test, reason)
	}
	return test, deployed, err
}

// finishCreate tests and deploys what was created, and makes the answer.
func (c *change) finishCreate(ctx context.Context, v verdict) (*request.Done, error) {
	r, d := c.r, c.d
	test, err := c.tryAgain(ctx)
	if err != nil {
		return nil, err
	}
	shown, err := r.Views.Toolset(ctx, c.ws, d)
	if err != nil {
		return nil, err
	}
	if test != nil {
		shown.Test = test
	}
	advice, err := r.Advices.Advise(ctx, d)
	if err != nil {
		return nil, err
	}
	served, err := r.Drafts.Served(ctx, d, false)
	if err != nil {
		return nil, err
	}
	cost, err := r.Advices.ListTokens(d, served)
	if err != nil {
		return nil, err
	}
	body := CreatedToolset{
		ToolsetDetail: view.DetailOf(d, shown), Created: v == create, Tools: d.Tools(false), Tokens: cost, Advice: advice, Granted: c.granted, Changes: c.diff,
	}
	out := c.answer("", v, body)
	if body.Token, err = c.opens.Show(); err != nil {
		return nil, err
	}
	out.Kept, out.Body = out.Body, body
	return out, nil
}

// finishAdd tests and deploys a toolset that got another connector, and makes the
// answer.
func (c *change) finishAdd(ctx context.Context, v verdict) (*request.Done, error) {
	test, err := c.tryAgain(ctx)
	if err != nil {
		return nil, err
	}
	out := AddedConnector{
		Created: v == add, Tools: append([]toolset.Tool{}, c.d.ToolsOf(c.d.Row.Name)...), Renamed: append([]draft.KeptName{}, c.renamed...), Test: test, Granted: c.granted, Changes: c.diff,
	}
	if out.Toolset, err = c.r.Views.Toolset(ctx, c.ws, c.d); err != nil {
		return nil, err
	}
	if out.Connector, err = c.r.Views.Detail(ctx, c.ws, c.d.Part); err != nil {
		return nil, err
	}
	return c.answer("/connectors/"+c.d.Row.Name, v, out), nil
}

// answer is the answer of a change; at is the path of what it made below the toolset's.
func (c *change) answer(at string, v verdict, body any) *request.Done {
	status := http.StatusOK
	if v == create || v == add {
		status = http.StatusCreated
	}
	return &request.Done{Status: status, Resource: "/v1/toolsets/" + c.d.Toolset.ID + at, ETag: request.ETag(c.d.Toolset.Version), Body: body}
}

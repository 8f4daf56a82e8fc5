package node

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// draftTester calls a tool of a draft through the gateway's own pipeline.
type draftTester struct{ caller *call.Caller }

var _ admin.Tester = draftTester{}

// Test implements [admin.Tester].
func (t draftTester) Test(ctx context.Context, in admin.TestCall) (admin.TestedAnswer, error) {
	programs, err := in.Toolset.CompilePrograms()
	if err != nil {
		return admin.TestedAnswer{}, err
	}
	snap, err := snapshot.Compile(snapshot.Input{Toolsets: []snapshot.ToolsetInput{{
		ID: in.Toolset.ID, Slug: in.Toolset.Slug, Digest: in.Digest, Bundle: in.Toolset, Programs: programs, Connectors: in.Connectors, Plugins: in.Plugins,
	}}}, nil)
	if err != nil {
		return admin.TestedAnswer{}, err
	}
	tool, err := snap.Slug(in.Toolset.Slug).Tool([]byte(in.Tool))
	if err != nil {
		return admin.TestedAnswer{}, err
	}
	if tool == nil {
		return admin.TestedAnswer{}, problem.New(problem.NotFound, "the draft serves no tool %q", in.Tool)
	}
	args, err := jsonscan.Parse(in.Arguments, jsonscan.DefaultMaxDepth)
	if err != nil {
		return admin.TestedAnswer{}, problem.New(problem.InvalidArgument, "the arguments are not JSON").Because(err)
	}
	members, outcome, err := t.caller.Call(ctx, tool, args, call.CallOptions{Trace: true}, nil)
	if err != nil {
		return admin.TestedAnswer{}, err
	}
	var result struct {
		Content []struct{ Text, Data string }
	}
	if err := json.Unmarshal(append(append([]byte{'{'}, members...), '}'), &result); err != nil {
		return admin.TestedAnswer{}, fmt.Errorf("reading the result of %s: %w", in.Tool, err)
	}
	answer := admin.TestedAnswer{IsError: outcome.IsError, UpstreamStatus: outcome.Status, BytesReceived: outcome.Bytes}
	for _, c := range result.Content {
		answer.Text = append(answer.Text, c.Text...)
		answer.Text = append(answer.Text, c.Data...)
	}
	if tr := outcome.Trace; tr != nil {
		answer.Duration, answer.Upstream = tr.Total, tr.Upstream
		answer.Tokens = admin.TestTokens{Received: tr.TokensReceived, Minified: tr.TokensMinified, Result: tr.TokensResult}
	}
	return answer, nil
}

var _ admin.Lister = draftTester{}

// List implements [admin.Lister].
func (t draftTester) List(ts *registry.Toolset, connectors map[string]*connector.Connector, index []byte) ([]byte, error) {
	snap, err := snapshot.Compile(snapshot.Input{Toolsets: []snapshot.ToolsetInput{{
		ID: ts.ID, Slug: ts.Slug, Bundle: ts, Connectors: connectors, Index: index,
	}}}, nil)
	if err != nil {
		return nil, err
	}
	list, err := snap.Slug(ts.Slug).List()
	if err != nil {
		return nil, err
	}
	var out []byte
	var cursor []byte
	for {
		page, next, _ := list.Page(cursor)
		if out = append(out, page...); next == "" {
			return out, nil
		}
		cursor = []byte(next)
	}
}

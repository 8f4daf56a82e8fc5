package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/draft/playground"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/finding"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/script"
	"github.com/sluicegate/sluice/registry"
)

// draftTester calls a tool of a draft through the gateway's own pipeline.
type draftTester struct {
	caller  *call.Caller
	scripts *script.Engine
}

var _ rollout.Tester = draftTester{}

// Test implements [rollout.Tester].
func (t draftTester) Test(ctx context.Context, in rollout.TestCall) (rollout.TestedAnswer, error) {
	ts, err := compile(&in)
	if err != nil {
		return rollout.TestedAnswer{}, err
	}
	tool, err := ts.Tool([]byte(in.Tool))
	if err != nil {
		return rollout.TestedAnswer{}, err
	}
	args, err := jsonscan.Parse(in.Arguments, jsonscan.DefaultMaxDepth)
	if err != nil {
		return rollout.TestedAnswer{}, problem.New(problem.InvalidArgument, "the arguments are not JSON").Because(err)
	}
	if tool == nil {
		var found rollout.TestedAnswer
		if tool, args, found, err = find(ts, in.Tool, args); tool == nil || err != nil {
			return found, err
		}
	}
	members, outcome, err := t.caller.Call(ctx, tool, args, call.CallOptions{Trace: true, Inspect: in.Inspect}, nil)
	if err != nil {
		return rollout.TestedAnswer{}, err
	}
	var result struct {
		Content []struct{ Text, Data string }
	}
	if err := json.Unmarshal(append(append([]byte{'{'}, members...), '}'), &result); err != nil {
		return rollout.TestedAnswer{}, fmt.Errorf("reading the result of %s: %w", in.Tool, err)
	}
	answer := rollout.TestedAnswer{IsError: outcome.IsError, Why: outcome.Why, UpstreamStatus: outcome.Status, BytesReceived: outcome.Bytes}
	for _, c := range result.Content {
		answer.Text = append(answer.Text, c.Text...)
		answer.Text = append(answer.Text, c.Data...)
	}
	if tr := outcome.Trace; tr != nil {
		answer.PluginFailure = pluginFailure(tr, &answer)
		answer.Duration, answer.Upstream = tr.Total, tr.Upstream
		answer.Tokens = rollout.TestTokens{Received: tr.TokensReceived, Minified: tr.TokensMinified, Result: tr.TokensResult}
		answer.Inspection = inspection(tr, outcome.IsError)
		if tool.Own() { // it has what its calls received, and their status
			answer.UpstreamStatus = reached(tr.Calls)
			answer.Tokens.Received = max(answer.Tokens.Received, receivedBy(tr.Calls))
		}
	}
	return answer, nil
}

// compile makes the toolset of a draft as a gateway would serve it.
func compile(in *rollout.TestCall) (*snapshot.Toolset, error) {
	programs, err := in.Toolset.CompilePrograms()
	if err != nil {
		return nil, err
	}
	snap, err := snapshot.Compile(snapshot.Input{Toolsets: []snapshot.ToolsetInput{{
		ID: in.Toolset.ID, Slug: in.Toolset.Slug, Digest: in.Digest, Bundle: in.Toolset, Programs: programs, Connectors: in.Connectors, Plugins: in.Plugins, Index: in.Index,
	}}}, nil)
	if err != nil {
		return nil, err
	}
	return snap.Slug(in.Toolset.Slug), nil
}

// reached is the status of an API that one of the calls got, a good one where there is any;
// 0: none was reached.
func reached(calls []call.ToolTrace) (status int) {
	for i := range calls {
		if s := calls[i].Status; s != 0 && (status < 200 || status > 299) {
			status = s
		}
	}
	return status
}

// receivedBy is how many tokens calls received.
func receivedBy(calls []call.ToolTrace) (n int) {
	for i := range calls {
		n += calls[i].TokensIn
	}
	return n
}

// find answers a call of one of the tools that find others, which no pipeline runs. Of
// execute_tool it is the tool to call instead, with its arguments.
func find(ts *snapshot.Toolset, name string, args jsonscan.Value) (tool *snapshot.Tool, inner jsonscan.Value, found rollout.TestedAnswer, err error) {
	f := finding.Finder{Toolset: ts}
	start := time.Now()
	var text []byte
	switch {
	case ts.Codes() && name == snapshot.SearchTools:
		text, err = f.Signatures(nil, args)
	case ts.Searches() && name == snapshot.SearchTools:
		text, _, err = f.Search(nil, args)
	case ts.Searches() && name == snapshot.DescribeTools:
		text, err = f.Describe(nil, args)
	case ts.Searches() && name == snapshot.ExecuteTool:
		if tool, inner, err = f.Executed(args); err == nil {
			return tool, inner, found, nil
		}
	default:
		return nil, args, found, problem.New(problem.NotFound, "the draft serves no tool %q", name)
	}
	failed := problem.As(err)
	if err != nil && failed == nil {
		return nil, args, found, err
	}
	if failed != nil { // for the agent, as the gateway says it
		text = []byte(failed.Error())
	}
	took, size := time.Since(start), tokens.Count(text)
	return nil, args, rollout.TestedAnswer{
		IsError: failed != nil, Text: text, Duration: took, Tokens: rollout.TestTokens{Received: size, Minified: size, Result: size},
		Inspection: &playground.Inspection{IsError: failed != nil, Received: playground.Text(text), TotalMs: playground.Milliseconds(took)},
	}, nil
}

// CheckScript implements [rollout.Tester].
func (t draftTester) CheckScript(ctx context.Context, code string) error {
	err := t.scripts.Check(ctx, script.Source(code))
	if wrong, ok := errors.AsType[*script.Error](err); ok {
		return problem.New(problem.InvalidArgument, "the script cannot be compiled: %s", wrong).At("", wrong.Line, wrong.Column, "/code")
	}
	return err
}

// Added implements [rollout.Tester].
func (t draftTester) Added(in rollout.TestCall) ([]byte, error) {
	ts, err := compile(&in)
	if err != nil {
		return nil, err
	}
	return ts.Added()
}

// pluginFailure says why the plugin failed that a call ended with, where its answer does not.
func pluginFailure(t *call.Trace, a *rollout.TestedAnswer) string {
	for _, p := range slices.Backward(t.Plugins) {
		if a.IsError && p.Failure != "" && bytes.Contains(a.Text, []byte(p.Name)) && !bytes.Contains(a.Text, []byte(p.Failure)) {
			return fmt.Sprintf("plugin %s %s: %s", p.Name, p.Version, p.Failure)
		}
	}
	return ""
}

// inspection is what the console shows of a call; nil: it was not asked for.
func inspection(t *call.Trace, isError bool) *playground.Inspection {
	i := t.Inspection
	if i == nil {
		return nil
	}
	out := &playground.Inspection{
		IsError: isError, Form: t.Form, Cached: t.Cached, ContentType: i.ContentType, Received: playground.Text(i.Received), Shaped: playground.Text(i.Shaped), Cut: i.Cut,
		UpstreamMs: playground.Milliseconds(t.Upstream), TotalMs: playground.Milliseconds(t.Total), Failure: t.ProgramFailure,
		TokensPretty: t.TokensPretty,
	}
	if i.Method != "" {
		out.Request = &playground.InspectedRequest{Method: i.Method, URL: i.URL, Body: playground.Text(i.Body)}
		for _, h := range i.Headers {
			out.Request.Headers = append(out.Request.Headers, playground.InspectedHeader{Name: h.Name, Value: playground.Text([]byte(h.Value))})
		}
	}
	for _, in := range i.Inputs {
		out.Inputs = append(out.Inputs, playground.InspectedInput{Part: in.Part, Type: in.Type, Text: playground.Text(in.Body), Cut: in.Cut, File: in.Body == nil})
	}
	for _, s := range t.StageTimes() {
		out.Stages = append(out.Stages, playground.InspectedStage{Name: s.Name, Ms: playground.Milliseconds(s.Took)})
	}
	for _, p := range t.Plugins {
		out.Plugins = append(out.Plugins, playground.InspectedPlugin{
			Name: p.Name, Version: p.Version, Ms: playground.Milliseconds(time.Duration(p.Took)), BytesIn: p.BytesIn, Bytes: p.Bytes, Failure: p.Failure,
		})
	}
	for _, c := range t.Calls {
		out.Calls = append(out.Calls, playground.InspectedCall{
			Tool: c.Tool, Outcome: c.Outcome, Status: c.Status, StartMs: playground.Milliseconds(time.Duration(c.Start)), Ms: playground.Milliseconds(time.Duration(c.Took)), TokensIn: c.TokensIn, Tokens: c.Tokens,
		})
	}
	return out
}

var _ advice.Lister = draftTester{}

// List implements [advice.Lister].
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
		if len(out) > 0 { // one array of all pages
			out, page = append(out[:len(out)-1], ','), page[1:]
		}
		if out = append(out, page...); next == "" {
			return out, nil
		}
		cursor = []byte(next)
	}
}

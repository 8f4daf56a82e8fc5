package call

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
)

// runWorkflow runs the plugin. What it says went wrong is for the agent; how it broke
// is for the operator.
func (x *exchange) runWorkflow(args jsonscan.Value) (r received, err error) {
	p := x.tool.Workflow.Plugin
	ctx, end := x.beginNested()
	defer end()
	w := &workflow{nested{x: x}}
	c := &guest.Context{
		Caller: x.principalKey, Tool: x.tool.Name, Operation: x.ready.Method + " " + x.ready.Path, ContentType: "application/json", Arguments: args.Raw(),
		Calls: guest.NewCalls(p.Package, w),
	}
	err = errNoPlugins
	begin := time.Now()
	x.flow = x.flow[:0]
	if x.c.plugins != nil {
		x.flow, err = x.c.plugins.Transform(ctx, x.flow, args.Raw(), p, c)
	}
	_, notJSON := jsonscan.Parse(x.flow, jsonscan.DefaultMaxDepth)
	if err == nil && p.Package.Manifest.Tool.OutputSchema != nil {
		err = x.c.plugins.Check(p, x.principalKey, func() error {
			if notJSON != nil {
				return guest.ErrNotJSON
			}
			return p.Package.CheckOffered(x.flow)
		})
	}
	x.upstream = c.Calls.Waited()
	x.ranPlugin(p, len(args.Raw()), len(x.flow), begin, time.Since(begin)-x.upstream, c.Requests, err)
	w.traced()
	if err == nil {
		r = received{status: 200, body: x.flow, contentType: typeJSON}
		x.out.Status, x.out.Bytes = r.status, len(r.body)
		if notJSON != nil {
			r.contentType = typeText
		}
		if x.settled = len(r.body) == 0; x.settled {
			x.answer.text = []byte("Done.")
		}
		return r, nil
	}
	x.c.log.LogAttrs(x.ctx, slog.LevelDebug, "workflow could not run", slog.String("toolset", x.ts.Slug), slog.String("tool", x.tool.Name),
		slog.String("plugin", p.Ref.Name), slog.Any("error", err))
	said, ok := errors.AsType[*extism.PluginError](err)
	switch {
	case x.stopped():
		return r, problem.New(problem.Cancelled, "the gateway was stopped before the workflow %s ended%s", x.tool.Name, w.told()).Fix("%s", againAfter)
	case x.cancel.Cancelled() || errors.Is(x.ctx.Err(), context.Canceled):
		return r, x.gone()
	case x.late():
		return r, problem.New(problem.Timeout, "the workflow %s did not end within the %s of a call; %s", x.tool.Name, x.limit, plural(w.done(), "call")+" ended")
	case ok && said.Message != "":
		a := x.render(r)
		x.failure = a.appendFiltered(x.failure[:0], bytes.ToValidUTF8([]byte(said.Message), []byte("\uFFFD")), len(said.Message)*3)
		a.text, a.isError, x.settled = x.failure, true, true
		return r, nil
	}
	return r, problem.New(problem.InvalidPlugin, "the workflow %s could not run", x.tool.Name).Fix("ask the operator of %s to look at the plugin %s", x.ts.Slug, p.Ref.Name)
}

// workflow makes the calls of one call of a workflow.
type workflow struct{ nested }

var _ guest.ToolCaller = (*workflow)(nil)

// CallTool implements [guest.ToolCaller]: a call like any other of the same caller,
// whose answer is whole and JSON.
func (w *workflow) CallTool(ctx context.Context, call guest.ToolCall) (guest.ToolResult, error) {
	tool := w.x.tool.Called(call.Tool)
	if tool == nil {
		return guest.ToolResult{Error: "the toolset does not serve the tool that this workflow calls " + strconv.Quote(call.Tool)}, nil
	}
	return w.call(ctx, tool, call.Arguments)
}

package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
)

// runWorkflow runs the plugin. What it says went wrong is for the agent; how it broke
// is for the operator.
func (x *exchange) runWorkflow(args jsonscan.Value) (r received, err error) {
	p := x.tool.Workflow.Plugin
	ctx, cancel := context.WithDeadline(x.ctx, x.deadline)
	defer cancel()
	w := &workflow{x: x}
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
	if err == nil && notJSON != nil && p.Package.Manifest.Tool.OutputSchema != nil {
		err = errNotJSON
		x.c.plugins.Refuse(p, err)
	}
	x.upstream = c.Calls.Waited()
	if x.trace != nil {
		x.trace.plugin(p, len(args.Raw()), len(x.flow), time.Since(begin)-x.upstream, err)
		x.trace.Calls = w.calls
	}
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
	case x.cancel.Cancelled() || errors.Is(x.ctx.Err(), context.Canceled):
		return r, errGone()
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

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// workflow makes the calls of one call of a workflow.
type workflow struct {
	x *exchange

	mu    sync.Mutex
	calls []ToolTrace // guarded by mu; only when the workflow is traced
	ended int         // guarded by mu
}

var _ guest.ToolCaller = (*workflow)(nil)

func (w *workflow) done() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// CallTool implements [guest.ToolCaller]: a call like any other of the same caller,
// whose answer is whole and JSON.
func (w *workflow) CallTool(ctx context.Context, call guest.ToolCall) (result guest.ToolResult, err error) {
	x := w.x
	// This may be a goroutine of its own, where nobody else keeps a fault in one call
	// from ending the process.
	defer func() {
		if v := recover(); v != nil {
			x.c.log.Error("a workflow's call ended in a panic", slog.Any("cause", v), slog.String("stack", string(debug.Stack())))
			err = errors.New("a call went wrong inside the gateway")
		}
	}()
	if err := w.stopped(ctx); err != nil {
		return result, err
	}
	tool := x.tool.Called(call.Tool)
	switch {
	case tool == nil:
		result.Error = "the toolset does not serve the tool that this workflow calls " + strconv.Quote(call.Tool)
		return result, nil
	case x.permits != nil && !x.permits(tool.Name):
		result.Error = "the access token does not permit to call " + tool.Name
		return result, nil
	}
	y := x.c.pool.Get().(*exchange)
	defer x.c.release(y)
	y.input = x.input
	y.tool, y.ready, y.ctx, y.given = tool, nil, ctx, jsonscan.Trusted(call.Arguments)
	y.start, y.inner, y.request, y.trace = time.Now(), true, nil, nil
	failed := y.run()
	y.count(failed)
	if failed != nil {
		return result, fmt.Errorf("calling %s: %w", tool.Name, failed)
	}
	result = y.forWorkflow()
	w.note(y, &result)
	return result, w.stopped(ctx)
}

// stopped is why no further call is made; nil: one can be.
func (w *workflow) stopped(ctx context.Context) error {
	if w.x.cancel.Cancelled() {
		return errors.New("the client has gone")
	}
	if w.x.late() {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// least is the time that another call of a workflow would need: at its deadline an
// exchange may end a little before the clock says so.
const least = 2 * time.Millisecond

// late reports whether the deadline of the call is there.
func (x *exchange) late() bool { return time.Until(x.deadline) < least }

// note records a call that ended.
func (w *workflow) note(y *exchange, r *guest.ToolResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if y.link != "" {
		w.x.link = y.link // for the caller, if the workflow fails; a workflow never sees it
	}
	if w.ended++; w.x.trace == nil {
		return
	}
	w.calls = append(w.calls, ToolTrace{
		Tool: y.tool.Name, Outcome: y.out.Kind.String(), Status: y.out.Status, Start: Milliseconds(y.start.Sub(w.x.start)), Took: Milliseconds(time.Since(y.start)),
		Upstream: Milliseconds(y.upstream), Cached: y.out.Cached, BytesIn: len(y.body), Bytes: len(r.Value) + len(r.Text), TokensIn: tokens.Count(y.body),
	})
}

// forWorkflow is the answer of a call that ended, as a workflow gets it.
func (x *exchange) forWorkflow() guest.ToolResult {
	r := guest.ToolResult{Status: x.out.Status}
	switch {
	case x.failed != nil:
		r.Error = string(appendProblem(nil, x.failed))
	case x.refusal != nil:
		r.Error = "the server wants to ask the client something, which a workflow cannot answer"
	case x.members != nil:
		x.membersFor(&r)
	case x.answer.isError:
		r.Error = string(x.answer.text)
	case x.answer.media != "":
		r.Error = "the answer is not text but " + x.answer.media
	case len(x.body) == 0:
		r.Value = []byte("null")
	default:
		x.answerFor(&r, x.answer.text)
	}
	return r
}

// answerFor sets the answer to a text, as JSON when it is.
func (x *exchange) answerFor(r *guest.ToolResult, text []byte) {
	if _, err := jsonscan.Parse(text, jsonscan.DefaultMaxDepth); err == nil && !x.answer.isText {
		r.Value = bytes.Clone(text)
		return
	}
	r.Text = string(bytes.ToValidUTF8(text, []byte("\uFFFD")))
}

// membersFor sets the answer to the result of an MCP server: structuredContent, or the
// text of its content.
func (x *exchange) membersFor(r *guest.ToolResult) {
	doc := append(append([]byte{'{'}, x.members...), '}')
	result := jsonscan.Trusted(doc)
	var text []byte
	for it := result.Get("content").Elements(); it.Next(); {
		if t := it.Value().Get("text"); t.Kind() == jsonscan.String {
			if len(text) > 0 {
				text = append(text, '\n')
			}
			text = t.AppendText(text)
		}
	}
	switch v := result.Get("structuredContent"); {
	case x.answer.isError:
		if r.Error = string(bytes.ToValidUTF8(text, []byte("\uFFFD"))); r.Error == "" {
			r.Error = "the tool failed without saying why"
		}
	case v.Exists():
		r.Value = bytes.Clone(v.Raw())
	default:
		x.answerFor(r, text)
	}
}

package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/arazzo"
	"github.com/sluicegate/sluice/plugins/guest"
)

// runDocument runs the workflow of an Arazzo document. Which step failed, and why, is for
// the agent, with the calls that were made before: so it does not blindly repeat them.
func (x *exchange) runDocument(args jsonscan.Value) (r received, err error) {
	ctx, end := x.beginNested()
	defer end()
	plan, err := x.tool.Plan()
	if err != nil {
		return r, err
	}
	inputs, err := arazzo.Decode(args.Raw())
	if err != nil {
		return r, problem.New(problem.InvalidArguments, "the arguments are not JSON")
	}
	given, ok := inputs.(map[string]any)
	if !ok {
		return r, problem.New(problem.InvalidArguments, "expected an object")
	}
	d := &documentCalls{nested{x: x}}
	result, err := plan.Run(ctx, x.tool.Workflow.Document.ID, given, d)
	d.traced()
	switch {
	case (err != nil || result.Failure != nil) && x.stopped():
		return r, problem.New(problem.Cancelled, "the gateway was stopped before the workflow %s ended%s", x.tool.Name, d.told()).Fix("%s", againAfter)
	case x.cancel.Cancelled() || errors.Is(x.ctx.Err(), context.Canceled):
		return r, x.gone()
	case err != nil && x.late():
		return r, problem.New(problem.Timeout, "the workflow %s did not end within the %s of a call%s", x.tool.Name, x.limit, d.told())
	case err != nil:
		x.c.log.LogAttrs(x.ctx, slog.LevelDebug, "workflow could not run", slog.String("toolset", x.ts.Slug), slog.String("tool", x.tool.Name), slog.Any("error", err))
		return r, problem.New(problem.UpstreamStatus, "the workflow %s was ended: %v%s", x.tool.Name, err, d.told())
	case result.Failure != nil:
		a := x.render(r)
		text := []byte(result.Failure.Error() + d.told())
		x.failure = a.appendFiltered(x.failure[:0], text, len(text)*3)
		a.text, a.isError, x.settled = x.failure, true, true
		return r, nil
	}
	text, err := result.MarshalOutputs()
	if err != nil {
		return r, fmt.Errorf("writing the outputs of workflow %s: %w", x.tool.Name, err)
	}
	x.flow = append(x.flow[:0], text...)
	r = received{status: 200, body: x.flow, contentType: typeJSON}
	x.out.Status, x.out.Bytes = r.status, len(r.body)
	return r, nil
}

// documentCalls makes the calls of one run of a workflow document.
type documentCalls struct{ nested }

var _ arazzo.Caller = (*documentCalls)(nil)

// Call implements [arazzo.Caller]: a call like any other of the same caller.
func (d *documentCalls) Call(ctx context.Context, c *arazzo.Call) (*arazzo.Response, error) {
	tool := d.x.tool.Called(c.Operation)
	if tool == nil {
		return &arazzo.Response{Error: "the toolset does not serve what the step calls, " + strconv.Quote(c.Operation)}, nil
	}
	ready, err := tool.Load()
	if err != nil {
		return nil, err
	}
	arguments, err := ready.StepArguments(c)
	if err != nil {
		return &arazzo.Response{Error: err.Error()}, nil //nolint:nilerr // the step fails, not the run
	}
	r := &arazzo.Response{}
	result, wait, err := d.observe(ctx, tool, arguments, func(y *exchange) { y.describe(r, c.Headers) })
	if err != nil {
		return nil, err
	}
	r.Method, r.Status, r.Error, r.RetryAfter = ready.Method, result.Status, result.Error, wait
	if r.Error == "" {
		r.Body, err = bodyOf(&result)
	}
	return r, err
}

func bodyOf(r *guest.ToolResult) (any, error) {
	if r.Value == nil {
		return r.Text, nil
	}
	return arazzo.Decode(r.Value)
}

// describe keeps what expressions may ask of an answer over HTTP. The body of a failure is
// given only where no filter has to see it first.
func (x *exchange) describe(r *arazzo.Response, headers []string) {
	if x.ready == nil {
		return
	}
	if r.URL = x.ready.Base.Origin() + x.ready.Path; x.wire != nil {
		r.URL = string(x.bound.Redact(slices.Clone(x.url)))
	}
	if x.header != nil {
		read := x.stepHeaders(headers)
		r.Header = func(name string) string { return string(read.Get(strings.ToLower(name)).AppendText(nil)) }
	}
	if x.answer.isError && !x.redacts() {
		if v, err := arazzo.Decode(x.body); err == nil {
			r.Body = v
		}
	}
}

// stepHeaders are headers of an answer, by their names in lower case, as the filters of its
// tool leave them: those of the workflow may be others.
func (x *exchange) stepHeaders(names []string) jsonscan.Value {
	doc := []byte{'{'}
	for _, name := range names {
		if v := x.header.Header(name); len(v) > 0 && !strings.EqualFold(name, fasthttp.HeaderSetCookie) {
			key := jsonscan.AppendStringOf(nil, strings.ToLower(name))
			doc = jsonscan.AppendString(jsonscan.AppendKey(doc, 1, key[1:len(key)-1]), x.bound.Redact(slices.Clone(v)))
		}
	}
	if doc = append(doc, '}'); !x.redacts() {
		return jsonscan.Trusted(doc)
	}
	return jsonscan.Trusted(bytes.Clone(x.filteredObject(doc).Raw()))
}

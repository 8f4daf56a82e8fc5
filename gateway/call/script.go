package call

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/gateway/codecheck"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/jsonshape"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/script"
	"github.com/sluicegate/sluice/registry"
)

const (
	// maxScriptStack is how many frames of a script's error an agent reads.
	maxScriptStack = 4
	// maxLogTokens bounds what is read of a script's log lines.
	maxLogTokens = 500
)

// readScript reads the arguments of the tool that runs scripts.
func readScript(given jsonscan.Value) (string, error) {
	var code string
	for it := orEmpty(given).Members(); it.Next(); {
		if !it.KeyEqual("code") {
			return "", problem.New(problem.InvalidArguments, "unknown argument, known is code").At("", 0, 0, fmt.Sprintf("/%.80s", it.KeyText(nil)))
		}
		if it.Value().Kind() != jsonscan.String {
			return "", problem.New(problem.InvalidArguments, "expected a string, got %s", it.Value().Kind()).At("", 0, 0, "/code")
		}
		code = string(it.Value().AppendText(nil))
	}
	switch {
	case strings.TrimSpace(code) == "":
		return "", problem.New(problem.InvalidArguments, "missing").At("", 0, 0, "/code").Fix("write JavaScript that returns a value")
	case len(code) > script.MaxCode:
		return "", problem.New(problem.InvalidArguments, "%d bytes, at most %d", len(code), script.MaxCode).At("", 0, 0, "/code").Fix("write less, or do it in several runs")
	}
	return script.Source(code), nil
}

// PrepareScripts makes the engine of scripts ready in the background: the first script of
// a node need not wait for it.
func (c *Caller) PrepareScripts() {
	if c.scripts == nil {
		return
	}
	c.preparing.Do(func() {
		go func() {
			if err := c.scripts.Prepare(context.Background()); err != nil && !errors.Is(err, script.ErrClosed) {
				c.log.Error("scripts cannot be run", slog.Any("error", err))
			}
		}()
	})
}

// runScript runs a script. What went wrong in it is for the agent, to repair it.
func (x *exchange) runScript(code string) (r received, err error) {
	if x.c.scripts == nil {
		return r, problem.New(problem.Unavailable, "this node does not run scripts")
	}
	ctx, end := x.beginNested()
	defer end()
	s := &scriptCalls{nested: nested{x: x}, keeps: x.ts.Capture == metering.CaptureAll}
	if err := codecheck.Check(code, s.tool, s.unknown); err != nil {
		return r, err
	}
	x.hash = string(registry.DigestOf([]byte(code)))
	run := script.Script{Code: code, Share: x.ts.ID, Caller: x.principalKey, Tools: s}
	x.limits(&run)
	result, err := x.c.scripts.Run(ctx, run)
	x.upstream = result.Waited
	s.traced()
	x.scriptLogs(&result)
	if err != nil {
		s.open = result.Open
		return r, x.scriptFailure(err, s)
	}
	x.logs = append(x.logs, notAwaited(result.Open)...)
	if s.keeps {
		x.ran = s.run(code, result.Value)
	}
	return x.scriptValue(&result), nil
}

// scriptValue is the value of a script that succeeded, as an answer.
func (x *exchange) scriptValue(result *script.Result) (r received) {
	r = received{status: 200, contentType: typeJSON}
	x.flow = append(x.flow[:0], result.Value...)
	structured := x.tool.Workflow != nil && len(x.tool.Workflow.Document.Script.OutputSchema) > 0
	if v, err := jsonscan.Parse(x.flow, jsonscan.DefaultMaxDepth); err == nil && v.Kind() == jsonscan.String && !structured {
		r.contentType, x.flow = typeText, v.AppendText(nil)
	}
	r.body = x.flow
	x.out.Status, x.out.Bytes = r.status, len(r.body)
	if x.settled = len(r.body) == 0; x.settled {
		x.answer.text = []byte("The script returned no value: write it last, or return it.")
	}
	return r
}

// scriptResult writes the result, with the log lines of the script behind it.
func (x *exchange) scriptResult() error {
	if len(x.logs) > 0 {
		if len(x.notes) > 0 {
			x.notes = append(x.notes, '\n')
		}
		x.notes = append(x.notes, bytes.TrimPrefix(x.logs, []byte("\n"))...)
		if x.failed != nil { // notes stand beside answers only
			x.failed.Detail, x.failed.Remedy = x.failed.Error()+"\n"+string(x.logs), ""
		}
	}
	return x.result()
}

// scriptLogs keeps the log lines for the agent, without hidden characters.
func (x *exchange) scriptLogs(result *script.Result) {
	x.logs = x.logs[:0]
	for n, line := range result.Logs {
		mark := len(x.logs)
		if n == 0 {
			x.logs = append(x.logs, "[log]"...)
		}
		x.logs = append(append(x.logs, '\n'), line...)
		if tokens.Estimate(x.logs) > maxLogTokens {
			x.logs = fmt.Appendf(x.logs[:mark], "\n[%d more lines]", len(result.Logs)-n+result.LogsDropped)
			break
		}
	}
	a := x.render(received{})
	x.logs = a.appendFiltered(nil, bytes.ToValidUTF8(x.logs, []byte("\uFFFD")), len(x.logs)*3)
}

// scriptFailure is what the agent reads when its script failed: where, and which calls
// were made before, so that nothing is done twice.
func (x *exchange) scriptFailure(err error, s *scriptCalls) error {
	kind, remedy := problem.InvalidArguments, "repair the script and run it again"
	var text string
	var failed *script.Error
	switch {
	case x.stopped():
		kind, text, remedy = problem.Cancelled, "the gateway was stopped before the script ended", againAfter
	case x.cancel.Cancelled() || errors.Is(x.ctx.Err(), context.Canceled):
		return x.gone()
	case x.late():
		kind, text, remedy = problem.Timeout, fmt.Sprintf("the script did not end within the %s of a call", x.limit), "do less in one run"
	case errors.As(err, &failed):
		text = failed.Error()
		if frames := strings.Split(failed.Stack, "\n"); len(frames) > 1 {
			text += "\n" + strings.Join(frames[:min(len(frames), maxScriptStack)], "\n")
		}
		if s.changed() {
			remedy = "repair the script and run only what is left"
		}
		remedy = cmp.Or(s.remedy(failed.Message), remedy)
		text += notAwaited(s.open)
	case errors.Is(err, script.ErrDeadline):
		own := cmp.Or(time.Duration(x.ts.ScriptLimits().Milliseconds)*time.Millisecond, script.OwnTime)
		text, remedy = err.Error(), fmt.Sprintf("it may compute for %s by itself, waiting for tools aside: look for a loop that does not end, or do less", own)
	case errors.Is(err, script.ErrMemory):
		text, remedy = err.Error(), "keep less of the answers: it has 48 MB"
	case errors.Is(err, script.ErrBusy), errors.Is(err, script.ErrClosed):
		kind, text, remedy = problem.Unavailable, err.Error(), "try again in a few seconds"
	default:
		x.c.log.LogAttrs(x.ctx, slog.LevelError, "a script could not run", slog.String("toolset", x.ts.Slug), slog.Any("error", err))
		kind, text, remedy = problem.Unavailable, "the script could not run", "ask the operator of "+x.ts.Slug+" to look at its log"
	}
	a := x.render(received{})
	text = string(a.appendFiltered(nil, bytes.ToValidUTF8([]byte(text), []byte("\uFFFD")), len(text)*3))
	return problem.New(kind, "%s%s", text, s.told()).Fix("%s", remedy)
}

// notAwaited tells that a script went on without the answers of calls; "" when it did not.
func notAwaited(calls int) string {
	if calls == 0 {
		return ""
	}
	return fmt.Sprintf("\n%s had not ended: write await before tools.…", plural(calls, "call"))
}

// remedy is what can be done about an error of a script that has a cause which many have; ""
// for others.
func (s *scriptCalls) remedy(message string) string {
	if strings.HasPrefix(message, "SyntaxError") {
		return "write plain JavaScript, without types and import"
	}
	if strings.HasPrefix(message, "RangeError: the script makes too many calls") {
		return fmt.Sprintf("one run makes at most %d calls: ask for more in each, or do the rest in another run", cmp.Or(s.x.ts.ScriptLimits().Calls, script.DefaultCalls))
	}
	name, isReference := strings.CutPrefix(message, "ReferenceError: ")
	name, isMissing := strings.CutSuffix(name, " is not defined")
	if !isReference || !isMissing {
		return ""
	}
	for _, group := range s.Names("") {
		switch {
		case group == name:
			return "write tools." + name
		case slices.Contains(s.Names(group), name):
			return "write tools." + group + "." + name
		}
	}
	return "a script has the language itself, tools, console, sleep and setTimeout: no modules, network, files, URL, Intl or Buffer"
}

// limits sets what the operator of the toolset allows a script.
func (x *exchange) limits(run *script.Script) {
	l := x.ts.ScriptLimits()
	run.Calls, run.AtOnce, run.OwnTime = l.Calls, l.AtOnce, time.Duration(l.Milliseconds)*time.Millisecond
}

// againAfter is what an agent can do about a run that a stop of the gateway ended.
const againAfter = "do what is left in another run"

// scriptCalls are the tools that a script calls.
type scriptCalls struct {
	nested
	saved bool // it is a tool of its own, which calls only what it was saved with
	keeps bool // the run may be kept
	open  int  // calls that it did not await

	used  []registry.CalledTool // guarded by mu; what it called, each once
	other string                // guarded by mu; a tool that is not an operation of a connector
}

// run is what is kept of a run that succeeded.
func (s *scriptCalls) run(code string, value []byte) *registry.ScriptRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &registry.ScriptRun{Code: code, Calls: s.used, Other: s.other, Shape: jsonshape.Of(value)}
}

// uses notes that the script called a tool.
func (s *scriptCalls) uses(path string, tool *snapshot.Tool) {
	if !s.keeps {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.used, func(c registry.CalledTool) bool { return c.Name == path }) {
		return
	}
	if op, ok := tool.Operation(); ok {
		s.used = append(s.used, registry.CalledTool{Name: path, Connector: op.Connector, Method: op.Method, Path: op.Path})
	} else {
		s.other = tool.Name
	}
}

var _ script.Tools = (*scriptCalls)(nil)

// sees reports whether the script's caller may see a tool.
func (s *scriptCalls) sees(tool string) bool { return s.x.permits == nil || s.x.permits(tool) }

// Names implements [script.Tools].
func (s *scriptCalls) Names(path string) []string {
	if s.saved {
		return s.x.tool.SavedNames(path)
	}
	return s.x.ts.ScriptNames(path, s.sees)
}

// tool finds the tool that a script names; nil: there is none for it.
func (s *scriptCalls) tool(path string) (*snapshot.Tool, error) {
	if s.saved {
		return s.x.tool.Called(path), nil
	}
	tool, err := s.x.ts.ScriptTool(path)
	if err != nil || tool == nil || !s.sees(tool.Name) {
		return nil, err
	}
	return tool, nil
}

// Call implements [script.Tools].
func (s *scriptCalls) Call(ctx context.Context, path string, arguments []byte) ([]byte, error) {
	tool, err := s.tool(path)
	switch {
	case err != nil:
		return nil, err
	case tool == nil:
		return nil, s.unknown(path)
	case !s.saved && !s.x.ts.ScriptMayCall(tool):
		return nil, &script.ToolError{Tool: tool.Name, Message: "scripts may not call " + tool.Name + ", which may destroy data: call the tool itself, or ask the operator to permit it"}
	}
	if v, err := jsonscan.Parse(arguments, jsonscan.DefaultMaxDepth); err != nil || v.Kind() != jsonscan.Object {
		return nil, &script.ToolError{Tool: tool.Name, Message: "the arguments must be one object: " + path + "({…})"}
	}
	s.uses(path, tool)
	result, err := s.call(ctx, tool, arguments)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, err // of the run, which it ends
	case err != nil:
		return nil, &script.ToolError{Tool: tool.Name, Message: err.Error()}
	}
	return scriptAnswer(tool, &result)
}

// scriptAnswer is the answer of a tool as JSON.
func scriptAnswer(tool *snapshot.Tool, r *guest.ToolResult) ([]byte, error) {
	switch {
	case r.Error != "":
		return nil, &script.ToolError{Tool: tool.Name, Status: r.Status, Message: r.Error}
	case r.Value != nil:
		return r.Value, nil
	}
	return jsonscan.AppendStringOf(nil, r.Text), nil
}

// unknown names the nearest tool.
func (s *scriptCalls) unknown(path string) error {
	var all []string
	for _, group := range s.Names("") {
		for _, name := range s.Names(group) {
			all = append(all, group+"."+name)
		}
	}
	if s.saved {
		return &script.ToolError{Tool: path, Message: fmt.Sprintf("this tool was saved without the tool %.80q", path)}
	}
	text := fmt.Sprintf("there is no tool %.80q: find it with %s", path, snapshot.SearchTools)
	if near := nearest.Name(path, slices.Values(all)); near != "" {
		text = fmt.Sprintf("there is no tool %.80q: did you mean tools.%s?", path, near)
	}
	return &script.ToolError{Tool: path, Message: text}
}

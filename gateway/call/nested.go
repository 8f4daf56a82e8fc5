package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/cdnloop"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/guest"
)

// nested makes the calls of one call of a workflow or a script. Its methods may be called
// from several goroutines.
type nested struct {
	x *exchange

	mu    sync.Mutex
	calls []ToolTrace  // guarded by mu; only when the call is traced
	ended int          // guarded by mu
	kinds []nestedCall // guarded by mu; each kind of calls that ended, once
}

// nestedCall is a kind of calls that ended, for the text of a failure.
type nestedCall struct {
	tool    string
	changes bool // it may have changed data
	failed  bool
	times   int
}

// beginNested is the context of the calls that a call makes, until it is ended.
func (x *exchange) beginNested() (ctx context.Context, end func()) {
	ctx, cancel := context.WithDeadline(cdnloop.Counted(x.ctx), x.deadline)
	stop := x.cancel.After(cancel)
	return ctx, func() { stop(); cancel() }
}

func (n *nested) done() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ended
}

// call calls a tool as any other call of the same caller does; its answer is whole and
// JSON. It fails when no call is possible any more.
func (n *nested) call(ctx context.Context, tool *snapshot.Tool, arguments []byte) (guest.ToolResult, error) {
	result, _, err := n.ask(ctx, tool, arguments)
	return result, err
}

// ask is call. wait is how long the upstream wants to be left alone; 0: it did not say.
func (n *nested) ask(ctx context.Context, tool *snapshot.Tool, arguments []byte) (result guest.ToolResult, wait time.Duration, err error) {
	return n.observe(ctx, tool, arguments, nil)
}

// observe is ask, and shows the call that ended to look, which keeps nothing of it; nil:
// nobody looks.
func (n *nested) observe(ctx context.Context, tool *snapshot.Tool, arguments []byte, look func(y *exchange)) (result guest.ToolResult, wait time.Duration, err error) {
	x := n.x
	// This may be a goroutine of its own, where nobody else keeps a fault in one call
	// from ending the process.
	defer func() {
		if v := recover(); v != nil {
			x.c.log.Error("a nested call ended in a panic", slog.Any("cause", v), slog.String("stack", string(debug.Stack())))
			err = errors.New("a call went wrong inside the gateway")
		}
	}()
	if err := n.stopped(ctx); err != nil {
		return result, 0, err
	}
	if x.permits != nil && !x.permits(tool.Name) {
		result.Error = "the access token does not permit to call " + tool.Name
		return result, 0, nil
	}
	y := x.c.pool.Get().(*exchange)
	defer x.c.release(y)
	y.input = x.input
	y.tool, y.ready, y.ctx, y.given = tool, nil, ctx, jsonscan.Trusted(arguments)
	y.start, y.inner, y.request, y.trace, y.pluginFailed = time.Now(), true, nil, nil, false
	if tool.OnlyReads() { // what calls may end before it; of a write it learns how that ended
		own := &upstream.Cancel{} // which outlives y
		done := context.AfterFunc(ctx, func() {
			if errors.Is(ctx.Err(), context.Canceled) { // at its deadline it ends by itself, and says so
				own.Cancel()
			}
		})
		defer done()
		y.cancel = own
	}
	if d, ok := ctx.Deadline(); ok { // of a step that has a timeout
		y.deadline, y.latest = earlier(y.deadline, d), earlier(y.latest, d)
	}
	y.span = nil
	y.openInner(x.span)
	failed := y.run()
	y.count(failed)
	if failed != nil {
		return result, 0, fmt.Errorf("calling %s: %w", tool.Name, failed)
	}
	result = y.forWorkflow()
	n.note(y, &result)
	if look != nil {
		look(y)
	}
	return result, y.toWait(), n.stopped(ctx)
}

// stopped is why no further call is made; nil: one can be.
func (n *nested) stopped(ctx context.Context) error {
	switch {
	case n.x.stopped():
		return ErrStopped
	case n.x.cancel.Cancelled():
		return errors.New("the client has gone")
	case cdnloop.Refused(ctx):
		return problem.New(problem.Cancelled, "a call before it came back through too many gateways: toolsets call each other in a circle").
			Fix("remove the connector that leads back: sluice toolset connector remove")
	}
	if n.x.late() {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// least is the time that another call of a workflow would need: at its deadline an
// exchange may end a little before the clock says so.
const least = 2 * time.Millisecond

// late reports whether the deadline of the call is there.
func (x *exchange) late() bool { return time.Until(x.deadline) < least }

// maxTold is how many kinds of calls the text of a failure names, beside those that may have
// changed data: a tool, whether it may have, and whether it failed.
const maxTold = 20

// note records a call that ended.
func (n *nested) note(y *exchange, r *guest.ToolResult) {
	var t ToolTrace
	if n.x.trace != nil { // before the lock: others would wait, which would count as their time
		t = y.toolTrace(n.x.start, r)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if y.link != "" {
		n.x.link = y.link // for the caller, if the whole fails; what calls never sees it
	}
	n.count(nestedCall{tool: y.tool.Name, changes: y.asked && !y.tool.OnlyReads(), failed: r.Error != ""})
	if n.x.trace != nil {
		n.calls = append(n.calls, t)
	}
}

// count counts a call that ended with those of its kind. n.mu is held.
func (n *nested) count(c nestedCall) {
	n.ended++
	if i := slices.IndexFunc(n.kinds, func(k nestedCall) bool { k.times = 0; return k == c }); i >= 0 {
		n.kinds[i].times++
		return
	}
	if c.times = 1; len(n.kinds) < maxTold || c.changes {
		n.kinds = append(n.kinds, c)
	}
}

// traced adds the calls to the trace of the whole, which has ended.
func (n *nested) traced() {
	if n.x.trace != nil {
		n.x.trace.Calls = n.calls
	}
}

// changed reports whether a call that ended may have changed data.
func (n *nested) changed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.kinds, func(k nestedCall) bool { return k.changes })
}

// told says which calls ended before a failure, and which of them changed data.
func (n *nested) told() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nBefore that %s ended: ", plural(n.ended, "call"))
	named := 0
	for i, c := range n.kinds {
		if i > 0 {
			b.WriteString(", ")
		}
		named += c.times
		b.WriteString(c.tool)
		if c.times > 1 {
			fmt.Fprintf(&b, " × %d", c.times)
		}
		switch {
		case c.changes && c.failed:
			b.WriteString(" (failed, may have changed data)")
		case c.changes:
			b.WriteString(" (changed data: do not repeat it blindly)")
		case c.failed:
			b.WriteString(" (failed)")
		}
	}
	if n.ended > named {
		fmt.Fprintf(&b, " and %d more", n.ended-named)
	}
	return b.String()
}

// toolTrace describes a call that ended, of a whole that began at start.
func (x *exchange) toolTrace(start time.Time, r *guest.ToolResult) ToolTrace {
	return ToolTrace{
		Tool: x.tool.Name, Outcome: x.out.Kind.String(), Status: x.out.Status, Start: Milliseconds(x.start.Sub(start)), Took: Milliseconds(time.Since(x.start)),
		Upstream: Milliseconds(x.upstream), Cached: x.out.Cached, BytesIn: len(x.body), Bytes: len(r.Value) + len(r.Text), TokensIn: tokens.Count(x.body),
		Tokens: tokens.Count(r.Value) + tokens.CountString(r.Text) + tokens.CountString(r.Error),
	}
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// forWorkflow is the answer of a call that ended, as a workflow gets it.
func (x *exchange) forWorkflow() guest.ToolResult {
	r := guest.ToolResult{Status: x.out.Status}
	switch {
	case x.failed != nil:
		r.Error = string(appendProblem(nil, x.failed))
	case x.refusal != nil:
		r.Error = "the server wants to ask the client something, which a workflow or script cannot answer"
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

package call

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
)

// maxBatchID is the longest name of a call in a batch: it stands before its answer.
const maxBatchID = 64

// MaxBatchRepeats is how often a call in a batch that only reads is made again because its
// upstream asked to wait.
const MaxBatchRepeats = 3

// batch is one call of the tool that makes many.
type batch struct {
	nested
	calls  []batchCall
	writes bool // the caller permits them

	pausing sync.Mutex
	pauses  map[*snapshot.Binding]*pause // guarded by pausing
}

// batchCall is one of its calls, and how it ended.
type batchCall struct {
	id, name  string
	arguments jsonscan.Value

	tool    *snapshot.Tool // nil: there is none of that name
	changes bool           // it may change data, and is permitted to
	result  guest.ToolResult
}

// pause is how long an upstream wants to be left alone. Who makes a call again holds it:
// after a pause calls are made one after the other.
type pause struct {
	sync.Mutex
	until time.Time // guarded by it
}

// readBatch reads the arguments of the tool.
func readBatch(given jsonscan.Value) (*batch, error) {
	b := &batch{}
	var calls jsonscan.Value
	for it := orEmpty(given).Members(); it.Next(); {
		v := it.Value()
		switch {
		case it.KeyEqual("calls"):
			calls = v
		case it.KeyEqual("allow_writes") && v.Kind() == jsonscan.Null:
		case it.KeyEqual("allow_writes"):
			allow, ok := v.Bool()
			if !ok {
				return nil, batchFault("/allow_writes", "expected true or false, got %s", v.Kind())
			}
			b.writes = allow
		default:
			return nil, batchFault("/"+string(it.KeyText(nil)), "unknown argument, known are calls and allow_writes")
		}
	}
	if n := calls.Len(); calls.Kind() != jsonscan.Array || n == 0 {
		return nil, batchFault("/calls", `expected a list of calls, each {"tool":"…","arguments":{…}}`)
	} else if n > snapshot.MaxBatch {
		return nil, batchFault("/calls", "%d calls, at most %d", n, snapshot.MaxBatch).Fix("make several batches")
	}
	seen := map[string]bool{}
	for it := calls.Elements(); it.Next(); {
		at := "/calls/" + strconv.Itoa(len(b.calls))
		c := batchCall{id: strconv.Itoa(len(b.calls) + 1), arguments: noArguments}
		if err := c.read(it.Value(), at); err != nil {
			return nil, err
		}
		if seen[c.id] {
			return nil, batchFault(at+"/id", "%q names two calls; a call without id has its number", c.id).Fix("give each call another id, or none")
		}
		seen[c.id] = true
		b.calls = append(b.calls, c)
	}
	return b, nil
}

func (c *batchCall) read(v jsonscan.Value, at string) error {
	if v.Kind() != jsonscan.Object {
		return batchFault(at, "expected an object with tool and arguments, got %s", v.Kind())
	}
	for it := v.Members(); it.Next(); {
		switch v := it.Value(); {
		case it.KeyEqual("tool"):
			if v.Kind() != jsonscan.String {
				return batchFault(at+"/tool", "expected the name of a tool, got %s", v.Kind())
			}
			c.name = string(v.AppendText(nil))
		case v.Kind() == jsonscan.Null:
		case it.KeyEqual("arguments"):
			if v.Kind() != jsonscan.Object {
				return batchFault(at+"/arguments", "expected an object, got %s", v.Kind())
			}
			c.arguments = v
		case it.KeyEqual("id"):
			text := v.AppendText(nil)
			if v.Kind() == jsonscan.Number {
				text = v.Raw()
			} else if v.Kind() != jsonscan.String {
				return batchFault(at+"/id", "expected a string, got %s", v.Kind())
			}
			if n := len(text); n == 0 || n > maxBatchID || slices.ContainsFunc(text, func(b byte) bool { return b <= ' ' || b > '~' || b == '[' || b == ']' }) {
				return batchFault(at+"/id", "expected 1 to %d letters, digits and signs without space and brackets", maxBatchID)
			}
			c.id = string(text)
		default:
			return batchFault(at+"/"+string(it.KeyText(nil)), "unknown, known are tool, arguments and id")
		}
	}
	if c.name == "" {
		return batchFault(at+"/tool", "missing")
	}
	return nil
}

func batchFault(at, format string, a ...any) *problem.Error {
	return problem.New(problem.InvalidArguments, fmt.Sprintf("%.200q: ", at)+format, a...).At("", 0, 0, at)
}

// runBatch makes the calls: those that read all at once, up to the next that may change
// data, which is made alone and only where every call before it ended well.
func (x *exchange) runBatch() error {
	ctx, cancel := context.WithDeadline(x.ctx, x.deadline)
	defer cancel()
	stop := x.cancel.After(cancel)
	defer stop()
	b := x.batch
	b.x = x
	for i := range b.calls {
		if err := b.resolve(&b.calls[i]); err != nil {
			return err
		}
	}
	begin := time.Now()
	for i := 0; i < len(b.calls); {
		if c := &b.calls[i]; c.changes {
			if n := slices.IndexFunc(b.calls[:i], func(c batchCall) bool { return c.result.Error != "" }); n >= 0 {
				c.result.Error = "not called, because " + b.calls[n].id + " failed before it"
			} else {
				b.make(ctx, c)
			}
			i++
			continue
		}
		var reads sync.WaitGroup
		for ; i < len(b.calls) && !b.calls[i].changes; i++ {
			if c := &b.calls[i]; c.result.Error == "" {
				reads.Go(func() { b.make(ctx, c) })
			}
		}
		reads.Wait()
	}
	x.upstream = time.Since(begin)
	if x.trace != nil {
		x.trace.Calls = b.nested.calls
	}
	if x.cancel.Cancelled() && !x.stopped() {
		return x.gone()
	}
	return nil // a stop of the gateway is told for each call
}

// resolve finds the tool of a call, or why it cannot be called.
func (b *batch) resolve(c *batchCall) error {
	ts := b.x.ts
	tool, err := ts.Tool([]byte(c.name))
	switch {
	case err != nil:
		return err
	case tool != nil && tool.Own():
		c.result.Error = "a batch cannot call " + tool.Name + ": call it by itself"
		return nil
	case tool == nil || !b.sees(tool.Name):
		return b.unknown(c)
	}
	c.tool = tool
	switch c.changes = !tool.OnlyReads(); {
	case !ts.ScriptMayCall(tool):
		c.result.Error = "a batch may not call " + tool.Name + ", which may destroy data: call the tool itself, or ask the operator to permit it"
	case c.changes && !b.writes:
		c.result.Error = tool.Name + " may change data: not called without allow_writes"
	default:
		return nil
	}
	c.changes = false
	return nil
}

func (b *batch) sees(tool string) bool { return b.x.permits == nil || b.x.permits(tool) }

// unknown names the nearest tool.
func (b *batch) unknown(c *batchCall) error {
	tools, err := b.x.ts.Tools()
	if err != nil {
		return err
	}
	var names []string
	for _, t := range tools {
		if b.sees(t.Name) {
			names = append(names, t.Name)
		}
	}
	c.result.Error = fmt.Sprintf("there is no tool %.80q", c.name)
	if near := nearest.Name(c.name[:min(len(c.name), comparedName)], slices.Values(names)); near != "" {
		c.result.Error += ": did you mean " + near + "?"
	}
	return nil
}

// comparedName is as much of an unknown name as is compared with others.
const comparedName = 128

// make makes a call. One that only reads is made again when its upstream asks to wait and
// there is time; calls that may change data never are.
func (b *batch) make(ctx context.Context, c *batchCall) {
	p := b.pauseOf(c.tool)
	p.Lock()
	until := p.until
	p.Unlock()
	if err := b.wait(ctx, until); err != nil {
		b.stoppedBy(c, err, false)
		return
	}
	wait := b.once(ctx, c)
	if wait == 0 {
		return
	}
	p.Lock()
	defer p.Unlock()
	p.until = later(p.until, time.Now().Add(wait))
	for n := 0; n < MaxBatchRepeats && wait > 0 && !c.changes; n++ {
		if b.wait(ctx, p.until) != nil {
			return // the answer that asks to wait stands
		}
		if wait = b.once(ctx, c); wait > 0 {
			p.until = later(p.until, time.Now().Add(wait))
		}
	}
}

// once makes a call once and returns how long its upstream wants to be left alone.
func (b *batch) once(ctx context.Context, c *batchCall) time.Duration {
	asked := false
	result, wait, err := b.observe(ctx, c.tool, c.arguments.Raw(), func(y *exchange) { asked = y.asked })
	if c.result = result; err != nil && result.Error == "" && result.Value == nil && result.Text == "" {
		b.stoppedBy(c, err, asked)
	}
	return wait
}

// stoppedBy says why a call has no answer. asked: its upstream was sent the request.
func (b *batch) stoppedBy(c *batchCall, err error, asked bool) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		c.result.Error = fmt.Sprintf("no answer within the %s that the batch may take", b.x.limit)
	case errors.Is(err, ErrStopped), errors.Is(err, context.Canceled) && b.x.stopped():
		c.result.Error = "the gateway was stopped"
	case errors.Is(err, context.Canceled):
		c.result.Error = "the client has gone"
	default:
		c.result.Error = err.Error()
	}
	if asked && c.changes {
		c.result.Error += "; it may have changed data: look before you repeat it"
	} else if !asked {
		c.result.Error = "not called: " + c.result.Error
	}
}

// wait waits until a time; it fails at once when the batch ends before.
func (b *batch) wait(ctx context.Context, until time.Time) error {
	d := time.Until(until)
	if d <= 0 {
		return nil
	}
	if !until.Before(b.x.deadline) {
		return context.DeadlineExceeded
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pauseOf is the pause of the upstream of a tool.
func (b *batch) pauseOf(t *snapshot.Tool) *pause {
	b.pausing.Lock()
	defer b.pausing.Unlock()
	if b.pauses[t.Binding] == nil {
		if b.pauses == nil {
			b.pauses = map[*snapshot.Binding]*pause{}
		}
		b.pauses[t.Binding] = &pause{}
	}
	return b.pauses[t.Binding]
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// toWait is how long the upstream wants to be left alone (RFC 9110 §10.2.3); 0: it did not
// say.
func (x *exchange) toWait() time.Duration {
	if x.ready == nil || !x.asked {
		return 0
	}
	status, header := x.status, x.header
	if x.ready.MCP != nil {
		status, header = x.mcp.Status(), &x.mcp
	}
	if header == nil || status != fasthttp.StatusTooManyRequests && status != fasthttp.StatusServiceUnavailable {
		return 0
	}
	after, seconds := retryAfter(header.Header(fasthttp.HeaderRetryAfter))
	if after == nil {
		return 0
	}
	if !seconds {
		at, err := fasthttp.ParseHTTPDate(after)
		if err != nil {
			return 0
		}
		return max(time.Until(at), time.Millisecond)
	}
	n, err := strconv.ParseUint(string(after), 10, 31)
	if err != nil {
		n = 1<<31 - 1
	}
	return max(time.Duration(n)*time.Second, time.Millisecond)
}

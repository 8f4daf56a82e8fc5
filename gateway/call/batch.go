package call

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/batch"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/plugins/guest"
)

// MaxBatchRepeats is how often a call in a batch that only reads is made again because its
// upstream asked to wait.
const MaxBatchRepeats = 3

// batchRun is one call of the tool that makes many.
type batchRun struct {
	nested
	calls  []batchCall
	writes bool // the caller permits them

	pausing sync.Mutex
	pauses  map[*snapshot.Binding]*pause // guarded by pausing
}

// batchCall is one of its calls, and how it ended.
type batchCall struct {
	batch.Call

	tool    *snapshot.Tool // nil: there is none of that name
	changes bool           // it may change data, and is permitted to
	result  guest.ToolResult
}

// readBatch reads the arguments of the tool.
func readBatch(given jsonscan.Value) (*batchRun, error) {
	r, err := batch.Read(orEmpty(given))
	if err != nil {
		return nil, err
	}
	b := &batchRun{writes: r.Writes, calls: make([]batchCall, len(r.Calls))}
	for i := range r.Calls {
		b.calls[i].Call = r.Calls[i]
	}
	return b, nil
}

// pause is how long an upstream wants to be left alone. Who makes a call again holds it:
// after a pause calls are made one after the other.
type pause struct {
	sync.Mutex
	until time.Time // guarded by it
}

// runBatch makes the calls: those that read all at once, up to the next that may change
// data, which is made alone and only where every call before it ended well.
func (x *exchange) runBatch() error {
	ctx, end := x.beginNested()
	defer end()
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
				c.result.Error = "not called, because " + b.calls[n].ID + " failed before it"
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
	b.traced()
	if x.cancel.Cancelled() && !x.stopped() {
		return x.gone()
	}
	return nil // a stop of the gateway is told for each call
}

// resolve finds the tool of a call, or why it cannot be called.
func (b *batchRun) resolve(c *batchCall) error {
	ts := b.x.ts
	tool, err := ts.Tool([]byte(c.Name))
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

func (b *batchRun) sees(tool string) bool { return b.x.permits == nil || b.x.permits(tool) }

// unknown names the nearest tool.
func (b *batchRun) unknown(c *batchCall) error {
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
	c.result.Error = fmt.Sprintf("there is no tool %.80q", c.Name)
	name := c.Name[strings.LastIndexByte(c.Name, '.')+1:] // as scripts write it, tools.shop.list
	if near := nearest.Name(name[:min(len(name), comparedName)], slices.Values(names)); near != "" {
		c.result.Error += ": did you mean " + near + "?"
	}
	return nil
}

// comparedName is as much of an unknown name as is compared with others.
const comparedName = 128

// make makes a call. One that only reads is made again when its upstream asks to wait and
// there is time; calls that may change data never are.
func (b *batchRun) make(ctx context.Context, c *batchCall) {
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
	until = time.Now().Add(wait) // from now on, not from its turn on
	p.Lock()
	defer p.Unlock()
	p.until = later(p.until, until)
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
func (b *batchRun) once(ctx context.Context, c *batchCall) time.Duration {
	asked := false
	result, wait, err := b.observe(ctx, c.tool, c.Arguments.Raw(), func(y *exchange) { asked = y.asked })
	if c.result = result; err != nil && result.Error == "" && result.Value == nil && result.Text == "" {
		b.stoppedBy(c, err, asked)
	}
	return wait
}

// stoppedBy says why a call has no answer. asked: its upstream was sent the request.
func (b *batchRun) stoppedBy(c *batchCall, err error, asked bool) {
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
func (b *batchRun) wait(ctx context.Context, until time.Time) error {
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
func (b *batchRun) pauseOf(t *snapshot.Tool) *pause {
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
	after, seconds := upstream.RetryAfter(header.Header(fasthttp.HeaderRetryAfter))
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

package call

import (
	"bytes"
	"context"
	"hash/maphash"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/held"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/engine"
)

// A shadow runs the candidate of a trial beside a call that was answered: its request is
// built and compared, and its programs and plugins run on the same answer of the upstream.
// No request is ever sent for it, it never sees a credential, and nobody gets its answer.
// Calls hand over a copy and go on; one goroutine works them off. See docs/adr/0064.

const (
	// maxShadowQueue calls wait for the shadow. More come faster than it works: they are
	// counted as skipped.
	maxShadowQueue = 256
	// maxShadowBytes of their copies are in memory.
	maxShadowBytes = 16 << 20
	// maxShadowCall is the largest copy: with a larger one, few would fit.
	maxShadowCall = 1 << 20
	// shadowTime is what one call may take in the shadow, whatever its programs and plugins
	// are allowed to.
	shadowTime = 5 * time.Second
	// shadowRest is how many times as long as it worked the shadow rests: it has a quarter of
	// one processor at most.
	shadowRest = 3
)

// shadowSteps are those of restSteps that send nothing.
var shadowSteps = []step{
	{stageDecode, func(x *exchange) (err error) { x.args, x.mask, err = x.checkArguments(x.given); return err }},
	{stageDecode, func(x *exchange) (err error) { x.args, err = x.transformArguments(x.args); return err }},
	{stageBuild, func(x *exchange) (err error) { x.wire, err = x.build(x.args); return err }},
	{stageTransform, func(x *exchange) error { return x.render(x.received).transform() }},
	{stagePlugins, func(x *exchange) error { return x.answer.plugins() }},
	{stageCompress, func(x *exchange) error { return x.answer.compress() }},
	{stageResult, (*exchange).result},
}

// shadowMCPSteps are those of mcpSteps.
var shadowMCPSteps = []step{
	{stageDecode, func(x *exchange) error { x.args = orEmpty(x.given); x.markMCP(x.args); return nil }},
	{stageTransform, func(x *exchange) error { return x.contentMCP(x.received.body) }},
	{stageResult, (*exchange).result},
}

// requestMarks are hashes of the parts of a request, by [metering.Difference].
type requestMarks [metering.DifferenceCount]uint64

var markSeed = maphash.MakeSeed()

// marks reports whether the parts of the request are compared with another's.
func (x *exchange) marks() bool { return x.c.beside || x.ts.Shadow() != nil }

// markRequest notes the parts of a request that was built and has no credentials yet.
func (x *exchange) markRequest(req *fasthttp.Request) {
	if !x.marks() {
		return
	}
	rest := x.url
	if _, behind, ok := bytes.Cut(rest, []byte("://")); ok {
		rest = behind[max(bytes.IndexByte(behind, '/'), 0):]
	}
	path, query, _ := bytes.Cut(rest, []byte{'?'})
	m := &x.marked
	m[metering.DifferentOrigin] = maphash.String(markSeed, x.ready.Base.Key())
	m[metering.DifferentMethod] = maphash.Bytes(markSeed, req.Header.Method())
	m[metering.DifferentPath], m[metering.DifferentQuery] = maphash.Bytes(markSeed, path), maphash.Bytes(markSeed, query)
	m[metering.DifferentHeaders] = 0
	for name, value := range req.Header.All() {
		if !strings.EqualFold(string(name), fasthttp.HeaderHost) { // which is in the origin
			m[metering.DifferentHeaders] += maphash.Bytes(markSeed, name)*31 + maphash.Bytes(markSeed, value) // in any order
		}
	}
	m[metering.DifferentBody] = maphash.Bytes(markSeed, req.Body())
}

// markMCP notes the parts of a call of an MCP server.
func (x *exchange) markMCP(args jsonscan.Value) {
	if !x.marks() {
		return
	}
	m := x.ready.MCP
	x.marked = requestMarks{}
	x.marked[metering.DifferentOrigin] = maphash.String(markSeed, m.Origin())
	x.marked[metering.DifferentMethod] = maphash.String(markSeed, m.Tool)
	x.marked[metering.DifferentBody] = maphash.Bytes(markSeed, m.Arguments(args).Raw())
}

// shadowCall is a call that ended, copied.
type shadowCall struct {
	trial     *snapshot.Trial
	connector string
	method    string
	path      string

	args      []byte
	principal access.Principal
	version   mcp.Version
	inner     bool
	received  received
	modern    bool // of an MCP server
	rules     credentials.Rules
	handles   []string
	marked    requestMarks
	shown     []byte // what the agent got
	live      metering.TrialCall
	size      int64
}

// shadow works off the calls of a Caller.
type shadow struct {
	caller *Caller // runs candidates; it has no upstream
	log    *slog.Logger
	queue  chan *shadowCall
	bytes  atomic.Int64      // of the copies in queue
	warm   *snapshot.Toolset // whose programs and plugins are compiled; of run
	start  sync.Once
	ctx    context.Context //nolint:containedctx // ends with the Caller
	stop   context.CancelFunc
	done   sync.WaitGroup
}

func newShadow(o *Options, log *slog.Logger) *shadow {
	s := &shadow{queue: make(chan *shadowCall, maxShadowQueue), log: log}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.caller = &Caller{host: referenceEngine{}, plugins: o.ShadowPlugins, log: slog.New(slog.DiscardHandler), beside: true}
	s.caller.pool.New = func() any { return newExchange() }
	return s
}

func (s *shadow) close() {
	s.stop()
	s.done.Wait()
}

// referenceEngine runs response programs without the instances that calls run theirs on.
type referenceEngine struct{}

// Transform implements [Transformer].
func (referenceEngine) Transform(dst, program, in []byte) ([]byte, engine.Stats, error) {
	return engine.Reference(dst, program, in, engine.Limits{})
}

// copiedHeaders are what the stages read of the headers of an answer.
type copiedHeaders [3][]byte

var copiedNames = [len(copiedHeaders{})]string{fasthttp.HeaderRetryAfter, fasthttp.HeaderLocation, fasthttp.HeaderLink}

// Header implements [cache.Header].
func (h *copiedHeaders) Header(name string) []byte {
	if i := slices.Index(copiedNames[:], name); i >= 0 {
		return h[i]
	}
	return nil
}

// shadowed hands a call that ended to the shadow of its toolset, if there is one.
func (x *exchange) shadowed() {
	t := x.ts.Shadow()
	if t == nil || t.Meter == nil || x.ready == nil || x.ready.Plan == nil && x.ready.MCP == nil || x.tool.Workflow != nil || x.tool.Item != nil || x.tool.Own() {
		return
	}
	remote := x.ready.MCP != nil
	if !x.asked && !x.out.Cached || x.status == 0 || x.unfinished || x.out.Kind == metering.Cancelled ||
		remote && (len(x.body) == 0 || x.question != nil || x.server().Fault() != nil) {
		return // there is no answer to run on
	}
	s := x.c.shadow
	size := int64(len(x.given.Raw()) + len(x.body) + len(x.answer.text) + len(x.answer.file) + len(x.members))
	if !s.reserve(size) {
		t.Meter.Skip()
		return
	}
	k := &shadowCall{
		trial: t, connector: x.tool.Binding.Name, method: x.ready.Method, path: x.ready.Path,
		args: bytes.Clone(x.given.Raw()), principal: x.principal, version: x.version, inner: x.inner,
		received: received{status: x.status, contentType: bytes.Clone(x.contentType), body: bytes.Clone(x.body), headers: bytes.Clone(x.headers)},
		rules:    slices.Clone(x.bound.Rules), handles: slices.Clone(x.lent), marked: x.marked, shown: x.appendShown(nil), size: size,
		live: metering.TrialCall{Failed: x.failedBeside(), Duration: time.Since(x.start) - x.upstream},
	}
	if remote {
		k.modern = x.server().Modern
	}
	headers := &copiedHeaders{}
	if x.header != nil {
		for i, name := range copiedNames {
			headers[i] = bytes.Clone(x.header.Header(name))
		}
	}
	k.received.header = headers
	select {
	case s.queue <- k:
		s.start.Do(func() { s.done.Go(s.run) })
	default:
		s.bytes.Add(-size)
		t.Meter.Skip()
	}
}

// reserve takes the memory for the copy of a call; false: there is none, and nothing is taken.
func (s *shadow) reserve(size int64) bool {
	if size > maxShadowCall {
		return false
	}
	if s.bytes.Add(size) > maxShadowBytes {
		s.bytes.Add(-size)
		return false
	}
	return true
}

// failedBeside reports whether the call failed, or a plugin in it.
func (x *exchange) failedBeside() bool {
	return x.failed != nil || x.answer.isError || x.pluginFailed
}

// appendShown appends all that the agent gets of an answer, in a form of its own.
func (x *exchange) appendShown(dst []byte) []byte {
	switch {
	case x.failed != nil:
		return appendProblem(append(dst, "failed\x00"...), x.failed)
	case x.members != nil:
		return append(dst, x.members...)
	}
	if x.answer.isError {
		dst = append(dst, "error\x00"...)
	}
	dst = append(dst, x.answer.text...)
	for _, part := range [...][]byte{x.answer.structured, x.notes} {
		if len(part) > 0 {
			dst = append(append(dst, 0), part...)
		}
	}
	if x.answer.media != "" {
		dst = append(append(append(dst, 0), x.answer.media...), x.answer.file...)
	}
	return dst
}

// run works calls off until the Caller is closed.
func (s *shadow) run() {
	for {
		var k *shadowCall
		select {
		case <-s.ctx.Done():
			return
		case k = <-s.queue:
		}
		begin := time.Now()
		s.compare(k)
		s.bytes.Add(-k.size)
		rest := time.NewTimer(shadowRest * time.Since(begin))
		select {
		case <-s.ctx.Done():
			rest.Stop()
			return
		case <-rest.C:
		}
	}
}

// compare runs the candidate on a call and counts what is different.
func (s *shadow) compare(k *shadowCall) {
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("a candidate on trial ended in a panic", slog.Any("cause", v), slog.String("stack", string(debug.Stack())))
			k.trial.Meter.Skip()
		}
	}()
	tool, err := k.trial.Candidate.ToolOf(k.connector, k.method, k.path)
	if err == nil && tool == nil {
		k.trial.Meter.Miss()
		return
	}
	n := metering.Comparison{Live: k.live}
	n.Live.Bytes, n.Live.Tokens = len(k.shown), tokens.Estimate(k.shown)
	if err != nil { // a connector that cannot be opened
		n.Candidate.Failed, n.Different = true, true
		k.trial.Meter.Compare(&n)
		return
	}
	if s.warm != k.trial.Candidate { // what the first call compiles is not a time of a call
		s.warm = k.trial.Candidate
		s.candidate(k, tool, &metering.Comparison{})
	}
	if s.candidate(k, tool, &n); s.ctx.Err() == nil {
		k.trial.Meter.Compare(&n)
	}
}

// candidate makes the call with the candidate's tool and notes what is different.
func (s *shadow) candidate(k *shadowCall, tool *snapshot.Tool, n *metering.Comparison) {
	c := s.caller
	x := c.pool.Get().(*exchange)
	defer c.release(x)
	ctx, cancel := context.WithTimeout(s.ctx, shadowTime)
	defer cancel()
	now := time.Now()
	x.input = input{
		c: c, ctx: ctx, tool: tool, ts: tool.Toolset, given: jsonscan.Trusted(k.args), principal: k.principal, principalKey: k.principal.Key(),
		version: k.version, inner: k.inner, start: now, limit: shadowTime, deadline: now.Add(shadowTime), latest: now.Add(shadowTime),
	}
	if len(k.args) == 0 {
		x.given = jsonscan.Value{}
	}
	_, x.maxBody = tool.Limits()
	x.received, x.asked, x.mcp.Modern = k.received, true, k.modern
	x.bound.Rules = append(x.bound.Rules[:0], k.rules...)
	x.lent = append(x.lent[:0], k.handles...)
	err := x.run()
	shown := x.appendShown(nil)
	n.Candidate = metering.TrialCall{Failed: err != nil || x.failedBeside(), Duration: time.Since(now), Bytes: len(shown), Tokens: tokens.Estimate(shown)}
	n.Different = err != nil || !bytes.Equal(shown, k.shown)
	if x.marked != (requestMarks{}) {
		for i := range x.marked {
			n.Requests[i] = x.marked[i] != k.marked[i]
		}
	}
}

// hold keeps an answer that was cut and returns its handle; "" when it is too large to be
// kept. A candidate beside a call keeps nothing: it gets the handles of the call, so that
// these make no difference.
func (a *rendering) hold(h *held.Answer) string {
	if a.c.beside {
		if len(a.lent) == 0 {
			return "shadow"
		}
		id := a.lent[0]
		a.lent = a.lent[1:]
		return id
	}
	id := a.c.results.Put(a.ctx, h)
	if a.ts.Shadow() != nil {
		a.lent = append(a.lent, id)
	}
	return id
}

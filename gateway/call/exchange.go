package call

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/ask"
	"github.com/sluicegate/sluice/gateway/cache"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/held"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/page"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/tracing"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// exchange is one call on its way through its steps: its input, the request to the
// upstream, the answer of the upstream, and the text for the agent. It is pooled and owns all
// memory of the call.
type exchange struct {
	input
	outgoing
	received
	ending

	*scratch // own, or one of the Caller's for a large answer
	own      scratch
	rest
	remote
}

func newExchange() *exchange {
	x := &exchange{}
	x.scratch = &x.own
	return x
}

// input is what came in with a call. No step changes it.
type input struct {
	c            *Caller
	ctx          context.Context //nolint:containedctx // it lives as long as one call
	tool         *snapshot.Tool
	ts           *snapshot.Toolset
	ready        *snapshot.Ready // of tool
	given        jsonscan.Value  // the arguments
	request      *mcp.CallParams // of the client; nil: there is none, or a workflow calls
	logged       *mcp.CallParams // request that the call log names; nil: none
	principal    access.Principal
	principalKey string
	permits      func(tool string) bool // nil: all
	version      mcp.Version            // of the protocol
	cancel       *upstream.Cancel
	key          string // of an item
	start        time.Time
	limit        time.Duration // how long it may take without progress
	deadline     time.Time     // which progress moves
	latest       time.Time     // behind which it does not
	maxBody      int64         // of the upstream's answer
	trace        *Trace
	span         *tracing.Span // nil: not recorded
	pluginFailed bool          // one did, whatever became of the call
	inner        bool          // a workflow or script calls: the answer is for it, whole and as JSON
}

// outgoing is what goes to the upstream.
type outgoing struct {
	args   jsonscan.Value                      // of the operation, without the argument that is ours
	mask   *answer.Program                     // of the caller's fields; nil: the tool's
	fetch  page.Request                        // in place of both, of the tool that fetches the rest of an answer
	script string                              // in place of both, of the tool that runs scripts
	hash   string                              // of the script that ran; "": none did
	ran    *registry.ScriptRun                 // of a script that succeeded, where it may be kept
	batch  *batchRun                           // in place of both, of the tool that makes many calls
	wire   *fasthttp.Request                   // nil: no operation of an HTTP API
	bound  credentials.Bound                   // the rules of the tool whose credentials go with the request
	signed struct{ headers, queries []string } // set by an auth plugin

	kept   *cache.Entry  // the answer that is served; nil: the upstream is asked
	flight *cache.Flight // other calls wait for this one

	asked             bool // the upstream was asked
	missingCredential bool
	mustLogin         error // why a refused token of the caller could not be renewed
}

// received is what an upstream answered.
type received struct {
	status      int
	contentType []byte // this and body are views of rest, remote or the kept answer
	body        []byte
	headers     []byte       // that the agent reads: members of a JSON object
	header      cache.Header // nil: not over HTTP
	unfinished  bool         // the beginning of a stream that goes on
}

// rest is the memory for a request to an HTTP API.
type rest struct {
	built       operation.Request
	files       callFiles
	http        upstream.Exchange
	url         []byte
	cacheKey    []byte
	stripper    credentialStripper
	marked      requestMarks // where a candidate is compared
	certificate upstream.ClientCertificate
}

// remote is the memory for a call of an MCP server.
type remote struct {
	mcp      mcpclient.Exchange
	paused   *ask.Paused // the call that went on beside its request; nil: it did not
	question []byte      // a result that asks the client for something, in place of the server's; nil: none
	call     mcpclient.Call
	repeats  []mcpclient.Header
	pass     []byte // what is passed on of the caller's _meta, and of its capabilities
	beside   []byte // a document of what stands beside the content of the result
	written  []byte // members of the result for the caller
	parts    []resultPart
}

// ending is what the caller gets, and how long it took.
type ending struct {
	answer rendering
	part   rendering // one item of an MCP server's result, as an answer

	// In place of an answer, of an MCP server's result or of a question of Sluice's own:
	members []byte     // of the result; nil: there is none
	meta    []byte     // members of its _meta
	refusal *mcp.Error // what ends the call instead of a result

	failed  *problem.Error
	link    string // page at which the caller must log in; "": none
	settled bool   // the answer is complete: only the result is written
	out     Outcome
	dst     []byte

	shaping, shaped time.Time     // when transform began and the plugins ended
	upstream        time.Duration // spent in it
}

// keepScratch is the largest buffer an exchange keeps between calls: nearly all answers
// are smaller, and one 64 MB answer must not stay in the pool.
const keepScratch = 1 << 20

// scratch is memory that calls share one after the other, up to keepScratch.
type scratch struct {
	small    []byte          // the answer, minified or projected
	spare    []byte          // small's other half
	form     []byte          // the text in another form than small
	pages    page.Writer     // and for the result without hidden characters
	unmasked []byte          // the arguments without the field mask
	next     []byte          // arguments of the next page
	index    []jsonscan.Span // where the items of an answer are
	failure  []byte          // the text of a failure
	unhidden []byte          // a piece without hidden characters
	filtered [2][]byte       // what plugins left of a piece, and what the next one writes
	item     []byte          // the text of an item of an MCP server's result, or of a note
	logs     []byte          // of a script
	flow     []byte          // what a workflow or a script answered
	told     []byte          // headers that the agent reads
	notes    []byte          // lines about the answer that are no part of its text
	decoded  []byte          // the body as UTF-8
	lent     []string        // of what was cut, where a candidate is compared
}

// reset lets everything of a call go but the memory.
func (x *exchange) reset() {
	x.http.Reset()
	x.built.Reset()
	if x.ready != nil && x.ready.MCP != nil {
		x.mcp.Reset()
		clear(x.repeats)
		x.paused, x.question = nil, nil
		clear(x.parts) // a large answer is let go
		x.call, x.repeats, x.parts = mcpclient.Call{}, x.repeats[:0], x.parts[:0]
	}
	clear(x.bound.Values)
	x.input, x.received, x.ending = input{}, received{}, ending{}
	x.outgoing = outgoing{bound: credentials.Bound{Rules: x.bound.Rules[:0], Values: x.bound.Values[:0]}}
	x.marked = requestMarks{}
	x.files, x.stripper, x.certificate = callFiles{}, credentialStripper{}, upstream.ClientCertificate{}
	empty(&x.url, &x.cacheKey, &x.pass, &x.beside, &x.written)
	x.own.reset()
}

// reset lets everything go but the memory.
func (s *scratch) reset() {
	empty(&s.small, &s.spare, &s.form, &s.unmasked, &s.next, &s.failure, &s.unhidden, &s.filtered[0], &s.filtered[1], &s.item, &s.flow,
		&s.logs, &s.told, &s.notes, &s.decoded)
	s.index, s.lent = s.index[:0], nil
	s.pages.Reset(keepScratch)
}

// empty empties buffers, and lets those go that are larger than keepScratch.
func empty(buffers ...*[]byte) {
	for _, b := range buffers {
		if *b = (*b)[:0]; cap(*b) > keepScratch {
			*b = nil
		}
	}
}

// budget is the token budget of the answer; 0: there is none.
func (in *input) budget() int {
	if in.inner {
		return 0
	}
	return in.ready.Answer.Budget
}

// owner is who may fetch the rest of the answer.
func (in *input) owner() held.Owner {
	return held.Owner{Toolset: in.ts.ID, Principal: in.principalKey}
}

// orEmpty is args, or an object without members when there are none.
func orEmpty(args jsonscan.Value) jsonscan.Value {
	if !args.Exists() {
		return noArguments
	}
	return args
}

var noArguments = jsonscan.Trusted([]byte("{}"))

// ErrStopped is the cause with which a gateway that is stopped ends the context of the
// calls that still run.
var ErrStopped = errors.New("the gateway was stopped")

// stopped reports whether the gateway ended the call because it is stopped.
func (x *exchange) stopped() bool { return errors.Is(context.Cause(x.ctx), ErrStopped) }

// gone says why a call was ended from outside: its client has gone, or the gateway is
// stopped, which the client is told.
func (x *exchange) gone() *problem.Error {
	switch {
	case !x.stopped():
		return problem.New(problem.Cancelled, "the call was cancelled: the client has gone")
	case x.asked && !x.tool.OnlyReads():
		return problem.New(problem.Cancelled, "the gateway was stopped before the answer came; the call may have changed data").Fix("look before you repeat it")
	}
	return problem.New(problem.Cancelled, "the gateway was stopped before the call ended").Fix("try again")
}

// leave lets calls go that wait for this one.
func (x *exchange) leave() {
	if x.flight != nil {
		x.c.kept.Leave(x.cacheKey, x.flight)
		x.flight = nil
	}
}

// count records how the call ended.
func (x *exchange) count(err error) {
	o := &x.out
	o.IsError, o.Why = x.failed != nil || x.answer.isError, x.answer.why
	if x.failed != nil {
		o.Why = x.failed.Detail
	}
	o.Trace = x.trace
	switch {
	case err != nil:
		o.Kind = metering.ProtocolError
	case x.failed != nil:
		o.Kind = outcomeOf(x.failed.Kind)
	case x.answer.isError:
		o.Kind = metering.ToolError
	}
	total := time.Since(x.start)
	if x.trace != nil {
		x.trace.Total, x.trace.Upstream = total, x.upstream
	}
	if x.ready != nil {
		prepare, shape, encode := total-x.upstream, time.Duration(0), time.Duration(0)
		if !x.shaped.IsZero() {
			prepare, shape, encode = x.shaping.Sub(x.start)-x.upstream, x.shaped.Sub(x.shaping), x.start.Add(total).Sub(x.shaped)
		}
		c := metering.Call{
			Started: x.start, Revision: x.ts.Revision, Prepare: prepare, Encode: encode, CallerKind: x.principal.Kind().String(), Caller: x.principal.ID(),
			Capture: x.ts.Capture, Arguments: x.given.Raw(), Answer: x.answer.text,
			Outcome: o.Kind, Credential: x.credential(), Version: x.version, Duration: total, Asked: x.asked, Upstream: x.upstream, Plugins: shape,
			Cached: o.Cached, Status: x.status, Healed: x.built.Healed, Before: x.body, After: x.answer.text, Text: x.answer.media == "",
		}
		c.Inner, c.Script, c.Run = x.inner, x.hash, x.ran
		c.Side, c.PluginFailed = x.ts.Side(), x.pluginFailed
		// What a workflow saves is what came for its calls, less what the agent reads.
		if x.inner {
			c.After = nil
		}
		if x.tool.Workflow != nil || x.tool.Script || x.tool.Batch {
			c.Before = nil
		}
		if x.logged != nil {
			c.Request, c.Trace = x.logged.ID, traceID(x.logged.Meta)
		}
		if b := x.tool.Binding; b != nil {
			c.Connector = b.Name
		}
		if o.Kind != metering.OK {
			c.Cause, c.Failure = x.cause(err), x.answer.text
			if x.link != "" && x.failed != nil { // the link is for the caller only
				c.Failure, c.Answer = []byte(x.failed.Detail), []byte(x.failed.Detail)
			}
		}
		x.conceal(&c)
		x.ready.Meter.Call(&c)
	}
	if x.trace != nil {
		x.trace.measure(x)
	}
	x.closeSpan(err)
	x.shadowed()
}

// traceID is the trace-id of the traceparent in a request's _meta (W3C Trace Context
// §3.2.2.3, MCP SEP-414); nil: there is none.
func traceID(meta jsonscan.Value) []byte {
	if !meta.Exists() {
		return nil
	}
	text, ok := meta.Get("traceparent").Plain()
	if !ok || len(text) < 55 || text[2] != '-' || text[35] != '-' {
		return nil
	}
	id := text[3:35]
	for _, c := range id {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return nil
		}
	}
	return id
}

// credential says how the upstream took the credentials of the call.
func (x *exchange) credential() metering.Credential {
	switch {
	case x.missingCredential:
		return metering.Missing
	case len(x.bound.Values) == 0:
		return metering.NoCredential
	case x.status == fasthttp.StatusUnauthorized || x.status == fasthttp.StatusForbidden:
		return metering.Refused
	}
	return metering.Accepted
}

// cause is what made the call fail, in one word.
func (x *exchange) cause(err error) string {
	switch {
	case err != nil:
		return "internal"
	case x.failed != nil:
		return string(x.failed.Kind)
	case x.batch != nil:
		return "batch"
	case x.ready.MCP != nil:
		return "mcp_error"
	case x.status < 200 || x.status > 299:
		return "http_" + strconv.Itoa(x.status)
	}
	return string(problem.UpstreamMalformed)
}

func outcomeOf(k problem.Kind) metering.Outcome {
	switch k {
	case problem.Timeout:
		return metering.Timeout
	case problem.BlockedAddress, problem.Unauthenticated, problem.Forbidden:
		return metering.Denied
	case problem.Unreachable, problem.UpstreamTooLarge, problem.UpstreamMalformed, problem.Unavailable:
		return metering.UpstreamError
	case problem.InvalidPlugin:
		return metering.PluginError
	case problem.Cancelled:
		return metering.Cancelled
	}
	return metering.ToolError
}

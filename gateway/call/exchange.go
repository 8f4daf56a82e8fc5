package call

import (
	"context"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/operation"
)

// keepScratch is the largest buffer an exchange keeps between calls: most answers
// are smaller, and one 64 MB answer must not stay in the pool.
const keepScratch = 256 << 10

// exchange is one call on its way through the stages. It is pooled and owns all
// scratch memory; the buffers grow to what calls need and are kept up to
// keepScratch.
type exchange struct {
	state

	request operation.Request // build
	files   callFiles         // build
	http    upstream.Exchange // build, auth, send
	url     []byte            // build
	key     []byte            // cache
	small   []byte            // transform: minified or projected
	spare   []byte            // transform, plugins, compress: small's other half
	form    []byte            // compress: the text in another form than small
	doc     []byte            // compress: a page before it is written
	given   []byte            // decode: the arguments of the operation, without ours
	next    []byte            // compress: arguments of the next page
	ends    []int             // compress: where the items of a page end
	failure []byte            // compress: the text of a failure
	seen    []byte            // filter: a piece without what nobody sees
	clean   [2][]byte         // filter: what plugins left of a piece, and what the next writes
	mcp     mcpclient.Exchange
	remote  mcpclient.Call // send: of an MCP server
	repeats []mcpclient.Header
	pass    []byte // send: what is passed on of the caller's _meta, and of its capabilities
	item    []byte // transform: the text of one item of an MCP server's result; compress: of a note
	beside  []byte // transform: a document of what stands beside the content of that result
	written []byte // transform: the members of that result
	parts   []resultPart
	flow    []byte // send: what a workflow answered
	headers []byte // send: headers that the agent is told of, a JSON object without braces
	notes   []byte // compress: lines about the answer that are no part of its text
	decoded []byte // send: the body as UTF-8

	creds       []credentials.Credential // auth: one for each of rules
	chosen      credentials.Rules        // auth: the memory of rules
	leaving     leaving
	certificate upstream.ClientCertificate
}

// state is what no call leaves to the next.
type state struct {
	c        *Caller
	ctx      context.Context //nolint:containedctx // it lives as long as one call
	ts       *snapshot.Toolset
	tool     *snapshot.Tool
	ready    *snapshot.Ready
	args     jsonscan.Value
	start    time.Time
	deadline time.Time
	cancel   *upstream.Cancel

	flight *flight // cache: other calls wait for ours
	hit    *entry  // cache: the answer that is served

	status      int    // send: of the answer
	contentType []byte // send: a view into http or hit
	body        []byte // send: the answer as received, a view into http or hit
	upstream    time.Duration
	text        []byte // compress: what the agent reads, a view
	media       string // compress: not text but an image, a sound or a file of this type
	file        []byte // compress: that file, a view
	structured  []byte // compress: structuredContent, a view of the same JSON as text; nil: none
	bad         bool   // compress: text is a failure

	rules     credentials.Rules // auth: those of the tool's whose credentials go with the request
	signed    []string          // auth: headers that a plugin set
	signedAs  []string          // auth: query parameters that it set
	version   mcp.Version       // of the protocol
	inner     bool              // a workflow calls: the answer is for it, whole and as JSON
	hidden    bool              // fetch: characters that nobody sees stay in the page
	principal string            // key of who calls
	link      string            // auth: page at which the caller must log in; "": none
	mustLogin error             // auth: why a refused token of the caller could not be renewed
	settled   bool              // the result is members: what follows is only writing it
	may       func(string) bool // which tools; nil: all
	program   *answer.Program   // decode: of the caller's fields; nil: the tool's
	asItCame  bool              // transform: body is the answer, not small
	asText    bool              // plugins: small is text that is not JSON
	tokens    int               // compress: estimate of text, 0: not needed
	pure      bool              // compress: text is a JSON document and nothing else
	goesOn    bool              // send: the answer is the beginning of a stream
	leftOut   uint64            // transform: members that the default projection left out and somebody may want
	leftName  []byte            // transform: the first of them, a view into the program
	cutDoc    []byte            // compress: the whole of an answer that was cut

	asked     bool // send: the upstream was asked
	caller    access.Principal
	from      *mcp.CallParams // of the call log: what the agent asked for; nil: nobody outside asked
	asGiven   jsonscan.Value  // the arguments as the caller sent them
	shaping   time.Time       // when transform began
	shaped    time.Time       // when the plugins ended
	inPlugins time.Duration   // in response programs and plugins
	noKey     bool            // auth: a credential is missing

	call     *mcp.CallParams // nil: nobody outside asked
	usedMCP  bool            // send: an MCP server was called
	inItem   bool            // transform: the answer is one item of an MCP server's result
	members  []byte          // transform: the members of that result, a view; nil: there are none
	refusal  *mcp.Error      // transform: what ends the call instead of a result
	serverMD []byte          // transform: members of that result's _meta, a view

	failed *problem.Error
	trace  *Trace
	out    Outcome
	dst    []byte
}

func (x *exchange) reset() {
	x.http.Reset()
	x.request.Reset()
	usedMCP := x.usedMCP
	x.state = state{}
	clear(x.creds)
	x.creds, x.chosen, x.certificate, x.leaving = x.creds[:0], x.chosen[:0], upstream.ClientCertificate{}, leaving{}
	x.url, x.key, x.small, x.failure = keep(x.url), keep(x.key), keep(x.small), keep(x.failure)
	x.spare, x.form, x.doc, x.given = keep(x.spare), keep(x.form), keep(x.doc), keep(x.given)
	x.item, x.beside, x.seen = keep(x.item), keep(x.beside), keep(x.seen)
	x.headers, x.notes, x.decoded = x.headers[:0], x.notes[:0], keep(x.decoded)
	x.clean[0], x.clean[1] = keep(x.clean[0]), keep(x.clean[1])
	x.ends, x.next, x.flow = x.ends[:0], keep(x.next), keep(x.flow)
	if usedMCP {
		x.resetMCP()
	}
}

func keep(b []byte) []byte {
	if cap(b) > keepScratch {
		return nil
	}
	return b[:0]
}

// budget is the token budget of the answer; 0: there is none.
func (x *exchange) budget() int {
	if x.inner {
		return 0
	}
	return x.ready.Answer.Budget
}

// owner is who may fetch the rest of the answer.
func (x *exchange) owner() owner { return owner{x.ts.ID, x.principal} }

// leave lets calls go that wait for this one.
func (x *exchange) leave() {
	if x.flight != nil {
		x.c.kept.leave(x.key, x.flight)
		x.flight = nil
	}
}

// count records how the call ended.
func (x *exchange) count(err error) {
	o := &x.out
	o.IsError = x.failed != nil || x.bad
	o.Trace = x.trace
	switch {
	case err != nil:
		o.Kind = metering.ProtocolError
	case x.failed != nil:
		o.Kind = outcomeOf(x.failed.Kind)
	case x.bad:
		o.Kind = metering.ToolError
	}
	total := time.Since(x.start)
	if x.trace != nil {
		x.trace.Total, x.trace.Upstream = total, x.upstream
	}
	if x.ready != nil {
		prepare, encode := total-x.upstream, time.Duration(0)
		if !x.shaped.IsZero() {
			prepare, encode = x.shaping.Sub(x.start)-x.upstream, x.start.Add(total).Sub(x.shaped)
		}
		c := metering.Call{
			Started: x.start, Revision: x.ts.Revision, Prepare: prepare, Encode: encode, CallerKind: x.caller.Kind().String(), Caller: x.caller.ID(),
			Capture: x.ts.Capture, Arguments: x.asGiven.Raw(), Answer: x.text,
			Outcome: o.Kind, Credential: x.credential(), Version: x.version, Duration: total, Asked: x.asked, Upstream: x.upstream, Plugins: x.inPlugins,
			Cached: o.Cached, Status: x.status, Healed: x.request.Healed, Before: x.body, After: x.text, Text: x.media == "",
		}
		// What a workflow saves is what came for its calls, less what the agent reads.
		if x.inner {
			c.After = nil
		}
		if x.tool.Workflow != nil {
			c.Before = nil
		}
		if x.from != nil {
			c.Request, c.Trace = x.from.ID, traceID(x.from.Meta)
		}
		if o.Kind != metering.OK {
			c.Cause, c.Failure = x.cause(err), x.text
			if x.link != "" && x.failed != nil { // the link is for the caller only
				c.Failure, c.Answer = []byte(x.failed.Detail), []byte(x.failed.Detail)
			}
		}
		x.ready.Meter.Call(&c)
	}
	if x.trace != nil {
		x.trace.measure(x)
	}
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

// credential is what became of the credentials of the call.
func (x *exchange) credential() metering.Credential {
	switch {
	case x.noKey:
		return metering.Missing
	case len(x.creds) == 0:
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

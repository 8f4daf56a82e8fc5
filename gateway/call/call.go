package call

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/ask"
	"github.com/sluicegate/sluice/gateway/cache"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/held"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/task"
	"github.com/sluicegate/sluice/gateway/tracing"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/script"
	"github.com/sluicegate/sluice/registry"
)

// stage is one part of a call's life. A trace tells how long each took.
type stage uint8

const (
	stageDecode    stage = iota // the arguments are checked against the tool's schema
	stageBuild                  // arguments → method, URL, headers, body
	stageAuth                   // the credential is put on the request
	stageCache                  // an answer that is kept, or that another call is fetching
	stageSend                   // the exchange with the upstream
	stageTransform              // the response program
	stagePlugins                // third parties' filters and projections
	stageCompress               // the text the agent reads
	stageResult                 // into the response buffer, escaped
	stageCount
)

var stageNames = [stageCount]string{"decode", "build", "auth", "cache", "send", "transform", "plugins", "compress", "result"}

// step is a stage of one kind of tool: what it reads and what it leaves. A step that
// fails ends the call, and one that settles the answer leaves out the others: what
// follows is only the result.
type step struct {
	stage stage
	run   func(*exchange) error
}

// restSteps is a call of an operation of an HTTP API.
var restSteps = []step{
	{stageDecode, func(x *exchange) (err error) { x.args, x.mask, err = x.checkArguments(x.given); return err }},
	{stageDecode, func(x *exchange) (err error) { x.args, err = x.transformArguments(x.args); return err }},
	{stageBuild, func(x *exchange) (err error) { x.wire, err = x.build(x.args); return err }},
	{stageAuth, func(x *exchange) (err error) { x.bound, err = x.authenticate(x.wire, x.ready.Base.Key()); return err }},
	{stageCache, func(x *exchange) (err error) { x.kept, x.flight, err = x.lookUp(); return err }},
	{stageSend, func(x *exchange) (err error) { x.received, err = x.send(x.kept); return err }},
	{stageTransform, func(x *exchange) error { x.takeLarge(); return x.render(x.received).transform() }},
	{stagePlugins, func(x *exchange) error { return x.answer.plugins() }},
	{stageCompress, func(x *exchange) error { return x.answer.compress() }},
	{stageResult, (*exchange).result},
}

// mcpSteps is a call of a tool of an MCP server, which checks the arguments itself: what
// it wants now may differ from what was pinned. Each item of its result is rendered as
// an answer of its own.
var mcpSteps = []step{
	{stageDecode, func(x *exchange) error { x.args = orEmpty(x.given); return nil }},
	{stageAuth, func(x *exchange) (err error) { x.bound, err = x.authenticate(nil, x.ready.MCP.Origin()); return err }},
	{stageSend, func(x *exchange) (err error) { x.received, err = x.sendMCP(x.args); return err }},
	{stageTransform, func(x *exchange) error { return x.contentMCP(x.received.body) }},
	{stageResult, (*exchange).result},
}

// itemSteps is a request about a prompt or a resource of an MCP server.
var itemSteps = []step{
	{stageAuth, func(x *exchange) (err error) { x.bound, err = x.authenticate(nil, x.ready.MCP.Origin()); return err }},
	{stageSend, func(x *exchange) (err error) { x.received, err = x.sendMCP(jsonscan.Value{}); return err }},
	{stageTransform, func(x *exchange) error { return x.itemMCP(x.received.body) }},
	{stageResult, (*exchange).itemResult},
}

// taskSteps is a request about a task that a tool of an MCP server made.
var taskSteps = []step{
	{stageAuth, func(x *exchange) (err error) { x.bound, err = x.authenticate(nil, x.ready.MCP.Origin()); return err }},
	{stageSend, func(x *exchange) (err error) { x.received, err = x.sendMCP(jsonscan.Value{}); return err }},
	{stageTransform, func(x *exchange) error { return x.taskMCP(x.received.body) }},
	{stageResult, (*exchange).itemResult},
}

// workflowSteps is a call of the tool of a plugin or a document. It runs where a request would be
// sent; the calls that it makes are calls of their own, with all their stages.
var workflowSteps = []step{
	{stageDecode, func(x *exchange) (err error) { x.args, x.mask, err = x.checkWorkflowArguments(x.given); return err }},
	{stageSend, func(x *exchange) (err error) {
		switch w := x.tool.Workflow; {
		case w.Document != nil && w.Document.Script != nil:
			x.received, err = x.runSaved(x.args)
		case w.Document != nil:
			x.received, err = x.runDocument(x.args)
		default:
			x.received, err = x.runWorkflow(x.args)
		}
		return err
	}},
	{stageTransform, func(x *exchange) error { return x.render(x.received).transform() }},
	{stagePlugins, func(x *exchange) error { return x.answer.plugins() }},
	{stageCompress, func(x *exchange) error { return x.answer.compress() }},
	{stageResult, (*exchange).result},
}

// scriptSteps is a call of the tool that runs scripts. As with workflows, the calls that a
// script makes are calls of their own.
var scriptSteps = []step{
	{stageDecode, func(x *exchange) (err error) { x.script, err = readScript(x.given); return err }},
	{stageSend, func(x *exchange) (err error) { x.received, err = x.runScript(x.script); return err }},
	{stageTransform, func(x *exchange) error { return x.render(x.received).transform() }},
	{stagePlugins, func(x *exchange) error { return x.answer.plugins() }},
	{stageCompress, func(x *exchange) error { return x.answer.compress() }},
	{stageResult, (*exchange).scriptResult},
}

// batchSteps is a call of the tool that makes many calls at once: calls of their own, too.
// A variable would refer to itself.
func batchSteps() []step {
	return []step{
		{stageDecode, func(x *exchange) (err error) { x.batch, err = readBatch(x.given); return err }},
		{stageSend, (*exchange).runBatch},
		{stageCompress, (*exchange).writeBatch},
		{stageResult, (*exchange).result},
	}
}

// fetchSteps is a call of the tool that gives the rest of an answer that was cut.
var fetchSteps = []step{
	{stageDecode, func(x *exchange) (err error) { x.fetch, err = readFetch(x.given); return err }},
	{stageCompress, func(x *exchange) error { return x.fetchPage(&x.fetch) }},
	{stageResult, (*exchange).result},
}

// steps are those of the tool's kind.
func (x *exchange) steps() []step {
	switch {
	case x.c.beside && x.ready != nil && x.ready.MCP != nil:
		return shadowMCPSteps
	case x.c.beside:
		return shadowSteps
	case x.tool.Fetch:
		return fetchSteps
	case x.tool.Script:
		return scriptSteps
	case x.tool.Batch:
		return batchSteps()
	case x.tool.Workflow != nil:
		return workflowSteps
	case x.tool.Item != nil:
		return itemSteps
	case x.aboutTask():
		return taskSteps
	case x.ready != nil && x.ready.MCP != nil:
		return mcpSteps
	}
	return restSteps
}

// Transformer runs response programs; plugins/enginepool.Pool is one.
type Transformer interface {
	Transform(dst, program, in []byte) ([]byte, engine.Stats, error)
}

// Plugins runs third-party plugins; gateway/plugin.Runner is one.
type Plugins interface {
	// Transform appends what the plugin makes of in to dst, or returns dst as it was
	// with an error.
	Transform(ctx context.Context, dst, in []byte, p *snapshot.Plugin, c *guest.Context) ([]byte, error)
	// Check runs what finds out whether the output of a call that ended well can be used, and
	// returns its error. How long that takes, and that it fails, counts as the plugin's.
	Check(p *snapshot.Plugin, caller string, check func() error) error
}

// Options configures a Caller. Host, Upstream and Credentials are required.
type Options struct {
	Host        Transformer
	Upstream    *upstream.Client
	Credentials credentials.Source
	// Plugins runs third-party plugins. Default: none run, and each fails as its
	// binding says.
	Plugins Plugins
	// ShadowPlugins runs those of candidates beside calls. It must not share what calls wait
	// for, and send nothing. Default: they fail.
	ShadowPlugins Plugins
	// Scripts runs scripts. Default: they cannot be run.
	Scripts *script.Engine
	// MCP calls upstream MCP servers. Default: their tools cannot be called.
	MCP *mcpclient.Client
	// CacheBytes is the memory for kept answers of all toolsets. Default:
	// [cache.DefaultBytes]; negative: nothing is kept.
	CacheBytes int64
	// Scope returns the grants of private addresses of a toolset, as
	// safedial.Dialer.Scope does. Default: no toolset has any.
	Scope func(toolset string) *safedial.Scope
	// Files gets files that agents name by URL. Default: they must send them.
	Files  Files
	Meter  *metering.Meter // default: nothing is counted
	Tracer *tracing.Tracer // default: no spans are made
	Pool   held.Pool       // keeps results for all nodes of a pool. Default: this node keeps its own
	// Answers keeps answers for all nodes of a pool, where CacheBytes lets any be kept. Default:
	// this node keeps its own.
	Answers cache.Pool
	Logger  *slog.Logger // default: discard
}

// Caller calls tools. It is safe for concurrent use. Close it when done.
type Caller struct {
	host        Transformer
	upstream    *upstream.Client
	credentials credentials.Source
	redactors   credentials.Redactors
	files       Files // nil: none by URL
	plugins     Plugins
	scripts     *script.Engine    // nil: none run
	preparing   sync.Once         // of scripts
	mcp         *mcpclient.Client // nil: none
	scope       func(toolset string) *safedial.Scope
	kept        *cache.Cache
	results     *held.Store
	pauses      ask.Pauses // calls that wait for an answer of their client
	tasks       task.Table // of MCP servers
	meter       *metering.Meter
	tracer      *tracing.Tracer
	log         *slog.Logger
	pool        sync.Pool     // *exchange
	large       chan *scratch // for large answers
	shadow      *shadow
	beside      bool // this is the Caller of a shadow: nothing is sent
}

// New makes a Caller. It fails with [problem.InvalidArgument] when something
// required is missing.
func New(o Options) (*Caller, error) {
	if o.Host == nil || o.Upstream == nil || o.Credentials == nil {
		return nil, problem.New(problem.InvalidArgument, "a caller needs a host, an upstream client and a source of credentials")
	}
	c := &Caller{host: o.Host, upstream: o.Upstream, credentials: o.Credentials, files: o.Files, plugins: o.Plugins, scripts: o.Scripts, mcp: o.MCP, scope: o.Scope, meter: o.Meter, tracer: o.Tracer, log: o.Logger}
	if c.scope == nil {
		c.scope = func(string) *safedial.Scope { return nil }
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.kept = cache.New(o.CacheBytes, o.Answers, o.Meter)
	c.results = held.New(0, o.Pool)
	c.shadow = newShadow(&o, c.log)
	c.pool.New = func() any { return newExchange() }
	c.large = newLarge()
	return c, nil
}

// Close ends what outlives a call, and frees the cache. No call may run or follow.
func (c *Caller) Close() {
	c.shadow.close()
	c.pauses.Close()
	c.kept.Close()
}

// CallOptions are what differs from call to call.
type CallOptions struct { //nolint:revive // Options are the Caller's
	// Trace asks for a [Trace] in the outcome. The caller of Call has checked that
	// the client may have it.
	Trace bool
	// Inspect asks for a trace with an [Inspection], for the operator of the toolset.
	Inspect bool
	// Traceparent is that header of the client's HTTP request; nil: it has none.
	Traceparent []byte
	// Version of the protocol, for metrics.
	Version mcp.Version
	// Principal is who calls. What is kept for a caller is kept under its key.
	Principal access.Principal
	// Permits reports whether that caller may use a tool now. It is asked for each tool
	// that a workflow or a script calls, and when the rest of an answer is fetched: an answer may be
	// older than the caller's permissions, and one principal may come with tokens that
	// open different tools. nil: all tools.
	Permits func(tool string) bool
	// Cancel ends the call when the client has gone; nil: nothing does.
	Cancel *upstream.Cancel
	// Request is the request of a client; parts of it are passed on to MCP servers. Call
	// sets its InputRequired. nil: the call has no client.
	Request *mcp.CallParams
	// Key is what the server calls the item that Request is about: the name of a prompt, or
	// a URI. "" for a tool.
	Key string
}

// Outcome says how a call ended.
type Outcome struct {
	IsError bool // the result says isError
	// Why is the reason where Status alone does not give it, without a word of the upstream.
	Why    string
	Kind   metering.Outcome
	Status int    // HTTP status of the upstream; 0: there was no answer
	Bytes  int    // of the upstream's body
	Cached bool   // the answer was kept or shared
	Trace  *Trace // nil unless asked for
	// Meta are members of the _meta of an MCP server's result, JSON without braces;
	// valid until the next call. nil: there are none.
	Meta []byte
}

// Call calls tool with args (an object, or missing) and appends the members of
// its result to dst: "content":[…] and, when it failed, ,"isError":true. The
// deadline is the tool's, which reports of progress move for an hour at most, or ctx's when that is earlier. It keeps neither args
// nor dst. An error is a fault of Sluice or, of type *[mcp.Error], what an MCP server
// wants of the client; then nothing was appended.
func (c *Caller) Call(ctx context.Context, tool *snapshot.Tool, args jsonscan.Value, opt CallOptions, dst []byte) ([]byte, Outcome, error) {
	x := c.pool.Get().(*exchange)
	defer c.release(x)
	x.input = input{
		c: c, ctx: ctx, tool: tool, ts: tool.Toolset, given: args, request: opt.Request, logged: opt.Request, principal: opt.Principal, principalKey: opt.Principal.Key(),
		permits: opt.Permits, version: opt.Version, cancel: opt.Cancel, key: opt.Key, start: time.Now(),
	}
	x.limit, x.maxBody = tool.Limits()
	x.deadline, x.latest = x.start.Add(x.limit), x.start.Add(registry.MaxTimeoutMilliseconds*time.Millisecond)
	if d, ok := ctx.Deadline(); ok {
		x.deadline, x.latest = earlier(x.deadline, d), earlier(x.latest, d)
	}
	if opt.Trace || opt.Inspect {
		x.trace = &Trace{}
	}
	if opt.Inspect {
		x.trace.Inspection = &Inspection{}
	}
	x.openSpan(opt.Traceparent)
	x.dst = dst
	err := x.run()
	x.count(err)
	switch {
	case err != nil:
		return dst, x.out, err
	case x.refusal != nil:
		return dst, x.out, x.refusal
	case x.meta != nil:
		x.out.Meta = x.stripMeta(x.meta)
	}
	return x.dst, x.out, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// release gives an exchange back to the pool.
func (c *Caller) release(x *exchange) {
	x.returnLarge(c)
	x.reset()
	c.pool.Put(x)
}

// run goes through the steps of the tool's kind. An error is a fault of Sluice.
func (x *exchange) run() error {
	defer x.leave()
	x.render(received{})
	var err error
	if x.cancel.Cancelled() { // one of several calls, whose client went away meanwhile
		x.failed = x.gone()
	} else if x.ready, err = x.tool.Load(); err != nil {
		if x.failed = problem.As(err); x.failed == nil {
			return err
		}
	}
	for _, s := range x.steps() {
		last := s.stage == stageResult
		if (x.failed != nil || x.settled) && !last {
			continue
		}
		if last {
			x.filterFailure()
		}
		shapes := s.stage == stageTransform || s.stage == stagePlugins
		var begin time.Time
		if x.trace != nil || s.stage == stageTransform {
			begin = time.Now()
		}
		if s.stage == stageTransform {
			x.shaping = begin
		}
		err := s.run(x)
		if shapes {
			x.shaped = time.Now()
		}
		if x.trace != nil {
			x.trace.Stages[s.stage] = time.Since(begin)
			if x.trace.Inspection != nil && err == nil {
				x.inspect(s.stage)
			}
		}
		if err == nil {
			continue
		}
		if x.failed = problem.As(err); x.failed == nil {
			return err
		}
		if x.failed.Kind == problem.Cancelled && x.asked && x.stopped() {
			x.failed = x.gone()
		}
		if x.settleLogin(x.failed) {
			x.failed = nil
		}
	}
	return nil
}

// render begins the rendering of an upstream's answer.
func (x *exchange) render(in received) *rendering {
	x.answer = rendering{input: &x.input, scratch: x.scratch, args: x.args, mask: x.mask, rules: x.bound.Rules, received: in}
	return &x.answer
}

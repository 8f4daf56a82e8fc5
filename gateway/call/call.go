package call

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/guest"
)

// stages is the life of a call. A stage that fails ends it: what follows is only
// the result, which says what failed. A stage that settles the answer early (the
// cache) marks what may be left out.
var stages = [stageCount]struct {
	name string
	run  func(*exchange) error
}{
	{"decode", (*exchange).decode},       // tool made ready, arguments checked against its schema
	{"build", (*exchange).build},         // arguments → method, URL, headers, body
	{"auth", (*exchange).auth},           // the credential is put on the request
	{"cache", (*exchange).cache},         // an answer that is kept, or that another call is fetching
	{"send", (*exchange).send},           // the exchange with the upstream
	{"transform", (*exchange).transform}, // the response program
	{"plugins", (*exchange).plugins},     // third parties' filters and projections
	{"compress", (*exchange).compress},   // the text the agent reads
	{"result", (*exchange).result},       // into the response buffer, escaped
}

const (
	stageCount     = 9
	stageTransform = 5
	stagePlugins   = 6
	stageResult    = stageCount - 1
)

// Transformer runs response programs; plugins/host.Host is one.
type Transformer interface {
	Transform(dst, program, in []byte) ([]byte, engine.Stats, error)
}

// Plugins runs third-party plugins; gateway/plugin.Runner is one.
type Plugins interface {
	// Transform appends what the plugin makes of in to dst, or returns dst as it was
	// with an error.
	Transform(ctx context.Context, dst, in []byte, p *snapshot.Plugin, c *guest.Context) ([]byte, error)
	// Refuse is told of a call that ended well but whose output could not be used.
	Refuse(p *snapshot.Plugin, err error)
}

// Options configures a Caller. Host, Upstream and Credentials are required.
type Options struct {
	Host        Transformer
	Upstream    *upstream.Client
	Credentials credentials.Source
	// Plugins runs third-party plugins. Default: none run, and each fails as its
	// binding says.
	Plugins Plugins
	// MCP calls upstream MCP servers. Default: their tools cannot be called.
	MCP *mcpclient.Client
	// CacheBytes is the memory for kept answers of all toolsets. Default:
	// [DefaultCacheBytes]; negative: nothing is kept.
	CacheBytes int64
	// Scope returns the grants of private addresses of a toolset, as
	// safedial.Dialer.Scope does. Default: no toolset has any.
	Scope func(toolset string) *safedial.Scope
	// Files gets files that agents name by URL. Default: they must send them.
	Files  Files
	Meter  *metering.Meter // default: nothing is counted
	Logger *slog.Logger    // default: discard
}

// Caller calls tools. It is safe for concurrent use. Close it when done.
type Caller struct {
	host        Transformer
	upstream    *upstream.Client
	credentials credentials.Source
	redactors   credentials.Redactors
	files       Files // nil: none by URL
	plugins     Plugins
	mcp         *mcpclient.Client // nil: none
	scope       func(toolset string) *safedial.Scope
	kept        *keeper
	results     *results
	meter       *metering.Meter
	log         *slog.Logger
	pool        sync.Pool // *exchange
}

// New makes a Caller. It fails with [problem.InvalidArgument] when something
// required is missing.
func New(o Options) (*Caller, error) {
	if o.Host == nil || o.Upstream == nil || o.Credentials == nil {
		return nil, problem.New(problem.InvalidArgument, "a caller needs a host, an upstream client and a source of credentials")
	}
	c := &Caller{host: o.Host, upstream: o.Upstream, credentials: o.Credentials, files: o.Files, plugins: o.Plugins, mcp: o.MCP, scope: o.Scope, meter: o.Meter, log: o.Logger}
	if c.scope == nil {
		c.scope = func(string) *safedial.Scope { return nil }
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if c.kept, err = newKeeper(o.CacheBytes, o.Meter); err != nil {
		return nil, err
	}
	c.results = newResults(0)
	c.pool.New = func() any { return &exchange{} }
	return c, nil
}

// Close frees the cache. No call may run or follow.
func (c *Caller) Close() { c.kept.close() }

// CallOptions are what differs from call to call.
type CallOptions struct { //nolint:revive // Options are the Caller's
	// Trace asks for a [Trace] in the outcome. The caller of Call has checked that
	// whoever asks may have it.
	Trace bool
	// Version of the protocol, for metrics.
	Version mcp.Version
	// Principal is who calls. What is kept for a caller is kept under its key.
	Principal access.Principal
	// May tells whether that caller may use a tool now. It is asked when the rest of
	// an answer is fetched: what a caller holds may be older than what it may do, and
	// one principal may come with tokens that open different tools. And for each tool
	// that a workflow calls. nil: all.
	May func(tool string) bool
	// Cancel ends the call when whoever asked has gone; nil: nothing does.
	Cancel *upstream.Cancel
	// Request is what a client sent, for what is passed on to MCP servers. Call sets
	// its InputRequired. nil: nobody outside asked.
	Request *mcp.CallParams
}

// Outcome says how a call ended.
type Outcome struct {
	IsError bool // the result says isError
	Kind    metering.Outcome
	Status  int    // HTTP status of the upstream; 0: there was no answer
	Bytes   int    // of the upstream's body
	JSON    bool   // the body was JSON
	Cached  bool   // the answer was kept or shared
	Trace   *Trace // nil unless asked for
	// Meta are members of the _meta of an MCP server's result, JSON without braces;
	// valid until the next call. nil: there are none.
	Meta []byte
}

// Call calls tool with args (an object, or missing) and appends the members of
// its result to dst: "content":[…] and, when it failed, ,"isError":true. The
// deadline is the toolset's, or ctx's when that is earlier. It keeps neither args
// nor dst. An error is a fault of Sluice or, of type *[mcp.Error], what an MCP server
// wants of the client; then nothing was appended.
func (c *Caller) Call(ctx context.Context, tool *snapshot.Tool, args jsonscan.Value, opt CallOptions, dst []byte) ([]byte, Outcome, error) {
	x := c.pool.Get().(*exchange)
	defer func() {
		x.reset()
		c.pool.Put(x)
	}()
	x.c, x.ctx, x.tool, x.ts, x.args, x.dst = c, ctx, tool, tool.Toolset, args, dst
	x.call = opt.Request
	x.cancel, x.start, x.version = opt.Cancel, time.Now(), opt.Version
	x.deadline = x.start.Add(tool.Toolset.Timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(x.deadline) {
		x.deadline = d
	}
	if opt.Trace {
		x.trace = &Trace{}
	}
	x.principal, x.may = opt.Principal.Key(), opt.May
	x.caller, x.from, x.asGiven = opt.Principal, opt.Request, args
	var err error
	if tool.Fetch {
		err = x.fetch()
	} else {
		err = x.run()
	}
	x.count(err)
	switch {
	case err != nil:
		return dst, x.out, err
	case x.refusal != nil:
		return dst, x.out, x.refusal
	case x.serverMD != nil:
		x.out.Meta = x.stripMeta(x.serverMD)
	}
	return x.dst, x.out, nil
}

// stage runs one stage; those of a workflow are its own.
func (x *exchange) stage(i int) error {
	if x.tool.Workflow == nil {
		return stages[i].run(x)
	}
	if run := workflowStages[i]; run != nil {
		return run(x)
	}
	return nil
}

// run goes through the stages.
func (x *exchange) run() error {
	defer x.leave()
	if x.cancel.Cancelled() { // one of several calls, whose client went away meanwhile
		x.failed = problem.New(problem.Cancelled, "the call was cancelled: whoever asked has gone")
	}
	for i := range stages {
		if (x.failed != nil || x.settled) && i != stageResult {
			continue
		}
		if i == stageResult {
			x.filterFailure()
		}
		var begin time.Time
		if x.trace != nil || i == stageTransform {
			begin = time.Now()
		}
		if i == stageTransform {
			x.shaping = begin
		}
		err := x.stage(i)
		if i == stagePlugins {
			x.shaped = time.Now()
			x.inPlugins = x.shaped.Sub(x.shaping)
		}
		if x.trace != nil {
			x.trace.Stages[i] = time.Since(begin)
		}
		if err == nil {
			continue
		}
		if x.failed = problem.As(err); x.failed == nil {
			return err
		}
		if x.settleLogin(x.failed) {
			x.failed = nil
		}
	}
	return nil
}

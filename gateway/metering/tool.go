package metering

import (
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/registry"
)

// Outcome is how a tool call ended.
type Outcome uint8

// The outcomes.
const (
	OK            Outcome = iota // the tool answered
	ToolError                    // wrong arguments, or an answer of the upstream that is an error
	ProtocolError                // a fault of the gateway
	UpstreamError                // no usable answer of the upstream
	Timeout                      // no answer in time
	Denied                       // refused before the upstream: blocked address, no credential
	PluginError                  // a program failed closed
	Cancelled                    // the client went away
	outcomeCount
)

var outcomeNames = [outcomeCount]string{"ok", "tool_error", "protocol_error", "upstream_error", "timeout", "denied", "plugin_error", "cancelled"}

// String is the label value.
func (o Outcome) String() string { return outcomeNames[o] }

// ToolID names a tool.
type ToolID struct {
	Workspace string // owner of the toolset
	Toolset   string // its identifier; "": the calls are in no usage report
	Slug      string // of the toolset, for /metrics
	Tool      string // its name
}

// Tool counts the calls of one tool.
type Tool struct {
	m             *Meter
	id            ToolID
	toolset, tool string // labels

	healed   atomic.Pointer[metrics.Counter]
	calls    [outcomeCount]atomic.Pointer[metrics.Counter]
	seconds  [2][mcp.VersionCount]atomic.Pointer[metrics.PrometheusHistogram] // success, failure
	volume   atomic.Pointer[volume]
	counted  [outcomeCount][credentialCount]atomic.Pointer[counted] // for usage reports
	failures failures                                               // for usage reports
	found    found                                                  // for usage reports
	omitted  atomic.Uint64                                          // calls that found no room in the call log
	refused  atomic.Bool                                            // the upstream did not take the credentials of the last call
}

// volume counts the bytes and tokens of answers.
type volume struct {
	answers                                            atomic.Uint64
	before, after                                      density
	tokensBefore, tokensAfter, bytesBefore, bytesAfter *metrics.Counter
}

// Tool gives the counters of a tool. It is called when a tool is made ready.
func (m *Meter) Tool(id ToolID) *Tool {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tools[id]; t != nil {
		return t
	}
	t := &Tool{m: m, id: id, toolset: id.Slug, tool: id.Tool}
	if len(m.tools) >= MaxTools {
		t.toolset, t.tool = "_other", "_other"
	}
	m.tools[id] = t
	return t
}

// Call is one call that ended. What it points to is not kept.
type Call struct {
	Outcome    Outcome
	Credential Credential
	Version    mcp.Version
	Duration   time.Duration // of the whole
	Asked      bool          // the upstream was asked
	Upstream   time.Duration // of that, waiting for it
	Plugins    time.Duration // of that, in response programs and plugins
	Prepare    time.Duration // of that, before the upstream was asked
	Encode     time.Duration // of that, after the plugins
	Cached     bool          // answered without the upstream
	Status     int           // of the upstream; 0: there was no answer
	Inner      bool          // a workflow, a script or a batch made it
	Healed     int           // arguments read as the type they should have
	// Before and After are the answer as it came and as the agent got it. Text says
	// that both are text, whose tokens are estimated.
	Before, After []byte
	Text          bool
	// Cause and Failure are of calls that failed: what made them, in one word, and
	// what the agent was told.
	Cause   string
	Failure []byte
	// Connector is whose upstream the call asks, by its name in the toolset; empty: a
	// workflow, which asks several.
	Connector string

	// For the call log. Default: the call began Duration ago, of an anonymous caller.
	Started    time.Time
	Revision   uint64  // of the toolset
	Caller     string  // who called: a token's id, a subject
	CallerKind string  // how it is known
	Request    []byte  // the client's id of its request, as JSON; long ones are left out
	Trace      []byte  // the trace-id of its traceparent: 32 digits; nil: none
	Capture    Capture // which of Arguments and Answer is kept
	Arguments  []byte
	Answer     []byte // what the agent read
	Script     string // digest of the script that ran; "": none did
	// Side counts the call for the trial that its toolset is on; nil: it is on none.
	// PluginFailed says that a plugin did, whatever became of the call.
	Side         *TrialSide
	PluginFailed bool
	// Run is of a script that succeeded, where it may be kept; nil: there is none.
	Run *registry.ScriptRun
}

// Call counts one call.
func (t *Tool) Call(x *Call) {
	if t == nil {
		return
	}
	o := x.Outcome
	c := t.calls[o].Load()
	if c == nil {
		c = t.m.set.GetOrCreateCounter(Series("sluice_tool_calls_total", "toolset", t.toolset, "tool", t.tool, "outcome", o.String()))
		t.calls[o].Store(c)
	}
	c.Inc()
	if x.Healed > 0 {
		t.heal(x.Healed)
	}
	failed, errorType := 0, ""
	if o != OK {
		failed, errorType = 1, "tool_error"
	}
	h := t.seconds[failed][x.Version].Load()
	if h == nil {
		h = t.m.set.GetOrCreatePrometheusHistogramExt(Series("mcp_server_operation_duration_seconds",
			"mcp_method_name", mcp.MethodToolsCall.String(), "toolset", t.toolset, "gen_ai_tool_name", t.tool,
			"error_type", errorType, "mcp_protocol_version", x.Version.String()), buckets)
		t.seconds[failed][x.Version].Store(h)
	}
	h.Update(x.Duration.Seconds())
	t.m.overhead.Update(max(x.Duration-x.Upstream, 0).Seconds())
	before, after := 0, 0
	if x.Text && o == OK {
		before, after = t.answer(x.Before, x.After)
	}
	t.usage(x, before, after)
	if x.Side != nil && o != Cancelled {
		x.Side.Count(TrialCall{Failed: o != OK || x.PluginFailed, Duration: x.Duration, Bytes: len(x.After), Tokens: after})
	}
	t.log(x, before, after)
	t.notice(x)
}

// notice asks for usage to be reported at once when the upstream stops taking the
// credentials of the tool, and when it takes them again: somebody waits for both. A 403
// may be about one resource, so it says neither.
func (t *Tool) notice(x *Call) {
	refused := x.Credential == Refused && x.Status == 401
	if !refused && (x.Credential != Accepted || x.Cached || x.Outcome != OK) || t.refused.Load() == refused || t.refused.Swap(refused) == refused {
		return
	}
	select {
	case t.m.urgent <- struct{}{}:
	default: // it is asked for already
	}
}

// heal counts healed arguments. The series appears with the first: most tools have
// none.
func (t *Tool) heal(n int) {
	c := t.healed.Load()
	if c == nil {
		c = t.m.set.GetOrCreateCounter(Series("sluice_tool_arguments_healed_total", "toolset", t.toolset, "tool", t.tool))
		t.healed.Store(c)
	}
	c.Add(n)
}

// sampleEvery is how many answers of a tool share one estimate of its tokens per
// byte: walking every answer took a third of the gateway's own time, and answers of
// one tool are alike.
const sampleEvery = 64

// answer counts the size of an answer as it came from the upstream and as it was
// given to the agent, and returns their tokens. Tokens are estimated: by
// tokens.Estimate for the first and every sampleEvery-th answer, for the others from
// their size. It keeps neither.
func (t *Tool) answer(before, after []byte) (tokensBefore, tokensAfter int) {
	v := t.volume.Load()
	if v == nil {
		series := func(name, stage string) *metrics.Counter {
			return t.m.set.GetOrCreateCounter(Series(name, "toolset", t.toolset, "tool", t.tool, "stage", stage))
		}
		v = &volume{
			tokensBefore: series("sluice_tool_tokens_total", "before"), tokensAfter: series("sluice_tool_tokens_total", "after"),
			bytesBefore: series("sluice_tool_response_bytes_total", "before"), bytesAfter: series("sluice_tool_response_bytes_total", "after"),
		}
		if !t.volume.CompareAndSwap(nil, v) {
			v = t.volume.Load()
		}
	}
	sample := (v.answers.Add(1)-1)%sampleEvery == 0
	v.bytesBefore.Add(len(before))
	v.bytesAfter.Add(len(after))
	tokensBefore, tokensAfter = v.before.tokens(before, sample), v.after.tokens(after, sample)
	v.tokensBefore.Add(tokensBefore)
	v.tokensAfter.Add(tokensAfter)
	return tokensBefore, tokensAfter
}

// density is the estimated tokens per byte of a tool's answers, as float64 bits.
type density struct{ bits atomic.Uint64 }

func (d *density) tokens(b []byte, sample bool) int {
	if len(b) == 0 {
		return 0
	}
	known := d.bits.Load()
	if sample || known == 0 {
		n := tokens.Estimate(b)
		d.bits.Store(math.Float64bits(float64(n) / float64(len(b))))
		return n
	}
	return int(math.Float64frombits(known)*float64(len(b)) + 0.5)
}

// Connector counts the exchanges with the upstream of one connector.
type Connector struct {
	m        *Meter
	name     string
	toolset  string
	inFlight *flight
	requests [6]atomic.Pointer[metrics.Counter]             // by status class; 0: no answer
	seconds  [6]atomic.Pointer[metrics.PrometheusHistogram] // by status class
	denied   atomic.Pointer[metrics.Counter]
}

// flight counts exchanges that run; its series appears with the first.
type flight struct {
	running atomic.Int64
	shown   atomic.Bool
}

// Connector gives the counters of a connector in a toolset. Its series are shared
// by all toolsets, except for failures of authentication.
func (m *Meter) Connector(toolset, name string) *Connector {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.inFlight[name]
	if n == nil {
		n = &flight{}
		m.inFlight[name] = n
	}
	return &Connector{m: m, name: name, toolset: toolset, inFlight: n}
}

// Begin counts an exchange as in flight until [Connector.Exchange] counts its end.
func (c *Connector) Begin() {
	if c == nil {
		return
	}
	c.inFlight.running.Add(1)
	if c.inFlight.shown.CompareAndSwap(false, true) {
		n := &c.inFlight.running
		c.m.Gauge(Series("sluice_upstream_in_flight", "connector", c.name), func() float64 { return float64(n.Load()) })
	}
}

// Exchange counts the end of one exchange that took seconds: its HTTP status, 0
// when there was no answer.
func (c *Connector) Exchange(status int, seconds float64) {
	if c == nil {
		return
	}
	c.inFlight.running.Add(-1)
	class := status / 100
	if class < 1 || class > 5 {
		class = 0
	}
	label := "error"
	if class > 0 {
		label = strconv.Itoa(class) + "xx"
	}
	n, h := c.requests[class].Load(), c.seconds[class].Load()
	if n == nil || h == nil {
		n = c.m.set.GetOrCreateCounter(Series("sluice_upstream_requests_total", "connector", c.name, "status_class", label))
		h = c.m.set.GetOrCreatePrometheusHistogramExt(Series("sluice_upstream_request_duration_seconds", "connector", c.name, "status_class", label), buckets)
		c.requests[class].Store(n)
		c.seconds[class].Store(h)
	}
	n.Inc()
	h.Update(seconds)
	if status == 401 || status == 403 {
		d := c.denied.Load()
		if d == nil {
			d = c.m.set.GetOrCreateCounter(Series("sluice_upstream_auth_failures_total", "toolset", c.toolset))
			c.denied.Store(d)
		}
		d.Inc()
	}
}

// Program counts a response program that could not run, by cause.
func (m *Meter) Program(cause string) {
	if m == nil {
		return
	}
	m.set.GetOrCreateCounter(Series("sluice_plugin_failures_total", "plugin", "response-program", "cause", cause)).Inc()
}

package call

import (
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/tracing"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
)

// Traces reports whether calls are recorded, so that [CallOptions].Traceparent is of use.
func (c *Caller) Traces() bool { return c.tracer != nil }

// headerTraceparent is of W3C Trace Context.
const headerTraceparent = "Traceparent"

// openSpan begins the span of a call of a client.
func (x *exchange) openSpan(traceparent []byte) {
	if x.c.tracer == nil {
		return
	}
	r := x.spanRequest()
	var meta jsonscan.Value
	if x.logged != nil {
		meta, r.RequestID = x.logged.Meta, x.logged.ID
	}
	var given []byte
	if meta.Exists() {
		given, _ = meta.Get("traceparent").Plain()
	}
	x.span = x.c.tracer.Server(&r, given, traceparent, x.start)
}

// openInner begins the span of a call that a workflow, a script or a batch makes.
func (x *exchange) openInner(outer *tracing.Span) {
	if outer != nil {
		r := x.spanRequest()
		r.Inner = true
		x.span = outer.Call(&r, x.start)
	}
}

func (x *exchange) spanRequest() tracing.Request {
	r := tracing.Request{Method: tracing.MethodCall, Target: x.tool.Name, Protocol: x.version.String(), Toolset: x.ts.Slug}
	if x.tool.Item != nil && x.logged != nil {
		r.Method, r.Target = x.logged.Method.String(), x.tool.Name
		if strings.HasPrefix(r.Method, "resources/") {
			r.Target = "" // of a resource the name is not bounded
		}
	}
	if b := x.tool.Binding; b != nil {
		r.Connector = b.Name
	}
	return r
}

// closeSpan ends the span of the call.
func (x *exchange) closeSpan(err error) {
	if x.span == nil {
		return
	}
	e := tracing.End{Outcome: x.out.Kind.String(), Cached: x.out.Cached, Received: len(x.body), Result: len(x.answer.text)}
	if e.Failed = x.out.Kind != metering.OK; e.Failed && x.ready != nil {
		e.Cause = x.cause(err)
	}
	x.span.EndCall(&e)
}

// spanHTTP begins the span of an exchange with an API, which learns of it unless the
// operation has that header itself.
func (x *exchange) spanHTTP() *tracing.Span {
	if x.span == nil {
		return nil
	}
	host, port := hostPort(x.ready.Base.Addr())
	s := x.span.HTTP(x.ready.Method, x.ready.Path, host, port)
	if h := &x.http.Request.Header; len(h.Peek(headerTraceparent)) == 0 {
		h.SetBytesV(headerTraceparent, s.Traceparent(nil))
	}
	return s
}

// spanMCP begins the span of an exchange with an MCP server.
func (x *exchange) spanMCP() *tracing.Span {
	if x.span == nil {
		return nil
	}
	m := x.ready.MCP
	host, port := hostPort(m.Endpoint.Addr())
	method, target := tracing.MethodCall, m.Tool
	if x.tool.Item != nil {
		method, target = x.logged.Method.String(), ""
	}
	return x.span.MCP(method, target, host, port)
}

func hostPort(addr string) (host string, port int) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return addr, 0
	}
	port, _ = strconv.Atoi(text) // 0: it is left out
	return host, port
}

// faultWord is what an exchange without an answer failed of, in one word.
func faultWord(err error) string {
	if err == nil {
		return ""
	}
	if p := problem.As(err); p != nil {
		return string(p.Kind)
	}
	return "internal"
}

// ranPlugin notes a run of a plugin that began at begin, in the trace and in the span.
func (in *input) ranPlugin(p *snapshot.Plugin, before, after int, begin time.Time, took time.Duration, sent []extism.Request, err error) {
	in.pluginFailed = in.pluginFailed || err != nil
	if in.trace == nil && in.span == nil {
		return
	}
	t := newPluginTrace(p, before, after, took, sent, err)
	if in.trace != nil {
		in.trace.Plugins = append(in.trace.Plugins, t)
	}
	in.span.Plugin(t.Name, t.Version, begin, t.Failure)
}

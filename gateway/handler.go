package gateway

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/snapshot"
)

// handle serves one request. It is the boundary at which a fault in one call is
// kept from ending the process.
func (s *Server) handle(rc *fasthttp.RequestCtx) {
	defer func() {
		if v := recover(); v != nil {
			s.survive(rc, v)
		}
	}()
	switch path := rc.Path(); {
	case len(path) > 3 && string(path[:3]) == "/t/":
		s.serveToolset(rc, path)
	case string(path) == "/livez", string(path) == "/healthz":
		answer(rc, fasthttp.StatusOK, "ok")
	case string(path) == "/readyz":
		if s.Ready() != nil {
			answer(rc, fasthttp.StatusServiceUnavailable, "not ready") // why is for the admin listener
			return
		}
		answer(rc, fasthttp.StatusOK, "ok")
	default:
		notFound(rc)
	}
}

// serveToolset checks where the request comes from, finds the toolset and speaks
// MCP. Checks are in the order of MCP 2026-07-28 basic/transports.
func (s *Server) serveToolset(rc *fasthttp.RequestCtx, path []byte) {
	if !s.guard.Host(rc.Host()) {
		answer(rc, fasthttp.StatusForbidden, "this Host is not served here")
		return
	}
	if !s.guard.Origin(rc.Request.Header.Peek(fasthttp.HeaderOrigin)) {
		answer(rc, fasthttp.StatusForbidden, "this Origin is not allowed")
		return
	}
	snap := s.opts.Holder.Load()
	if snap == nil {
		rc.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
		answer(rc, fasthttp.StatusServiceUnavailable, "no release is loaded yet")
		return
	}
	ts := snap.Toolset(rc.Host(), path)
	if ts == nil || !ts.Access.Open() {
		notFound(rc)
		return
	}
	start := time.Now()
	x := s.sessions.Get().(*session)
	x.s, x.rc, x.ts = s, rc, ts
	served := s.protocol.Serve(rc, x)
	x.s, x.rc, x.ts, x.tool = nil, nil, nil, nil
	s.sessions.Put(x)
	if served.Method != mcp.MethodToolsCall { // calls are counted with their tool
		s.opts.Meter.Operation(served.Method, served.Version, time.Since(start).Seconds())
	}
}

// session is one request's view of its toolset; it is what package mcp asks.
type session struct {
	s    *Server
	rc   *fasthttp.RequestCtx
	ts   *snapshot.Toolset
	tool *snapshot.Tool
	meta []byte // the trace, reused
}

var _ mcp.Toolset = (*session)(nil)

// Card implements [mcp.Toolset].
func (x *session) Card() *mcp.Card { return x.ts.Card }

// AppendTools implements [mcp.Toolset].
func (x *session) AppendTools(dst []byte) ([]byte, error) {
	list, err := x.ts.List()
	if err != nil {
		return dst, err
	}
	return append(dst, list...), nil
}

// Select implements [mcp.Toolset].
func (x *session) Select(name []byte) ([]mcp.HeaderParam, bool, error) {
	var err error
	if x.tool, err = x.ts.Tool(name); err != nil || x.tool == nil {
		return nil, false, err
	}
	ready, err := x.tool.Load()
	if err != nil {
		return nil, false, err
	}
	return ready.Headers, true, nil
}

// Call implements [mcp.Toolset].
func (x *session) Call(p *mcp.CallParams, dst []byte) (out, meta []byte, err error) {
	opt := call.CallOptions{Trace: p.Trace && x.s.mayTrace(x.rc), Version: p.Version}
	out, outcome, err := x.s.opts.Caller.Call(x.s.calls, x.tool, p.Arguments, opt, dst)
	if err != nil {
		return nil, nil, err
	}
	if x.s.log.Enabled(x.s.calls, slog.LevelDebug) {
		x.s.log.LogAttrs(x.s.calls, slog.LevelDebug, "tool called", slog.String("toolset", x.ts.Slug), slog.String("tool", x.tool.Name),
			slog.String("outcome", outcome.Kind.String()), slog.Int("status", outcome.Status))
	}
	if outcome.Trace != nil {
		x.meta = outcome.Trace.AppendJSON(x.meta[:0])
		meta = x.meta
	}
	return out, meta, nil
}

// mayTrace reports whether a trace may be given: to a client on this machine that
// no proxy speaks for.
func (s *Server) mayTrace(rc *fasthttp.RequestCtx) bool {
	if !s.loopback || len(rc.Request.Header.Peek(fasthttp.HeaderXForwardedFor)) > 0 || len(rc.Request.Header.Peek(fasthttp.HeaderForwarded)) > 0 {
		return false
	}
	addr, ok := rc.RemoteAddr().(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// survive answers for a handler that panicked. Its connection is closed: the
// response may be half written.
func (s *Server) survive(rc *fasthttp.RequestCtx, v any) {
	s.log.Error("a request ended in a panic", slog.Any("cause", v), slog.String("stack", string(debug.Stack())))
	rc.Response.Reset()
	rc.SetConnectionClose()
	rc.SetStatusCode(fasthttp.StatusInternalServerError)
	rc.SetContentType("application/json")
	rc.SetBodyString(`{"jsonrpc":"2.0","error":{"code":-32603,"message":"internal error"}}`)
}

// refuse answers what is not a request.
func (s *Server) refuse(rc *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var timeout net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		answer(rc, fasthttp.StatusRequestEntityTooLarge, "the request body is too large")
	case errors.As(err, &small):
		answer(rc, fasthttp.StatusRequestHeaderFieldsTooLarge, "the request headers are too large")
	case errors.As(err, &timeout) && timeout.Timeout():
		answer(rc, fasthttp.StatusRequestTimeout, "the request did not arrive in time")
	default:
		answer(rc, fasthttp.StatusBadRequest, "this is not a valid HTTP request")
	}
}

func notFound(rc *fasthttp.RequestCtx) {
	answer(rc, fasthttp.StatusNotFound, "nothing is served at this URL")
}

// answer writes a short text. Texts are constants without quotes.
func answer(rc *fasthttp.RequestCtx, status int, text string) {
	rc.SetStatusCode(status)
	if bytes.HasPrefix(rc.Path(), []byte("/t/")) {
		rc.SetContentType("application/problem+json")
		rc.SetBodyString(`{"status":` + strconv.Itoa(status) + `,"title":"` + fasthttp.StatusMessage(status) + `","detail":"` + text + `"}`)
		return
	}
	rc.SetContentType("text/plain; charset=utf-8")
	rc.SetBodyString(text + "\n")
}

package gateway

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/certificate"
	"github.com/sluicegate/sluice/gateway/finding"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/task"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/cdnloop"
	"github.com/sluicegate/sluice/internal/http1"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/registry"
)

// handle serves one request. It is the boundary at which a fault in one call is
// kept from ending the process.
func (s *Server) handle(rc *fasthttp.RequestCtx) {
	defer func() {
		if v := recover(); v != nil {
			s.answerPanic(rc, v)
		}
		if s.draining.Load() {
			rc.SetConnectionClose()
		}
	}()
	defer s.leaveBody(rc)
	if !connOf(rc).From(s.origin(rc).Client) {
		rc.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(busyRetry))
		answer(rc, fasthttp.StatusServiceUnavailable, "there are too many requests of this address")
		return
	}
	switch path := rc.Path(); {
	case !bytes.Equal(path, rc.URI().PathOriginal()) && len(rc.URI().PathOriginal()) > 0:
		notFound(rc) // /x/../t/a, //t/a, /t%2fa: a proxy in front may have judged another path
	case len(path) > 3 && string(path[:3]) == "/t/", len(path) == 1 && s.ownHost(rc):
		s.serveToolset(rc, path)
	case len(path) > len(PreviewPath) && string(path[:len(PreviewPath)]) == PreviewPath:
		s.servePreview(rc, path)
	case s.opts.Challenge != nil && bytes.HasPrefix(path, challengePath):
		s.serveChallenge(rc, path)
	case bytes.HasPrefix(path, metadataPath):
		s.serveMetadata(rc, path[len(metadataPath):])
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

var challengePath = []byte(certificate.ChallengePath)

// serveChallenge answers a certificate authority (RFC 8555 §8.3).
func (s *Server) serveChallenge(rc *fasthttp.RequestCtx, path []byte) {
	text := s.opts.Challenge(string(rc.Host()), string(path))
	if text == "" || !rc.IsGet() {
		notFound(rc)
		return
	}
	rc.SetContentType("application/octet-stream")
	rc.SetBodyString(text)
}

// metadataPath is where RFC 9728 §3.1 puts the metadata of a resource: its own
// path follows.
var metadataPath = []byte("/.well-known/oauth-protected-resource")

// serveToolset checks where the request comes from and who sends it, finds the
// toolset and speaks MCP. Checks are in the order of MCP 2026-07-28
// basic/transports.
func (s *Server) serveToolset(rc *fasthttp.RequestCtx, path []byte) {
	if !s.checkOrigin(rc) {
		return
	}
	snap := s.opts.Holder.Load()
	if snap == nil {
		rc.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
		answer(rc, fasthttp.StatusServiceUnavailable, "no release is loaded yet")
		return
	}
	ts := snap.Toolset(rc.Host(), path)
	if ts == nil {
		notFound(rc)
		return
	}
	if s.wantsPage(rc) {
		s.servePage(rc, ts)
		return
	}
	s.serveMCP(rc, ts, nil)
}

// checkOrigin checks the Host and the Origin of a request. When it returns false the request was
// answered.
func (s *Server) checkOrigin(rc *fasthttp.RequestCtx) bool {
	origin := rc.Request.Header.Peek(fasthttp.HeaderOrigin)
	if !s.servesHost(rc) {
		answer(rc, fasthttp.StatusForbidden, "this Host is not served here")
		return false
	}
	if !s.guard.Origin(origin) {
		answer(rc, fasthttp.StatusForbidden, "this Origin is not allowed")
		return false
	}
	return len(origin) == 0 || !s.allowOrigin(rc, origin)
}

// serveMCP admits the caller of a toolset and serves MCP. preview is what calls
// the tools of a draft; nil: the toolset is live.
func (s *Server) serveMCP(rc *fasthttp.RequestCtx, ts *snapshot.Toolset, preview *call.Caller) {
	loop, ok := readLoop(rc)
	if !ok {
		return
	}
	if !rc.IsPost() && (preview != nil || !asksSession(rc, ts)) {
		rc.Response.Header.Set(fasthttp.HeaderAllow, fasthttp.MethodPost)
		answer(rc, fasthttp.StatusMethodNotAllowed, wrongMethod(rc, ts))
		return
	}
	var resource, metadata string
	if ts.Access.Mode() == registry.AccessJWT {
		if s.publicURL == "" && !s.loopback && !s.ownHost(rc) {
			answer(rc, fasthttp.StatusServiceUnavailable, "this gateway was not told its public URL, which tokens must be issued for")
			return
		}
		resource, metadata = s.resource(rc, ts.Slug)
	}
	// Nothing of the body was read so far, and for who is refused nothing will be.
	conn := connOf(rc)
	pass, refusal := ts.Access.Admit(s.calls, rc.Request.Header.Peek(fasthttp.HeaderAuthorization), int(max(conn.Length(), 0)), resource, metadata)
	if refusal != nil {
		s.refuseAccess(rc, ts, refusal, preview != nil)
		return
	}
	conn.Admit()
	if ts.Canary() {
		ts = ts.For(s.callerKey(rc, pass))
	}
	// Nothing behind this line may see the client's own credential.
	rc.Request.Header.Del(fasthttp.HeaderAuthorization)
	if !rc.IsPost() {
		s.serveSession(rc, ts, pass, loop)
		pass.Leave()
		return
	}
	x := s.requests.Get().(*request)
	x.s, x.rc, x.ts, x.pass, x.metadata, x.preview, x.loop, x.start = s, rc, ts, pass, metadata, preview, loop, time.Now()
	s.protocol.Serve(rc, x)
}

// wrongMethod says what the URL of a toolset speaks to who did not POST to it. Clients of
// 2024-11-05 begin with a GET that accepts a stream, and so do those of later revisions
// that look for one without a session: the words fit both.
func wrongMethod(rc *fasthttp.RequestCtx, ts *snapshot.Toolset) string {
	const speaks = "this URL speaks MCP over Streamable HTTP: each JSON-RPC message is a POST. "
	switch {
	case !rc.IsGet():
		return speaks + "DELETE ends the session that Mcp-Session-Id names"
	case !mcp.AcceptsStream(rc.Request.Header.Peek(fasthttp.HeaderAccept)):
		return speaks + "It is for MCP clients, and shows a page to browsers"
	case ts.HasServers():
		return speaks + "GET opens the stream of the session that Mcp-Session-Id names. " + otherTransport
	}
	return speaks + "It has no stream to open with GET. " + otherTransport
}

const otherTransport = "A client set to the transport sse (HTTP+SSE of 2024-11-05) must be set to http (streamable-http); " +
	"one that has only sse or stdio is connected by a bridge, such as npx mcp-remote with this URL"

// servesHost reports whether a request may be meant for this gateway.
func (s *Server) servesHost(rc *fasthttp.RequestCtx) bool {
	return s.guard.Host(rc.Host()) || s.ownHost(rc) || s.opts.Serves != nil && s.opts.Serves(string(bytes.ToLower(access.HostName(rc.Host()))))
}

// ownHost reports whether a request came to a domain of a toolset or a workspace.
func (s *Server) ownHost(rc *fasthttp.RequestCtx) bool {
	_, own := s.opts.Holder.Load().Domain(rc.Host())
	return own
}

// resource is the URL of a toolset as its clients know it, and of its RFC 9728
// document. A domain of the toolset or its workspace is where the client meant to go.
// Without a public URL only local names reach this line besides, and the one the client
// used is the one it means.
func (s *Server) resource(rc *fasthttp.RequestCtx, slug string) (resource, metadata string) {
	if d, own := s.opts.Holder.Load().Domain(rc.Host()); own {
		base := "https://" + string(access.HostName(rc.Host()))
		if d.Toolset != nil {
			return base + "/", base + string(metadataPath)
		}
		return base + "/t/" + slug, base + string(metadataPath) + "/t/" + slug
	}
	base := s.publicURL
	if base == "" {
		if base = s.scheme; s.origin(rc).HTTPS {
			base = "https://"
		}
		base += string(rc.Host())
	}
	return base + "/t/" + slug, base + string(metadataPath) + "/t/" + slug
}

// allowOrigin lets a page of an origin read the answer (Fetch standard, "CORS
// protocol"); true when the request was only the question whether it may.
func (s *Server) allowOrigin(rc *fasthttp.RequestCtx, origin []byte) bool {
	h := &rc.Response.Header
	h.SetBytesV(fasthttp.HeaderAccessControlAllowOrigin, origin)
	h.Set(fasthttp.HeaderVary, fasthttp.HeaderOrigin)
	if !rc.IsOptions() {
		h.Set(fasthttp.HeaderAccessControlExposeHeaders, "WWW-Authenticate, Retry-After, Mcp-Session-Id")
		return false
	}
	h.Set(fasthttp.HeaderAccessControlAllowMethods, "POST, GET, DELETE")
	if wanted := rc.Request.Header.Peek(fasthttp.HeaderAccessControlRequestHeaders); len(wanted) > 0 && len(wanted) <= 1024 {
		h.SetBytesV(fasthttp.HeaderAccessControlAllowHeaders, wanted) // Mcp-Param-* has no end, and Authorization no wildcard
	}
	h.Set(fasthttp.HeaderAccessControlMaxAge, "7200")
	rc.SetStatusCode(fasthttp.StatusNoContent)
	return true
}

// refuseAccess answers a request that its toolset's policy refused.
func (s *Server) refuseAccess(rc *fasthttp.RequestCtx, ts *snapshot.Toolset, r *access.Refusal, preview bool) {
	if r.Challenge != "" {
		rc.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, r.Challenge)
	}
	if r.Retry > 0 {
		rc.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(r.Retry))
	}
	if !preview {
		s.countRefusal(ts, r)
	}
	answer(rc, r.Status, r.Text)
}

func (s *Server) countRefusal(ts *snapshot.Toolset, r *access.Refusal) {
	name := metering.Series("sluice_access_denied_total", "toolset", ts.Slug, "reason", string(r.Reason))
	if r.Status == fasthttp.StatusTooManyRequests {
		name = metering.Series("sluice_ratelimit_rejections_total", "toolset", ts.Slug, "scope", string(r.Reason))
	}
	if c := s.opts.Meter.Counter(name); c != nil {
		c.Inc()
	}
}

// serveMetadata answers RFC 9728 protected resource metadata. Only toolsets that
// are opened by an authorization server's tokens have any: some clients ignore the
// header they were configured with where they find it.
func (s *Server) serveMetadata(rc *fasthttp.RequestCtx, path []byte) {
	if !s.servesHost(rc) {
		answer(rc, fasthttp.StatusForbidden, "this Host is not served here")
		return
	}
	ts := s.opts.Holder.Load().Toolset(rc.Host(), path)
	if ts == nil {
		notFound(rc)
		return
	}
	resource, _ := s.resource(rc, ts.Slug)
	body, ok := ts.Access.AppendMetadata(nil, resource, ts.Name)
	if !ok {
		notFound(rc)
		return
	}
	h := &rc.Response.Header
	h.Set(fasthttp.HeaderAccessControlAllowOrigin, "*")
	if !rc.IsGet() && !rc.IsHead() {
		h.Set(fasthttp.HeaderAllow, "GET, HEAD")
		answer(rc, fasthttp.StatusMethodNotAllowed, "metadata is only read")
		return
	}
	h.SetContentType("application/json")
	h.Set(fasthttp.HeaderCacheControl, "max-age=300")
	rc.SetBody(body)
}

// request is one request's view of its toolset; it is what package mcp asks.
type request struct {
	s        *Server
	rc       *fasthttp.RequestCtx
	ts       *snapshot.Toolset
	pass     access.Pass
	metadata string       // URL; only with mode jwt
	preview  *call.Caller // of a draft; nil: it is live
	loop     *cdnloop.Request
	start    time.Time
	tool     *snapshot.Tool
	meta     []byte // the trace, reused
	cancel   upstream.Cancel
	watch    watched
	expelled atomic.Bool // the caller lost its access while its call ran
	stream   *mcp.Stream // of the call; nil: its client wants none

	// Of an item: what its server calls it, and the name that permissions have.
	key, permit string
	about       task.Task // that a request is about

	// Search mode.
	searchTool string // which of its three tools is called; "": a tool of the toolset
	finder     finding.Finder
	text       []byte
}

var (
	_ mcp.Request = (*request)(nil)
	_ mcp.Toolset = (*request)(nil)
	_ mcp.Tool    = (*request)(nil)
)

// Body implements [mcp.Request].
func (x *request) Body(rc *fasthttp.RequestCtx) ([]byte, bool) {
	return x.s.readBody(rc, x.ts, x.pass, x.preview != nil)
}

// Toolset implements [mcp.Request].
func (x *request) Toolset() mcp.Toolset { return x }

// Card implements [mcp.Toolset].
func (x *request) Card() *mcp.Card { return x.ts.Card() }

// Tools implements [mcp.Toolset].
func (x *request) Tools(cursor []byte, client mcp.Capabilities) (page []byte, next string, ok bool, err error) {
	list, err := x.list(client)
	if err != nil {
		return nil, "", false, err
	}
	page, next, ok = list.Page(cursor)
	return page, next, ok, nil
}

// Tool implements [mcp.Toolset]. What a token does not open does not exist for it.
func (x *request) Tool(name []byte) (mcp.Tool, []mcp.HeaderParam, error) {
	var err error
	x.searchTool = ""
	if x.ts.Searches() && x.selectSearchTool(name) || x.codes() && x.selectSignatures(name) {
		x.tool = nil
		return x, nil, nil
	}
	if x.tool, err = x.ts.Tool(name); err != nil || x.tool == nil || !x.tool.Own() && !x.pass.Sees(x.tool.Name) {
		return nil, nil, err
	}
	ready, err := x.tool.Load()
	if err != nil {
		return nil, nil, err
	}
	return x, ready.Headers, nil
}

// Logs implements [mcp.Tool].
func (x *request) Logs() bool { return x.tool != nil && x.tool.Remote() }

// Permit implements [mcp.Tool].
func (x *request) Permit(arguments jsonscan.Value) bool {
	if x.searchTool == snapshot.ExecuteTool {
		x.tool = x.executed(arguments)
	}
	if x.tool == nil {
		return true // a tool that searches, or an unknown name, which Call refuses
	}
	if x.tool.Own() {
		return true // whose answer it gives more of, or what it calls, is checked when that is known
	}
	name := x.tool.Name
	if x.tool.Item != nil {
		name = x.permit
	}
	refusal := x.pass.MayCall(name, x.metadata)
	if refusal == nil {
		return true
	}
	x.rc.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, refusal.Challenge)
	if x.preview == nil {
		x.s.countRefusal(x.ts, refusal)
	}
	return false
}

// Call implements [mcp.Tool].
func (x *request) Call(p *mcp.CallParams, dst []byte) (out, meta []byte, err error) {
	if x.searchTool != "" {
		return x.callSearchTool(p, dst)
	}
	if p.Method == mcp.MethodTasksList {
		return x.listTasks(p, dst)
	}
	if err := x.beginTask(p); err != nil {
		return nil, nil, err
	}
	subscribes := p.Method == mcp.MethodSubscribe || p.Method == mcp.MethodUnsubscribe
	if subscribes {
		if more, err := x.subscribe(p); !more {
			return dst, nil, err
		}
	}
	x.hear(p.Session)
	if !x.tool.Remote() { // an MCP server reports its progress itself
		p.Stream.Beat("waiting for the answer of " + x.tool.Name)
	}
	opt := call.CallOptions{
		Trace: p.Trace && x.s.mayTrace(x.rc), Version: p.Version, Principal: x.pass.Principal(), Cancel: &x.cancel, Request: p,
		Key: x.key,
	}
	if x.s.opts.Caller.Traces() {
		opt.Traceparent = x.rc.Request.Header.Peek("Traceparent")
	}
	if x.tool.Own() || x.tool.Workflow != nil {
		opt.Permits = x.permits
	}
	if conn := x.rc.Conn(); conn != nil {
		x.stream = p.Stream
		x.watch.begin(conn)
		defer x.watch.end()
	}
	out, outcome, err := x.caller().Call(cdnloop.With(x.s.calls, x.loop), x.tool, p.Arguments, opt, dst)
	if x.expelled.Load() {
		err = errExpelled
	}
	if err != nil {
		if subscribes {
			x.unsubscribed(p)
		}
		return nil, nil, err
	}
	if len(p.Task) > 0 && !p.TaskStarted && outcome.IsError {
		return nil, nil, noTask(out[len(dst):])
	}
	if x.s.log.Enabled(x.s.calls, slog.LevelDebug) {
		x.s.log.LogAttrs(x.s.calls, slog.LevelDebug, "tool called", slog.String("toolset", x.ts.Slug), slog.String("tool", x.tool.Name),
			slog.String("outcome", outcome.Kind.String()), slog.Int("status", outcome.Status))
	}
	if outcome.Kind == metering.OK {
		x.succeeded()
	}
	if len(out) <= tellBeside || p.Stream.Started() {
		x.tell(p.Stream, &outcome)
	}
	meta = outcome.Meta
	if outcome.Trace != nil {
		x.meta = append(x.meta[:0], meta...)
		if len(meta) > 0 {
			x.meta = append(x.meta, ',')
		}
		x.meta = outcome.Trace.AppendJSON(x.meta)
		meta = x.meta
	}
	return out, meta, nil
}

// may tells whether the caller may use a tool.
func (x *request) permits(tool string) bool {
	return x.pass.Sees(tool) && x.pass.MayCall(tool, x.metadata) == nil
}

// tellBeside is the longest answer that becomes a stream for what tell says: some clients
// take events of a megabyte only, and longer answers as they are.
const tellBeside = 512 << 10

// tell logs to the client how its call went, as far as it asked for it.
func (x *request) tell(to *mcp.Stream, o *call.Outcome) {
	level := mcp.LevelDebug
	if o.IsError {
		level = mcp.LevelWarning
	}
	if !to.NamedLevel() || !to.Wants(level) {
		return
	}
	// A text: readers in languages with types, the official Java SDK among them, want one.
	b := append(append(append([]byte(nil), x.tool.Name...), ": "...), o.Kind.String()...)
	if o.Status != 0 {
		b = strconv.AppendInt(append(b, ", HTTP "...), int64(o.Status), 10)
	}
	b = append(strconv.AppendInt(append(b, ", "...), int64(o.Bytes), 10), " bytes"...)
	if o.Cached {
		b = append(b, ", cached"...)
	}
	b = append(strconv.AppendInt(append(b, ", "...), time.Since(x.start).Milliseconds(), 10), " ms"...)
	to.Log(level, "sluice", jsonscan.AppendStringOf(nil, string(b)))
}

// Cancel implements [mcp.Tool].
func (x *request) Cancel() { x.cancel.Cancel() }

// clientGone ends the call of a client that closed its connection, unless it can come back
// for the rest.
func (x *request) clientGone() (goesOn bool) {
	if x.stream.Lose() {
		return true
	}
	x.cancel.Cancel()
	return false
}

// Listen implements [mcp.Toolset].
func (x *request) Listen(sub *mcp.Subscription) error {
	l := &listener{sub: sub, caller: x.s.callerKey(x.rc, x.pass), loop: x.loop}
	if x.preview != nil {
		l.preview = x.ts
		sub.Follow(nil)
	}
	if len(sub.URIs()) > 0 {
		x.follow(sub, l)
	}
	err := x.s.listeners.hijack(x.rc, x.ts, x.pass, l)
	if err != nil {
		x.s.feeds.leave(l)
	}
	return err
}

// Done implements [mcp.Request].
func (x *request) Done(served mcp.Served) {
	x.pass.Leave()
	connOf(x.rc).FreeBody()
	s := x.s
	if served.Method != mcp.MethodToolsCall && x.preview == nil { // calls are counted with their tool
		s.opts.Meter.Operation(served.Method, served.Version, time.Since(x.start).Seconds())
	}
	x.cancel.Reset()
	x.expelled.Store(false)
	x.s, x.rc, x.ts, x.tool, x.pass, x.metadata, x.preview = nil, nil, nil, nil, access.Pass{}, "", nil
	x.key, x.permit, x.loop, x.stream = "", "", nil, nil
	x.forget()
	s.requests.Put(x)
}

// mayTrace reports whether the client may have a trace: one on this machine, without a
// proxy in between.
func (s *Server) mayTrace(rc *fasthttp.RequestCtx) bool {
	if !s.loopback || len(rc.Request.Header.Peek(fasthttp.HeaderXForwardedFor)) > 0 || len(rc.Request.Header.Peek(fasthttp.HeaderForwarded)) > 0 {
		return false
	}
	addr, ok := rc.RemoteAddr().(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// answerPanic answers the request of a handler that panicked. Its connection is closed: the
// response may be half written.
func (s *Server) answerPanic(rc *fasthttp.RequestCtx, v any) {
	s.log.Error("a request ended in a panic", slog.Any("cause", v), slog.String("stack", string(debug.Stack())))
	rc.Response.Reset()
	rc.SetConnectionClose()
	answer(rc, fasthttp.StatusInternalServerError, "internal error")
}

// refuse answers bytes that are not a valid request.
func (s *Server) refuse(rc *fasthttp.RequestCtx, err error) {
	s.leaveBody(rc)
	var form *http1.Error
	var timeout net.Error
	switch {
	case errors.As(err, &form):
		answer(rc, form.Status, form.Text)
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
	code := strconv.Itoa(status)
	switch path := rc.Path(); {
	case len(path) != 1 && !bytes.HasPrefix(path, []byte("/t/")) && !bytes.HasPrefix(path, []byte(PreviewPath)):
		rc.SetContentType("text/plain; charset=utf-8")
		rc.SetBodyString(text + "\n")
	case rc.IsPost(): // the SDK for Python shows the text of a JSON-RPC error, and of another body nothing
		rc.SetContentType("application/json")
		rc.SetBody(append(jsonscan.AppendStringOf([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":`+code+`,"message":`), text), "}}"...))
	default:
		rc.SetContentType("application/problem+json")
		rc.SetBody(append(jsonscan.AppendStringOf([]byte(`{"status":`+code+`,"title":"`+fasthttp.StatusMessage(status)+`","detail":`), text), '}'))
	}
}

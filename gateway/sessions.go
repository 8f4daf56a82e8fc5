package gateway

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/cdnloop"
)

// headerSession names the session of a client of a revision with handshake.
const headerSession = "Mcp-Session-Id"

// sessionOwner is whose the sessions are that a caller of a toolset may use.
func sessionOwner(ts *snapshot.Toolset, pass access.Pass) session.Owner {
	return session.Owner{Workspace: ts.Workspace(), Toolset: ts.ID, Caller: pass.Principal().Key()}
}

// OpenSession implements [mcp.Toolset]. Only an MCP server has a use for one: toolsets of
// HTTP APIs stay without, and so does a draft, which is gone in a moment.
func (x *request) OpenSession(c session.Client) *session.Session {
	if x.preview != nil || !x.ts.HasServers() {
		return nil
	}
	opened := x.s.sessions.Open(sessionOwner(x.ts, x.pass), c)
	if opened != nil {
		opened.SetLoop(x.loop)
		opened.Saw(string(x.ts.Versions()))
		opened.Under(x.Made(), false)
		opened.Share(x.s.calls)
	}
	return opened
}

// Session implements [mcp.Toolset].
func (x *request) Session(id []byte) (found *session.Session, ok bool) {
	if x.preview != nil || !x.ts.HasServers() {
		return nil, true
	}
	found = x.s.sessions.Find(x.s.calls, sessionOwner(x.ts, x.pass), id)
	if found != nil {
		found.SetLoop(x.loop)
		if found.Pooled() {
			found.SetCaller(x.pass)
		}
	}
	return found, found != nil
}

// Made implements [mcp.Toolset].
func (x *request) Made() string { return string(x.ts.Digest) }

// asksSession reports whether a request that is not a POST is one about a session of the
// toolset.
func asksSession(rc *fasthttp.RequestCtx, ts *snapshot.Toolset) bool {
	return (rc.IsGet() || rc.IsDelete()) && ts.HasServers() && len(rc.Request.Header.Peek(headerSession)) > 0
}

// serveSession opens the stream of a session (GET) or ends the session (DELETE). A session
// of somebody else, or of another toolset, does not exist for the caller.
func (s *Server) serveSession(rc *fasthttp.RequestCtx, ts *snapshot.Toolset, pass access.Pass, loop *cdnloop.Request) {
	h := &rc.Request.Header
	if v := bytes.TrimSpace(h.Peek("Mcp-Protocol-Version")); len(v) > 0 && !mcp.HasSessions(v) {
		rc.Response.Header.Set(fasthttp.HeaderAllow, fasthttp.MethodPost)
		answer(rc, fasthttp.StatusMethodNotAllowed, "this protocol version has no sessions")
		return
	}
	found := s.sessions.Find(s.calls, sessionOwner(ts, pass), h.Peek(headerSession))
	if found != nil {
		found.SetLoop(loop)
	}
	switch {
	case found == nil:
		answer(rc, fasthttp.StatusNotFound, "this session has ended or never was: begin another with initialize")
	case rc.IsDelete():
		s.sessions.End(s.calls, found)
		rc.SetStatusCode(fasthttp.StatusNoContent)
	case !mcp.AcceptsStream(h.Peek(fasthttp.HeaderAccept)):
		answer(rc, fasthttp.StatusNotAcceptable, "the stream of a session is text/event-stream, which the request does not accept")
	default:
		l := &listener{sess: found, caller: s.callerKey(rc, pass), resume: string(h.Peek("Last-Event-ID"))}
		found.Under(string(ts.Digest), ts.Redacts())
		var kept bool
		if kept, l.call = found.Keeps(l.resume); l.call && !kept {
			answer(rc, fasthttp.StatusBadRequest, "the stream of this event is not kept any more: make the call again")
			return
		}
		if found.Pooled() && !l.call {
			found.SetCaller(pass)
			found.Move(s.calls)
		}
		if err := s.listeners.hijack(rc, ts, pass, l); err != nil {
			rc.Response.Header.Set(fasthttp.HeaderRetryAfter, "60")
			answer(rc, fasthttp.StatusServiceUnavailable, "too many streams are open here")
		}
	}
}

// Write implements [session.Sink].
func (l *listener) Write(events []byte) bool { return l.write(l.frame(events)) }

// End implements [session.Sink].
func (l *listener) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked()
}

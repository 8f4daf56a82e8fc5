package gateway

import (
	"bytes"
	"context"
	"log/slog"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/installpage"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/registry"
)

// wantsPage reports whether a browser opened the toolset URL. Programs do not name text/html,
// and those that ask for a stream name that.
func (s *Server) wantsPage(rc *fasthttp.RequestCtx) bool {
	return !s.opts.NoInstallPage && (rc.IsGet() || rc.IsHead()) && len(rc.Request.Header.Peek(headerSession)) == 0 &&
		bytes.Contains(rc.Request.Header.Peek(fasthttp.HeaderAccept), []byte("text/html"))
}

// servePage answers a browser with what the toolset is. Of a toolset that is not open to
// everybody it says no more than a refused request does, and its metadata (RFC 9728).
func (s *Server) servePage(rc *fasthttp.RequestCtx, ts *snapshot.Toolset) {
	p := &installpage.Page{Slug: ts.Slug, Mode: ts.Access.Mode()}
	p.URL, _ = s.resource(rc, ts.Slug)
	switch p.Mode {
	case registry.AccessNone:
		pass, refusal := ts.Access.Admit(s.calls, nil, 0, "", "")
		if refusal != nil {
			s.refuseAccess(rc, ts, refusal, false)
			return
		}
		pass.Leave()
		p.Name, p.Description = ts.Name, ts.Description()
		var err error
		if p.Tools, p.All, err = ts.Summaries(installpage.MaxTools); err != nil {
			s.log.LogAttrs(context.Background(), slog.LevelError, "the tools of a toolset could not be read for its page",
				slog.String("toolset", ts.Slug), slog.Any("error", err))
			answer(rc, fasthttp.StatusInternalServerError, "the tools of this toolset cannot be read")
			return
		}
	case registry.AccessJWT:
		p.Name = ts.Name
	}
	h := &rc.Response.Header
	h.SetContentType("text/html; charset=utf-8")
	h.Set(fasthttp.HeaderContentSecurityPolicy, installpage.Policy)
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	h.Set(fasthttp.HeaderReferrerPolicy, "no-referrer")
	h.Set(fasthttp.HeaderCacheControl, "no-store")
	h.Add(fasthttp.HeaderVary, fasthttp.HeaderAccept)
	h.Set("X-Robots-Tag", "noindex")
	rc.SetBodyString(installpage.HTML(p))
}

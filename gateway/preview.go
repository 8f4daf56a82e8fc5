package gateway

import (
	"context"
	"log/slog"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/snapshot"
)

// PreviewPath is what the path of a preview URL begins with; an identifier follows.
const PreviewPath = "/preview/"

// previewIDLen is the length of an identifier: a ULID (80 random bits), lower case.
const previewIDLen = 26

// Previews finds what is behind preview URLs.
type Previews interface {
	// Preview returns the toolset of a preview, or nil when there is none or it has
	// ended. It is asked with every request, and may wait at most until ctx ends.
	Preview(ctx context.Context, id string) (*snapshot.Toolset, error)
}

// PreviewOptions let a gateway serve drafts. Callers are admitted by the access
// document of each preview, and everything behind that is the same as for a toolset
// URL, but for the Caller: nothing a preview does is counted, kept or learned from.
type PreviewOptions struct {
	Previews Previews
	Caller   *call.Caller
}

// servePreview is serveToolset for a draft.
func (s *Server) servePreview(rc *fasthttp.RequestCtx, path []byte) {
	id := path[len(PreviewPath):]
	if s.opts.Preview == nil || !previewID(id) {
		notFound(rc)
		return
	}
	if !s.checkOrigin(rc) {
		return
	}
	ts, err := s.opts.Preview.Previews.Preview(s.calls, string(id))
	if err != nil {
		s.log.LogAttrs(s.calls, slog.LevelWarn, "a preview cannot be opened", slog.Any("error", err))
		answer(rc, fasthttp.StatusServiceUnavailable, "the preview cannot be opened")
		return
	}
	if ts == nil {
		notFound(rc)
		return
	}
	rc.Response.Header.Set("X-Robots-Tag", "noindex")
	s.serveMCP(rc, ts, s.opts.Preview.Caller)
}

// previewID tells whether a text can be an identifier, before anybody is asked.
func previewID(id []byte) bool {
	if len(id) != previewIDLen {
		return false
	}
	for _, c := range id {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

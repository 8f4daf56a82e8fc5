package gateway

import (
	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/cdnloop"
)

// readLoop reads through how many gateways a request came. When ok is false it was answered
// (RFC 5842 §7.2).
func readLoop(rc *fasthttp.RequestCtx) (r *cdnloop.Request, ok bool) {
	r, v := cdnloop.Read(rc.Request.Header.PeekAll(cdnloop.Header))
	switch v {
	case cdnloop.TooFar:
		answer(rc, fasthttp.StatusLoopDetected, "this request came through too many gateways, or through several that make many calls of one (its header CDN-Loop): "+
			"toolsets call each other in a circle. Remove the connector that leads back, with sluice toolset connector remove")
	case cdnloop.Malformed:
		answer(rc, fasthttp.StatusBadRequest, "the header CDN-Loop is malformed (RFC 8586)")
	}
	return r, v == cdnloop.Fine
}

// loopOf is whose header the stream of a feed has: a server may be a gateway, and open others
// for it.
func loopOf(f *feed) *cdnloop.Request {
	if l, ok := f.key.to.(*listener); ok {
		return l.loop.Stream()
	}
	return f.sess.Loop().Stream()
}

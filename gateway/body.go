package gateway

import (
	"errors"
	"net"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/http1"
)

// busyRetry is what a caller is told for whose body there is no memory, in seconds:
// most bodies are read and gone within one.
const busyRetry = 1

// connOf is the connection of a request. The Server accepts no others.
func connOf(rc *fasthttp.RequestCtx) *http1.Conn {
	c, ok := rc.Conn().(*http1.Conn)
	if !ok {
		panic("BUG: a connection that is not framed")
	}
	return c
}

// readBody reads the body of a caller who was let in, as far as the caller may send
// it. When it is false the request was answered.
func (s *Server) readBody(rc *fasthttp.RequestCtx, ts *snapshot.Toolset, pass access.Pass, preview bool) ([]byte, bool) {
	most, own := s.opts.MaxRequest, pass.MaxRequest()
	if own > 0 && own < most {
		most = own
	}
	body, err := connOf(rc).Body(most)
	if err == nil {
		return body, true
	}
	var form *http1.Error
	var timeout net.Error
	switch {
	case errors.Is(err, http1.ErrTooLarge) && most == own:
		s.refuseAccess(rc, ts, access.TooLargeRefusal, preview)
	case errors.Is(err, http1.ErrTooLarge):
		answer(rc, fasthttp.StatusRequestEntityTooLarge, "the request body is too large")
	case errors.Is(err, http1.ErrBusy):
		rc.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(busyRetry))
		answer(rc, fasthttp.StatusServiceUnavailable, "too many request bodies are being read")
	case errors.As(err, &form):
		answer(rc, form.Status, form.Text)
	case errors.As(err, &timeout) && timeout.Timeout():
		answer(rc, fasthttp.StatusRequestTimeout, "the request did not arrive in time")
	default:
		answer(rc, fasthttp.StatusBadRequest, "the request ended early")
	}
	return nil, false
}

// leaveBody ends the connection behind an answer that did not wait for the body:
// what comes is not a request.
func (s *Server) leaveBody(rc *fasthttp.RequestCtx) {
	if !connOf(rc).Drop() {
		rc.SetConnectionClose()
	}
}

// countRefused counts clients that were turned away before a request of them was read.
func (s *Server) countRefused(why http1.Reason) {
	if c := s.opts.Meter.Counter(metering.Series("sluice_http_refused_total", "listener", "gateway", "reason", string(why))); c != nil {
		c.Inc()
	}
}

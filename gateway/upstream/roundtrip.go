package upstream

import (
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// do sends x.Request to h and reads the answer, again when the connection was
// closed under an idempotent request. It is what fasthttp.HostClient.Do does, in
// a form that another goroutine can end.
func (x *Exchange) do(h *host, lim *Limits) error {
	h.running.Add(1)
	defer h.running.Add(-1)
	for attempt := 1; ; attempt++ {
		wait := time.Until(lim.Deadline)
		if wait <= 0 {
			return fasthttp.ErrTimeout
		}
		x.response.Reset()
		x.Request.URI().DisablePathNormalizing = true // the request plan encoded it, and %2F is not a slash
		err := x.roundTrip(&h.client, wait, lim)
		if err == nil || attempt >= maxAttempts || lim.Cancel.Cancelled() || !repeatable(&x.Request, err) {
			return err
		}
	}
}

// roundTrip makes one exchange on one connection.
func (x *Exchange) roundTrip(c *fasthttp.HostClient, wait time.Duration, lim *Limits) error {
	cc, err := c.AcquireConn(wait, x.Request.ConnectionClose())
	if err != nil {
		return err
	}
	conn := cc.Conn()
	if !lim.Cancel.attach(conn) {
		c.ReleaseConn(cc) // nothing was sent on it
		return errCancelled
	}
	err = x.converse(c, conn, lim)
	lim.Cancel.detach(conn)
	if err != nil || x.Request.ConnectionClose() || x.response.ConnectionClose() || lim.Cancel.Cancelled() {
		c.CloseConn(cc)
	} else {
		c.ReleaseConn(cc)
	}
	if late, ok := err.(net.Error); ok && late.Timeout() { //nolint:errorlint // the reader and writer return the connection's own error
		return fasthttp.ErrTimeout
	}
	return err
}

// converse writes the request and reads the answer.
func (x *Exchange) converse(c *fasthttp.HostClient, conn net.Conn, lim *Limits) error {
	if err := conn.SetDeadline(lim.Deadline); err != nil {
		return err
	}
	bw := c.AcquireWriter(conn)
	err := x.Request.Write(bw)
	if err == nil {
		err = bw.Flush()
	}
	c.ReleaseWriter(bw)
	if err != nil {
		return err
	}
	x.response.SkipBody = x.Request.Header.IsHead()
	br := c.AcquireReader(conn)
	defer c.ReleaseReader(br)
	return x.response.ReadLimitBody(br, c.MaxResponseBodySize)
}

var errCancelled = errors.New("the exchange was cancelled")

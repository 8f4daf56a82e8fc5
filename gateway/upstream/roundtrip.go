package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/sock"
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
		x.clear()
		x.Request.URI().DisablePathNormalizing = true // the request plan encoded it, and %2F is not a slash
		err := x.roundTrip(&h.client, wait, lim)
		if err == nil || attempt >= maxAttempts || lim.Cancel.Cancelled() || !x.repeatable(err) {
			return err
		}
	}
}

// roundTrip makes one exchange on one connection.
func (x *Exchange) roundTrip(c *fasthttp.HostClient, wait time.Duration, lim *Limits) error {
	cc, err := c.AcquireConn(wait, x.Request.ConnectionClose())
	for err == nil && !usable(cc.LastUseTime(), cc.Conn()) {
		c.CloseConn(cc)
		cc, err = c.AcquireConn(wait, x.Request.ConnectionClose())
	}
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

// restAfter is how long a connection was not used before it is looked at: under load none
// rests for so long, and the look is a system call.
const restAfter = time.Millisecond

// usable reports whether a request may be sent on a connection that was last used at that
// time (zero: never): servers close those that they keep, some at once and some after two
// seconds, and a request that may not be repeated would be lost on one.
func usable(last time.Time, conn net.Conn) bool {
	return last.IsZero() || time.Since(last) < restAfter || sock.Quiet(conn)
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
	x.response.SkipBody, x.begun = x.Request.Header.IsHead(), false
	br := c.AcquireReader(conn)
	defer c.ReleaseReader(br)
	switch most := c.MaxResponseBodySize; {
	case x.Events != nil:
		err = x.readEvents(conn, br, most)
	case x.response.SkipBody:
		err = x.response.ReadLimitBody(br, most)
	default:
		err = x.readBody(conn, br, lim, most)
	}
	if err != nil && x.begun && closed(err) {
		err = fmt.Errorf("%w: %w", errBrokenOff, err)
	}
	if err == nil && br.Buffered() > 0 {
		x.response.SetConnectionClose() // what follows answers nothing: it must not meet the next request
	}
	return err
}

// lingerEvents is how long the end of a stream is waited for after its last event
// was read: servers end it at once, and then the connection can be used again.
const lingerEvents = 10 * time.Millisecond

// maxInterim bounds the 1xx answers before the one that counts, as fasthttp does.
const maxInterim = 8

// readEvents reads an answer that may be a stream of events.
func (x *Exchange) readEvents(conn net.Conn, br *bufio.Reader, most int) error {
	h := &x.response.Header
	if err := readHeader(h, br); err != nil {
		return err
	}
	x.begun = true
	if s := h.StatusCode(); s == fasthttp.StatusNoContent || s == fasthttp.StatusNotModified {
		return nil
	}
	if !isEvents(h.ContentType()) || len(h.ContentEncoding()) > 0 {
		return x.readWhole(br, most)
	}
	chunked := h.ContentLength() == -1
	// To the end of the connection. It must not be br itself: bufio.NewReader would return that
	// one, and who keeps it would read in the connections that it belongs to afterwards.
	var body io.Reader = struct{ io.Reader }{br}
	switch n := h.ContentLength(); {
	case chunked:
		body = httputil.NewChunkedReader(br)
	case n >= 0:
		body = io.LimitReader(br, int64(n))
	}
	x.reading = conn
	err := x.Events(h.StatusCode(), body)
	x.reading = nil
	if err != nil {
		return err
	}
	// Without an announced end, or when something follows, the connection is used up.
	again := chunked && conn.SetReadDeadline(time.Now().Add(lingerEvents)) == nil && ended(body) && readTrailer(h, br) == nil
	if !again {
		x.response.SetConnectionClose()
	}
	return nil
}

// readHeader reads the header of the answer that counts.
func readHeader(h *fasthttp.ResponseHeader, br *bufio.Reader) error {
	for n := 0; ; n++ {
		if err := h.Read(br); err != nil {
			return err
		}
		if s := h.StatusCode(); s >= 200 || s == fasthttp.StatusSwitchingProtocols {
			return nil
		}
		if n >= maxInterim {
			return errInterim
		}
	}
}

// ended reports whether nothing is left to read.
func ended(r io.Reader) bool {
	n, err := r.Read(make([]byte, 1))
	return n == 0 && errors.Is(err, io.EOF)
}

func readTrailer(h *fasthttp.ResponseHeader, br *bufio.Reader) error {
	if err := h.ReadTrailer(br); err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	return nil
}

// IsEvents reports whether the answer says that it is a stream of events.
func (x *Exchange) IsEvents() bool { return isEvents(x.response.Header.ContentType()) }

func isEvents(contentType []byte) bool {
	media, _, _ := bytes.Cut(contentType, []byte(";"))
	return bytes.EqualFold(bytes.TrimSpace(media), []byte("text/event-stream"))
}

var (
	errCancelled = errors.New("the exchange was cancelled")
	errInterim   = errors.New("too many interim answers")
	errBrokenOff = errors.New("the connection ended in the middle of the answer")
)

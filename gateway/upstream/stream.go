package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http/httputil"
	"os"
	"time"

	"github.com/valyala/fasthttp"
)

// What is left of the time of a call for what comes after a stream that did not end: a
// tenth, and no more than maxStreamRest.
const (
	streamShare   = 10
	maxStreamRest = 2 * time.Second
	// streamPiece is read at once.
	streamPiece = 16 << 10
)

// readBody reads an answer: a stream of events as far as it comes in time, anything
// else to its end.
func (x *Exchange) readBody(conn net.Conn, br *bufio.Reader, lim *Limits, most int) error {
	h := &x.response.Header
	if err := readHeader(h, br); err != nil {
		return err
	}
	x.begun = true
	if s := h.StatusCode(); s == fasthttp.StatusNoContent || s == fasthttp.StatusNotModified || s == fasthttp.StatusSwitchingProtocols {
		return nil
	}
	end := streamEnd(h.ContentType())
	if end == "" || h.ContentLength() >= 0 {
		return x.readWhole(br, most)
	}
	x.lend()
	var body io.Reader = br // to the end of the connection
	if h.ContentLength() == -1 {
		body = httputil.NewChunkedReader(br)
	}
	return x.readStream(conn, br, body, end, lim, most)
}

// readStream reads a stream whose length is not announced, until it ends or the time
// is nearly up. An event that has not come whole then is left out; what is compressed is
// looked at when it is unpacked.
func (x *Exchange) readStream(conn net.Conn, br *bufio.Reader, body io.Reader, end string, lim *Limits, most int) error {
	left := time.Until(lim.Deadline)
	if err := conn.SetReadDeadline(lim.Deadline.Add(-min(left/streamShare, maxStreamRest))); err != nil {
		return err
	}
	piece := make([]byte, streamPiece)
	for {
		n, err := body.Read(piece)
		if len(x.response.Body())+n > most {
			return fasthttp.ErrBodyTooLarge
		}
		if err := x.reserve(grown(len(x.response.Body()))); err != nil {
			return err
		}
		x.response.AppendBody(piece[:n])
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			if x.response.Header.ContentLength() == -1 {
				return readTrailer(&x.response.Header, br)
			}
			x.response.SetConnectionClose()
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			whole := len(x.response.Body())
			if len(x.response.Header.ContentEncoding()) == 0 {
				whole = lastEvent(x.response.Body(), end)
			}
			if whole == 0 {
				return err
			}
			x.response.SetBodyRaw(bytes.Clone(x.response.Body()[:whole]))
			x.response.SetConnectionClose()
			x.GoesOn = true
			return nil
		default:
			return err
		}
	}
}

// streamEnd is what an event of a media type ends with; "" for what is not a stream.
func streamEnd(contentType []byte) string {
	media, _, _ := bytes.Cut(contentType, []byte(";"))
	media = bytes.TrimSpace(media)
	if len(media) > len("application/x-jsonlines") {
		return ""
	}
	switch string(media) {
	case "text/event-stream":
		return "\n\n"
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonl", "application/jsonlines", "application/x-jsonlines",
		"application/json-seq", "application/json-lines", "application/stream+json", "text/x-ndjson":
		return "\n"
	}
	return ""
}

// lastEvent is the length of what is whole of a stream. Lines of events may end in
// CRLF (WHATWG HTML §9.2.5).
func lastEvent(body []byte, end string) int {
	n := bytes.LastIndex(body, []byte(end))
	whole := n + len(end)
	if n < 0 {
		whole = 0
	}
	if end == "\n\n" {
		if n := bytes.LastIndex(body, []byte("\r\n\r\n")); n >= 0 {
			whole = max(whole, n+len("\r\n\r\n"))
		}
	}
	return whole
}

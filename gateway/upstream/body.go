package upstream

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
)

// errTooLarge ends a decompression that grew beyond the limit.
var errTooLarge = errors.New("body too large")

// bounded is a writer that ends at a limit: a kilobyte can decompress to a
// gigabyte.
type bounded struct {
	buf   []byte
	limit int64
	of    *Exchange
}

func (w *bounded) Write(p []byte) (int, error) {
	if int64(len(w.buf)+len(p)) > w.limit {
		return 0, errTooLarge
	}
	if err := w.of.reserve(grown(len(w.buf))); err != nil {
		return 0, err
	}
	w.buf = append(w.buf, p...)
	return len(p), nil
}

// cutOff reports whether a decompression ended because its input did. The reader of brotli
// exports no error for that.
func cutOff(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || strings.HasSuffix(err.Error(), "brotli: truncated input")
}

// inflate reads what servers call deflate: the zlib format (RFC 9110 §8.4.1.2), or DEFLATE
// without it, which some send and every client reads.
func inflate(w io.Writer, body []byte) error {
	if len(body) >= 2 && body[0]&0x0f == 8 && (uint(body[0])<<8|uint(body[1]))%31 == 0 { // RFC 1950 §2.2
		_, err := fasthttp.WriteInflate(w, body)
		return err
	}
	r := flate.NewReader(bytes.NewReader(body))
	_, err := io.Copy(w, r) //nolint:gosec // w is bounded
	return err
}

// packedText reports a body of a type that is text which is gzip all the same: some servers
// keep what they send packed, and forget to say so.
func packedText(contentType, body []byte) bool {
	if len(body) < 3 || body[0] != 0x1f || body[1] != 0x8b || body[2] != 8 { // RFC 1952 §2.3.1
		return false
	}
	t := bytes.ToLower(contentType)
	return bytes.HasPrefix(t, []byte("text/")) || bytes.Contains(t, []byte("json")) || bytes.Contains(t, []byte("xml"))
}

// plainText reports a body that no coding packed: those have bytes that are no text.
func plainText(body []byte) bool { return utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 }

// unpack checks the body's size and takes its content encoding off.
func (x *Exchange) unpack(addr string, lim Limits) error {
	body := x.response.Body()
	if int64(len(body)) > lim.MaxBody {
		return describe(fasthttp.ErrBodyTooLarge, addr, lim)
	}
	encoding := bytes.ToLower(bytes.TrimSpace(x.response.Header.ContentEncoding()))
	if len(encoding) == 0 && packedText(x.response.Header.ContentType(), body) {
		encoding = []byte("gzip")
	}
	if len(encoding) == 0 || string(encoding) == "identity" || len(body) == 0 {
		return nil
	}
	w := &bounded{buf: x.plain[:0], limit: lim.MaxBody, of: x}
	var err error
	switch string(encoding) {
	case "gzip", "x-gzip":
		_, err = fasthttp.WriteGunzip(w, body)
	case "br":
		_, err = fasthttp.WriteUnbrotli(w, body)
	case "deflate":
		err = inflate(w, body)
	default:
		if !x.GoesOn && plainText(body) { // such as utf-8
			return nil
		}
		return problem.New(problem.UpstreamMalformed, "the upstream sends a content encoding that was not asked for: %.40q", encoding)
	}
	if x.GoesOn && (err == nil || cutOff(err)) { // as much as the sender flushed
		if w.buf = w.buf[:lastEvent(w.buf, streamEnd(x.response.Header.ContentType()))]; len(w.buf) == 0 {
			x.GoesOn = false
			return describe(fasthttp.ErrTimeout, addr, lim)
		}
		err = nil
	}
	x.plain = w.buf
	switch {
	case errors.Is(err, errTooLarge):
		return describe(fasthttp.ErrBodyTooLarge, addr, lim)
	case errors.Is(err, ErrNoMemory):
		return describe(err, addr, lim)
	case err != nil && !x.GoesOn && plainText(body): // a proxy unpacked it and left the header
		return nil
	case err != nil:
		return problem.New(problem.UpstreamMalformed, "the upstream's answer is not valid %s", encoding).Because(err)
	}
	x.packed = true
	return nil
}

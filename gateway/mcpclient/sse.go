package mcpclient

import (
	"bufio"
	"bytes"
	"errors"
	"strconv"
	"time"

	"github.com/sluicegate/sluice/gateway/upstream"
)

// errEventTooLarge ends a stream whose event is larger than an answer may be.
var errEventTooLarge = errors.New("event too large")

// maxEventID is the longest id of an event that is kept, in bytes: it goes into a header.
const maxEventID = 1 << 10

// maxFieldName is what a line may have besides data: the longest field name, its
// colon and blank.
const maxFieldName = 16

// eventReader reads server-sent events (WHATWG HTML "Server-sent events").
type eventReader struct {
	r     *bufio.Reader
	limit int64              // bytes of one event's data
	http  *upstream.Exchange // that has the memory for long events; nil: it has a bound of its own

	begun bool // a byte order mark can no longer come
	skip  bool // the last line ended with CR: a LF that follows belongs to it
	text  []byte
	name  []byte // of the last event; empty: "message"
	data  []byte // of the last event
	given []byte // id of the event that is being read, or of one before it

	idle  int           // bytes of lines that brought no data: comments, ids
	id    []byte        // of the last event that came whole; empty: none had one
	retry time.Duration // before a reconnection, as the server wishes; below 0: it did not say
}

func (e *eventReader) reset(r *bufio.Reader, limit int64) {
	*e = eventReader{r: r, limit: limit, text: e.text[:0], name: e.name[:0], data: e.data[:0], given: e.given[:0], id: e.id[:0], retry: -1}
}

// resume reads on another stream, of which the last event is the one before.
func (e *eventReader) resume(r *bufio.Reader) {
	e.r, e.begun, e.skip = r, false, false
	e.given = append(e.given[:0], e.id...)
}

// next reads the next event that has data; [io.EOF] at the end of the stream. An
// event that the stream ends in is dropped, as the standard says. name and data
// are valid until the next call.
func (e *eventReader) next() error {
	e.name, e.data = e.name[:0], e.data[:0]
	has := false
	for {
		line, err := e.line()
		if err != nil {
			return err
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		if string(field) != "data" && (len(line) > 0 || !has) {
			if e.idle += len(line) + 1; e.idle > maxNotified { // a comment each second stays below it for weeks
				return errFlood
			}
		}
		if len(line) == 0 {
			e.id = append(e.id[:0], e.given...)
			if has {
				e.data = e.data[:len(e.data)-1] // the line end behind the last line
				return nil
			}
			e.name = e.name[:0]
			continue
		}
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.name = append(e.name[:0], value...)
		case "data":
			if int64(len(e.data)+len(value)) > e.limit {
				return errEventTooLarge
			}
			e.data = append(append(e.data, value...), '\n')
			has = true
		case "id":
			if bytes.IndexByte(value, 0) < 0 && len(value) <= maxEventID {
				e.given = append(e.given[:0], value...)
			}
		case "retry":
			if n, err := strconv.ParseUint(string(value), 10, 31); err == nil && value[0] != '+' {
				e.retry = time.Duration(n) * time.Millisecond
			}
		}
	}
}

// line reads a line without its end, which is CR LF, LF or CR. It never waits for
// what comes behind the end.
func (e *eventReader) line() ([]byte, error) {
	e.text = e.text[:0]
	for {
		if _, err := e.r.Peek(1); err != nil {
			return nil, err
		}
		buf, _ := e.r.Peek(e.r.Buffered()) // has at least the byte that was peeked
		if e.skip {
			e.skip = false
			if buf[0] == '\n' {
				_, _ = e.r.Discard(1)
				continue
			}
		}
		end := bytes.IndexByte(buf, '\n')
		part := buf
		if end >= 0 {
			part = buf[:end]
		}
		if i := bytes.IndexByte(part, '\r'); i >= 0 {
			end, part, e.skip = i, buf[:i], true
		}
		if int64(len(e.text)+len(part)) > e.limit+maxFieldName {
			return nil, errEventTooLarge
		}
		if e.http != nil {
			if err := e.http.Reserve(len(e.text) + len(part)); err != nil {
				return nil, err
			}
		}
		e.text = append(e.text, part...)
		if end < 0 {
			_, _ = e.r.Discard(len(buf))
			continue
		}
		_, _ = e.r.Discard(end + 1)
		if !e.begun {
			e.begun = true
			e.text = bytes.TrimPrefix(e.text, []byte("\xef\xbb\xbf"))
		}
		return e.text, nil
	}
}

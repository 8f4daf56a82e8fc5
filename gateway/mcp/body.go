package mcp

import (
	"io"
	"sync"
)

// shareFrom is the least length of bytes that a response refers to instead of
// copying them. Below it the copy costs less than what a stream costs the server.
const shareFrom = 16 << 10

// keepOutput is the largest memory of a response that is kept for the next one.
const keepOutput = 1 << 20

// output is the memory of a response, pooled. As a user value of its request it is closed
// when the response was written. fasthttp's own pool drops what is larger than most bodies
// were so far: long answers between short ones would be garbage each.
type output struct{ b []byte }

type outputKey struct{}

var outputs = sync.Pool{New: func() any { return &output{} }}

// Close implements [io.Closer].
func (o *output) Close() error {
	if o.b = o.b[:0]; cap(o.b) > keepOutput {
		o.b = nil
	}
	outputs.Put(o)
	return nil
}

// insert is where shared bytes belong in a response.
type insert struct {
	at     int    // offset in the bytes of the response's own
	shared []byte // immutable
}

// insertShared appends b, which nobody changes, to the response. Long bytes are not
// copied: as many responses as there are clients that read slowly share them.
func (x *exchange) insertShared(b []byte) {
	if len(b) < shareFrom {
		x.out = append(x.out, b...)
		return
	}
	x.inserts = append(x.inserts, insert{at: len(x.out), shared: b})
}

// body is the body of a response whose long parts are shared with others. It is
// pooled: Close returns it.
type body struct {
	own     []byte
	inserts []insert
	done    int // inserts that were read to their end
	read    int // of own and the inserts before done; in inserts[done] once own was read up to it
	inside  int // bytes read of inserts[done]
}

var bodies = sync.Pool{New: func() any { return &body{} }}

// keepInserts is how many inserts a pooled body keeps room for: a batch has up to
// [maxBatch] lists, and nearly every response has one.
const keepInserts = 4

// sharedBody takes the response of x over; size is its length.
func (x *exchange) sharedBody() (b *body, size int) {
	b = bodies.Get().(*body)
	b.own = append(b.own[:0], x.out...)
	b.inserts = append(b.inserts[:0], x.inserts...)
	size = len(b.own)
	for _, in := range b.inserts {
		size += len(in.shared)
	}
	return b, size
}

// next returns the bytes that follow; nil at the end.
func (b *body) next() []byte {
	if b.done < len(b.inserts) {
		in := &b.inserts[b.done]
		if b.read < in.at {
			return b.own[b.read:in.at]
		}
		return in.shared[b.inside:]
	}
	if b.read < len(b.own) {
		return b.own[b.read:]
	}
	return nil
}

// advance says that n bytes of next were read.
func (b *body) advance(n int) {
	if b.done == len(b.inserts) || b.read < b.inserts[b.done].at {
		b.read += n
		return
	}
	if b.inside += n; b.inside == len(b.inserts[b.done].shared) {
		b.done, b.inside = b.done+1, 0
	}
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	part := b.next()
	if part == nil {
		return 0, io.EOF
	}
	n := copy(p, part)
	b.advance(n)
	return n, nil
}

// WriteTo implements [io.WriterTo], so that no copy is made on the way to the
// connection.
func (b *body) WriteTo(w io.Writer) (total int64, err error) {
	for part := b.next(); part != nil; part = b.next() {
		n, err := w.Write(part)
		b.advance(n)
		if total += int64(n); err != nil {
			return total, err
		}
	}
	return total, nil
}

// Close implements [io.Closer].
func (b *body) Close() error {
	clear(b.inserts)
	if cap(b.inserts) > keepInserts {
		b.inserts = nil
	}
	if cap(b.own) > shareFrom {
		b.own = nil
	}
	*b = body{own: b.own[:0], inserts: b.inserts[:0]}
	bodies.Put(b)
	return nil
}

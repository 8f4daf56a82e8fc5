package upstream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http/httputil"
	"slices"

	"github.com/valyala/fasthttp"
)

// The memory for bodies of answers. An answer may have 16 MiB by default, and a node makes
// hundreds of calls at once: without a bound an upstream with long answers ends the process, and with it
// the calls of all other toolsets.
const (
	// freeBody is what an exchange may hold of a body without asking; nearly all answers are shorter.
	freeBody = 1 << 20
	// maxBodies bounds the bytes of all longer bodies that a Client holds at once.
	maxBodies = 128 << 20
	// maxHostBodies is the share of one host in them, so that no upstream takes it all by sending
	// slowly. A longer body counts as that much: it is then the only one of its host.
	maxHostBodies = 32 << 20
	// unknownBody is what a body counts as whose length is not announced, or that is compressed.
	unknownBody = 8 << 20
)

// ErrNoMemory says that other long answers held the memory for them until the deadline.
var ErrNoMemory = errors.New("no memory for the answer")

// reserve waits until a body of n bytes may be held, which lasts until clear. Only the first call for
// an answer counts: an exchange that holds a part and waits for more could wait for others that do the same.
func (x *Exchange) reserve(n int) error {
	if n <= freeBody || x.reserved > 0 {
		return nil
	}
	ctx, cancel := context.WithDeadline(context.Background(), x.limits.Deadline)
	defer cancel()
	stop := x.limits.Cancel.After(cancel)
	defer stop()
	weight := min(int64(n), maxHostBodies)
	if x.host.bodies.Acquire(ctx, weight) != nil {
		return ErrNoMemory
	}
	if x.bodies.Acquire(ctx, weight) != nil {
		x.host.bodies.Release(weight)
		return ErrNoMemory
	}
	x.reserved = weight
	return nil
}

// Reserve waits until a part of an answer of n bytes may be held, as Events reads it. Only Events
// may call it, and passes its error on. A stream that stays open needs none: it would never give it back.
func (x *Exchange) Reserve(n int) error {
	if x.reading == nil || x.Standing {
		return nil
	}
	return x.reserve(grown(n))
}

// free gives back what reserve took.
func (x *Exchange) free() {
	if x.reserved > 0 {
		x.bodies.Release(x.reserved)
		x.host.bodies.Release(x.reserved)
		x.reserved = 0
	}
}

// readWhole reads a body to its end, behind its header.
func (x *Exchange) readWhole(br *bufio.Reader, most int) error {
	h := &x.response.Header
	n := h.ContentLength()
	if n >= 0 {
		long := n
		if n > freeBody && len(h.ContentEncoding()) > 0 {
			long = max(n, unknownBody) // with what is unpacked from it
		}
		if n <= most {
			if err := x.reserve(long); err != nil {
				return err
			}
			if n > cap(x.body) && n > keepBody {
				x.body = make([]byte, 0, n) // fasthttp would take the next power of two
			}
		}
		x.lend()
		return x.response.ReadBody(br, most)
	}
	var body io.Reader = br // to the end of the connection
	if n == -1 {
		body = httputil.NewChunkedReader(br)
	}
	b := x.body[:0]
	x.body = nil
	defer func() { x.response.SwapBody(b) }()
	for {
		if len(b) == cap(b) {
			if err := x.reserve(grown(len(b))); err != nil {
				return err
			}
			b = slices.Grow(b, max(len(b)/2, smallestBody))
		}
		n, err := body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case len(b) > most:
			return fasthttp.ErrBodyTooLarge
		case err == nil:
		case !errors.Is(err, io.EOF):
			return err
		case h.ContentLength() == -1:
			return readTrailer(h, br)
		default:
			x.response.SetConnectionClose()
			return nil
		}
	}
}

// smallestBody is how much memory is made at least for a body of unknown length.
const smallestBody = 4 << 10

// grown is what a body of unknown length counts as when it has n bytes and grows.
func grown(n int) int {
	if n < freeBody {
		return n
	}
	return max(n, unknownBody)
}

package http1

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Whether a connection may be closed in favour of another.
const (
	waiting int32 = iota // for a request, or for its client to read the last answer
	busy                 // a request of it is served
	closed
)

type phase uint8

const (
	inHead   phase = iota // the head of the next request is read
	passHead              // it was read, and is handed to the server
	inBody
	failed // err is all that comes
)

// Conn is a connection whose requests are framed here. Its Read gives a server the
// heads of requests and, unless [Options.Bodies] is set, nothing else: the lines that
// say how a body is framed are taken out, and the body is read by Body.
type Conn struct {
	net.Conn
	l       *Listener
	peer    *peer // nil: of no address; changed under Listener.mu
	proxied bool  // it is one of a reverse proxy
	state   atomic.Int32
	since   atomic.Int64 // when it began to wait, in nanoseconds
	known   atomic.Bool  // somebody was let in on it
	linger  atomic.Bool  // the client may still be sending
	plain   atomic.Bool  // its TLS failed: what is sent is what the connection below carries
	shaken  bool         // the handshake of TLS was tried
	in      *buffer
	buf     []byte // of in
	r, w    int    // what was read and not taken yet
	handed  int    // end of the head that is handed to the server
	phase   phase
	err     error
	told    bool // 100 Continue was sent
	raw     bool // nothing is framed any more
	head    head
	chunks  chunks
	left    int64 // of a body of known length
	body    *buffer
	charged int64
}

const (
	// smallBuffer holds the head and the body of nearly all calls. It is all of ours
	// that a connection keeps while it waits.
	smallBuffer = 2 << 10
	// lingerTime and lingerBytes bound what is read of a request that was answered
	// before it was read: a client that writes its whole request before it reads would
	// lose the answer to a reset. Bodies of calls are rarely larger.
	lingerTime  = time.Second
	lingerBytes = 64 << 10
	// maxLingering connections linger at the same time; the others are closed at once.
	maxLingering = 1024
	// continueTime is for writing an interim answer of a few bytes.
	continueTime = 5 * time.Second
)

var smallBuffers = sync.Pool{New: func() any { return &buffer{make([]byte, smallBuffer)} }}

// NetConn is the connection below: that of TLS, if TLS is spoken.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// Write implements [io.Writer]. Behind a write that failed, Close closes at once: TLS
// would wait five more seconds to say that it ends to a client that does not read.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		c.plain.Store(true)
	}
	return n, err
}

// Read implements [io.Reader] for the server behind.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if !c.shaken {
		c.handshake()
	}
	for {
		if c.raw {
			if c.r < c.w {
				n := copy(p, c.buf[c.r:c.w])
				c.r += n
				return n, nil
			}
			return c.Conn.Read(p)
		}
		switch c.phase {
		case inHead:
			if err := c.readHead(); err != nil {
				var e *Error
				if c.w == 0 || c.l.opts.Bodies && !errors.As(err, &e) {
					return 0, err // net/http interrupts reading by a deadline, and reads on
				}
				c.fail(err)
				// fasthttp answers what it has a byte of. net/http looks for more while it
				// serves a request, and would cancel that for an error.
				if !c.l.opts.Bodies || c.state.Load() == busy {
					p[0] = '?'
					return 1, nil
				}
			}
		case passHead:
			n := copy(p, c.buf[c.r:c.handed])
			if c.r += n; c.r == c.handed {
				c.phase, c.r = inBody, c.head.line
			}
			return n, nil
		case inBody:
			if c.l.opts.Bodies {
				if n, err := c.passBody(p); n > 0 || err != nil {
					return n, err
				}
			} else if !c.Drop() {
				c.fail(errUnread)
				continue
			}
			c.next()
		case failed:
			return 0, c.answerError()
		}
	}
}

// fail ends the reading of requests.
func (c *Conn) fail(err error) {
	c.phase, c.err = failed, err
	if _, ok := errors.AsType[*Error](err); ok {
		c.l.refused(Malformed)
		c.linger.Store(true)
	}
}

// answerError is what reading ends with. net/http answers every error with 400, so
// that the answer is written here: it reads the next request when the answer to the
// one before was written.
func (c *Conn) answerError() error {
	if e, ok := errors.AsType[*Error](c.err); ok && c.l.opts.Bodies {
		_, _ = c.Conn.Write(appendAnswer(nil, e.Status, e.Text, 0)) // the connection ends in any case
		c.err = &net.OpError{Op: "read", Net: "tcp", Err: e}        // such errors it does not answer
	}
	return c.err
}

// next begins the next request. A client that sends many without waiting for answers
// would keep its processor for as long as the runtime lets one goroutine have it, a
// hundred requests or more; others, of which there may be a thousand in front of an
// honest client, have their turn in between.
func (c *Conn) next() {
	runtime.Gosched()
	c.FreeBody()
	if c.proxied {
		c.release()
	}
	c.phase, c.told = inHead, false
	c.head = head{}
	c.chunks = chunks{trailer: c.chunks.trailer[:0]}
}

// readHead reads up to the end of a header block.
func (c *Conn) readHead() error {
	if c.r == c.w && len(c.buf) > smallBuffer {
		c.freeBuffer()
	}
	if c.in == nil {
		c.useBuffer(&smallBuffers)
	}
	c.w = copy(c.buf, c.buf[c.r:c.w])
	c.r = 0
	if !c.l.opts.Bodies {
		c.wait()
	}
	timed := false
	for {
		whole, err := c.head.advance(c.buf[:c.w])
		switch {
		case err != nil:
			return err
		case whole && c.head.line > c.l.opts.HeadBytes || !whole && c.w >= c.l.opts.HeadBytes:
			return errLarge
		case whole:
			return c.headDone()
		}
		if c.w == len(c.buf) {
			small, n := c.in, c.w
			c.useBuffer(&c.l.large)
			c.w = copy(c.buf, small.b[:n])
			smallBuffers.Put(small)
		}
		if c.w > 0 && !timed && !c.l.opts.Bodies { // behind its first byte the whole head has this time
			timed = true
			if err := c.SetReadDeadline(time.Now().Add(c.l.opts.HeadTime)); err != nil {
				return err
			}
		}
		n, err := c.Conn.Read(c.buf[c.w:])
		c.w += n
		if n == 0 && err != nil {
			if c.w == 0 {
				c.freeBuffer()
			}
			return err
		}
	}
}

// headDone takes the lines that frame the body out of the head, unless the server
// frames it itself.
func (c *Conn) headDone() error {
	h := &c.head
	if !c.l.opts.Bodies && !c.state.CompareAndSwap(waiting, busy) {
		return net.ErrClosed
	}
	c.left = h.length
	c.phase, c.r, c.handed = passHead, h.start, h.line
	if c.l.opts.Bodies {
		return nil
	}
	for i := h.framed - 1; i >= 0; i-- { // from the end, so that spans stay true
		s := h.framing[i]
		c.handed -= s.to - s.from
		copy(c.buf[s.from:], c.buf[s.to:h.line])
	}
	return nil
}

// wait says that the connection may be closed in favour of another.
func (c *Conn) wait() {
	c.since.Store(time.Now().UnixNano())
	c.state.CompareAndSwap(busy, waiting)
}

// Length is that of the body of the request that is served, in bytes; -1 when it is
// not known ahead, as it comes in chunks.
func (c *Conn) Length() int64 { return c.head.length }

// Admit says that somebody was let in: the connection no longer counts as that of a
// stranger.
func (c *Conn) Admit() {
	if !c.known.Load() {
		c.l.know(c)
	}
}

// From counts the request that is served as one of an address, and its body: that of the
// client for which a reverse proxy asks. It does nothing on a connection that is not one
// of [Options.Proxy]. It is false when the address has too many at the same time; the
// request must not be served then.
func (c *Conn) From(addr netip.Addr) bool {
	if !c.proxied {
		return true
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if _, open := c.l.conns[c]; !open {
		return false
	}
	c.l.uncountLocked(c)
	c.peer = nil
	c.known.Store(false)
	if !c.l.countLocked(c, addr) {
		c.l.refused(Address)
		return false
	}
	return true
}

// release ends what From began.
func (c *Conn) release() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.l.uncountLocked(c)
	c.peer = nil
	c.known.Store(true) // the proxy is not a stranger
}

// Detach ends the framing: what comes is read as it is, by whom the server gave the
// connection to.
func (c *Conn) Detach() {
	c.raw = true
	if c.r == c.w {
		c.freeBuffer()
	}
}

// Drop leaves out what was not read of the body. It reports whether that had come
// already; if not the connection must be closed behind the answer, and its Close
// lingers.
func (c *Conn) Drop() bool {
	if c.phase != inBody {
		return c.phase != failed
	}
	var whole bool
	if c.head.length == chunked {
		whole = c.dropChunks()
	} else {
		n := min(c.left, int64(c.w-c.r))
		c.r += int(n)
		c.left -= n
		whole = c.left == 0
	}
	if !whole {
		c.linger.Store(true)
	}
	return whole
}

func (c *Conn) dropChunks() bool {
	for c.r < c.w && c.chunks.state != chunkEnd {
		framing, data, err := c.chunks.step(c.buf[c.r:c.w])
		if err != nil {
			return false
		}
		c.r += framing + data
		c.chunks.took(data)
	}
	return c.chunks.state == chunkEnd
}

// passBody hands bytes of the body to the server as they came; 0 at its end.
func (c *Conn) passBody(p []byte) (int, error) {
	if c.head.length != chunked {
		n, err := c.take(p[:min(int64(len(p)), c.left)])
		c.left -= int64(n)
		return n, err
	}
	if c.chunks.state == chunkEnd {
		return 0, nil
	}
	if c.chunks.state == chunkData {
		n, err := c.take(p[:min(int64(len(p)), c.chunks.left)])
		c.chunks.took(n)
		return n, err
	}
	if err := c.fill(); err != nil {
		return 0, err
	}
	p = p[:min(len(p), c.w-c.r)]
	framing, _, err := c.chunks.step(c.buf[c.r : c.r+len(p)])
	if err != nil {
		c.fail(err)
		c.err = &net.OpError{Op: "read", Net: "tcp", Err: err} // the handler that reads the body answers
		return 0, err
	}
	copy(p, c.buf[c.r:c.r+framing])
	c.r += framing
	return framing, nil
}

// take reads what there is, from the buffer first.
func (c *Conn) take(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.r < c.w {
		n := copy(p, c.buf[c.r:c.w])
		c.r += n
		return n, nil
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		err = nil
	} else if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// fill reads into the buffer when it is empty. The head is not needed any more.
func (c *Conn) fill() error {
	if c.r < c.w {
		return nil
	}
	c.r, c.w = 0, 0
	n, err := c.take(c.buf)
	c.w = n
	return err
}

// CloseWrite ends what is sent, if the connection below can do that.
func (c *Conn) CloseWrite() error {
	if cw, ok := c.carrier().(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close closes the connection. One whose client may still be sending is first given
// up to a second to read the answer.
func (c *Conn) Close() error {
	if c.linger.Swap(false) {
		c.lingerClose()
	}
	c.state.Store(closed)
	err := c.carrier().Close()
	c.l.forget(c)
	return err
}

// lingerClose sends the end of what is sent here, and reads on for a while (RFC 9112
// §9.6).
func (c *Conn) lingerClose() {
	if c.l.lingering.Add(1) <= maxLingering && !c.l.stopped.Load() && c.CloseWrite() == nil {
		c.since.Store(0) // the first to go
		c.state.CompareAndSwap(busy, waiting)
		end := time.Now().Add(lingerTime)
		if c.in == nil {
			c.useBuffer(&smallBuffers)
		}
		nc := c.carrier()
		err := nc.SetReadDeadline(end)
		for all := 0; err == nil && all < lingerBytes; {
			var n int
			n, err = nc.Read(c.buf)
			all += n
		}
		if err == nil { // it goes on sending: it has the rest of the time to read
			t := time.NewTimer(time.Until(end))
			select {
			case <-t.C:
			case <-c.l.done:
			}
			t.Stop()
		}
		c.freeBuffer()
	}
	c.l.lingering.Add(-1)
}

func (c *Conn) useBuffer(from *sync.Pool) {
	c.in = from.Get().(*buffer)
	c.buf = c.in.b
}

func (c *Conn) freeBuffer() {
	switch {
	case len(c.buf) == smallBuffer:
		smallBuffers.Put(c.in)
	case c.in != nil:
		c.l.large.Put(c.in)
	}
	c.in, c.buf, c.r, c.w = nil, nil, 0, 0
}

// ConnState is for [http.Server], whose connections of [Options.Bodies] these are: it
// says which of them wait.
func ConnState(nc net.Conn, s http.ConnState) {
	c, ok := nc.(*Conn)
	if t, secure := nc.(*tlsConn); secure {
		c, ok = t.Conn, true
	}
	if !ok {
		return
	}
	switch s {
	case http.StateActive:
		c.state.CompareAndSwap(waiting, busy)
		c.Admit()
	case http.StateIdle:
		c.wait()
	case http.StateNew, http.StateHijacked, http.StateClosed:
	}
}

package http1

import (
	"sync"
	"time"
)

// Sizes of the buffers bodies are read into. A body begins in the smallest that its
// stated length needs, at most firstBuffer, and grows as its bytes come: what a client
// says it will send costs nothing.
const (
	firstBuffer  = 16 << 10
	bufferGrowth = 8
)

// buffer is memory for a body.
type buffer struct{ b []byte }

var firstBuffers = sync.Pool{New: func() any { return &buffer{make([]byte, firstBuffer)} }}

// Body reads the whole body of the request, of at most most bytes. It tells a client
// that waits for it to go on. The result is valid until FreeBody, or until the next
// request is read. It fails with [ErrTooLarge], of a stated length before anything is
// read, with [ErrBusy] when there is no memory for bodies left, with an [*Error] when
// the framing is malformed, and with errors of the connection; the time it takes is
// bounded by the connection's read deadline.
func (c *Conn) Body(most int) ([]byte, error) {
	switch {
	case c.head.length > int64(most):
		return nil, ErrTooLarge
	case c.head.length == 0:
		return nil, nil
	case c.head.length > 0 && c.left == c.head.length && c.left <= int64(c.w-c.r): // nearly every call
		b := c.buf[c.r : c.r+int(c.head.length)]
		c.r += len(b)
		c.left = 0
		return b, nil
	}
	if c.head.expects && !c.told && c.r == c.w {
		c.told = true
		if err := c.SetWriteDeadline(time.Now().Add(continueTime)); err != nil {
			return nil, err
		}
		if _, err := c.Conn.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n")); err != nil {
			return nil, err
		}
	}
	var n int
	var err error
	if c.head.length == chunked {
		n, err = c.readChunks(most)
	} else {
		n, err = c.readSized()
	}
	if err != nil {
		c.FreeBody()
		return nil, err
	}
	if n == 0 {
		return nil, nil
	}
	return c.body.b[:n], nil
}

// readSized reads a body of known length.
func (c *Conn) readSized() (n int, err error) {
	for c.left > 0 {
		if err := c.room(n, int(c.head.length)); err != nil {
			return 0, err
		}
		k, err := c.take(c.body.b[n:min(len(c.body.b), n+int(c.left))])
		if err != nil {
			return 0, err
		}
		n += k
		c.left -= int64(k)
	}
	return n, nil
}

// readChunks reads a body of chunks.
func (c *Conn) readChunks(most int) (n int, err error) {
	for c.chunks.state != chunkEnd {
		if c.chunks.state != chunkData {
			if err := c.fill(); err != nil {
				return 0, err
			}
			framing, _, err := c.chunks.step(c.buf[c.r:c.w])
			if err != nil {
				c.fail(err)
				return 0, err
			}
			c.r += framing
			continue
		}
		if int64(n)+c.chunks.left > int64(most) {
			return 0, ErrTooLarge
		}
		if err := c.room(n, most); err != nil {
			return 0, err
		}
		k, err := c.take(c.body.b[n:min(int64(len(c.body.b)), int64(n)+c.chunks.left)])
		if err != nil {
			return 0, err
		}
		n += k
		c.chunks.took(k)
	}
	return n, nil
}

// room makes room for another byte behind n of a body of at most most.
func (c *Conn) room(n, most int) error {
	if c.body == nil {
		if !c.charge(firstBuffer) {
			return ErrBusy
		}
		c.body = firstBuffers.Get().(*buffer)
	}
	if n < len(c.body.b) {
		return nil
	}
	size := min(len(c.body.b)*bufferGrowth, max(most, len(c.body.b)+1))
	if !c.charge(int64(size - len(c.body.b))) {
		return ErrBusy
	}
	larger := &buffer{make([]byte, size)}
	copy(larger.b, c.body.b)
	free(c.body)
	c.body = larger
	return nil
}

// FreeBody ends the use of what Body returned.
func (c *Conn) FreeBody() {
	if c.body != nil {
		free(c.body)
		c.body = nil
	}
	c.discharge(c.charged)
}

func free(b *buffer) {
	if len(b.b) == firstBuffer {
		firstBuffers.Put(b)
	}
}

// charge takes n bytes out of what there is for bodies.
func (c *Conn) charge(n int64) bool {
	if !c.l.charge(c.peer, n) {
		c.l.refused(Bodies)
		return false
	}
	c.charged += n
	return true
}

func (c *Conn) discharge(n int64) {
	if n > 0 {
		c.charged -= n
		c.l.discharge(c.peer, n)
	}
}

package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
)

// plainText is what net/http says to a client without TLS; commands of Sluice and
// other clients know it.
const plainText = "Client sent an HTTP request to an HTTPS server."

// challengeProtocol is that of a certificate authority which looks for its answer in the
// handshake (RFC 8737 §4). Nothing may follow it.
const challengeProtocol = "acme-tls/1"

// tlsConn is a connection of which net/http learns that TLS is below it. It is no
// [*tls.Conn], so net/http reads what [Conn] lets through, and offers no HTTP/2.
type tlsConn struct{ *Conn }

// ConnectionState makes the handshake and returns its outcome. net/http asks for it
// on the goroutine of the connection, in front of the first request. Behind a
// handshake that failed nothing can be read.
func (c *tlsConn) ConnectionState() tls.ConnectionState {
	t, ok := c.Conn.Conn.(*tls.Conn)
	if !ok {
		panic("BUG: there is no TLS below")
	}
	c.handshake()
	return t.ConnectionState()
}

// handshake makes that of TLS, if TLS is spoken, in at most the time of a head. Behind
// one that failed nothing can be read.
func (c *Conn) handshake() {
	c.shaken = true
	t, ok := c.Conn.(*tls.Conn)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.l.opts.HeadTime)
	defer cancel()
	err := t.HandshakeContext(ctx)
	if err == nil {
		if t.ConnectionState().NegotiatedProtocol == challengeProtocol {
			c.plain.Store(true)
			c.fail(io.EOF)
		}
		return
	}
	c.plain.Store(true)
	if !errors.Is(err, io.EOF) { // else nothing came: a probe of the port
		c.l.refused(Handshake)
	}
	c.answerPlain(err)
	c.fail(&net.OpError{Op: "read", Net: "tcp", Err: err}) // such errors net/http does not answer
}

// answerPlain tells a client that speaks HTTP without TLS what is wrong.
func (c *Conn) answerPlain(err error) {
	record, ok := errors.AsType[tls.RecordHeaderError](err)
	if !ok || record.Conn == nil {
		return
	}
	switch string(record.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "PATCH", "DELET":
		c.linger.Store(true)                                                             // the rest of the request is on its way
		_, _ = record.Conn.Write(appendAnswer(nil, http.StatusBadRequest, plainText, 0)) // the connection ends in any case
	}
}

// carrier is what takes and gives bytes: TLS, or the connection below when TLS failed.
func (c *Conn) carrier() net.Conn {
	if c.plain.Load() {
		return c.below()
	}
	return c.Conn
}

// below is what carries the bytes. Closing it waits for nobody, while TLS would first
// write that it ends.
func (c *Conn) below() net.Conn {
	if t, ok := c.Conn.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c.Conn
}

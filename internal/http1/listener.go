package http1

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluicegate/sluice/internal/sock"
)

// Reason says why a client was turned away here, as a metric label.
type Reason string

// The reasons.
const (
	Connections Reason = "connections" // of all addresses
	Address     Reason = "address"     // connections of one
	Evicted     Reason = "evicted"     // closed while it waited, for another
	Bodies      Reason = "bodies"
	Malformed   Reason = "malformed"
	Handshake   Reason = "handshake" // of TLS, which failed or took too long
)

// Options configures a Listener. What is 0 is not bounded, but for HeadBytes and
// HeadTime, which are required.
type Options struct {
	// HeadBytes is the longest header block.
	HeadBytes int
	// HeadTime is how long a head may take from its first byte to its last. With
	// Bodies the server's own limit holds. It is also how long a TLS handshake may take.
	HeadTime time.Duration
	// TLS is spoken on the connections when it is not nil; it must have a certificate.
	// Of protocols above it only HTTP/1.1 is offered (ALPN, RFC 7301); what its
	// GetConfigForClient returns must offer nothing else. The handshake is made on the
	// goroutine of the connection, so that it holds up no other: with the first Read, or
	// with Bodies when net/http asks for its outcome.
	TLS *tls.Config
	// Bodies leaves bodies to the server behind, which frames them itself as the
	// head says, and sets ConnState. They are passed on as they came, chunks after they
	// were checked.
	Bodies bool
	// Conns may be open at the same time. Past it the one that waits longest goes,
	// strangers first; when none waits the new one is answered 503.
	Conns int
	// ConnsPerAddress of them may be of one address: an IPv4 address, or an IPv6
	// network of 64 bits, which is what one subscriber has.
	ConnsPerAddress int
	// Strangers may be connected from one address: connections on which nobody was
	// let in yet.
	Strangers int
	// Proxy reports whether an address is that of a reverse proxy. Connections of one are
	// counted by no address; the requests on them are by those that From names.
	// Default: there are none.
	Proxy func(netip.Addr) bool
	// BodyBytes and BodyBytesPerAddress are memory for bodies.
	BodyBytes, BodyBytesPerAddress int64
	// Refused is called with each client that is turned away. Default: nobody is.
	Refused func(Reason)
}

const (
	// retryAfter is what a client that found no room is told, in seconds.
	retryAfter = 2
	// refusing connections are answered at the same time; others are closed unanswered.
	maxRefusing = 256
	// sampled connections are looked at for the one that waits longest: of a thousand
	// that wait it is one of the oldest thirty, and looking costs the same for any number.
	sampled = 32
	// acceptPause is between two tries to accept when the system has no descriptor or
	// memory left.
	acceptPause = 20 * time.Millisecond
)

// Listener gives out connections that are a [*Conn], or have one in them when net/http
// is to speak TLS.
type Listener struct {
	net.Listener
	opts      Options
	lingering atomic.Int64
	refusing  atomic.Int64
	bodies    atomic.Int64
	stopped   atomic.Bool
	done      chan struct{}
	large     sync.Pool // *buffer, for heads that do not fit a small one

	mu    sync.Mutex
	conns map[*Conn]struct{}   // guarded by mu
	peers map[netip.Addr]*peer // guarded by mu
}

// peer is what one address holds.
type peer struct {
	addr      netip.Addr
	bodies    atomic.Int64
	conns     map[*Conn]struct{} // guarded by Listener.mu
	strangers map[*Conn]struct{} // guarded by Listener.mu
}

// Listen bounds and frames what comes from l. Close closes it.
func Listen(l net.Listener, o Options) *Listener {
	if o.TLS != nil {
		o.TLS = o.TLS.Clone()
		o.TLS.NextProtos = []string{"http/1.1"}
		o.TLS.MinVersion = max(o.TLS.MinVersion, tls.VersionTLS12)
	}
	out := &Listener{Listener: l, opts: o, done: make(chan struct{}), conns: map[*Conn]struct{}{}, peers: map[netip.Addr]*peer{}}
	out.large.New = func() any { return &buffer{make([]byte, max(o.HeadBytes, smallBuffer)+smallBuffer)} }
	return out
}

// Accept implements [net.Listener]. A system without descriptors is not the end of the
// listener: connections that wait are closed until there are some.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			if !passing(err) {
				return nil, err
			}
			l.mu.Lock()
			l.evictLocked(l.conns)
			l.mu.Unlock()
			select {
			case <-time.After(acceptPause):
			case <-l.done:
			}
			continue
		}
		c := l.admit(nc)
		if c != nil && l.opts.TLS != nil && l.opts.Bodies {
			return &tlsConn{Conn: c}, nil
		}
		if c != nil {
			return c, nil
		}
	}
}

// passing reports whether accepting may succeed the next time.
func passing(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Close ends the listener and the patience with clients that are still sending.
func (l *Listener) Close() error {
	if !l.stopped.Swap(true) {
		close(l.done)
	}
	return l.Listener.Close()
}

// Open is the number of connections.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// BodyBytes is the memory that bodies take.
func (l *Listener) BodyBytes() int64 { return l.bodies.Load() }

func (l *Listener) refused(r Reason) {
	if l.opts.Refused != nil {
		l.opts.Refused(r)
	}
}

// admit makes room for a new connection, or answers it; nil then.
func (l *Listener) admit(nc net.Conn) *Conn {
	boundUnsent(nc)
	nc = sock.New(nc)
	if l.opts.TLS != nil {
		nc = tls.Server(nc, l.opts.TLS)
	}
	c := &Conn{Conn: nc, l: l}
	c.since.Store(time.Now().UnixNano())
	l.mu.Lock()
	why := l.enterLocked(c)
	l.mu.Unlock()
	if why != "" {
		l.refuse(nc, why)
		return nil
	}
	return c
}

func (l *Listener) enterLocked(c *Conn) Reason {
	if full(len(l.conns), l.opts.Conns) && !l.evictLocked(l.conns) {
		return Connections
	}
	if addr, ok := RemoteIP(c.Conn.RemoteAddr()); ok {
		if c.proxied = l.opts.Proxy != nil && l.opts.Proxy(addr); !c.proxied && !l.countLocked(c, addr) {
			return Address
		}
	}
	l.conns[c] = struct{}{}
	return ""
}

// countLocked counts a connection as one of an address, of which nobody was let in yet;
// false: it has too many.
func (l *Listener) countLocked(c *Conn, addr netip.Addr) bool {
	addr = subscriber(addr)
	p := l.peers[addr]
	if p == nil {
		p = &peer{addr: addr, conns: map[*Conn]struct{}{}, strangers: map[*Conn]struct{}{}}
		l.peers[addr] = p
	}
	if full(len(p.strangers), l.opts.Strangers) && !l.evictLocked(p.strangers) ||
		full(len(p.conns), l.opts.ConnsPerAddress) && !l.evictLocked(p.conns) {
		return false
	}
	// What was evicted may have been the last of its address.
	l.peers[addr] = p
	c.peer = p
	p.conns[c], p.strangers[c] = struct{}{}, struct{}{}
	return true
}

// uncountLocked takes a connection out of those of its address. It may do so again.
func (l *Listener) uncountLocked(c *Conn) {
	p := c.peer
	if p == nil {
		return
	}
	delete(p.conns, c)
	delete(p.strangers, c)
	if len(p.conns) == 0 && l.peers[p.addr] == p {
		delete(l.peers, p.addr)
	}
}

func full(n, most int) bool { return most > 0 && n >= most }

// RemoteIP is the IP address of one end of a connection; false: it has none.
func RemoteIP(a net.Addr) (netip.Addr, bool) {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	addr, ok := netip.AddrFromSlice(t.IP)
	return addr.Unmap(), ok
}

// subscriber is what connections of an address are counted by.
func subscriber(addr netip.Addr) netip.Addr {
	if addr = addr.Unmap().WithZone(""); addr.Is6() {
		p, _ := addr.Prefix(64) // of an address of 128 bits
		return p.Addr()
	}
	return addr
}

// evictLocked closes the connection of a set that waits longest, as far as a sample
// tells, those of strangers first; false: none waits.
func (l *Listener) evictLocked(set map[*Conn]struct{}) bool {
	var oldest *Conn
	n := 0
	for c := range set { // begins anywhere
		if c.state.Load() != waiting {
			continue
		}
		if oldest == nil || before(c, oldest) {
			oldest = c
		}
		if n++; n == sampled {
			break
		}
	}
	if oldest == nil {
		return false
	}
	if oldest.state.CompareAndSwap(waiting, closed) {
		l.refused(Evicted)
		_ = oldest.below().Close() // whoever reads it sees that
	}
	l.forgetLocked(oldest)
	return true
}

func before(a, b *Conn) bool {
	if x, y := a.known.Load(), b.known.Load(); x != y {
		return y
	}
	return a.since.Load() < b.since.Load()
}

// refuse answers a connection for which there is no room, without reading a request.
func (l *Listener) refuse(nc net.Conn, why Reason) {
	l.refused(why)
	if l.refusing.Add(1) > maxRefusing {
		l.refusing.Add(-1)
		_ = nc.Close()
		return
	}
	go func() {
		defer l.refusing.Add(-1)
		_ = nc.SetDeadline(time.Now().Add(lingerTime))
		_, _ = nc.Write(appendAnswer(nil, http.StatusServiceUnavailable, "there are too many connections", retryAfter))
		c := &Conn{Conn: nc, l: l}
		c.linger.Store(true)
		_ = c.Close()
	}()
}

// know takes a connection out of the strangers.
func (l *Listener) know(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.known.Store(true)
	if c.peer != nil {
		delete(c.peer.strangers, c)
	}
}

func (l *Listener) forget(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetLocked(c)
}

func (l *Listener) forgetLocked(c *Conn) {
	if _, ok := l.conns[c]; !ok {
		return
	}
	delete(l.conns, c)
	l.uncountLocked(c)
}

// charge takes n bytes for the body of a request from p; false: there are none.
func (l *Listener) charge(p *peer, n int64) bool {
	if l.bodies.Add(n) > l.opts.BodyBytes && l.opts.BodyBytes > 0 {
		l.bodies.Add(-n)
		return false
	}
	if p != nil && p.bodies.Add(n) > l.opts.BodyBytesPerAddress && l.opts.BodyBytesPerAddress > 0 {
		p.bodies.Add(-n)
		l.bodies.Add(-n)
		return false
	}
	return true
}

func (l *Listener) discharge(p *peer, n int64) {
	l.bodies.Add(-n)
	if p != nil {
		p.bodies.Add(-n)
	}
}

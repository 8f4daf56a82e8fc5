package upstream

import (
	"cmp"
	"crypto/tls"
	"errors"
	"io"
	"iter"
	"math/bits"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/semaphore"

	"github.com/sluicegate/sluice/internal/cdnloop"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// DefaultMaxBody is the largest answer that is read, compressed or not: a list
	// of 10,000 objects of 1.6 KB.
	DefaultMaxBody = 16 << 20
	// HardMaxBody is the largest limit that can be asked for. An answer is held in
	// memory while it is transformed.
	HardMaxBody = 64 << 20
	// DefaultTimeout bounds a call from the first dial to the last byte.
	DefaultTimeout = 30 * time.Second
	// DefaultMaxConns bounds the connections to one host, and so the calls that
	// run there at once; more wait for their turn until their deadline.
	DefaultMaxConns = 256
	// maxStanding bounds the connections to one host for streams that stay open. They are
	// no part of those for calls: a stream stands for hours, and a call would wait for its end.
	maxStanding = 4096
	// idleConn is how long an unused connection is kept. Node's servers close
	// theirs after 5 s, and a POST that meets such a close cannot be repeated.
	idleConn = 4 * time.Second
	// maxAttempts of an idempotent request whose connection was closed under it.
	maxAttempts = 3
	// maxRedirects that are followed, as curl's and browsers' limits but smaller:
	// APIs redirect once or twice.
	maxRedirects = 5
	// maxHosts whose connections are kept. The one idle longest goes first.
	maxHosts = 4096
	// readBuffer is the longest header block (some APIs send 8 KB of policies) and
	// takes an answer of usual size in one system call.
	readBuffer = 32 << 10
	// standingBuffer is that of a stream that stays open: the events in it are short, and
	// there are thousands.
	standingBuffer = 12 << 10
	// smallestClass is the lowest limit a connection pool is made for.
	smallestClass = 1 << 20
	// keepBody is the largest buffer an Exchange keeps between calls.
	keepBody = 256 << 10
)

// Options configures a Client.
type Options struct {
	// Dial makes every connection of an exchange without a Scope; required.
	// safedial.Dialer.DialTimeout fits.
	Dial func(addr string, timeout time.Duration) (net.Conn, error)
	// TLS is the base of the TLS configuration. Default: the system's roots.
	TLS *tls.Config
	// MaxConns bounds the connections to one host. Default: [DefaultMaxConns].
	MaxConns int
	// UserAgent is sent when the request has none. Default: "sluice".
	UserAgent string
}

// Client keeps the connections to all upstreams. It is safe for concurrent use.
type Client struct {
	opts   Options
	bodies *semaphore.Weighted // bytes of the long ones

	mu    sync.RWMutex
	hosts map[hostKey]*host // guarded by mu
}

// hostKey separates pools by what a HostClient cannot vary: origin and limit.
type hostKey struct {
	addr  string
	tls   bool
	class int

	client  string // ClientCertificate.ID; "": none
	version uint64

	standing bool // for streams that stay open

	scope *safedial.Scope // whose grants opened the connections; nil: they need none
}

type host struct {
	client   fasthttp.HostClient
	bodies   *semaphore.Weighted
	lastUsed atomic.Int64 // Unix seconds
	running  atomic.Int64 // exchanges
}

// New makes a Client. It fails with [problem.InvalidArgument] without Dial.
func New(o Options) (*Client, error) {
	if o.Dial == nil {
		return nil, problem.New(problem.InvalidArgument, "the upstream client needs a dialer")
	}
	if o.MaxConns <= 0 {
		o.MaxConns = DefaultMaxConns
	}
	if o.UserAgent == "" {
		o.UserAgent = "sluice"
	}
	if o.TLS == nil {
		o.TLS = &tls.Config{}
	}
	o.TLS = o.TLS.Clone()
	o.TLS.MinVersion = max(o.TLS.MinVersion, tls.VersionTLS12)
	return &Client{opts: o, bodies: semaphore.NewWeighted(maxBodies), hosts: map[hostKey]*host{}}, nil
}

// Close closes the connections that are idle.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, h := range c.hosts {
		h.client.CloseIdleConnections()
		delete(c.hosts, k)
	}
}

// Stripper takes credentials off a request that leaves the origin they are for.
type Stripper interface{ Strip(req *fasthttp.Request) }

// Limits bound one exchange. The zero value has the defaults.
type Limits struct {
	// Deadline of everything. Default: [DefaultTimeout] from now.
	Deadline time.Time
	// MaxBody in bytes, before and after decompression. Default:
	// [DefaultMaxBody]; at most [HardMaxBody].
	MaxBody int64
	// Client is the certificate that connections to the base's origin show; nil:
	// none. It is not shown to another origin.
	Client *ClientCertificate
	// Cancel ends the exchange from outside; nil: nothing does.
	Cancel *Cancel
	// Scope are the grants of private addresses that connections may use; they are
	// never shared with another Scope. nil: none.
	Scope *safedial.Scope
	// Loop is the header CDN-Loop of the request, see [cdnloop.Sent]. Default: [cdnloop.Own].
	Loop string
}

// ClientCertificate authenticates connections (mutual TLS). Connections of
// different certificates are never shared. PEM is the chain and its private key.
type ClientCertificate struct {
	ID      string // of the credential
	Version uint64 // of its value
	PEM     secrets.Secret
}

// Exchange is a request and its answer, reused from call to call. The caller
// fills Request; after [Client.Do] Status, Header and Body are valid until Reset.
type Exchange struct {
	Request  fasthttp.Request
	response fasthttp.Response
	body     []byte   // memory for the next body; nil while the response has it
	plain    []byte   // decompressed body
	begun    bool     // the header of an answer came
	reading  net.Conn // while Events runs
	packed   bool     // plain is the body

	bodies   *semaphore.Weighted // of the Client; nil before Do
	limits   Limits
	host     *host // that is asked
	reserved int64 // of both
	// Redirects that were followed.
	Redirects int
	// Events, when not nil, reads the body of an answer of type text/event-stream
	// as it comes; Body is empty then. It returns nil when it has what it wants:
	// what comes after is not read. Reading fails when the deadline has passed or
	// the exchange was cancelled. No compressed answer is asked for.
	Events func(status int, body io.Reader) error
	// Repeatable says that the request may be sent again when a kept connection was
	// closed under it, though its method is not idempotent.
	Repeatable bool
	// Standing says that the answer is a stream that stays open: it takes no connection
	// away from others.
	Standing bool
	// GoesOn says that the answer is a stream which had not ended when the time was
	// nearly up: the body holds the events that had come whole.
	GoesOn bool
}

// Reset makes x ready for the next request and lets large buffers go.
func (x *Exchange) Reset() {
	x.Request.Reset()
	x.clear()
	if cap(x.plain) > keepBody {
		x.plain = nil
	}
	x.plain, x.packed, x.Redirects, x.GoesOn = x.plain[:0], false, 0, false
	x.Events, x.Repeatable, x.Standing = nil, false, false
	x.bodies, x.host, x.limits = nil, nil, Limits{}
}

// Extend gives the rest of the answer time until deadline, in place of what the limits of
// the exchange say. Only Events may call it.
func (x *Exchange) Extend(deadline time.Time) {
	if x.reading != nil {
		_ = x.reading.SetReadDeadline(deadline) // a connection that was closed fails the next read
	}
}

// ResetAnswer makes x ready to send its request once more.
func (x *Exchange) ResetAnswer() {
	x.clear()
	x.plain, x.packed, x.Redirects, x.GoesOn = x.plain[:0], false, 0, false
}

// clear empties the response and takes back the memory of its body: fasthttp would give
// it to a pool that drops what is larger than most bodies were so far, so that an API's
// long answers between short ones would be garbage each.
func (x *Exchange) clear() {
	x.free()
	if b := x.response.SwapBody(nil); cap(b) > 0 && cap(b) <= keepBody {
		x.body = b[:0]
	}
	x.response.Reset()
}

// lend gives the response the memory for the body that is read next.
func (x *Exchange) lend() {
	x.response.SwapBody(x.body)
	x.body = nil
}

// Status is the HTTP status of the answer.
func (x *Exchange) Status() int { return x.response.StatusCode() }

// Headers yields the headers of the answer. Names and values are valid until Reset.
func (x *Exchange) Headers() iter.Seq2[[]byte, []byte] { return x.response.Header.All() }

// Header is a header of the answer, nil when it has none of that name.
func (x *Exchange) Header(name string) []byte { return x.response.Header.Peek(name) }

// Body is the answer's body without its content encoding. Valid until Reset.
func (x *Exchange) Body() []byte {
	if x.packed {
		return x.plain
	}
	return x.response.Body()
}

// Do sends x.Request, whose URL must be below base, and reads the whole answer.
// Redirects are followed with at most the method's meaning: GET and HEAD
// anywhere, without the credentials that strip takes off when the origin changes;
// others only on 307 and 308 and only to the same origin. It fails with
// [problem.BlockedAddress], [problem.Unreachable], [problem.Timeout],
// [problem.UpstreamTooLarge], [problem.UpstreamMalformed],
// [problem.Unavailable] or [problem.Cancelled]; every status of the upstream is an answer, not an error.
func (c *Client) Do(x *Exchange, base *Base, lim Limits, strip Stripper) error {
	if lim.MaxBody <= 0 {
		lim.MaxBody = DefaultMaxBody
	}
	lim.MaxBody = min(lim.MaxBody, HardMaxBody)
	if lim.Deadline.IsZero() {
		lim.Deadline = time.Now().Add(DefaultTimeout)
	}
	x.Request.Header.SetNoDefaultContentType(true) // a body without a type is sent without one
	if len(x.Request.Header.UserAgent()) == 0 {
		x.Request.Header.SetUserAgent(c.opts.UserAgent)
	}
	if x.Events == nil {
		x.Request.Header.Set(fasthttp.HeaderAcceptEncoding, "gzip, br, deflate")
	}
	x.Request.Header.Del(cdnloop.Header) // whatever a connector or a plugin set: more than one would stay
	x.Request.Header.Set(cdnloop.Header, cmp.Or(lim.Loop, cdnloop.Own))
	addr, name, secure := base.addr, base.Name(), base.tls
	if lim.Client != nil && !secure {
		return problem.New(problem.Unauthenticated, "the toolset authenticates with a client certificate, and its base URL is not https").
			Fix("set an https base URL")
	}
	for {
		k := keyOf(addr, secure, &lim)
		k.standing = x.Standing
		h, err := c.host(k, lim.Client)
		if err != nil {
			return err
		}
		x.clear() // of the host before
		x.bodies, x.host, x.limits = c.bodies, h, lim
		if err := x.do(h, &lim); err != nil {
			return describe(err, name, lim)
		}
		redirected, err := x.redirect(secure, strip)
		if err != nil {
			return err
		}
		if !redirected {
			break
		}
		u := x.Request.URI()
		nowSecure := string(u.Scheme()) == "https"
		next := dialAddr(string(u.Host()), nowSecure)
		if next != addr || nowSecure != secure {
			lim.Client = nil
		}
		addr, name, secure = next, next, nowSecure
	}
	return x.unpack(name, lim)
}

func keyOf(addr string, secure bool, lim *Limits) hostKey {
	k := hostKey{addr: addr, tls: secure, class: class(lim.MaxBody), scope: lim.Scope}
	if lim.Client != nil {
		k.client, k.version = lim.Client.ID, lim.Client.Version
	}
	return k
}

// class rounds a limit up, so that toolsets with different limits share pools.
func class(limit int64) int {
	if limit <= smallestClass {
		return smallestClass
	}
	return 1 << bits.Len64(uint64(limit-1))
}

func (c *Client) host(k hostKey, cert *ClientCertificate) (*host, error) {
	c.mu.RLock()
	h := c.hosts[k]
	c.mu.RUnlock()
	if h == nil {
		var err error
		if h, err = c.newHost(k, cert); err != nil {
			return nil, err
		}
	}
	if now := time.Now().Unix(); h.lastUsed.Load() != now {
		h.lastUsed.Store(now)
	}
	return h, nil
}

func (c *Client) newHost(k hostKey, cert *ClientCertificate) (*host, error) {
	config := c.opts.TLS
	if cert != nil {
		pair, err := tls.X509KeyPair([]byte(cert.PEM.Reveal()), []byte(cert.PEM.Reveal()))
		if err != nil {
			// The cause may quote what it could not read.
			return nil, problem.New(problem.Unauthenticated, "the client certificate of the toolset cannot be used").
				Fix("set the certificate and its private key again")
		}
		config = config.Clone()
		config.Certificates = []tls.Certificate{pair}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.hosts[k]; h != nil {
		return h, nil
	}
	if len(c.hosts) >= maxHosts {
		c.evictLocked()
	}
	dial := c.opts.Dial
	if k.scope != nil {
		dial = k.scope.DialTimeout
	}
	h := &host{bodies: semaphore.NewWeighted(maxHostBodies)}
	h.client = fasthttp.HostClient{
		Addr: k.addr, IsTLS: k.tls, TLSConfig: config, Name: c.opts.UserAgent,
		DialTimeout:           dial,
		MaxConns:              c.opts.MaxConns,
		MaxConnWaitTimeout:    DefaultTimeout,
		MaxIdleConnDuration:   idleConn,
		MaxResponseBodySize:   k.class,
		SecureErrorLogMessage: true,
		ReadBufferSize:        readBuffer,
	}
	if k.standing {
		h.client.MaxConns, h.client.ReadBufferSize = maxStanding, standingBuffer
	}
	c.hosts[k] = h
	return h, nil
}

// evictLocked drops the pool that was idle longest.
func (c *Client) evictLocked() {
	var oldest hostKey
	var found *host
	for k, h := range c.hosts {
		if h.running.Load() == 0 && (found == nil || h.lastUsed.Load() < found.lastUsed.Load()) {
			oldest, found = k, h
		}
	}
	if found != nil {
		found.client.CloseIdleConnections()
		delete(c.hosts, oldest)
	}
}

// repeatable reports whether a request may be sent again: its method is
// idempotent (RFC 9110 §9.2.2) and the connection was closed before an answer, as
// happens to a kept connection that the server gave up.
func (x *Exchange) repeatable(err error) bool {
	switch string(x.Request.Header.Method()) {
	case "GET", "HEAD", "OPTIONS", "PUT", "DELETE":
	default:
		if !x.Repeatable {
			return false
		}
	}
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func dialAddr(host string, secure bool) string {
	return fasthttp.AddMissingPort(strings.ToLower(host), secure)
}

package mcpclient

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

const (
	// maxPeers bounds the servers (times owners) of which is known how they are spoken
	// to. The one idle longest goes first; it costs its next caller a handshake.
	maxPeers = 4096
	// connectTimeout bounds finding out how a server is spoken to: up to five
	// requests, each of which a healthy server answers at once.
	connectTimeout = 20 * time.Second
)

// Options configures a Client. HTTP is required.
type Options struct {
	// HTTP keeps the connections.
	HTTP *upstream.Client
	// Commands reaches the servers that are processes of this node
	// (process.Servers.Dial). Default: none are called.
	Commands *upstream.Client
	// Version of Sluice, told to servers. Default: "0".
	Version string
	// Pooled says that other nodes may make requests in the same sessions: ids of requests
	// begin at random.
	Pooled bool
	Logger *slog.Logger // default: discard
}

// Client calls MCP servers. It is safe for concurrent use. Close it when done.
type Client struct {
	http     *upstream.Client
	commands *upstream.Client // nil: none
	log      *slog.Logger
	info     []byte // JSON of clientInfo
	ids      atomic.Uint64
	parting  chan struct{}  // one token for each goodbye that is being sent
	work     sync.WaitGroup // goroutines of the client
	stop     chan struct{}

	mu     sync.Mutex
	closed bool             // guarded by mu
	peers  map[string]*peer // guarded by mu; by URL and owner

	sessions int         // guarded by mu; of callers, at all servers
	ears     int         // guarded by mu; streams that are open for calls
	sweeper  *time.Timer // guarded by mu; nil: there is nothing to look for
}

// New makes a Client. It fails with [problem.InvalidArgument] without HTTP.
func New(o Options) (*Client, error) {
	if o.HTTP == nil {
		return nil, problem.New(problem.InvalidArgument, "the client of MCP servers needs a client of upstreams")
	}
	c := &Client{
		http: o.HTTP, commands: o.Commands, log: o.Logger, peers: map[string]*peer{}, parting: make(chan struct{}, maxParting), stop: make(chan struct{}),
		info: appendClientInfo(nil, cmp.Or(o.Version, "0")),
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if o.Pooled {
		c.ids.Store(uint64(rand.Uint32() >> 2)) //nolint:gosec // nothing hangs on it but that nodes differ; some servers take 32 bits with a sign
	}
	return c, nil
}

// Close ends all sessions and waits for their streams; servers are told for two
// seconds at most. No call may run or follow.
func (c *Client) Close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	close(c.stop)
	if c.sweeper != nil {
		c.sweeper.Stop()
	}
	var gone []*session
	for _, p := range c.peers {
		if l := p.link.Load(); l != nil && l.stream != nil {
			l.stream.end()
		}
		gone = append(gone, c.takeAllLocked(p)...)
	}
	c.mu.Unlock()
	c.farewell(gone)
	c.work.Wait()
}

// Endpoint is where an MCP server is.
type Endpoint struct {
	base   upstream.Base
	origin upstream.Base // base without its path
	target string        // path and query, encoded
	text   string
	stdio  bool // a command of this node
}

// ParseEndpoint parses an absolute http or https URL without credentials and
// fragment, or the address of a command. It fails with [problem.InvalidArgument] and does not repeat the URL,
// which may hold what should not be shown.
func ParseEndpoint(s string) (*Endpoint, error) {
	u, err := url.Parse(s)
	if err != nil || u.Fragment != "" {
		return nil, problem.New(problem.InvalidArgument, "the URL of the MCP server cannot be used: it must be a whole http or https address without a fragment").
			Fix("use an address such as https://mcp.example.com/mcp")
	}
	if u.Scheme == registry.SchemeStdio {
		return stdioEndpoint(u.Host)
	}
	bare := *u
	bare.RawQuery, bare.ForceQuery = "", false
	e := &Endpoint{target: u.EscapedPath()}
	if e.target == "" {
		e.target = "/"
	}
	if u.RawQuery != "" {
		e.target += "?" + u.RawQuery
	}
	if e.base, err = upstream.ParseBase(bare.String()); err == nil {
		e.origin, err = upstream.ParseBase(e.base.Origin())
	}
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "the URL of the MCP server %s", strings.TrimPrefix(problem.As(err).Detail, "the base URL ")).
			Fix("use an address such as https://mcp.example.com/mcp")
	}
	e.text = e.base.Origin() + e.target
	return e, nil
}

// URL is the address as it is called.
func (e *Endpoint) URL() string { return e.text }

// Base is the address as package upstream knows it, without its query.
func (e *Endpoint) Base() upstream.Base { return e.base }

// Addr is the "host:port" that is dialed.
func (e *Endpoint) Addr() string { return e.base.Addr() }

// Name is what people read of where it is.
func (e *Endpoint) Name() string { return e.base.Name() }

// server is what people read of who is there.
func (e *Endpoint) server() string {
	if e.stdio {
		return e.Name()
	}
	return "the MCP server at " + e.Name()
}

// Authorizer puts a credential on a request and takes it off one that leaves its
// origin.
type Authorizer interface {
	Apply(req *fasthttp.Request) error
	upstream.Stripper
	// Redact returns what the server sent without the credential, for one that repeats
	// it; b itself when it is not in it.
	Redact(b []byte) []byte
}

// Target is a server as one call sees it.
type Target struct {
	Endpoint *Endpoint
	// Hint is how the server was spoken to before; its zero value is not a hint.
	Hint manifest.MCPServer
	// Owner separates what is agreed with a server: the toolset, whose credential is
	// used, and which version of it.
	Owner string
	// Caller owns the session at a server that keeps sessions: what the server remembers
	// of one caller must not reach another. "" without Once: all callers of the
	// owner are one.
	Caller string
	// Once says that the session ends with the call, at a server that keeps sessions,
	// because the caller is anonymous and cannot use it again.
	Once bool
	// Session says that Caller is a client's own session here, which expects of the server
	// what one of the revisions with sessions does: state, and requests to the client. One
	// that offers such a revision besides 2026-07-28 is spoken to in it.
	Session bool
	// Capabilities are what the caller's client can be asked by the server, a JSON object
	// that is kept; nil: nothing. They are declared when the caller's own session begins,
	// so they must not change while Caller is the same.
	Capabilities []byte
	// Shared keeps what was agreed for Caller for the other nodes of a pool, so that each goes on
	// with it; nil: this node is alone.
	Shared Shared
	// Auth is kept beyond the call, by a session, its stream and what is told the
	// server afterwards; it must be safe for concurrent use. nil: none.
	Auth Authorizer
	// Certificate of the connections; nil: none.
	Certificate *upstream.ClientCertificate
	// Deadline of the whole call, connecting included. Default:
	// [upstream.DefaultTimeout] from now.
	Deadline time.Time
	// Idle is how long a call may take after each report of its progress, which moves
	// Deadline, but never behind Latest. Default: progress changes nothing.
	Idle   time.Duration
	Latest time.Time
	// MaxBody of one answer, in bytes. Default: [upstream.DefaultMaxBody].
	MaxBody int64
	Cancel  *upstream.Cancel // nil: nothing cancels
	// Noticed is told, on the goroutine of the call, what is found out while the server is
	// connected to and listed; nil: nobody wants to know.
	Noticed func(Notice)
	// Scope are the grants of private addresses that its requests may use; nil: none.
	// Owner must name whose they are.
	Scope *safedial.Scope
	// Loop is the header CDN-Loop of its requests, see [upstream.Limits].
	Loop string
}

// Notice is something that was found out about a server: an answer came, a revision was
// agreed, or with neither, a page of tools was read.
type Notice struct {
	Status int    // of an answer to the handshake
	Agreed string // the revision that is spoken
	SSE    bool   // with Agreed: over HTTP with SSE
	Tools  int    // listed so far
}

// notice tells who wants to know.
func (t *Target) notice(n Notice) {
	if t.Noticed != nil {
		t.Noticed(n)
	}
}

// peer is a server as one owner knows it.
type peer struct {
	key      string
	turn     chan struct{}        // held by who connects
	link     atomic.Pointer[link] // of all callers of the owner; nil: nothing is agreed, or each has a session
	mute     atomic.Int64         // Unix seconds when it was last seen to open no stream for calls; 0: never
	stateful atomic.Bool          // the server keeps sessions, as far as was seen last
	without  atomic.Int64         // Unix seconds when it was last seen to offer Target.Session none; 0: never
	lastUsed atomic.Int64         // Unix seconds
	running  atomic.Int64         // calls
	breaker  breaker

	sessions map[string]*session // guarded by Client.mu; by caller
	onces    int                 // guarded by Client.mu; sessions of one call each
}

// link is what was agreed with a server. But for the ear, the level and the roots it is immutable.
type link struct {
	version string // of the protocol
	modern  bool   // 2026-07-28: no session
	session string // Mcp-Session-Id; "": none
	stream  *events
	until   time.Time // it is agreed anew afterwards; zero: never
	about   about
	shared  []byte // as it is for the other nodes of a pool; nil: it is this node's alone
	reports reports
	ear     atomic.Pointer[ear]    // nil: no stream is open for calls
	level   atomic.Pointer[string] // JSON of what logging/setLevel said last; nil: nothing
	roots   atomic.Uint32          // Call.Roots, of which it was told
}

// about is what a server says of itself.
type about struct {
	name, title, version, instructions string
	tools                              bool // it declares tools
	prompts, resources, completions    bool // it declares them
	subscribe                          bool // it reports changes of a resource
	logging                            bool
	tasks                              bool // a call of a tool may be one
	cancelTasks                        bool // which may be cancelled; not for links
	makesTasks                         bool // of 2026-07-28: a call may be answered with one
	extensions                         []string
	// It tells when its lists change: of tools, prompts, resources.
	listChanged, promptsChanged, resourcesChanged bool
}

func (l *link) transport() string {
	if l.stream != nil {
		return manifest.TransportSSE
	}
	return manifest.TransportStreamable
}

// peerKey tells peers apart. What is agreed for clients with sessions at a server that was
// seen to speak 2026-07-28 is another agreement than that for all others.
func (t *Target) peerKey() string {
	key := t.Endpoint.text + "\x00" + t.Owner
	if t.Session && !t.wasLegacy() {
		key += "\x00session"
	}
	return key
}

// wasLegacy reports whether the server spoke a revision with a handshake before.
func (t *Target) wasLegacy() bool { return t.Hint.Protocol != "" && t.Hint.Protocol < versionModern }

func (c *Client) peer(t *Target) (*peer, error) {
	key := t.peerKey()
	var gone []*session
	defer func() {
		for _, s := range gone { // behind the lock
			c.leave(s)
		}
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, problem.New(problem.Unavailable, "this gateway is stopping").Fix("try again")
	}
	p := c.peers[key]
	if p == nil {
		if len(c.peers) >= maxPeers {
			gone = c.evictLocked()
		}
		p = &peer{key: key, turn: make(chan struct{}, 1)}
		c.peers[key] = p
	}
	p.lastUsed.Store(time.Now().Unix())
	p.running.Add(1)
	return p, nil
}

// WritePrometheus writes which servers cannot be reached: their calls fail at once, but
// for one at a time that sees whether they are back. See docs/gateway.md "Metrics".
func (c *Client) WritePrometheus(w io.Writer) {
	c.mu.Lock()
	down := map[string]int{}
	for key, p := range c.peers {
		at, _, _ := strings.Cut(key, "\x00")
		if e, err := ParseEndpoint(at); err == nil && p.breaker.open() {
			down[e.Addr()]++
		}
	}
	c.mu.Unlock()
	for i, addr := range slices.Sorted(maps.Keys(down)) {
		if i == 0 {
			_, _ = io.WriteString(w, "# HELP sluice_upstream_circuit_open\n# TYPE sluice_upstream_circuit_open gauge\n") // as below
		}
		_, _ = fmt.Fprintf(w, "sluice_upstream_circuit_open{server=%q} %d\n", addr, down[addr]) // the page of metrics shows that it was cut
	}
}

// evictLocked forgets the peer that was idle longest, and returns its sessions.
func (c *Client) evictLocked() []*session {
	var oldest *peer
	for _, p := range c.peers {
		if p.running.Load() == 0 && (oldest == nil || p.lastUsed.Load() < oldest.lastUsed.Load()) {
			oldest = p
		}
	}
	if oldest == nil {
		return nil
	}
	delete(c.peers, oldest.key)
	if l := oldest.link.Load(); l != nil && l.stream != nil {
		l.stream.end()
	}
	return c.takeAllLocked(oldest)
}

// drop forgets an agreement, unless another was made meanwhile.
func (p *peer) drop(l *link) {
	if p.link.CompareAndSwap(l, nil) && l.stream != nil {
		l.stream.end()
	}
}

func (l *link) dead() bool {
	return l.stream != nil && l.stream.ended() || !l.until.IsZero() && !time.Now().Before(l.until)
}

// Forget ends what was agreed with a server for the owner of t, and all sessions there.
func (c *Client) Forget(t *Target) {
	key := t.peerKey()
	c.mu.Lock()
	p := c.peers[key]
	var gone []*session
	if p != nil {
		delete(c.peers, key)
		gone = c.takeAllLocked(p)
	}
	c.mu.Unlock()
	if p == nil {
		return
	}
	for _, s := range gone {
		c.leave(s)
	}
	c.end(t, p.link.Load())
}

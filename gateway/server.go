package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/task"
	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/http1"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// DefaultAddr is where a gateway listens unless told otherwise.
	DefaultAddr = "127.0.0.1:7300"
	// DefaultMaxRequest is the largest request body: arguments of megabytes are
	// files, and clients have better ways for them. MCP SDKs use the same.
	DefaultMaxRequest = 4 << 20
	// DefaultDrain is how long running calls may take after a stop.
	DefaultDrain = 30 * time.Second
	// lastAnswers is how long calls that a drain did not see end have to say so: their
	// clients learn which part of them was done.
	lastAnswers = 2 * time.Second

	// firstRelease is how long connections wait, not accepted yet, for what is served to be loaded.
	firstRelease = time.Second
	// lastRequests is how long connections that clients keep are answered on after a stop, when
	// nothing runs: what was sent before the client saw that they end is not lost.
	lastRequests = 500 * time.Millisecond

	// readTimeout of a request's body, and of the first byte of a connection: a client
	// that sends slower holds memory for nothing.
	readTimeout = 30 * time.Second
	// writeTimeout of a whole answer, for clients that do not read.
	writeTimeout = 60 * time.Second
	// headTime is how long a request's head may take: it fits one packet or a few.
	headTime = 10 * time.Second
	// idleTimeout of a kept connection.
	idleTimeout = 120 * time.Second
	// warmDelay leaves the processors to the first calls after a start or a release,
	// and makes one of several releases in a row. What is called before it is made
	// ready by its call.
	warmDelay = time.Second
	// headerBytes is the longest header block: bearer tokens reach 8 KB.
	headerBytes = 16 << 10
	// strangers are connections of one address on which nobody was let in yet. Clients
	// of an honest address leave that state with their first request.
	strangers = 512
	// bodiesAtOnce and bodiesPerAddress are how many bodies of the largest size may be in
	// memory at the same time, of all and of one address. Bodies of calls have about a
	// kilobyte and cost nothing beside their connection's buffer.
	bodiesAtOnce, bodiesPerAddress = 16, 4
	// writeBuffer lets an answer of usual size leave in one system call.
	writeBuffer = 32 << 10
)

// Options configures a Server. Holder and Caller are required.
type Options struct {
	// Addr is "host:port"; port 0 takes a free one. Default: [DefaultAddr].
	Addr string
	// Listener is used instead of Addr when set; the Server closes it.
	Listener net.Listener
	// TLS is spoken on the connections when it is not nil; see [http1.Options.TLS].
	TLS *tls.Config
	// Challenge answers the requests of certificate authorities below
	// [certificate.ChallengePath]; "": nothing is served at the path. Default: none are.
	Challenge func(host, path string) string
	Holder    *snapshot.Holder
	Caller    *call.Caller
	// Preview lets drafts be served to who has their tokens. Default: none is.
	Preview *PreviewOptions
	// Ready says why calls cannot be served yet. Default: ready as soon as the
	// Holder holds a snapshot.
	Ready func() error
	// Hosts and Origins are accepted beside local ones; see [access.Options].
	Hosts   []string
	Origins []string
	// Serves reports whether a host is accepted besides Hosts, which may change. Default:
	// none is.
	Serves func(host string) bool
	// PublicURL is where clients reach this gateway, without a path: toolset URLs,
	// and so the audience of tokens, start with it. Default: as the client's Host
	// header says, on loopback; elsewhere a client could choose the audience by it, so
	// access by JSON Web Tokens does not work without.
	PublicURL string
	// NoInstallPage refuses browsers that open a toolset URL instead of telling them how to
	// connect.
	NoInstallPage bool
	// MaxRequest is the largest request body in bytes. Default: [DefaultMaxRequest].
	MaxRequest int
	// MaxConns is how many connections may be open, and MaxConnsPerAddress how many of
	// one address (of IPv6: of one network of 64 bits). Defaults: as the descriptors of
	// this process allow, and three quarters of MaxConns, so that a proxy in front can
	// have nearly all and nobody else is locked out.
	MaxConns, MaxConnsPerAddress int
	// Proxies are reverse proxies in front, which say whose request they pass on and
	// whether it came over https. Default: there are none.
	Proxies forwarded.Proxies
	// Drain is how long running calls may take after a stop. Default: [DefaultDrain].
	Drain time.Duration
	// Pool shares the sessions of clients with the other nodes of a pool. Default: they are
	// this node's own.
	Pool *pool.Store
	// Version of the program, for sluice_build_info.
	Version string
	Meter   *metering.Meter // default: nothing is counted
	Logger  *slog.Logger    // default: discard
}

// Server is the listener of the data plane.
type Server struct {
	opts      Options
	log       *slog.Logger
	protocol  *mcp.Server
	guard     *access.Guard
	listener  *http1.Listener
	loopback  bool
	http      *fasthttp.Server
	draining  atomic.Bool
	requests  sync.Pool // *request
	watcher   *watcher
	listeners *listeners
	sessions  *session.Table
	feeds     *feeds
	searches  *searches // of toolsets that learn
	publicURL string
	scheme    string          // of URLs without a public one: "https://"
	calls     context.Context //nolint:containedctx // ends when a drain runs out of time
	stop      context.CancelCauseFunc
}

// New makes a Server and listens, so that [Server.Addr] is known; requests are
// served by Run. It fails with [problem.InvalidArgument] on missing options and
// [problem.Unavailable] when the address cannot be listened on.
func New(o Options) (*Server, error) {
	if o.Holder == nil || o.Caller == nil {
		return nil, problem.New(problem.InvalidArgument, "a gateway needs a holder of snapshots and a caller")
	}
	if o.Addr == "" {
		o.Addr = DefaultAddr
	}
	if o.MaxRequest <= 0 {
		o.MaxRequest = DefaultMaxRequest
	}
	if o.MaxConns <= 0 {
		o.MaxConns = http1.DefaultConns()
	}
	if o.MaxConnsPerAddress <= 0 {
		o.MaxConnsPerAddress = max(1, o.MaxConns*3/4)
	}
	if o.Drain <= 0 {
		o.Drain = DefaultDrain
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: o, log: o.Logger.With(slog.String("component", "gateway"))}
	var err error
	if s.protocol, err = mcp.New(mcp.Options{WriteTimeout: writeTimeout, Stopping: s.draining.Load, Logger: s.log}); err != nil {
		return nil, err
	}
	ln := o.Listener
	if ln == nil {
		var lc net.ListenConfig
		if ln, err = lc.Listen(context.Background(), "tcp", o.Addr); err != nil {
			return nil, http1.CannotListen("the gateway", o.Addr, "--listen", err)
		}
	}
	s.loopback = access.IsLoopback(ln.Addr())
	if s.guard, err = access.NewGuard(access.Options{Loopback: s.loopback, Hosts: o.Hosts, Origins: o.Origins}); err != nil {
		_ = ln.Close()
		return nil, err
	}
	largest := int64(o.MaxRequest)
	framing := http1.Options{
		HeadBytes: headerBytes, HeadTime: headTime, TLS: o.TLS, Conns: o.MaxConns, ConnsPerAddress: o.MaxConnsPerAddress, Strangers: strangers,
		BodyBytes: bodiesAtOnce * largest, BodyBytesPerAddress: bodiesPerAddress * largest, Refused: s.countRefused,
	}
	if !o.Proxies.Empty() {
		framing.Proxy = o.Proxies.Has
	}
	s.listener = http1.Listen(ln, framing)
	s.publicURL, s.scheme = strings.TrimSuffix(o.PublicURL, "/"), "http://"
	if o.TLS != nil {
		s.scheme = "https://"
	}
	s.watcher, s.listeners, s.searches = newWatcher(o.Holder), newListeners(o.Holder, s.listens, func(l *listener) { s.feeds.leave(l) }), newSearches(o.Pool)
	s.feeds = newFeeds(s)
	if o.Pool != nil {
		o.Caller.Tasks().Share(o.Pool)
	}
	s.sessions = session.New(session.Options{
		Ended: func(ended *session.Session, kept bool) {
			s.feeds.leave(client{ended})
			s.opts.Caller.EndSession(ended.Key(), kept)
			s.opts.Caller.Tasks().ForgetAll(task.Owner{Toolset: ended.Owner().Toolset, Principal: ended.Key()})
		},
		Pool: o.Pool, Moved: func(moved *session.Session) { s.feeds.leave(client{moved}) }, Answers: s.answerNode,
	})
	s.requests.New = func() any {
		x := &request{}
		x.watch.w, x.watch.gone, x.watch.stopped, x.watch.expel = s.watcher, x.clientGone, x.Cancel, x.expel
		return x
	}
	s.calls, s.stop = context.WithCancelCause(context.Background())
	s.http = &fasthttp.Server{
		Handler:               s.handle,
		ErrorHandler:          s.refuse,
		NoDefaultServerHeader: true,
		ReadTimeout:           readTimeout,
		WriteTimeout:          writeTimeout,
		IdleTimeout:           idleTimeout,
		ReadBufferSize:        headerBytes,
		WriteBufferSize:       writeBuffer,
		ReduceMemoryUsage:     true, // a connection that waits holds no buffers of the server
		TCPKeepalive:          true,
		CloseOnShutdown:       true,
		KeepHijackedConns:     true, // streams outlive the handler that took them
		SecureErrorLogMessage: true,
		Logger:                quiet{s.log},
	}
	s.gauges()
	return s, nil
}

// Addr is the address the Server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Run serves until ctx ends, then refuses new connections, lets running calls
// end for at most the drain time, ends the others, whose clients are told, and returns
// nil. It returns an error when the listener fails.
func (s *Server) Run(ctx context.Context) error {
	defer s.stop(call.ErrStopped)
	served := make(chan error, 1)
	go func() {
		s.awaitRelease(ctx)
		served <- s.http.Serve(s.listener)
	}()
	var background sync.WaitGroup
	bctx, bstop := context.WithCancel(ctx)
	background.Go(func() { s.warm(bctx) })
	background.Go(func() { s.listeners.run(bctx) })
	background.Go(func() { s.sessions.Run(bctx) })
	background.Go(func() { s.feeds.run(bctx) })
	wctx, wstop := context.WithCancel(context.Background())
	background.Go(func() { s.watcher.run(wctx) }) // it is needed while calls drain
	defer func() {
		bstop()
		s.stop(call.ErrStopped)
		wstop()
		s.searches.stop()
		background.Wait()
	}()
	s.log.LogAttrs(ctx, slog.LevelInfo, "gateway listens", slog.String("addr", s.listener.Addr().String()), slog.Bool("tls", s.opts.TLS != nil))
	select {
	case err := <-served:
		if err == nil {
			err = errors.New("the listener was closed")
		}
		return fmt.Errorf("serving on %s: %w", s.listener.Addr(), err)
	case <-ctx.Done():
	}
	_ = s.listener.Listener.Close() // it is closed again below
	s.draining.Store(true)
	dctx, cancel := context.WithTimeout(context.Background(), s.opts.Drain+lastAnswers)
	defer cancel()
	s.log.LogAttrs(ctx, slog.LevelInfo, "gateway drains", slog.Duration("drain", s.opts.Drain))
	late := time.AfterFunc(s.opts.Drain, func() {
		s.log.LogAttrs(ctx, slog.LevelWarn, "calls are ended, they were still running when the drain ended")
		s.stop(call.ErrStopped)
		s.watcher.endAll()
	})
	defer late.Stop()
	s.lastOfKept()
	if err := s.http.ShutdownWithContext(dctx); err != nil && !errors.Is(err, net.ErrClosed) {
		s.log.LogAttrs(ctx, slog.LevelWarn, "calls were cut off", slog.Any("error", err))
	}
	s.stop(call.ErrStopped)
	_ = s.listener.Close() // a stop may come before the HTTP server knows its listener
	if err := <-served; err != nil && !errors.Is(err, net.ErrClosed) {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the listener failed while it closed", slog.Any("error", err))
	}
	return nil
}

// awaitRelease waits for a moment until there is something to serve: a node that starts again has
// it on its disk.
func (s *Server) awaitRelease(ctx context.Context) {
	changed := s.opts.Holder.Changed()
	if s.opts.Holder.Load() != nil {
		return
	}
	wait := time.NewTimer(firstRelease)
	defer wait.Stop()
	select {
	case <-changed:
	case <-wait.C:
	case <-ctx.Done():
	}
}

// lastOfKept waits until clients ended the connections that they keep, as each answer tells them to,
// for a moment: the HTTP server closes them when it stops, whatever is on its way.
func (s *Server) lastOfKept() {
	for end := time.Now().Add(min(lastRequests, s.opts.Drain)); s.listener.Open() > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
}

// warm makes each new snapshot ready in the background.
func (s *Server) warm(ctx context.Context) {
	for {
		changed := s.opts.Holder.Changed()
		select {
		case <-time.After(warmDelay):
		case <-ctx.Done():
			return
		}
		if err := s.opts.Holder.Load().Warm(ctx); err != nil && ctx.Err() == nil {
			s.log.LogAttrs(ctx, slog.LevelError, "a toolset cannot be served", slog.Any("error", err))
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Ready says why calls cannot be served; nil when they can.
func (s *Server) Ready() error {
	switch {
	case s.draining.Load():
		return problem.New(problem.Unavailable, "the gateway is stopping")
	case s.opts.Holder.Load() == nil:
		return problem.New(problem.Unavailable, "no release is loaded yet")
	case s.opts.Ready != nil:
		return s.opts.Ready()
	}
	return nil
}

// WritePrometheus writes the metrics of the gateway and of the process.
func (s *Server) WritePrometheus(w io.Writer) {
	s.opts.Meter.WritePrometheus(w)
	metrics.WriteProcessMetrics(w)
	metrics.WriteFDMetrics(w)
}

// gauges registers what is read when the metrics are.
func (s *Server) gauges() {
	m, h := s.opts.Meter, s.opts.Holder
	m.Gauge(metering.Series("sluice_build_info", "version", s.opts.Version), func() float64 { return 1 })
	m.Gauge(metering.Series("sluice_http_connections", "listener", "gateway"), func() float64 {
		return float64(s.listener.Open())
	})
	m.Gauge(metering.Series("sluice_http_body_bytes", "listener", "gateway"), func() float64 { return float64(s.listener.BodyBytes()) })
	m.Gauge("sluice_sessions", func() float64 { return float64(s.sessions.Len()) })
	m.Gauge("sluice_upstream_streams", func() float64 { return float64(s.feeds.count()) })
	m.Gauge("sluice_listen_streams", func() float64 { return float64(s.listeners.open.Load()) })
	m.Gauge(metering.Series("sluice_toolsets", "state", "live"), func() float64 { return float64(len(h.Load().Toolsets())) })
	m.Gauge("sluice_tools", func() float64 {
		n := 0
		for _, ts := range h.Load().Toolsets() {
			n += ts.Count()
		}
		return float64(n)
	})
	m.Gauge("sluice_release_revision", func() float64 {
		if r := h.Load().Release(); r != nil {
			return float64(r.Revision)
		}
		return 0
	})
	m.Gauge("sluice_release_age_seconds", func() float64 {
		if r := h.Load().Release(); r != nil {
			return time.Since(r.Issued).Seconds()
		}
		return 0
	})
}

// quiet turns what fasthttp logs (clients that hang up, mostly) into debug lines.
type quiet struct{ log *slog.Logger }

func (q quiet) Printf(format string, args ...any) {
	q.log.Debug("connection", slog.String("cause", fmt.Sprintf(format, args...)))
}

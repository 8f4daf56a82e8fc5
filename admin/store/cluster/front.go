package cluster

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// maxPassed requests are passed on at the same time: edges hold one or two each, and a
	// leader takes as many from one address.
	maxPassed = 4096
	// leaderWait is how long a request waits for a leader: most fail-overs are shorter.
	leaderWait = 3 * time.Second
	// again is the pause before a leader that refused or was not there is asked again.
	again = 100 * time.Millisecond
	// keyBytes of what requests are authenticated with.
	keyBytes = 32
)

// unspecified is the address of requests that a member makes for itself.
var unspecified = netip.IPv6Unspecified()

// Records are what members ask and say of each other; [store.Cluster] has them.
type Records interface {
	Leader(ctx context.Context) (*store.Leader, error)
	Seen(ctx context.Context, m *store.ClusterMember) error
	Gone(ctx context.Context, name string) error
}

// Options of a front. Fields without a default must be set.
type Options struct {
	URL     string           // where the other members reach this node
	Version string           // of the program
	Records Records          // of the cluster
	Keyring *secrets.Keyring // opens what the leader sealed
	// Reload reads the keyring anew, where keys may have been put since. Default: they are
	// not looked for.
	Reload func() (*secrets.Keyring, error)
	// Remedy says how the keys of the control plane at a host get here. Default: in general.
	Remedy  func(host string) string
	Keys    map[string][]string // identifiers of the other keys, by their use
	Pin     func() string       // digest of the certificate that this node shows. Default: none
	Hosts   []string            // values of the Host header, without port, that are answered
	Proxies forwarded.Proxies   // in front of this node. Default: none
	Roots   *x509.CertPool      // of a leader whose certificate is not its own. Default: those of the system
	Plain   bool                // members may reach each other without TLS
	Metrics func(io.Writer)     // of the process, for /metrics while it follows. Default: none
	Guard   bool                // /metrics asks for the token that the leader asks for
	Logger  *slog.Logger        // Default: discard
	Now     func() time.Time    // Default: time.Now
	hosts   map[string]bool     // of Hosts
}

// Front is what serves the admin listener of a member. Its methods may be called by many
// goroutines.
type Front struct {
	o       Options
	name    string
	log     *slog.Logger
	began   time.Time
	still   time.Duration // stillTime, less in tests
	proxy   *httputil.ReverseProxy
	slots   chan struct{}
	ending  context.Context //nolint:containedctx // the life of the front: questions that are held end with it
	end     context.CancelFunc
	set     *metrics.Set
	results map[string]*metrics.Counter

	keys  keys
	mu    sync.Mutex // over changes of state
	state atomic.Pointer[state]
}

// state says who leads.
type state struct {
	leads   http.Handler  // this node does: the admin API; nil: it does not
	number  uint64        // under which this node leads
	key     []byte        // of this node as the leader
	peer    *peer         // another one does; nil: nobody
	of      *store.Leader // the record that peer was made of
	changed chan struct{} // closed when another state is there
}

// New makes a front that knows no leader yet. It fails with [problem.InvalidArgument] for
// an address that members cannot use.
func New(o Options) (*Front, error) {
	u, err := ParseURL(o.URL, o.Plain)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Pin == nil {
		o.Pin = func() string { return "" }
	}
	o.hosts = map[string]bool{}
	for _, h := range o.Hosts {
		o.hosts[strings.ToLower(strings.Trim(h, "[]"))] = true
	}
	f := &Front{
		o: o, name: u.Host, log: o.Logger.With(slog.String("component", "cluster")), began: o.Now(), still: stillTime, slots: make(chan struct{}, maxPassed), set: metrics.NewSet(),
		results: map[string]*metrics.Counter{},
	}
	f.proxy = &httputil.ReverseProxy{
		Rewrite: rewrite, Transport: f, FlushInterval: -1, ErrorHandler: f.failed, ModifyResponse: f.passed,
		ErrorLog: slog.NewLogLogger(f.log.Handler(), slog.LevelDebug),
	}
	for _, r := range []string{"passed", "lost", "no_leader", "busy", "refused"} {
		f.results[r] = f.set.NewCounter(`sluice_cluster_requests_total{result="` + r + `"}`)
	}
	f.set.NewGauge("sluice_cluster_leads", func() float64 { return yes(f.state.Load().leads != nil) })
	f.set.NewGauge("sluice_cluster_leader_up", func() float64 { return yes(f.Ready() == nil) })
	f.ending, f.end = context.WithCancel(context.Background())
	f.keys.ring = o.Keyring
	f.state.Store(&state{changed: make(chan struct{})})
	return f, nil
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Name is the name of this member: host and port of its address.
func (f *Front) Name() string { return f.name }

// WritePrometheus writes the metrics of the cluster.
func (f *Front) WritePrometheus(w io.Writer) { f.set.WritePrometheus(w) }

// change makes s the state.
func (f *Front) change(s *state) {
	s.changed = make(chan struct{})
	f.mu.Lock()
	old := f.state.Load()
	if old.leads != nil && s.leads == nil { // only the end of the node takes the lead from it
		f.mu.Unlock()
		return
	}
	f.state.Store(s)
	f.mu.Unlock()
	close(old.changed)
	if old.peer != nil && old.peer != s.peer {
		old.peer.replace()
	}
}

// Leader announces who leads; [store.Store] is one.
type Leader interface {
	Term() uint64
	Announce(ctx context.Context, l *store.Leader) error
}

// Lead hands all requests to api from now on, and tells the other members that this node
// leads. A node that has taken the lead keeps it until its process or its part in the
// cluster ends. It fails with [problem.Unavailable] when it was replaced already.
func (f *Front) Lead(ctx context.Context, l Leader, api http.Handler) error {
	s := &state{leads: api, number: l.Term(), key: make([]byte, keyBytes)}
	rand.Read(s.key) // it never fails
	f.change(s)
	return f.announce(ctx, l, s)
}

// Repin tells the other members that this node, which leads, shows another certificate, or
// has another key-encryption key.
func (f *Front) Repin(ctx context.Context, l Leader) error {
	s := f.state.Load()
	if s.leads == nil {
		return nil
	}
	return f.announce(ctx, l, s)
}

func (f *Front) announce(ctx context.Context, l Leader, s *state) error {
	row := &store.Leader{Number: s.number, Member: f.name, URL: f.o.URL, Pin: f.o.Pin(), Keys: keysText(f.o.Keys)}
	var err error
	if row.Sealed, err = f.keyring(true).SealBytes(row.Record(), s.key); err != nil {
		return fmt.Errorf("sealing the key of the cluster: %w", err)
	}
	return l.Announce(ctx, row)
}

// End ends questions that are held and streams which are passed on, so that their clients
// ask another member: this one is about to end.
func (f *Front) End() { f.end() }

type passedKey struct{}

// HostChecked reports whether a request was passed on by another member, which has looked at
// its Host header.
func HostChecked(ctx context.Context) bool { return ctx.Value(passedKey{}) != nil }

// ServeHTTP serves a request as the leader, or passes it on to the leader.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s := f.state.Load(); s.leads != nil {
		f.serve(s, w, r)
		return
	}
	f.follow(w, r)
}

// serve serves a request at the leader. What another member says of its client is as if the
// client had come here.
func (f *Front) serve(s *state, w http.ResponseWriter, r *http.Request) {
	if len(r.Header.Values(passHeader)) == 0 {
		s.leads.ServeHTTP(w, r)
		return
	}
	p, err := read(r, s.key, s.number, f.o.Now())
	if err != nil {
		f.refuse(w, err)
		return
	}
	in := r.WithContext(context.WithValue(r.Context(), passedKey{}, true))
	in.Header = r.Header.Clone()
	in.Header.Del(passHeader)
	in.RemoteAddr, in.TLS = netip.AddrPortFrom(p.client, 0).String(), nil
	if p.https {
		in.TLS = &tls.ConnectionState{}
	}
	s.leads.ServeHTTP(w, in)
}

// refuse answers a request of which nothing was done.
func (f *Front) refuse(w http.ResponseWriter, err error) {
	f.results["refused"].Inc()
	if problem.Is(err, problem.Unavailable) {
		w.Header().Set(refusedHeader, "1")
	}
	writeProblem(w, err)
}

// passing is a request on its way to the leader.
type passing struct {
	w      http.ResponseWriter
	in     *http.Request
	client netip.Addr
	https  bool
	member string
	body   *upload // nil: there is none
}

type passingKey struct{}

// follow serves a request at a member that follows.
func (f *Front) follow(w http.ResponseWriter, r *http.Request) {
	if len(r.Header.Values(passHeader)) > 0 { // never passed on twice
		f.refuse(w, problem.New(problem.Unavailable, "this control plane does not lead").Fix("repeat the request in a moment"))
		return
	}
	if !f.o.hosts[hostName(r.Host)] {
		writeProblem(w, problem.New(problem.Forbidden, "this listener does not serve that host name").
			Fix("use the address it listens on, or allow the name in the configuration"))
		return
	}
	switch r.URL.Path {
	case "/livez", "/healthz", "/readyz":
		f.health(w, r)
		return
	case "/metrics":
		f.metrics(w, r)
		return
	}
	f.pass(w, r)
}

// hostName is a Host header without port and brackets, lower case.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// passingOf is a request as it is passed on.
func (f *Front) passingOf(w http.ResponseWriter, r *http.Request) *passing {
	p := &passing{w: w, in: r, client: unspecified, https: r.TLS != nil, member: f.name}
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		o := f.o.Proxies.Of(peer.Addr(), r.Header.Values)
		p.client, p.https = o.Client.WithZone(""), p.https || o.HTTPS
	}
	return p
}

// pass passes a request on to the leader and the answer back, both as they come.
func (f *Front) pass(w http.ResponseWriter, r *http.Request) {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	default:
		f.results["busy"].Inc()
		writeProblem(w, errBusy)
		return
	}
	control := http.NewResponseController(w)
	p := f.passingOf(w, r)
	if r.Body != nil && r.Body != http.NoBody {
		long := bodyTime
		if strings.HasPrefix(r.URL.Path, "/v2/") {
			long = uploadTime
		}
		p.body = &upload{ReadCloser: r.Body, control: control, still: f.still, until: time.Now().Add(long)}
		defer p.body.finish()
	}
	ctx := context.WithValue(r.Context(), passingKey{}, p)
	if r.Method == http.MethodGet || r.Method == http.MethodHead || strings.HasPrefix(r.URL.Path, "/edge/v1/") { // others are brought to an end
		held, cancel := context.WithCancel(ctx)
		defer cancel()
		stop := context.AfterFunc(f.ending, cancel)
		defer stop()
		ctx = held
	}
	in := r.WithContext(ctx)
	if p.body != nil {
		in.Body = p.body
	}
	f.proxy.ServeHTTP(&slowly{w, control, f.still}, in)
}

// rewrite leaves out what a client says of itself and what is of one connection only.
func rewrite(r *httputil.ProxyRequest) {
	h := r.Out.Header
	for name := range h {
		if strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "Sluice-Pass") {
			delete(h, name)
		}
	}
	for _, name := range []string{"Forwarded", "X-Real-Ip", "Upgrade", "Connection"} {
		delete(h, name)
	}
	h.Set("Via", "1.1 sluice") // such a client is not on the leader's machine
	r.Out.URL.RawQuery = r.In.URL.RawQuery
}

// passed counts an answer, and takes from it what members say to each other.
func (f *Front) passed(res *http.Response) error {
	f.results["passed"].Inc()
	delete(res.Header, refusedHeader)
	return nil
}

// RoundTrip sends a request to the leader, whoever that is by then. What was not sent, and
// what a leader refused that was replaced, is sent to the next one.
func (f *Front) RoundTrip(req *http.Request) (*http.Response, error) {
	p, ok := req.Context().Value(passingKey{}).(*passing)
	if !ok {
		panic("BUG: a request is passed on that nobody passes on")
	}
	timer := time.NewTimer(leaderWait)
	defer timer.Stop()
	for {
		s := f.state.Load()
		if s.leads != nil {
			return nil, errLeads
		}
		pause := s.changed
		if s.peer != nil {
			res, err := s.peer.send(req, p, f.o.Now())
			refused := err == nil && res.Header.Get(refusedHeader) != ""
			if !refused && !errors.Is(err, errUnsent) {
				return res, err
			}
			if refused {
				_ = res.Body.Close() // it is asked again
			}
			if err := context.Cause(req.Context()); err != nil {
				return nil, err
			}
			if p.body != nil && p.body.begun.Load() {
				return nil, errNoLeader
			}
			pause = nil
		}
		if !f.wait(req.Context(), pause, timer) {
			if err := context.Cause(req.Context()); err != nil {
				return nil, err
			}
			return nil, errNoLeader
		}
	}
}

// wait waits for a change, or a moment without one; false: the time is over.
func (f *Front) wait(ctx context.Context, changed <-chan struct{}, over *time.Timer) bool {
	var moment <-chan time.Time
	if changed == nil {
		moment = time.After(again)
	}
	select {
	case <-ctx.Done():
	case <-over.C:
	case <-changed:
		return true
	case <-moment:
		return true
	}
	return false
}

// failed answers a request that got no answer from the leader.
func (f *Front) failed(w http.ResponseWriter, r *http.Request, err error) {
	p, ok := r.Context().Value(passingKey{}).(*passing)
	switch {
	case ok && errors.Is(err, errLeads):
		f.ServeHTTP(p.w, p.in)
	case ok && p.body != nil && p.body.broken.Load():
		writeProblem(w, problem.New(problem.InvalidArgument, "the request body broke off, or its client was too slow"))
	case ok && p.in.Context().Err() != nil:
		panic(http.ErrAbortHandler) // the client is gone
	case errors.Is(err, errNoLeader):
		f.results["no_leader"].Inc()
		writeProblem(w, errNoLeader)
	default:
		f.results["lost"].Inc()
		f.log.LogAttrs(r.Context(), slog.LevelWarn, "a request that was passed on to the leader got no answer", slog.Any("error", err))
		writeProblem(w, errLost)
	}
}

// health answers for this node.
func (f *Front) health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	text, err := "ok\n", error(nil)
	if r.URL.Path == "/readyz" {
		if err = f.Ready(); err != nil {
			text = "not ready\n"
		}
		if r.URL.Query().Has("verbose") {
			text = "[+]leader " + f.leaderName() + " ok\nready\n"
			if err != nil {
				text = "[-]leader " + err.Error() + "\nnot ready\n"
			} else if lack := f.Lacks(); lack != nil {
				text = "[!]keys " + lack.Detail + ": " + lack.Remedy + "\n" + text
			}
		}
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = io.WriteString(w, text) //nolint:gosec // plain text; the client is gone when this fails
}

func (f *Front) leaderName() string {
	if p := f.state.Load().peer; p != nil {
		return p.name
	}
	return f.name
}

// Ready is nil while this node leads, or reaches the one that does.
func (f *Front) Ready() error {
	s := f.state.Load()
	switch {
	case s.leads != nil:
		return nil
	case s.peer == nil:
		return errors.New("no control plane leads")
	case !s.peer.up.Load():
		return fmt.Errorf("the control plane %s leads and cannot be reached", s.peer.name)
	}
	return nil
}

// metrics answers for this node, to whom the leader would answer.
func (f *Front) metrics(w http.ResponseWriter, r *http.Request) {
	if f.o.Guard {
		p := f.passingOf(w, r)
		ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), passingKey{}, p), leaderWait)
		defer cancel()
		ask, err := http.NewRequestWithContext(ctx, http.MethodHead, "http://leader/metrics", http.NoBody)
		if err == nil {
			ask.Host, ask.Header["Authorization"] = r.Host, r.Header["Authorization"]
			var res *http.Response
			if res, err = f.RoundTrip(ask); err == nil {
				_ = res.Body.Close() // a HEAD has none
				if res.StatusCode != http.StatusOK {
					writeProblem(w, problem.New(problem.Unauthenticated, "missing or unknown API token").Fix("send Authorization: Bearer slu_…, a token of the operator's workspace; the role viewer is enough"))
					return
				}
			}
		}
		if errors.Is(err, errLeads) {
			f.ServeHTTP(w, r)
			return
		}
		if err != nil {
			writeProblem(w, errNoLeader)
			return
		}
	}
	f.writeMetrics(w)
}

package pool

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/valkey-io/valkey-go"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// DefaultTimeout is what an operation may take, a new connection included: longer than
	// any server of the same network needs, short beside a call.
	DefaultTimeout = 250 * time.Millisecond
	// awayTime is how long the server is left alone after a failure. Then a probe asks it, and
	// no call waits for it until one was answered.
	awayTime = time.Second
	probing  = "probe" // the operation of a probe
)

// Errors of operations.
var (
	// ErrNone says that there is nothing by that name.
	ErrNone = errors.New("the shared state has nothing by this name")
	// ErrAway says that the server cannot be used now.
	ErrAway = errors.New("the shared state cannot be reached")
)

// Options of a Store.
type Options struct {
	// URL of the server: redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss:// with TLS. A
	// server of a cluster leads to the others; ?addr=HOST:PORT names more of them to begin
	// with. With ?master_set=NAME the servers are sentinels, of the same user and password.
	// ?wait=30s is Patience.
	URL secrets.Secret
	// Roots verify the certificates of rediss://. Default: those of the system.
	Roots *x509.CertPool
	// Key returns the key of the pool, 32 bytes; nil while it is not known, when nothing is
	// shared.
	Key     func() []byte
	Timeout time.Duration    // of an operation. Default: DefaultTimeout
	Now     func() time.Time // clock that tells how long a key of before counts. Default: time.Now
	Logger  *slog.Logger     // Default: discard
	// Patience is how long [Store.Await] waits. Default: what the URL says, or DefaultPatience;
	// negative: not at all.
	Patience time.Duration
}

// Store is the shared state. It is safe for concurrent use.
type Store struct {
	option   valkey.ClientOption
	timeout  time.Duration
	patience time.Duration
	log      *slog.Logger
	keys     keys

	client atomic.Pointer[valkey.Client] // nil: it was never reached

	why  atomic.Pointer[string] // the server is away
	away atomic.Int64           // until when the server is left alone, UnixNano, and then asked by probes only; 0: it answers
	went atomic.Int64           // when it last went, UnixNano
	came atomic.Int64           // when it was last back, UnixNano; 0: it never was away
	// missing is a key that could not be had when the server last went. nil: not known.
	missing atomic.Pointer[string]
	told    atomic.Int64 // the came that those of onReturn know of
	ops     *metrics.Set

	patient atomic.Int64 // how many wait in Await

	jobs    chan job     // see Later
	waiting atomic.Int64 // bytes of those

	mu         sync.Mutex
	connecting chan struct{}           // guarded by mu; closed when the call that connects is through; nil: none does
	onReturn   []func(context.Context) // guarded by mu
	leases     map[string]string       // guarded by mu; key of the set of each running request, by its name
	done       chan struct{}
	wait       sync.WaitGroup
}

// Open makes a Store. It does not wait for a connection: a server that is not there yet is
// no error, and is logged. It fails with [problem.InvalidArgument], which never has the URL, as that may hold a
// password.
func Open(o Options) (*Store, error) {
	option, patience, err := parse(o.URL.Reveal())
	if err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Patience == 0 {
		o.Patience = patience
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if option.TLSConfig != nil {
		option.TLSConfig.RootCAs = o.Roots
	}
	option.Dialer.Timeout, option.ConnWriteTimeout = o.Timeout, o.Timeout
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{
		option: option, timeout: o.Timeout, patience: o.Patience, log: o.Logger.With(slog.String("component", "state")), keys: keys{source: o.Key, clock: o.Now}, ops: metrics.NewSet(),
		leases: map[string]string{}, jobs: make(chan job, maxLater), done: make(chan struct{}),
	}
	s.ops.NewGauge("sluice_state_up", func() float64 {
		if s.client.Load() != nil && s.away.Load() == 0 {
			return 1
		}
		return 0
	})
	s.wait.Go(s.renew)
	s.wait.Go(s.runLater)
	return s, nil
}

// parse reads the URL.
func parse(text string) (o valkey.ClientOption, patience time.Duration, err error) {
	invalid := func(why string) error {
		return problem.New(problem.InvalidArgument, "the URL of the shared state %s", why).
			Fix("give redis://[USER:PASSWORD@]HOST:PORT[/DB], rediss:// for TLS, with ?addr=HOST:PORT for more nodes of a cluster or sentinels, with ?master_set=NAME for sentinels, with ?wait=30s for servers that others replace later than in ten seconds")
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" {
		return o, 0, invalid("is none of a Redis or Valkey server")
	}
	query := u.Query()
	for name := range query {
		if name != "addr" && name != "master_set" && name != "wait" {
			return o, 0, invalid(fmt.Sprintf("has a parameter %.40q that is not known", name))
		}
	}
	if patience = DefaultPatience; query.Has("wait") {
		if patience, err = time.ParseDuration(query.Get("wait")); err != nil || patience <= 0 || patience > maxPatience {
			return o, 0, invalid("has a wait that is not one of 1s to 60s")
		}
	}
	ports := []string{u.Port()}
	for _, addr := range query["addr"] {
		host, port, err := net.SplitHostPort(addr)
		if err != nil || host == "" || port == "" || strings.Contains(host, "@") {
			return o, 0, invalid("has an addr that is not HOST:PORT")
		}
		ports = append(ports, port)
	}
	for _, port := range ports {
		if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
			return o, 0, invalid("has a port that is not one of 1 to 65535")
		}
	}
	if o, err = valkey.ParseURL(text); err != nil {
		return o, 0, invalid("has more behind the host than the number of a database")
	}
	if o.Sentinel.MasterSet != "" {
		o.Sentinel.Username, o.Sentinel.Password, o.Sentinel.TLSConfig = o.Username, o.Password, o.TLSConfig
	}
	o.ClientName, o.DisableCache, o.DisableRetry = "sluice", true, true
	return o, patience, nil
}

// connect returns the client, which it makes when there is none yet: that connects. While
// another call does so it waits for that one, and fails with [ErrAway] when there is none then.
func (s *Store) connect(ctx context.Context) (valkey.Client, error) {
	if c := s.client.Load(); c != nil {
		return *c, nil
	}
	s.mu.Lock()
	other := s.connecting
	if other == nil {
		s.connecting = make(chan struct{})
	}
	s.mu.Unlock()
	if other != nil {
		select {
		case <-other:
		case <-ctx.Done():
		}
		if c := s.client.Load(); c != nil {
			return *c, nil
		}
		return nil, ErrAway
	}
	defer func() {
		s.mu.Lock()
		close(s.connecting)
		s.connecting = nil
		s.mu.Unlock()
	}()
	if c := s.client.Load(); c != nil { // of who was faster
		return *c, nil
	}
	c, err := valkey.NewClient(s.option)
	if err != nil {
		return nil, err
	}
	s.client.Store(&c)
	return c, nil
}

// Close lets the requests that run be counted no longer and ends the connections.
func (s *Store) Close() error {
	close(s.done)
	s.wait.Wait()
	if c := s.client.Load(); c != nil {
		(*c).Close()
	}
	return nil
}

// WritePrometheus writes the metrics of the Store.
func (s *Store) WritePrometheus(w io.Writer) { s.ops.WritePrometheus(w) }

// do runs an operation, unless the server is away or there is no key. It fails with
// ErrAway.
func (s *Store) do(ctx context.Context, name string, op func(ctx context.Context, c valkey.Client, k *derivedKeys) error) error {
	k := s.keys.now()
	now := time.Now()
	if until := s.away.Load(); k == nil || until > now.UnixNano() || until != 0 && name != probing {
		s.count(name, "skipped")
		return ErrAway
	}
	octx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	c, err := s.connect(octx)
	if errors.Is(err, ErrAway) { // who connects says whether it is
		s.count(name, "skipped")
		return ErrAway
	}
	w := &watched{Client: c}
	if err == nil {
		// A connection that the server closed while it was idle fails once.
		if err = op(octx, w, k); err != nil && !answered(err) && octx.Err() == nil {
			err = op(octx, w, k)
		}
	}
	switch {
	case err == nil || answered(err):
		if s.away.Swap(0) != 0 {
			s.came.Store(time.Now().UnixNano())
			s.log.LogAttrs(ctx, slog.LevelInfo, "the shared state answers again")
		}
		s.count(name, "ok")
		return err
	case ctx.Err() != nil: // the caller has gone: nothing is known of the server
		s.count(name, "cancelled")
		return ErrAway
	}
	s.count(name, "failed")
	why := reason(err)
	s.why.Store(&why)
	if w.failed != "" && name != probing {
		s.missing.Store(&w.failed)
	}
	if s.away.Swap(now.Add(awayTime).UnixNano()) == 0 {
		s.went.Store(now.UnixNano())
		s.log.LogAttrs(ctx, slog.LevelWarn, "the shared state does not answer: this node counts by itself and knows only the answers, results and sessions it holds", slog.String("error", why))
	}
	return ErrAway
}

// Fault is why the server cannot be used; nil: it answers, or was never asked.
func (s *Store) Fault() error {
	if why := s.why.Load(); why != nil && s.away.Load() != 0 {
		return problem.New(problem.Unavailable, "%s", *why).Fix("this node counts by itself meanwhile")
	}
	return nil
}

// answered reports whether an error is what the server answered.
func answered(err error) bool {
	return errors.Is(err, ErrNone) || errors.Is(err, ErrEnded) || errors.Is(err, ErrFull)
}

// reason is an error without what may be a secret in it: addresses are in it, what was
// sent is not.
func reason(err error) string {
	text := err.Error()
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "no authority that is trusted here signed its certificate: name the one that did in SLUICE_CA"
	}
	if strings.Contains(text, "WRONGPASS") || strings.Contains(text, "NOAUTH") {
		return "it refuses the user and password of the URL"
	}
	if strings.HasPrefix(text, "OOM ") {
		return "its memory is full: raise maxmemory, and set maxmemory-policy volatile-ttl"
	}
	if strings.HasPrefix(text, "READONLY ") {
		return "it is a replica: name the server that is written to, or sentinels with master_set"
	}
	if strings.HasPrefix(text, "No such master") {
		return "its sentinels know no set of the name in master_set"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time: see that it runs, and whether it speaks TLS as the URL says (rediss://) or not (redis://)"
	}
	return text[:min(len(text), 200)]
}

func (s *Store) count(op, result string) {
	s.ops.GetOrCreateCounter(`sluice_state_operations_total{op="` + op + `",result="` + result + `"}`).Inc()
}

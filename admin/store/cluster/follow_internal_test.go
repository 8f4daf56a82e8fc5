package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// logged keeps what is logged from a level on.
type logged struct {
	slog.Handler

	mu   sync.Mutex
	said []string
}

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, r.Level.String()+" "+r.Message)
	return nil
}

func (l *logged) WithAttrs([]slog.Attr) slog.Handler           { return l }
func (l *logged) Enabled(_ context.Context, v slog.Level) bool { return v >= slog.LevelInfo }

func (l *logged) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := l.said
	l.said = nil
	return said
}

// alone is a member without a listener.
func alone(t *testing.T, o Options) *Front {
	t.Helper()
	o.URL = "http://127.0.0.1:1"
	if o.Records == nil {
		o.Records = new(database)
	}
	if o.Keyring == nil {
		o.Keyring = ringOf(t, "a")
	}
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// outages is a database that cannot be asked who leads while it is down.
type outages struct {
	*database

	down atomic.Bool
}

func (o *outages) Leader(ctx context.Context) (*store.Leader, error) {
	if o.down.Load() {
		return nil, errors.New("the database is gone")
	}
	return o.database.Leader(ctx)
}

func (o *outages) has(member string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.members[member]
}

// TestRun: a member says at once that it is there, and that it is gone when it ends; that the
// database cannot be asked is said once for each time that it is down.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		records, log := &outages{database: new(database)}, new(logged)
		f := alone(t, Options{Records: records, Logger: slog.New(log)})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		synctest.Wait()
		if !records.has(f.Name()) {
			t.Error("nobody was told that it is there")
		}
		for range 2 {
			records.down.Store(true)
			time.Sleep(4 * followEvery)
			synctest.Wait()
			if said := log.take(); len(said) != 1 || !strings.HasPrefix(said[0], "WARN the database cannot be asked") {
				t.Errorf("of a database that is down it says %q", said)
			}
			records.down.Store(false)
			time.Sleep(4 * followEvery)
			synctest.Wait()
			if said := log.take(); len(said) != 0 {
				t.Errorf("of a database that is up it says %q", said)
			}
		}
		cancel()
		if err := <-done; err != nil || records.has(f.Name()) {
			t.Errorf("it ended with %v, and is there: %t", err, records.has(f.Name()))
		}
	})
}

// TestLack: what a member lacks is said once, and once that it is here.
func TestLack(t *testing.T) {
	log := new(logged)
	f := alone(t, Options{Logger: slog.New(log)})
	for range 2 {
		f.lack(t.Context(), problem.New(problem.Conflict, "another key"))
	}
	if said := log.take(); len(said) != 1 || !strings.HasPrefix(said[0], "ERROR the leader has rotated its key") {
		t.Errorf("of a key that is missing it says %q", said)
	}
	for range 2 {
		f.lack(t.Context(), nil)
	}
	if said := log.take(); len(said) != 1 || !strings.HasPrefix(said[0], "INFO the keys of the leader are here") {
		t.Errorf("of keys that are here it says %q", said)
	}
}

// TestSee: the way to a leader stays while nothing of it changes, one that comes with a key that
// this member lacks is not followed, also where the one before was, and none is no leader.
func TestSee(t *testing.T) {
	f := alone(t, Options{})
	leader := func(number uint64, ring *secrets.Keyring) *store.Leader {
		t.Helper()
		l := &store.Leader{Number: number, Member: "one.example", URL: "https://127.0.0.1:1"}
		var err error
		if l.Sealed, err = ring.SealBytes(l.Record(), make([]byte, keyBytes)); err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := leader(1, f.o.Keyring)
	see := func(l *store.Leader) *state {
		t.Helper()
		if err := f.see(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		return f.state.Load()
	}
	followed := see(first)
	if followed.peer == nil || see(first) != followed {
		t.Errorf("the leader is followed: %v; seen again it is another", followed.peer)
	}
	if err := f.see(t.Context(), leader(1, ringOf(t, "b"))); err != nil || f.Lacks() == nil || f.state.Load() != followed {
		t.Errorf("a leader that rotated its key: %v, lacks %v", err, f.Lacks())
	}
	if err := f.see(t.Context(), leader(2, ringOf(t, "b"))); !problem.Is(err, problem.Conflict) {
		t.Errorf("another leader with another key: %v", err)
	}
	if s := see(nil); s.peer != nil || s.of != nil {
		t.Errorf("without a leader it follows %v", s.of)
	}
}

// TestReload: keys are read anew only for a leader whose key is not here.
func TestReload(t *testing.T) {
	reads := 0
	f := alone(t, Options{})
	f.o.Reload = func() (*secrets.Keyring, error) {
		reads++
		return f.o.Keyring, nil
	}
	l := &store.Leader{Number: 1, Member: "one.example"}
	sealed, err := f.o.Keyring.SealBytes(l.Record(), []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	l.Sealed = sealed
	if key, err := f.open(l); err != nil || string(key) != "key" || reads != 0 {
		t.Errorf("%q, %v; the keys were read %d times", key, err, reads)
	}
	l.Sealed = append(append([]byte{}, sealed[:len(sealed)-1]...), sealed[len(sealed)-1]^1)
	if _, err := f.open(l); err == nil || reads != 0 {
		t.Errorf("damaged: %v; the keys were read %d times", err, reads)
	}
	if l.Sealed, err = ringOf(t, "b").SealBytes(l.Record(), []byte("key")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.open(l); err == nil || reads != 1 {
		t.Errorf("of another key: %v; the keys were read %d times", err, reads)
	}
}

// TestUnsent: where nobody takes the connection, or speaks TLS, nothing of a request was sent,
// so that it may be sent to the next leader.
func TestUnsent(t *testing.T) {
	o := &Options{}
	if _, err := newPeer(&store.Leader{URL: "http://one.example"}, nil, o); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("a way that is not private: %v", err)
	}
	p, err := newPeer(&store.Leader{URL: "https://127.0.0.1:1", Pin: pinPrefix}, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().String()
	go func() {
		if c, err := listener.Accept(); err == nil {
			_, _ = io.WriteString(c, "this is no TLS\r\n")
			_ = c.Close()
		}
	}()
	for _, what := range []string{"no TLS", "nobody"} {
		if _, err := p.transport.DialTLSContext(t.Context(), "tcp", at); !errors.Is(err, errUnsent) {
			t.Errorf("%s: %v", what, err)
		}
		_ = listener.Close()
	}
}

// TestWait: a request waits for another state, or for a moment where the leader is to be asked
// again, and not for longer than the time that it has.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := alone(t, Options{})
		begun := time.Now()
		over := time.NewTimer(leaderWait)
		defer over.Stop()
		if !f.wait(t.Context(), nil, over) || time.Since(begun) != again {
			t.Errorf("a moment took %s", time.Since(begun))
		}
		changed := make(chan struct{})
		time.AfterFunc(2*again, func() { close(changed) })
		if !f.wait(t.Context(), changed, over) || time.Since(begun) != 3*again {
			t.Errorf("a change took %s", time.Since(begun)-again)
		}
		if f.wait(t.Context(), make(chan struct{}), over) || time.Since(begun) != leaderWait {
			t.Errorf("it waited for %s", time.Since(begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if over.Reset(leaderWait); f.wait(ctx, make(chan struct{}), over) {
			t.Error("it waits for a client that is gone")
		}
	})
}

// taken is a client's connection, as what a server writes to.
type taken struct {
	*httptest.ResponseRecorder
	net.Conn
}

func (c taken) Write(b []byte) (int, error) { return c.Conn.Write(b) }

// TestSlowly: an answer stays open for as long as it takes, and ends when its client takes
// nothing for a while.
func TestSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		c := taken{httptest.NewRecorder(), here}
		w := &slowly{c, http.NewResponseController(c), stillTime}
		for range 2 {
			go func() { _, _ = io.ReadFull(there, make([]byte, 4)) }()
			if n, err := w.Write([]byte("data")); n != 4 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			time.Sleep(2 * stillTime)
		}
		begun := time.Now()
		if n, err := w.Write([]byte("data")); n != 0 || err == nil || time.Since(begun) != stillTime {
			t.Errorf("a client that takes nothing: %d, %v after %s", n, err, time.Since(begun))
		}
	})
}

// TestMetricsOfFollower: a member that follows answers for itself, and for its process, to whom
// the leader would answer.
func TestMetricsOfFollower(t *testing.T) {
	f := alone(t, Options{})
	page := func() string {
		t.Helper()
		w := httptest.NewRecorder()
		f.writeMetrics(w)
		return w.Body.String()
	}
	if got := page(); !strings.Contains(got, "sluice_cluster_leads 0\n") {
		t.Errorf("%s", got)
	}
	f.o.Metrics = func(w io.Writer) { _, _ = io.WriteString(w, "of_the_process 1\n") }
	if got := page(); !strings.Contains(got, "of_the_process 1\n") || !strings.Contains(got, "sluice_cluster_leads 0\n") {
		t.Errorf("%s", got)
	}
	var d database
	one, two := d.member(t, settings{}), d.member(t, settings{guard: true})
	d.leads(t, one, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" && (r.Method != http.MethodHead || r.Header.Get("Authorization") != "Bearer x") {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	until(t, "two follows", func() bool { return two.Ready() == nil })
	if res, text := two.do(t, "GET", "/metrics", ""); res.StatusCode != http.StatusUnauthorized || strings.Contains(text, "sluice_cluster") {
		t.Errorf("without a token: %s %s", res.Status, text)
	}
	if res, text := two.do(t, "GET", "/metrics", "", "Authorization", "Bearer x"); res.StatusCode != http.StatusOK || !strings.Contains(text, "sluice_cluster_leads 0\n") {
		t.Errorf("with a token: %s %s", res.Status, text)
	}
}

// TestEndOfFollower: when a member ends, what only waits at the leader ends with it.
func TestEndOfFollower(t *testing.T) {
	var d database
	one, two := d.member(t, settings{}), d.member(t, settings{})
	begun, ended := make(chan struct{}), make(chan struct{})
	d.leads(t, one, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/livez" {
			return
		}
		begun <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	}))
	until(t, "two follows", func() bool { return two.Ready() == nil })
	var wg sync.WaitGroup
	waiting := [][2]string{{http.MethodGet, "/v1/events"}, {http.MethodHead, "/v2/a"}, {http.MethodPost, "/edge/v1/release"}}
	for _, ask := range waiting {
		req, err := http.NewRequestWithContext(t.Context(), ask[0], two.url+ask[1], http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if res, err := (&http.Client{Transport: two.http.Transport}).Do(req); err == nil { // it waits for as long as it takes
				_ = res.Body.Close()
			}
		})
		<-begun
	}
	two.End()
	if two.ending.Err() == nil {
		t.Fatal("it does not end")
	}
	for range waiting {
		select {
		case <-ended:
		case <-t.Context().Done():
		}
	}
	wg.Wait()
}

// TestListed: a control plane leads when it says so of the term that is, and is gone when
// nothing was heard of it for a while.
func TestListed(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	rows := []store.ClusterMember{
		{Name: "one", SeenAt: store.Time{Time: now.Add(-goneAfter)}}, {Name: "two", SeenAt: store.Time{Time: now.Add(-goneAfter - time.Nanosecond)}},
	}
	since := store.Time{Time: now.Add(-time.Hour)}
	for name, x := range map[string]struct {
		leader *store.Leader
		want   [2]string
	}{
		"nobody leads":      {nil, [2]string{Follows, Gone}},
		"one leads":         {&store.Leader{Member: "one", Number: 7, Since: since}, [2]string{Leads, Gone}},
		"two is as it was":  {&store.Leader{Member: "two", Number: 7, Since: since}, [2]string{Follows, Leads}},
		"one led":           {&store.Leader{Member: "one", Number: 6, Since: since}, [2]string{Follows, Gone}},
		"a third one leads": {&store.Leader{Member: "three", Number: 7, Since: since}, [2]string{Follows, Gone}},
	} {
		got := listed(rows, x.leader, 7, now)
		if len(got) != 2 || got[0].State != x.want[0] || got[1].State != x.want[1] {
			t.Errorf("%s: %+v", name, got)
		}
		for _, p := range got {
			if leads := p.State == Leads; leads != (p.Number == 7) || leads != p.Leads.Equal(since.Time) {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
}

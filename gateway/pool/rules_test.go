package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/valkey-io/valkey-go"
	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/gateway/pool/pooltest"
	"github.com/sluicegate/sluice/internal/secrets"
)

// counted is what the metrics say of operations, those of a reached server or none.
func counted(p *Store, op, result string) string {
	var page bytes.Buffer
	p.WritePrometheus(&page)
	for line := range strings.Lines(page.String()) {
		if n, ok := strings.CutPrefix(line, `sluice_state_operations_total{op="`+op+`",result="`+result+`"} `); ok {
			return strings.TrimSpace(n)
		}
	}
	return "0"
}

// TestKeysAreDerivedOnce of each key of the pool: what seals is another after a change.
func TestKeysAreDerivedOnce(t *testing.T) {
	key := testKey
	clock := time.Now()
	k := keys{source: func() []byte { return key }, clock: func() time.Time { return clock }}
	first := k.now()
	if first == nil || k.now() != first {
		t.Error("the same key is derived from twice")
	}
	key = bytes.Repeat([]byte("o"), keyBytes)
	_ = k.now()
	clock = clock.Add(settleFor)
	second := k.now()
	if second == first || k.now() != second || !bytes.Equal(second.from, key) || bytes.Equal(first.names, second.names) {
		t.Error("another key derives the same")
	}
	for _, key = range [][]byte{nil, testKey[1:], append(testKey, 0)} {
		if k.now() != nil {
			t.Errorf("a key of %d bytes is one", len(key))
		}
	}
	// A name says of which kind it is, and nothing of whose.
	form := regexp.MustCompile(`^sluice:limits:\{[0-9a-f]{32}\}$`)
	a, b := first.name("limits", "ann"), first.name("limits", "bob")
	if !form.MatchString(a) || !form.MatchString(b) || a == b || a == second.name("limits", "ann") || first.name("results", "ann")[len("sluice:results:"):] == a[len("sluice:limits:"):] {
		t.Errorf("names %s, %s", a, b)
	}
}

// TestReason: what a server says is told, cut short, but for words around a password.
func TestReason(t *testing.T) {
	for text, want := range map[string]string{
		"WRONGPASS invalid username-password pair":                           "it refuses the user and password of the URL",
		"NOAUTH Authentication required.":                                    "it refuses the user and password of the URL",
		"connection reset":                                                   "connection reset",
		"OOM command not allowed when used memory > 'maxmemory'.":            "its memory is full: raise maxmemory, and set maxmemory-policy volatile-ttl",
		"READONLY You can't write against a read only replica. script: 2af4": "it is a replica: name the server that is written to, or sentinels with master_set",
		"No such master with that name":                                      "its sentinels know no set of the name in master_set",
		strings.Repeat("x", 200):                                             strings.Repeat("x", 200),
		strings.Repeat("x", 201):                                             strings.Repeat("x", 200),
	} {
		if got := reason(errors.New(text)); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	if got := reason(fmt.Errorf("connecting: %w", context.DeadlineExceeded)); !strings.Contains(got, "speaks TLS") {
		t.Errorf("no answer: %s", got)
	}
}

// TestSchemes: the address of another kind of server is told as one.
func TestSchemes(t *testing.T) {
	for scheme, ok := range map[string]bool{"redis": true, "rediss": true, "http": false, "unix": false, "": false} {
		_, _, err := parse(scheme + "://host:1")
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "is none of a Redis or Valkey server") {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

// TestRunningRequestsAreRenewed each time that the clock says, all of them, until the node
// finds that the server is away.
func TestRunningRequestsAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := Open(Options{URL: secrets.New("redis://127.0.0.1:1"), Key: func() []byte { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if p.timeout != DefaultTimeout {
			t.Errorf("an operation may take %s", p.timeout)
		}
		p.mu.Lock()
		for i := range renewAtOnce + 1 {
			p.leases[fmt.Sprint(i)] = "set"
		}
		p.mu.Unlock()
		for i, want := range []string{"0", "1", "2"} {
			time.Sleep(time.Duration(min(i, 1)) * renewEvery)
			synctest.Wait()
			if got := counted(p, "extend", "skipped"); got != want {
				t.Errorf("after %d times: %s messages, want %s", i, got, want)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestOperations: one that fails is made once more, for a connection that was closed while
// nobody used it; not one whose caller has gone, and an answer is one.
func TestOperations(t *testing.T) {
	s := pooltest.Start(t)
	p := open(t, s, testKey)
	over, end := context.WithCancel(t.Context())
	defer end()
	broken := errors.New("connection reset")
	for i, c := range []struct {
		answers []error
		leaves  bool // the caller goes during the first
		want    error
		result  string
	}{
		{[]error{nil}, false, nil, "ok"},
		{[]error{broken, nil}, false, nil, "ok"},
		{[]error{broken, ErrNone}, false, ErrNone, "ok"},
		{[]error{ErrNone}, false, ErrNone, "ok"},
		{[]error{fmt.Errorf("wrapped: %w", ErrNone)}, false, ErrNone, "ok"},
		{[]error{broken}, true, ErrAway, "cancelled"},
		{[]error{broken, broken}, false, ErrAway, "failed"},
	} {
		ctx := t.Context()
		if c.leaves {
			ctx = over
		}
		name, tries := fmt.Sprint("op", i), 0
		err := p.do(ctx, name, func(context.Context, valkey.Client, *derivedKeys) error {
			if c.leaves {
				end()
			}
			tries++
			return c.answers[min(tries, len(c.answers))-1]
		})
		if !errors.Is(err, c.want) || tries != len(c.answers) || counted(p, name, c.result) != "1" {
			t.Errorf("%d: %v after %d tries, counted as %s: %s", i, err, tries, c.result, counted(p, name, c.result))
		}
	}
	// It is left alone for a while then.
	if err := p.do(t.Context(), "late", func(context.Context, valkey.Client, *derivedKeys) error { return nil }); !errors.Is(err, ErrAway) || counted(p, "late", "skipped") != "1" {
		t.Errorf("after a failure: %v", err)
	}
	p.away.Store(0)
	client := *p.client.Load()
	other, err := Open(Options{URL: secrets.New(s.URL()), Key: func() []byte { return testKey }})
	if err != nil {
		t.Fatal(err)
	}
	other.client.Store(&client)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := client.Do(t.Context(), client.B().Ping().Build()).Error(); !errors.Is(err, valkey.ErrClosing) {
		t.Errorf("after Close: %v", err)
	}
}

// TestServerThatWasNeverThere is away, and is asked again later.
func TestServerThatWasNeverThere(t *testing.T) {
	p, err := Open(Options{URL: secrets.New("redis://127.0.0.1:1"), Key: func() []byte { return testKey }, Timeout: time.Minute, Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	if p.timeout != time.Minute {
		t.Errorf("an operation may take %s", p.timeout)
	}
	if _, err := p.Get(t.Context(), "o", "i"); !errors.Is(err, ErrAway) || p.client.Load() != nil || counted(p, "get", "failed") != "1" {
		t.Errorf("%v, counted %s", err, counted(p, "get", "failed"))
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestPlacesOfRequests: a request that has to wait takes no place, and the only one that
// runs is renewed.
func TestPlacesOfRequests(t *testing.T) {
	s := pooltest.Start(t)
	p := open(t, s, testKey)
	enter := func(whose string, l Limit) Verdict {
		t.Helper()
		v, err := p.Enter(t.Context(), whose, l)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	rare := Limit{Every: float64(time.Hour.Microseconds()), Burst: 1, Most: 5}
	if v := enter("rare", rare); v.Lease == "" || v.Wait != 0 || v.Crowded {
		t.Errorf("the first: %+v", v)
	}
	if v := enter("rare", rare); v.Lease != "" || v.Wait <= 0 || v.Crowded || len(p.leases) != 1 {
		t.Errorf("one that waits: %+v", v)
	}
	alone := enter("alone", Limit{Most: 1})
	if alone.Lease == "" {
		t.Errorf("the only place: %+v", alone)
	}
	if v := enter("alone", Limit{Most: 1}); !v.Crowded {
		t.Errorf("a second at the only place: %+v", v)
	}
	for lease := range p.leases {
		if lease != alone.Lease {
			p.Leave(lease)
		}
	}
	raw := *p.client.Load()
	set := p.leases[alone.Lease]
	if err := raw.Do(t.Context(), raw.B().Zadd().Key(set).ScoreMember().ScoreMember(1, alone.Lease).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	p.extendAll()
	if until, err := raw.Do(t.Context(), raw.B().Zscore().Key(set).Member(alone.Lease).Build()).AsFloat64(); err != nil || until < float64(time.Now().UnixMicro()) {
		t.Errorf("counted until %.0f, %v", until, err)
	}
	p.Leave(alone.Lease)
	p.Leave(alone.Lease)
	p.Leave("")
	if got := counted(p, "leave", "ok"); got != "2" || len(p.leases) != 0 {
		t.Errorf("left %s times, %d leases", got, len(p.leases))
	}
	names, err := raw.Do(t.Context(), raw.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil || len(names) == 0 || strings.Contains(strings.Join(names, " "), "rare") {
		t.Errorf("the server knows %q, %v", names, err)
	}
}

// TestConnectingIsNotAway: an operation waits for another one that connects, for as long as it may
// take, and says nothing of the server.
func TestConnectingIsNotAway(t *testing.T) {
	server := pooltest.Start(t)
	for _, reached := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			// None of it asks the server: its goroutines would not be of this bubble.
			s := &Store{timeout: DefaultTimeout, ops: metrics.NewSet(), connecting: make(chan struct{}), keys: keys{source: func() []byte { return testKey }, clock: time.Now}}
			ended := make(chan error, 1)
			go func() {
				ended <- s.do(t.Context(), "get", func(context.Context, valkey.Client, *derivedKeys) error { return nil })
			}()
			synctest.Wait()
			select {
			case err := <-ended:
				t.Fatalf("it does not wait: %v", err)
			default:
			}
			var none valkey.Client
			if reached {
				s.client.Store(&none)
				close(s.connecting)
			}
			if err := <-ended; reached != (err == nil) || !reached && !errors.Is(err, ErrAway) || s.away.Load() != 0 {
				t.Errorf("reached %v: %v, away %d", reached, err, s.away.Load())
			}
		})
	}
	// As a node starts: all that come first connect, each time.
	for range 20 {
		p, err := Open(Options{URL: secrets.New(server.URL()), Key: func() []byte { return testKey }, Timeout: time.Minute, Patience: -1})
		if err != nil {
			t.Fatal(err)
		}
		var all errgroup.Group
		for i := range 10 {
			all.Go(func() error { return p.Put(t.Context(), "ann", fmt.Sprint(i), []byte("x"), time.Minute) })
		}
		if err := all.Wait(); err != nil {
			t.Error(err)
		}
		_ = p.Close()
	}
}

package pool

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"

	"github.com/sluicegate/sluice/gateway/pool/pooltest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/tlsfiles/tlsfilestest"
)

var testKey = bytes.Repeat([]byte("k"), keyBytes)

// open makes a store of a server, and waits until it answers.
func open(t *testing.T, s *pooltest.Server, key []byte) *Store {
	t.Helper()
	return openLogging(t, s, key, nil)
}

func openLogging(t *testing.T, s *pooltest.Server, key []byte, log *slog.Logger) *Store {
	t.Helper()
	p, err := Open(Options{URL: secrets.New(s.URL()), Key: func() []byte { return key }, Timeout: time.Minute, Logger: log, Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	eventually(t, p)
	return p
}

// eventually waits until the server answers.
func eventually(t *testing.T, p *Store) {
	t.Helper()
	for range 1000 {
		if _, err := p.Get(t.Context(), "nobody", "nothing"); errors.Is(err, ErrNone) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the server does not answer")
}

// TestResults: what one node put others get, of the same owner only, and the server can
// neither read nor move it.
func TestResults(t *testing.T) {
	s := pooltest.Start(t)
	a, b, stranger := open(t, s, testKey), open(t, s, testKey), open(t, s, bytes.Repeat([]byte("s"), keyBytes))
	ctx := t.Context()
	value := []byte(`{"secret":"permalink"}`)
	if err := a.Put(ctx, "toolset\x00ann", "n-1", value, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(ctx, "toolset\x00ann", "n-1"); err != nil || !bytes.Equal(got, value) {
		t.Errorf("%s, %v", got, err)
	}
	for _, c := range []struct {
		of        *Store
		owner, id string
	}{{b, "toolset\x00bob", "n-1"}, {b, "toolset\x00ann", "n-2"}, {stranger, "toolset\x00ann", "n-1"}} {
		if got, err := c.of.Get(ctx, c.owner, c.id); !errors.Is(err, ErrNone) {
			t.Errorf("%q %s: %s, %v", c.owner, c.id, got, err)
		}
	}
	raw := *a.client.Load()
	keys, err := raw.Do(ctx, raw.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil || len(keys) != 2 {
		t.Fatal(keys, err)
	}
	for _, k := range keys {
		if strings.Contains(k, "ann") || strings.Contains(k, "toolset") {
			t.Errorf("the key %q says whose it is", k)
		}
		left, err := raw.Do(ctx, raw.B().Pttl().Key(k).Build()).AsInt64()
		if err != nil || left <= 0 || left > time.Minute.Milliseconds() {
			t.Errorf("%s ends in %d ms, %v", k, left, err)
		}
		if strings.HasSuffix(k, ":n-1") {
			sealed, err := raw.Do(ctx, raw.B().Get().Key(k).Build()).AsBytes()
			if err != nil || bytes.Contains(sealed, []byte("permalink")) {
				t.Errorf("the server has %q, %v", sealed, err)
			}
			moved := strings.TrimSuffix(k, "1") + "9" // the same value by another name
			if err := raw.Do(ctx, raw.B().Set().Key(moved).Value(valkey.BinaryString(sealed)).Build()).Error(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := b.Get(ctx, "toolset\x00ann", "n-9"); !errors.Is(err, ErrNone) {
		t.Errorf("a value that was moved: %s, %v", got, err)
	}
	// What is larger than anything that was put is not read, also where it is well sealed.
	k := derive(testKey)
	name := k.name("results", "toolset\x00ann") + ":n-1"
	for size, want := range map[int]error{MaxValue: nil, MaxValue + 1: ErrNone} {
		if err := raw.Do(ctx, raw.B().Set().Key(name).Value(valkey.BinaryString(k.seal(name, make([]byte, size)))).Build()).Error(); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Get(ctx, "toolset\x00ann", "n-1"); !errors.Is(err, want) || want == nil && len(got) != size {
			t.Errorf("a value of %d bytes: %d bytes, %v", size, len(got), err)
		}
	}
}

// TestResultsAreBounded: the oldest of an owner goes, others' stay, and what is too large is
// not kept.
func TestResultsAreBounded(t *testing.T) {
	s := pooltest.Start(t)
	p := open(t, s, testKey)
	ctx := t.Context()
	put := func(owner, id string, size int) {
		t.Helper()
		if err := p.Put(ctx, owner, id, make([]byte, size), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	has := func(owner, id string) bool {
		_, err := p.Get(ctx, owner, id)
		return err == nil
	}
	put("other", "x", 1)
	for i := range maxValues {
		put("me", string(rune('A'+i)), 1)
	}
	if !has("me", "A") {
		t.Error("at the limit the oldest is gone")
	}
	put("me", "last", 1)
	if has("me", "A") || !has("me", "B") || !has("me", "last") || !has("other", "x") {
		t.Error("past the limit not the oldest one went alone")
	}
	if put("me", "large", MaxValue+1); has("me", "large") {
		t.Error("a value over the limit is kept")
	}
	if put("me", "largest", MaxValue); !has("me", "largest") {
		t.Error("a value at the limit is not kept")
	}
	// What is shared again counts once, and does not take the place of what came later.
	for i := range maxValues {
		put("again", string(rune('A'+i)), 1)
	}
	put("again", "A", 1)
	put("again", "A", 1)
	if err := p.Put(ctx, "again", "old", []byte("1"), 30*time.Second); err != nil {
		t.Fatal(err)
	}
	if has("again", "old") || !has("again", "A") || !has("again", "B") {
		t.Error("a value that ends first took the place of another, or one counts twice")
	}
}

// TestRate: the burst is that of all nodes together, not of each.
func TestRate(t *testing.T) {
	s := pooltest.Start(t)
	const burst = 50
	limit := Limit{Every: float64(time.Hour.Microseconds()), Burst: burst}
	var let, refused atomic.Int64
	var all sync.WaitGroup
	for range 3 {
		p := open(t, s, testKey)
		for range 40 {
			all.Go(func() {
				switch v, err := p.Enter(context.Background(), "caller", limit); {
				case err != nil:
					t.Error(err)
				case v.Wait == 0:
					let.Add(1)
				case v.Wait <= time.Hour:
					refused.Add(1)
				}
			})
		}
	}
	all.Wait()
	if let.Load() != burst || refused.Load() != 120-burst {
		t.Errorf("%d let in and %d told to wait, want %d of 120", let.Load(), refused.Load(), burst)
	}
	p := open(t, s, testKey)
	if v, err := p.Enter(t.Context(), "another caller", limit); err != nil || v.Wait != 0 || v.Lease != "" || len(p.leases) != 0 {
		t.Errorf("another caller: %+v, %v, and %d leases of requests that nobody counts", v, err, len(p.leases))
	}
	// Of a fast rate the next one comes soon.
	fast := Limit{Every: 1000, Burst: 1}
	if v, err := p.Enter(t.Context(), "fast", fast); err != nil || v.Wait != 0 {
		t.Fatalf("%+v, %v", v, err)
	}
	for range 1000 {
		if v, err := p.Enter(t.Context(), "fast", fast); err != nil || v.Wait > time.Millisecond {
			t.Fatalf("%+v, %v", v, err)
		} else if v.Wait == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("after a second nobody is let in at 1,000 a second")
}

// TestRunning: places are taken and left by all nodes together, and those of a node that
// died are free after a lease.
func TestRunning(t *testing.T) {
	s := pooltest.Start(t)
	a, b := open(t, s, testKey), open(t, s, testKey)
	limit := Limit{Most: 2}
	enter := func(p *Store) Verdict {
		t.Helper()
		v, err := p.Enter(t.Context(), "caller", limit)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first, second := enter(a), enter(b)
	if first.Crowded || second.Crowded || first.Lease == "" {
		t.Fatalf("%+v, %+v", first, second)
	}
	if v := enter(a); !v.Crowded || v.Lease != "" {
		t.Errorf("a third runs: %+v", v)
	}
	b.Leave(second.Lease)
	third := enter(a)
	if third.Crowded {
		t.Error("a place that was left is not free")
	}
	raw := *a.client.Load()
	set := a.leases[first.Lease]
	score := func(of string) float64 {
		t.Helper()
		n, err := raw.Do(t.Context(), raw.B().Zscore().Key(set).Member(of).Build()).AsFloat64()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	age := func(of string, by time.Duration) float64 {
		t.Helper()
		at := score(of) - float64(by.Microseconds())
		if err := raw.Do(t.Context(), raw.B().Zadd().Key(set).ScoreMember().ScoreMember(at, of).Build()).Error(); err != nil {
			t.Fatal(err)
		}
		return at
	}
	// The node says that both still run.
	before := age(first.Lease, leaseTime/2)
	a.extendAll()
	if after := score(first.Lease); after <= before {
		t.Errorf("a running request is counted until %.0f, after it was said to run %.0f", before, after)
	}
	// It is not heard of for a lease.
	age(first.Lease, leaseTime+time.Second)
	if v := enter(b); v.Crowded {
		t.Error("the place of a request that nobody says runs is taken")
	}
	if v := enter(b); !v.Crowded {
		t.Error("the place of the other one is free")
	}
	// What was forgotten is not counted again.
	a.extendAll()
	n, err := raw.Do(t.Context(), raw.B().Zcard().Key(set).Build()).AsInt64()
	if err != nil || n != 2 {
		t.Errorf("%d are counted, %v", n, err)
	}
}

// TestAway: without the server operations fail, and come back by themselves.
func TestAway(t *testing.T) {
	s := pooltest.Start(t)
	var logged bytes.Buffer
	p := openLogging(t, s, testKey, slog.New(slog.NewTextHandler(&logged, nil)))
	ctx := t.Context()
	s.Kill()
	if _, err := p.Get(ctx, "o", "i"); !errors.Is(err, ErrAway) {
		t.Error(err)
	}
	if err := p.Put(ctx, "o", "i", []byte("1"), time.Minute); !errors.Is(err, ErrAway) {
		t.Error(err)
	}
	if _, err := p.Enter(ctx, "o", Limit{Most: 1}); !errors.Is(err, ErrAway) {
		t.Error(err)
	}
	if err := p.Fault(); err == nil || !strings.Contains(err.Error(), "this node counts by itself") {
		t.Errorf("the fault is %v", err)
	}
	var page bytes.Buffer
	p.WritePrometheus(&page)
	for _, want := range []string{"sluice_state_up 0", `sluice_state_operations_total{op="get",result="failed"} 1`, `{op="put",result="skipped"} 1`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the metrics lack %s:\n%s", want, page.String())
		}
	}
	s.Run()
	eventually(t, p)
	if v, err := p.Enter(ctx, "o", Limit{Most: 1}); err != nil || v.Crowded {
		t.Errorf("%+v, %v", v, err)
	}
	page.Reset()
	p.WritePrometheus(&page)
	if err := p.Fault(); err != nil {
		t.Errorf("a server that answers has the fault %v", err)
	}
	if !strings.Contains(page.String(), "sluice_state_up 1") || strings.Count(logged.String(), "does not answer") != 1 || strings.Count(logged.String(), "answers again") != 1 {
		t.Errorf("each is not told once:\n%s%s", page.String(), logged.String())
	}
	// What is not there is asked for once.
	raw := *p.client.Load()
	do := func(command func() valkey.Completed) (r valkey.ValkeyResult) {
		for range 8 { // each connection from before the kill fails once
			if r = raw.Do(ctx, command()); r.NonValkeyError() == nil {
				break
			}
		}
		return r
	}
	if err := do(func() valkey.Completed { return raw.B().ConfigResetstat().Build() }).Error(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Get(ctx, "o", "i"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if stats, err := do(func() valkey.Completed { return raw.B().Info().Section("commandstats").Build() }).ToString(); err != nil || !strings.Contains(stats, "cmdstat_getrange:calls=1,") {
		t.Errorf("%s, %v", stats, err)
	}
	// A caller that has gone says nothing of the server.
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := p.Get(gone, "o", "i"); !errors.Is(err, ErrAway) {
		t.Error(err)
	}
	if _, err := p.Get(ctx, "o", "i"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

// TestNoKey: before the control plane gave the key nothing is shared.
func TestNoKey(t *testing.T) {
	for _, key := range [][]byte{nil, []byte("short")} {
		p, err := Open(Options{URL: secrets.New("redis://127.0.0.1:1"), Key: func() []byte { return key }})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Put(t.Context(), "o", "i", nil, time.Minute); !errors.Is(err, ErrAway) {
			t.Error(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOpen: what is wrong with a URL is said without the URL.
func TestOpen(t *testing.T) {
	for _, url := range []string{
		"", "http://user:hush@host", "redis://", "redis://:hush@host/notanumber", "redis://:hush@host/1/2", "redis://:hush@host?tls=yes", "redis://:hush@host:port", "\x00hush",
		"redis://:hush@host:0", "redis://:hush@host:65536", "redis://:hush@host?addr=two", "redis://:hush@host?addr=:7001", "redis://:hush@host?addr=two:", "redis://:hush@host?addr=two:65536", "redis://host?addr=:hush@two:1", "redis://host?addr=hush@two:1", "redis://host?addr=two:hush",
		"redis://host?wait=hush", "redis://host?wait=", "redis://host?wait=0s", "redis://host?wait=-1s", "redis://host?wait=30", "redis://host?wait=" + (maxPatience + 1).String(),
	} {
		_, err := Open(Options{URL: secrets.New(url), Key: func() []byte { return nil }})
		if !problem.Is(err, problem.InvalidArgument) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, patience, err := parse("redis://host:65535?addr=[::1]:1&addr=two:65535"); err != nil || patience != DefaultPatience {
		t.Error(patience, err)
	}
	if _, patience, err := parse("redis://host?wait=" + maxPatience.String()); err != nil || patience != maxPatience {
		t.Error(patience, err)
	}
	o, _, err := parse("rediss://user:hush@one:7000/2?addr=two:7001&master_set=main")
	if err != nil || len(o.InitAddress) != 2 || o.TLSConfig == nil || o.TLSConfig.ServerName != "one" || o.SelectDB != 2 || o.Sentinel.MasterSet != "main" || o.Sentinel.Password != "hush" {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestTLS: a server whose certificate an authority of the operator signed is used where that is
// trusted, and elsewhere the log says what to do.
func TestTLS(t *testing.T) {
	ca, dir := tlsfilestest.Must(t, "authority"), t.TempDir()
	cert, key := ca.Must(t, time.Hour, "127.0.0.1").Write(t, dir, "state")
	s := pooltest.StartTLS(t, cert, key)
	for _, trusted := range []bool{true, false} {
		var log bytes.Buffer
		o := Options{
			URL: secrets.New(s.URL()), Key: func() []byte { return testKey }, Timeout: time.Minute,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}
		if trusted {
			o.Roots = ca.Roots
		}
		p, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Put(t.Context(), "one", "id", []byte("value"), time.Minute)
		if cerr := p.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		if trusted && err != nil {
			t.Errorf("%v: %s", err, &log)
		}
		if !trusted && (!errors.Is(err, ErrAway) || !strings.Contains(log.String(), "SLUICE_CA")) {
			t.Errorf("without the authority: %v: %s", err, &log)
		}
	}
}

// TestProbe: a node says whether the server can be used before and after it is: one with
// a wrong password, or that may not be written, is reported without a caller.
func TestProbe(t *testing.T) {
	s := pooltest.Start(t)
	var logged bytes.Buffer
	u := strings.Replace(s.URL(), "redis://", "redis://nobody:wrong-password@", 1)
	p, err := Open(Options{URL: secrets.New(u), Key: func() []byte { return testKey }, Timeout: time.Minute, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	up := func(p *Store, want string) {
		t.Helper()
		var page bytes.Buffer
		if p.WritePrometheus(&page); !strings.Contains(page.String(), "sluice_state_up "+want+"\n") {
			t.Errorf("want %s:\n%s", want, page.String())
		}
	}
	up(p, "0")
	p.probe()
	up(p, "0")
	if !strings.Contains(logged.String(), "does not answer") || strings.Contains(logged.String(), "wrong-password") {
		t.Errorf("logged: %s", logged.String())
	}
	q := open(t, s, testKey)
	raw := *q.client.Load()
	if err := raw.Do(t.Context(), raw.B().Arbitrary("REPLICAOF", "127.0.0.1", "1").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	q.probe()
	up(q, "0")
	if err := raw.Do(t.Context(), raw.B().Arbitrary("REPLICAOF", "NO", "ONE").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if q.probe(); q.away.Load() == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond) // it is left alone for a second
	}
	up(q, "1")
}

package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/pool/pooltest"
	"github.com/sluicegate/sluice/internal/secrets"
)

func openPatient(t *testing.T, s *pooltest.Server) *Store {
	t.Helper()
	p, err := Open(Options{URL: secrets.New(s.URL()), Key: func() []byte { return testKey }, Timeout: time.Minute, Patience: 3 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Put(t.Context(), "nobody", "nothing", nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFollowUpOutlivesServer: who asks for what another node has while the server is away gets it when
// that one has shared it again; the server lost everything.
func TestFollowUpOutlivesServer(t *testing.T) {
	server := pooltest.Start(t)
	here, there := openPatient(t, server), openPatient(t, server)
	ctx := t.Context()
	here.OnReturn(func(ctx context.Context) {
		if err := here.Put(ctx, "ann", "id", []byte("rest"), time.Minute); err != nil {
			t.Error(err)
		}
	})
	server.Kill()
	if err := here.Put(ctx, "ann", "id", []byte("rest"), time.Minute); !errors.Is(err, ErrAway) {
		t.Fatal(err)
	}
	if err := there.Put(ctx, "ann", "other", nil, time.Minute); !errors.Is(err, ErrAway) {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if got, err := there.Get(ctx, "ann", "id"); err != nil || string(got) != "rest" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	server.Run()
	all.Wait()
	if n := there.patient.Load(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}

// TestImpatience: nobody waits for a server that has been away for long, behind many others, or when
// the caller has gone; nor for what never was there.
func TestImpatience(t *testing.T) {
	server := pooltest.Start(t)
	p := openPatient(t, server)
	if _, err := p.Get(t.Context(), "ann", "id"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	server.Kill()
	if err := p.Put(t.Context(), "ann", "id", nil, time.Minute); !errors.Is(err, ErrAway) {
		t.Fatal(err)
	}
	get := func(ctx context.Context) {
		t.Helper()
		if _, err := p.Get(ctx, "ann", "id"); !errors.Is(err, ErrAway) {
			t.Error(err)
		}
	}
	p.patient.Store(maxPatient)
	get(t.Context())
	if n := p.patient.Load(); n != maxPatient {
		t.Errorf("%d wait", n)
	}
	p.patient.Store(maxPatient - 1)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	get(gone)
	p.went.Store(time.Now().Add(-p.patience).UnixNano())
	get(t.Context())
}

// TestHopes: what may end otherwise is asked for again, and for so long.
func TestHopes(t *testing.T) {
	p := openPatient(t, pooltest.Start(t))
	p.patience = DefaultPatience
	start := time.Now()
	p.went.Store(start.Add(-4 * time.Second).UnixNano())
	p.came.Store(start.Add(-time.Second).UnixNano())
	for _, c := range []struct {
		err  error
		past time.Duration
		want bool
	}{
		{nil, 0, false},
		{ErrEnded, 0, false},
		{ErrAway, 0, true},
		{fmt.Errorf("asked: %w", ErrAway), 6*time.Second - 1, true},
		{ErrAway, 6 * time.Second, false},
		{ErrNone, DefaultPatience/settling - time.Second - 1, true},
		{ErrNone, DefaultPatience/settling - time.Second, false},
	} {
		if got := p.hopes(c.err, start, start.Add(c.past)); got != c.want {
			t.Errorf("%v after %v: %v", c.err, c.past, got)
		}
	}
	p.went.Store(start.Add(DefaultPatience / 2).UnixNano()) // and again
	if p.hopes(ErrAway, start, start.Add(DefaultPatience)) {
		t.Error("a server that comes and goes is waited for without end")
	}
}

package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/pool/pooltest"
	"github.com/sluicegate/sluice/internal/secrets"
)

// openAt makes a store of the servers of a URL, as a node has it.
func openAt(t *testing.T, url string) *Store {
	t.Helper()
	p, err := Open(Options{URL: secrets.New(url), Key: func() []byte { return testKey }, Timeout: 5 * time.Second, Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	eventually(t, p)
	return p
}

// everything does all that nodes do at the shared state, for one owner, and returns what failed.
func everything(ctx context.Context, a, b *Store, owner string) error {
	same := func(got []byte, err error) error {
		if err == nil && string(got) != owner {
			err = fmt.Errorf("%q is not what was kept", got)
		}
		return err
	}
	value := []byte(owner)
	var errs []error
	errs = append(errs, a.Put(ctx, owner, "id", value, time.Minute))
	got, err := b.Get(ctx, owner, "id")
	errs = append(errs, same(got, err), a.PutAnswer(ctx, owner, "key", value, time.Minute))
	got, err = b.Answer(ctx, owner, "key")
	errs = append(errs, same(got, err), a.PutSearch(ctx, owner, owner, []string{"x", "y"}, time.Minute))
	request, err := b.TakeSearch(ctx, owner, "y")
	errs = append(errs, same([]byte(request), err))
	_, err = a.Open(ctx, owner, "session", map[string][]byte{"f": value}, time.Minute)
	errs = append(errs, err)
	r, err := b.Touch(ctx, owner, "session", "", time.Minute)
	errs = append(errs, same(r.Fields["f"], err))
	_, _, err = b.Set(ctx, owner, "session", "g", value, false)
	errs = append(errs, err, a.Unset(ctx, owner, "session", "f", nil))
	_, err = a.End(ctx, owner, "session", 0, time.Minute)
	errs = append(errs, err)
	v, err := a.Enter(ctx, owner, Limit{Every: 1, Burst: 10, Most: 2})
	if err == nil && v.Lease == "" {
		err = errors.New("a request has no place")
	}
	errs = append(errs, err)
	a.extendAll()
	a.Leave(v.Lease)
	return errors.Join(errs...)
}

// TestCluster: with a cluster all that is shared is, whichever server has it, and nodes hear each
// other wherever they hear.
func TestCluster(t *testing.T) {
	all := pooltest.StartCluster(t)
	a, b := openAt(t, all[0].URL()), openAt(t, all[2].URL())
	for i := range 50 { // of names all over the slots
		if err := everything(t.Context(), a, b, fmt.Sprint("owner ", i)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began, heard := make(chan struct{}, 8), make(chan string, 8)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.Hear(ctx, "b", func() { began <- struct{}{} }, func(m []byte) { heard <- string(m) })
	}()
	<-began
	for _, node := range []string{"b", ""} {
		if err := a.Tell(t.Context(), node, []byte("to "+node)); err != nil {
			t.Fatal(err)
		}
		if got := <-heard; got != "to "+node {
			t.Errorf("heard %q", got)
		}
	}
	cancel()
	<-ended
	if n := counted(a, "extend", "failed"); n != "0" {
		t.Errorf("%s renewals failed", n)
	}
}

// TestSentinels: when the primary dies nodes go on with the replica that took its place, with what
// it had, and hear each other again.
func TestSentinels(t *testing.T) {
	w := pooltest.StartWatched(t)
	a, b := openAt(t, w.URL()), openAt(t, w.URL())
	if err := everything(t.Context(), a, b, "before"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began, heard := make(chan struct{}, 64), make(chan string, 64)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.Hear(ctx, "b", func() { began <- struct{}{} }, func(m []byte) { heard <- string(m) })
	}()
	<-began
	if err := a.PutAnswer(t.Context(), "kept", "key", []byte("kept"), time.Hour); err != nil {
		t.Fatal(err)
	}
	w.AwaitReplica()
	w.Primary.Kill()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		err := everything(t.Context(), a, b, fmt.Sprint("after ", time.Now().UnixNano()))
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("after the fail-over: ", err)
		}
	}
	if got, err := b.Answer(t.Context(), "kept", "key"); err != nil || string(got) != "kept" {
		t.Errorf("of before the fail-over: %q, %v", got, err)
	}
	<-began // it hears again, at the new one
	if err := a.Tell(t.Context(), "b", []byte("again")); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != "again" {
		t.Errorf("heard %q", got)
	}
	cancel()
	<-ended
}

// TestClusterLosesOne: while one server of a cluster is away and the others answer, it stays away,
// and is not found back before what could not be had can be.
func TestClusterLosesOne(t *testing.T) {
	all := pooltest.StartCluster(t)
	var log bytes.Buffer
	p, err := Open(Options{
		URL: secrets.New(all[0].URL()), Key: func() []byte { return testKey }, Timeout: 5 * time.Second, Patience: -1,
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	eventually(t, p)
	close(p.done) // it probes by itself no more
	p.wait.Wait()
	p.done = make(chan struct{})
	ask := func(owner string) error { return p.Put(t.Context(), owner, "id", nil, time.Minute) }
	owners, raw := make([]string, len(all)), *p.client.Load() // one of each server's
	for i := range 100 {
		owner := fmt.Sprint("owner ", i)
		slot, err := raw.Do(t.Context(), raw.B().ClusterKeyslot().Key(derive(testKey).name("results", owner)).Build()).AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		owners[int(slot)*len(all)/16384] = owner
	}
	for i, s := range all {
		if err := ask(owners[i]); err != nil {
			t.Fatal(err)
		}
		s.Kill()
		if err := ask(owners[i]); !errors.Is(err, ErrAway) {
			t.Fatal(err)
		}
		for range 5 {
			p.away.Store(1) // it may be asked
			if p.probe(); p.away.Load() == 0 {
				t.Fatalf("server %d is back while it is away", i)
			}
		}
		s.Run()
		for p.away.Load() != 0 {
			p.away.Store(1)
			p.probe()
		}
		if err := ask(owners[i]); err != nil {
			t.Errorf("server %d is back: %v", i, err)
		}
		if n := strings.Count(log.String(), "answers again"); n != i+1 {
			t.Errorf("it was away %d times: %s", n, &log)
		}
	}
}

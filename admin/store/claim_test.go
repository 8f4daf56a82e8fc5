//go:build unix

package store_test

import (
	"database/sql"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestClaim: of two control planes on one PostgreSQL database the second is refused and
// notified of the first. One whose session ended may not publish until it has the lock again,
// and not at all when another one had it.
func TestClaim(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	open := func(claim bool) (*store.Store, error) {
		return store.Open(t.Context(), store.Options{URL: url, Claim: claim})
	}
	closed := func(s *store.Store) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	first, err := open(true)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Claimed(t.Context()); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	second, err := open(true)
	if !problem.Is(err, problem.Conflict) {
		t.Fatalf("the second: %v, %v", second, err)
	}
	for _, part := range []string{"process " + strconv.Itoa(os.Getpid()), host[:min(len(host), 20)], "127.0.0.1", "since 20"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %q", err, part)
		}
	}
	reader, err := open(false) // a backup, the doctor
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Claimed(t.Context()); err != nil {
		t.Error(err)
	}
	closed(reader)

	// The session ends, and another control plane takes the lock before the first does.
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	end := `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'sluice/%'`
	if _, err := db.ExecContext(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	if err := first.Claimed(t.Context()); !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "publishing is stopped") {
		t.Fatalf("after its session ended: %v", err)
	}
	other, err := open(true)
	if err != nil {
		t.Fatal(err)
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !ok(); {
			if time.Now().After(deadline) {
				t.Fatalf("not %s: %v", what, first.Claimed(t.Context()))
			}
			time.Sleep(20 * time.Millisecond) // another program and a watcher of the real world
		}
	}
	until("told who has it", func() bool {
		err := first.Claimed(t.Context())
		return err != nil && strings.Contains(err.Error(), "another control plane (host")
	})
	// What it remembers may be older than what the other wrote: it has to start again, also
	// when that one is gone.
	<-first.Moved()
	closed(other)
	if err := first.Claimed(t.Context()); !problem.Is(err, problem.Unavailable) {
		t.Fatalf("after another one had it: %v", err)
	}
	closed(first)
	again, err := open(true)
	if err != nil {
		t.Fatal(err)
	}
	// Where nobody else wants it, it is regained.
	if _, err := db.ExecContext(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	if err := again.Claimed(t.Context()); !problem.Is(err, problem.Unavailable) {
		t.Fatalf("after its session ended: %v", err)
	}
	first = again
	until("regained", func() bool { return again.Claimed(t.Context()) == nil })
	closed(again)
}

// TestStandBy: a control plane that stands by says of whom, takes over when that one is
// gone, and that one learns that it was replaced.
func TestStandBy(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	first, err := store.Open(t.Context(), store.Options{URL: url, Claim: true})
	if err != nil {
		t.Fatal(err)
	}
	said, opened := make(chan error, 2), make(chan error, 1)
	var second *store.Store
	go func() {
		var err error
		second, err = store.Open(t.Context(), store.Options{URL: url, Claim: true, StandBy: func(taken error) { said <- taken }})
		opened <- err
	}()
	if err := <-said; !problem.Is(err, problem.Conflict) || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Fatalf("it stands by because of: %v", err)
	}
	select {
	case err := <-opened:
		t.Fatalf("it did not wait: %v", err)
	case <-first.Moved():
		t.Fatal("the first was replaced while it lives")
	default:
	}
	// As when its machine is gone: the server ends the session, and the first cannot take
	// the lock again before the second does, which tries more often.
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), `SELECT pg_terminate_backend(l.pid) FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted`); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	if err := second.Claimed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := first.Claimed(t.Context()); !problem.Is(err, problem.Unavailable) {
		t.Fatalf("the first may publish: %v", err)
	}
	<-first.Moved()
	for _, s := range []*store.Store{first, second} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(said) > 0 {
		t.Errorf("it said twice that it stands by: %v", <-said)
	}
}

// TestFence: a control plane whose database another one has taken over writes nothing more,
// also before it knows that; the next one waits for writes that run; numbers only grow.
func TestFence(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	first, err := store.Open(t.Context(), store.Options{URL: url, Claim: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	if err := first.EnsureWorkspace(t.Context(), "one", "One"); err != nil {
		t.Fatal(err)
	}
	write := func(s *store.Store, name string, during func()) error {
		return s.Workspace("one").Update(t.Context(), func(tx *store.Tx) error {
			during()
			return tx.Audit(t.Context(), &store.Audit{Action: name, ActorType: "system", Outcome: "ok"})
		})
	}
	if err := write(first, "before", func() {}); err != nil {
		t.Fatal(err)
	}
	cluster, err := store.OpenCluster(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Close() })
	own := &store.Leader{Number: first.Term(), Member: "one:1", URL: "https://one:1", Sealed: []byte("x")}
	if err := first.Announce(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	if l, err := cluster.Leader(t.Context()); err != nil || l.URL != "https://one:1" || l.Number != first.Term() || string(l.Sealed) != "x" {
		t.Fatalf("%+v, %v", l, err)
	}
	for _, name := range []string{"one:1", "two:1"} {
		if err := cluster.Seen(t.Context(), &store.ClusterMember{Name: name, URL: "https://" + name}); err != nil {
			t.Fatal(err)
		}
	}

	// The session of the lock ends while a write runs: the next one waits for the write.
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	opened := make(chan *store.Store, 1)
	if err := write(first, "during", func() {
		if _, err := db.ExecContext(t.Context(), `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted AND a.application_name LIKE 'sluice/%'`); err != nil {
			t.Error(err)
		}
		go func() {
			second, err := store.Open(t.Context(), store.Options{URL: url, Claim: true})
			if err != nil {
				t.Error(err)
			}
			opened <- second
		}()
		select {
		case <-opened:
			t.Error("the next leader did not wait for a write")
		case <-time.After(time.Second):
		}
	}); err != nil {
		t.Fatalf("a write that ran: %v", err)
	}
	second := <-opened
	if second == nil {
		t.FailNow()
	}
	t.Cleanup(func() { _ = second.Close() })
	if second.Term() != first.Term()+1 {
		t.Errorf("term %d after %d", second.Term(), first.Term())
	}
	// Its own session is not looked at before five seconds are over: the database knows.
	if err := write(first, "after", func() { t.Error("the write began") }); !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("a write of the one that was replaced: %v", err)
	}
	select {
	case <-first.Moved():
	default:
		t.Error("it does not know that it was replaced")
	}
	if err := first.Announce(t.Context(), own); !problem.Is(err, problem.Unavailable) {
		t.Errorf("it announces itself: %v", err)
	}
	if l, err := cluster.Leader(t.Context()); err != nil || l.URL != "" || l.Number != second.Term() || l.Sealed != nil {
		t.Errorf("before the second serves: %+v, %v", l, err)
	}
	if err := write(second, "by the second", func() {}); err != nil {
		t.Error(err)
	}
	if err := cluster.Gone(t.Context(), "two:1"); err != nil {
		t.Error(err)
	}
	rows, l, err := second.ClusterMembers(t.Context())
	if err != nil || len(rows) != 1 || rows[0].Name != "one:1" || l.Number != second.Term() {
		t.Errorf("%+v, %+v, %v", rows, l, err)
	}
}

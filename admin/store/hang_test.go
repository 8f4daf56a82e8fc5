//go:build unix

package store_test

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestHungServer: statements of a server that is stopped with its connections open, which the
// network does not see, end with an error that says so, and the store goes on when it does.
func TestHungServer(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	s, err := store.Open(t.Context(), store.Options{URL: url, Claim: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.EnsureWorkspace(t.Context(), "one", "One"); err != nil {
		t.Fatal(err)
	}
	signal := signals(t, url)
	signal(syscall.SIGSTOP)

	// That of a request which nobody gives up.
	for _, ask := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := s.Workspaces(ctx); return err },
		func(ctx context.Context) error { return s.EnsureWorkspace(ctx, "two", "Two") },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := ask(ctx)
		if p := store.Fault(err); ctx.Err() != nil || p == nil || !problem.Is(p, problem.Unavailable) || !strings.Contains(p.Detail, "cannot be reached: no answer") {
			t.Errorf("while the server is stopped: %v (%v)", err, ctx.Err())
		}
		cancel()
	}

	signal(syscall.SIGCONT)
	for deadline := time.Now().Add(time.Minute); ; {
		list, err := s.Workspaces(t.Context())
		claimed := s.Claimed(t.Context())
		if err == nil && claimed == nil {
			if len(list) != 1 {
				t.Errorf("workspaces: %q", list)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the server went on: %v, %v", err, claimed)
		}
		time.Sleep(20 * time.Millisecond) // another program and a watcher of the real world
	}
	for range 20 { // none of the sessions that ended is used again
		if _, err := s.Workspaces(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// signals sends a signal to the processes of a server, which goes on when the test ends.
func signals(t *testing.T, url string) func(syscall.Signal) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	// Each connection of now is a process; the first line of the file is that of the server.
	var main, others string
	if err := db.QueryRowContext(t.Context(), `SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1), string_agg(pid::text, ' ') FROM pg_stat_activity`).Scan(&main, &others); err != nil {
		t.Fatal(err)
	}
	send := func(s syscall.Signal) {
		for pid := range strings.FieldsSeq(main + " " + others) {
			if n, err := strconv.Atoi(pid); err != nil || n < 2 {
				t.Errorf("process %q: %v", pid, err)
			} else if err := syscall.Kill(n, s); err != nil {
				t.Logf("process %d: %v", n, err) // one of them has ended
			}
		}
	}
	t.Cleanup(func() { send(syscall.SIGCONT) })
	return send
}

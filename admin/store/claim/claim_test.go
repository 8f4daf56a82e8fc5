//go:build unix

package claim_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"

	"github.com/sluicegate/sluice/admin/store/claim"
	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/internal/problem"
)

var quiet = slog.New(slog.DiscardHandler)

// TestName: what the server keeps of a name says whose process it is, on which host.
func TestName(t *testing.T) {
	name := claim.OwnName()
	if want := "sluice/" + strconv.Itoa(os.Getpid()) + "/"; !strings.HasPrefix(name, want) || len(name) == len(want) || len(name) > 63 {
		t.Errorf("%q, want %q and a host, 63 bytes at most", name, want)
	}
}

// TestNoDatabase: no error of a URL says what is in it.
func TestNoDatabase(t *testing.T) {
	for url, kind := range map[string]problem.Kind{
		"postgres://ada:s3cret@[::1":               problem.InvalidArgument,
		"postgres://ada:s3cret@host:port/db":       problem.InvalidArgument,
		"mysql://ada:s3cret@host/db":               problem.InvalidArgument,
		"postgres://ada:s3cret@127.0.0.1:1/sluice": problem.Unavailable,
	} {
		_, err := claim.Open(t.Context(), url, nil, quiet)
		p := problem.As(err)
		if !problem.Is(err, kind) || strings.Contains(p.Detail+p.Remedy, "s3cret") || p.Remedy == "" {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestOneHolds: of two processes one has the lock; the other is notified of it once, and gets it
// when the first gives it back, or when its session ends.
func TestOneHolds(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	first, err := claim.Open(t.Context(), url, nil, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Held(t.Context()); err != nil || first.Number() != 0 {
		t.Fatalf("%v, number %d", err, first.Number())
	}
	// One that stands by gives up with its context, and was notified of the first.
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	_, err = claim.Open(ctx, url, func(taken error) {
		told++
		if !problem.Is(taken, problem.Conflict) || !strings.Contains(taken.Error(), "process "+strconv.Itoa(os.Getpid())) {
			t.Errorf("it is told %v", taken)
		}
		cancel()
	}, quiet)
	if !errors.Is(err, context.Canceled) || told != 1 {
		t.Errorf("it ends with %v, told %d times", err, told)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := claim.Open(t.Context(), url, func(taken error) { t.Errorf("a lock that was given back is taken: %v", taken) }, quiet)
	if err != nil {
		t.Fatal(err)
	}
	second.Unwatch()
	end(t, url)
	err = second.Held(t.Context())
	if p := problem.As(err); !problem.Is(err, problem.Unavailable) || !strings.Contains(p.Detail, "publishing is stopped") || p.Remedy == "" {
		t.Errorf("after its session ended: %v", err)
	}
	third, err := claim.Open(t.Context(), url, nil, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Take(t.Context()); !problem.Is(err, problem.Conflict) {
		t.Errorf("while the third has it: %v", err)
	}
	for _, c := range []*claim.Claim{second, third} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestUsedMeanwhile: a lock that was lost is only taken again when nobody led meanwhile.
func TestUsedMeanwhile(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	statement(t, url, `CREATE TABLE cluster_leader (id BIGINT PRIMARY KEY, number BIGINT)`)
	statement(t, url, `INSERT INTO cluster_leader VALUES (1, 7)`)
	c, err := claim.Open(t.Context(), url, nil, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.Unwatch()
	c.Begin(7)
	for number, ok := range map[string]bool{"7": true, "8": false} {
		statement(t, url, `UPDATE cluster_leader SET number = `+number)
		end(t, url)
		if err := c.Held(t.Context()); !problem.Is(err, problem.Unavailable) {
			t.Fatalf("after its session ended: %v", err)
		}
		err := c.Take(t.Context())
		if ok && (err != nil || c.Held(t.Context()) != nil) || !ok && (!problem.Is(err, problem.Conflict) || !strings.Contains(err.Error(), "meanwhile")) {
			t.Errorf("the last leader had number %s: %v", number, err)
		}
		if !ok { // for the next number
			statement(t, url, `UPDATE cluster_leader SET number = 7`)
			if err := c.Take(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	select {
	case <-c.Moved():
		t.Error("nobody said that it was replaced")
	default:
	}
	c.Replaced()
	c.Replaced() // does nothing more
	<-c.Moved()
}

// TestRegainIsChecked: a lock that was lost is not held again before what was asked for succeeds:
// the database may be another copy than the one before.
func TestRegainIsChecked(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	c, err := claim.Open(t.Context(), url, nil, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.Unwatch()
	asked, fails := 0, true
	older := errors.New("the registry is away")
	c.OnRegain(func(context.Context) error {
		if asked++; fails {
			return older
		}
		return nil
	})
	if err := c.Held(t.Context()); err != nil || asked != 0 {
		t.Errorf("a lock that was not lost: %v, asked %d times", err, asked)
	}
	end(t, url)
	if err := c.Held(t.Context()); !problem.Is(err, problem.Unavailable) {
		t.Fatalf("after its session ended: %v", err)
	}
	if err := c.Take(t.Context()); !errors.Is(err, older) || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	if err := c.Held(t.Context()); !problem.Is(err, problem.Unavailable) {
		t.Errorf("it is held although the check failed: %v", err)
	}
	fails = false
	if err := c.Take(t.Context()); err != nil || c.Held(t.Context()) != nil || asked != 2 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

// end ends the sessions that hold the lock, as when the machine of one is gone.
func end(t *testing.T, url string) {
	t.Helper()
	statement(t, url, `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name LIKE 'sluice/%'`)
}

func statement(t *testing.T, url, text string) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// TestStandsStill: a control plane that holds the lock and says nothing more, because its process
// stands still, keeps it from those that were started by themselves, and not from those that stand
// by. A transaction that it left open, which would be in their way, ends with its session.
func TestStandsStill(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	first, err := claim.Open(t.Context(), url, nil, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	first.Unwatch()
	session := func() *pgx.Conn {
		t.Helper()
		config, err := claim.Config(url, claim.Name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
		return c
	}
	open, idle := session(), session()
	if _, err := open.Exec(t.Context(), "BEGIN; SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := claim.Open(t.Context(), url, nil, quiet); !problem.Is(err, problem.Conflict) {
		t.Errorf("one that does not stand by: %v", err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	named := ""
	second, err := claim.Open(ctx, url, func(taken error) { named = taken.Error() }, quiet)
	if err != nil {
		t.Fatalf("the one that stands by: %v", err)
	}
	t.Cleanup(func() { _ = second.Close() })
	if !strings.Contains(named, "another control plane") {
		t.Errorf("it stood by of %q", named)
	}
	if err := first.Held(t.Context()); !problem.Is(err, problem.Unavailable) {
		t.Errorf("the first one still holds it: %v", err)
	}
	if _, err := open.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("the transaction of the first one is still open")
	}
	if _, err := idle.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("a session without a transaction: %v", err)
	}
}

// TestSaysThatItIsThere: one that is watched is not taken for one that stands still.
func TestSaysThatItIsThere(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	first, err := claim.Open(t.Context(), url, nil, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if c, err := claim.Open(ctx, url, func(error) {}, quiet); err == nil {
		_ = c.Close()
		t.Error("another one took the lock")
	}
	if err := first.Held(t.Context()); err != nil {
		t.Error(err)
	}
}

package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
)

// The crash tests start this test binary again as a child that writes and
// acknowledges each write on standard output, and kill it.
const (
	crashPathVar = "SLUICE_TEST_CRASH_DB"
	crashModeVar = "SLUICE_TEST_CRASH_MODE" // "early": acknowledge before the commit, the negative control
)

func TestMain(m *testing.M) {
	if path := os.Getenv(crashPathVar); path != "" {
		if err := crashChild(path, os.Getenv(crashModeVar) == "early"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func crashChild(path string, early bool) error {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Path: path})
	if err != nil {
		return err
	}
	if err := s.EnsureWorkspace(ctx, "one", "one"); err != nil {
		return err
	}
	w := s.Workspace("one")
	n, err := w.VerifyAudit(ctx)
	if err != nil {
		return err
	}
	for {
		n++
		if early {
			fmt.Println(n)
		}
		err := w.Update(ctx, func(tx *store.Tx) error {
			if err := tx.Audit(ctx, &store.Audit{Action: strconv.FormatUint(n, 10)}); err != nil {
				return err
			}
			return tx.AddJob(ctx, &store.Job{Kind: strconv.FormatUint(n, 10), Result: strings.Repeat("x", 5000)})
		})
		if err != nil {
			return err
		}
		if !early {
			fmt.Println(n)
		}
	}
}

// crashRound runs a child on path, kills it after a number of acknowledgements
// and a moment, and returns the last write it acknowledged.
func crashRound(t *testing.T, path, mode string, acks int, moment time.Duration) uint64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), crashPathVar+"="+path, crashModeVar+"="+mode)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var last uint64
	lines := bufio.NewScanner(out)
	for i := 0; lines.Scan(); i++ {
		if last, err = strconv.ParseUint(lines.Text(), 10, 64); err != nil {
			t.Fatalf("child said %q", lines.Text())
		}
		if i == acks {
			time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
		}
	}
	_ = cmd.Wait() // it was killed
	if stderr.Len() > 0 {
		t.Fatalf("child: %s", stderr.String())
	}
	return last
}

// survived returns how many writes are in the database, after checking that the
// file is sound and that no transaction is there in part.
func survived(t *testing.T, path string) uint64 {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var verdict string
	var audits, jobs uint64
	if err := db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity: %s, %v", verdict, err)
	}
	if err := db.QueryRowContext(t.Context(), `SELECT (SELECT COUNT(*) FROM audit_records), (SELECT COUNT(*) FROM jobs)`).Scan(&audits, &jobs); err != nil {
		t.Fatal(err)
	}
	if audits != jobs {
		t.Fatalf("half a transaction: %d audit records, %d jobs", audits, jobs)
	}
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if n, err := s.Workspace("one").VerifyAudit(t.Context()); err != nil || n != audits {
		t.Fatalf("audit log: %d of %d, %v", n, audits, err)
	}
	return audits
}

func TestKilledProcessLosesNoAcknowledgedWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	for range 12 {
		acked := crashRound(t, path, "", 1+rand.IntN(40), time.Duration(rand.IntN(3000))*time.Microsecond) // a test
		if got := survived(t, path); got < acked {
			t.Fatalf("%d writes were acknowledged, %d are there", acked, got)
		}
	}
}

// The control: a process that acknowledges before its commit is caught by the
// same check.
func TestKilledProcessControl(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	for range 50 {
		if acked := crashRound(t, path, "early", 3, 0); survived(t, path) < acked {
			return
		}
	}
	t.Fatal("acknowledging before the commit was never seen to lose a write")
}

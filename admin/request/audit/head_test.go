package audit_test

import (
	"bytes"
	"crypto/rand"
	"database/sql" //nolint:depguard // somebody who writes to the database beside the store
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

type world struct {
	t   *testing.T
	dir string
	key *sign.Key
	st  *store.Store
	log bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	key, err := sign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: t.TempDir(), key: key}
	w.reopen()
	if err := w.st.EnsureWorkspace(t.Context(), "one", "One"); err != nil {
		t.Fatal(err)
	}
	return w
}

// reopen opens the records as another process would.
func (w *world) reopen() {
	w.t.Helper()
	if w.st != nil {
		if err := w.st.Close(); err != nil {
			w.t.Fatal(err)
		}
	}
	st, err := store.Open(w.t.Context(), store.Options{Path: filepath.Join(w.dir, "db")})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = st.Close() })
	w.st = st
}

func (w *world) open() *audit.Keeper {
	w.t.Helper()
	k, err := audit.Open(w.t.Context(), audit.Options{
		Dir: filepath.Join(w.dir, "audit"), Key: w.key, Store: w.st, Logger: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

func (w *world) write(n int) {
	w.t.Helper()
	for range n {
		err := w.st.Workspace("one").Update(w.t.Context(), func(tx *store.Tx) error {
			return tx.Audit(w.t.Context(), &store.Audit{ActorType: "token", Action: "x.y", Outcome: "ok"})
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// change writes to the database as somebody else would.
func (w *world) change(statement string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.dir, "db"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(w.t.Context(), statement); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) head() (h audit.Head, envelope []byte) {
	w.t.Helper()
	envelope, err := os.ReadFile(filepath.Join(w.dir, "audit", "one.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	trust, err := sign.NewTrust(w.key.TrustedAll(registry.UseRelease, ""), registry.UseRelease)
	if err != nil {
		w.t.Fatal(err)
	}
	payload, _, err := sign.Verify(envelope, sign.PayloadAuditHead, trust)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal(payload, &h); err != nil {
		w.t.Fatal(err)
	}
	return h, envelope
}

// TestHead: the head on disk is that of the newest record as soon as the write of that
// record returned, from the first start on.
func TestHead(t *testing.T) {
	w := newWorld(t)
	w.write(3) // before anybody kept heads
	k := w.open()
	if h, _ := w.head(); h.Seq != 3 || h.Workspace != "one" || len(h.Hash) != 64 {
		t.Fatalf("at the first start: %+v", h)
	}
	for i := range 5 {
		w.write(1)
		if h, _ := w.head(); h.Seq != uint64(4+i) {
			t.Fatalf("after record %d: %+v", 4+i, h)
		}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { w.write(5) })
	}
	wg.Wait()
	h, envelope := w.head()
	if h.Seq != 48 {
		t.Errorf("after concurrent writes: %+v", h)
	}
	kept, err := k.Head("one")
	if err != nil || !bytes.Equal(kept, envelope) {
		t.Errorf("Head: %v", err)
	}
	if err := k.VerifyHead(t.Context(), w.st.Workspace("one"), envelope); err != nil {
		t.Error(err)
	}
	empty, err := k.Head("two")
	if err == nil {
		err = k.VerifyHead(t.Context(), w.st.Workspace("two"), empty)
	}
	if err != nil {
		t.Errorf("of a workspace without records: %v", err)
	}
	if info, err := os.Stat(filepath.Join(w.dir, "audit", "one.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestLost: each way to change the log, found at the next start, named until the
// operator has settled it.
func TestLost(t *testing.T) {
	for name, statement := range map[string]string{
		"tail cut off":         "DELETE FROM audit_records WHERE seq > 8",
		"one record cut off":   "DELETE FROM audit_records WHERE seq = 10",
		"all cut off":          "DELETE FROM audit_records",
		"last record replaced": "UPDATE audit_records SET hash = X'00' WHERE seq = 10",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.open()
			w.write(10)
			_, before := w.head()
			w.reopen()
			w.change(statement)
			ws := w.st.Workspace("one")
			trust, err := sign.NewTrust(w.key.TrustedAll(registry.UseRelease, ""), registry.UseRelease)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(w.dir, "audit")
			if err := audit.VerifyKept(t.Context(), dir, ws, trust); !problem.Is(err, problem.Conflict) {
				t.Errorf("from outside: %v", err)
			}
			k := w.open()
			lost, err := k.Lost("one")
			if err != nil || len(lost) != 1 {
				t.Fatalf("lost %v, %v", lost, err)
			}
			kept, err := os.ReadFile(filepath.Join(dir, lost[0]))
			if err != nil || !bytes.Equal(kept, before) {
				t.Errorf("the head is not kept as it was: %v", err)
			}
			if err := k.VerifyHead(t.Context(), ws, kept); !problem.Is(err, problem.Conflict) {
				t.Errorf("the lost head: %v", err)
			}
			rows, _, err := ws.AuditLog(t.Context(), store.Page{})
			if err != nil || rows[0].Action != "audit.lost" || rows[0].Outcome != "failed" {
				t.Errorf("records %+v, %v", rows, err)
			}
			if !strings.Contains(w.log.String(), "level=ERROR") {
				t.Error("nothing in the log")
			}
			// Life goes on with a new head, and what happened is not forgotten.
			w.reopen()
			if again, err := w.open().Lost("one"); err != nil || len(again) != 1 {
				t.Errorf("at the start after: %v, %v", again, err)
			}
			if err := audit.VerifyKept(t.Context(), dir, w.st.Workspace("one"), trust); !problem.Is(err, problem.Conflict) {
				t.Errorf("from outside, afterwards: %v", err)
			}
			if err := os.Remove(filepath.Join(dir, lost[0])); err != nil {
				t.Fatal(err)
			}
			if err := audit.VerifyKept(t.Context(), dir, w.st.Workspace("one"), trust); err != nil {
				t.Errorf("when it is settled: %v", err)
			}
		})
	}
}

// TestForeignHead: a head that another key signed, that is of another workspace, or
// that is none, is refused.
func TestForeignHead(t *testing.T) {
	w := newWorld(t)
	k := w.open()
	w.write(2)
	_, good := w.head()
	ws := w.st.Workspace("one")
	other, err := sign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(key *sign.Key, payload string) []byte {
		env, err := sign.Sign(key, sign.PayloadAuditHead, []byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	const payload = `{"workspace":"one","seq":1,"hash":"00","at":"2026-01-01T00:00:00Z"}`
	release, err := sign.Sign(w.key, sign.PayloadRelease, []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		envelope []byte
		kind     problem.Kind
	}{
		"another key":       {signed(other, payload), problem.InvalidRelease},
		"another payload":   {release, problem.InvalidRelease},
		"another workspace": {signed(w.key, `{"workspace":"two","seq":1,"hash":"00"}`), problem.InvalidArgument},
		"not hexadecimal":   {signed(w.key, `{"workspace":"one","seq":1,"hash":"x"}`), problem.InvalidRelease},
		"not JSON":          {signed(w.key, `x`), problem.InvalidRelease},
		"another hash":      {signed(w.key, payload), problem.Conflict},
		"a later record":    {signed(w.key, `{"workspace":"one","seq":3,"hash":"00"}`), problem.Conflict},
		"changed":           {bytes.Replace(good, []byte(`"sig":"`), []byte(`"sig":"A`), 1), problem.InvalidRelease},
		"empty":             {nil, problem.InvalidRelease},
	} {
		if err := k.VerifyHead(t.Context(), ws, row.envelope); !problem.Is(err, row.kind) {
			t.Errorf("%s: %v, want %s", name, err, row.kind)
		}
	}
	// On disk it is as good as a lost one, and too large a file is not read.
	for _, content := range [][]byte{signed(other, payload), bytes.Repeat([]byte("x"), 20<<10)} {
		if err := os.WriteFile(filepath.Join(w.dir, "audit", "one.json"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		w.reopen()
		w.open()
	}
	if lost, err := k.Lost("one"); err != nil || len(lost) != 2 {
		t.Errorf("lost %v, %v", lost, err)
	}
}

// TestVerify: what is wrong with the records, with the head that this control plane keeps or with
// one that was kept elsewhere is told, all of it; a database that cannot be asked is no verdict.
func TestVerify(t *testing.T) {
	w := newWorld(t)
	l := &audit.Log{Heads: w.open()}
	w.write(10)
	_, early := w.head()
	w.write(2)
	ws := w.st.Workspace("one")
	verify := func(what string, l *audit.Log, in *audit.VerifyAudit, records uint64, faults ...string) {
		t.Helper()
		out, err := l.Verify(t.Context(), ws, in)
		if err != nil || out.OK != (len(faults) == 0) || out.Records != records || len(out.Faults) != len(faults) || out.Faults == nil {
			t.Errorf("%s: %+v, %v; want %d records and %q", what, out, err, records, faults)
			return
		}
		for i, want := range faults {
			if !strings.Contains(out.Faults[i], want) {
				t.Errorf("%s: %q, want %q", what, out.Faults[i], want)
			}
		}
	}
	verify("whole", l, nil, 12)
	verify("against a head of before", l, &audit.VerifyAudit{Head: early}, 12)
	verify("without a head", l, &audit.VerifyAudit{}, 12)
	verify("against what is not a head", l, &audit.VerifyAudit{Head: []byte(`{}`)}, 12, "")
	verify("of a control plane that keeps none", &audit.Log{}, nil, 12)
	if _, err := (&audit.Log{}).Head(ws); !problem.Is(err, problem.NotFound) {
		t.Errorf("the head that is not kept: %v", err)
	}
	if h, err := l.Head(ws); err != nil || bytes.Equal(h.Envelope, early) || len(h.Envelope) == 0 {
		t.Errorf("the head: %v", err)
	}
	// The tail is cut off while the control plane runs: the kept head tells, an early one cannot.
	w.change("DELETE FROM audit_records WHERE seq > 10")
	verify("cut off", l, nil, 10, "its tail was cut off")
	verify("cut off, against a head of before", l, &audit.VerifyAudit{Head: early}, 10)
	// A record is another one: the chain tells, and each head behind it.
	w.change("UPDATE audit_records SET action = 'z' WHERE seq = 4")
	verify("changed", l, &audit.VerifyAudit{Head: early}, 3, "record 4 does not follow")
	w.change("UPDATE audit_records SET hash = X'00' WHERE seq = 10")
	verify("changed and signed otherwise", l, &audit.VerifyAudit{Head: early}, 3, "record 4 does not follow", "is not the one that was signed")
	w.reopen()
	l, ws = &audit.Log{Heads: w.open()}, w.st.Workspace("one")
	w.write(1)
	out, err := l.Verify(t.Context(), ws, nil)
	if err != nil || out.OK || !strings.Contains(strings.Join(out.Faults, "\n"), "at an earlier start, which was kept as one.") {
		t.Errorf("after another start: %+v, %v", out, err)
	}
	if err := w.st.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := l.Verify(t.Context(), ws, nil); err == nil || out.OK {
		t.Errorf("without a database: %+v", out)
	}
	if _, _, err := audit.Page(t.Context(), ws, store.Page{}); err == nil {
		t.Error("a page without a database")
	}
}

// TestHeadGoesForward: records that are reported late, or twice, do not take the head back; and
// the heads of other workspaces are theirs.
func TestHeadGoesForward(t *testing.T) {
	w := newWorld(t)
	w.open()
	w.write(3)
	h, _ := w.head()
	late := w.open() // a second keeper of the same store signs nothing older
	w.write(1)
	after, _ := w.head()
	if h.Seq != 3 || after.Seq != 4 {
		t.Errorf("%d, then %d", h.Seq, after.Seq)
	}
	for name, content := range map[string]string{"two.20260101T000000.000Z.lost.json": "x", "one.txt": "x", "oneself.20260101T000000.000Z.lost.json": "x"} {
		if err := os.WriteFile(filepath.Join(w.dir, "audit", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if lost, err := late.Lost("one"); err != nil || len(lost) != 0 {
		t.Errorf("lost of one: %v, %v", lost, err)
	}
	// A directory that cannot be made is told at the start.
	if err := os.WriteFile(filepath.Join(w.dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Open(t.Context(), audit.Options{Dir: filepath.Join(w.dir, "file", "audit"), Key: w.key, Store: w.st}); err == nil {
		t.Error("heads are kept where no directory can be")
	}
}

// TestHeadsThatCannotBeRead: what is signed and no head is refused, a directory that is not there
// has no heads, and a database that cannot be asked is told at the start.
func TestHeadsThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.write(1)
	k := w.open()
	if h, _ := w.head(); h.Seq != 1 {
		t.Errorf("the head of one record that was there before: %+v", h)
	}
	ws := w.st.Workspace("one")
	for _, payload := range []string{"x", `{"workspace":"one","seq":1,"hash":"zz"}`, `{"workspace":"two","seq":1,"hash":""}`} {
		envelope, err := sign.Sign(w.key, sign.PayloadAuditHead, []byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		want := problem.InvalidRelease
		if strings.Contains(payload, "two") {
			want = problem.InvalidArgument
		}
		if err := k.VerifyHead(t.Context(), ws, envelope); !problem.Is(err, want) {
			t.Errorf("%s: %v", payload, err)
		}
	}
	trust, err := sign.NewTrust(w.key.TrustedAll(registry.UseRelease, ""), registry.UseRelease)
	if err != nil {
		t.Fatal(err)
	}
	if err := audit.VerifyKept(t.Context(), filepath.Join(w.dir, "none"), ws, trust); err != nil {
		t.Errorf("no directory: %v", err)
	}
	if err := w.st.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Open(t.Context(), audit.Options{Dir: filepath.Join(w.dir, "audit"), Key: w.key, Store: w.st}); err == nil {
		t.Error("heads are kept of a database that is closed")
	}
}

//go:build chaos

package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store/storetest"
)

// failover is a fleet on a PostgreSQL with a standby, behind an address that leads to the one
// which takes writes.
type failover struct {
	t       *testing.T
	primary *storetest.Server
	standby *storetest.Server
	address *link
	members *members
	planes  []*victim
	edge    *victim
	url     string // of a toolset at the edge
	want    string // its answer
	pubs    []*publisher
}

const standbyName = "standby"

func newFailover(t *testing.T) *failover {
	t.Helper()
	f := &failover{t: t}
	var err error
	if f.primary, err = storetest.StartServer(t.Context()); errors.Is(err, storetest.ErrNoPostgres) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.primary.Close() })
	f.follow()
	t.Cleanup(func() { _ = f.standby.Close() })
	f.address = newLink(t, f.primary.Addr)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"id":1,"name":"anvil"},{"id":2,"name":"bolt"}]`)
	}))
	t.Cleanup(upstream.Close)
	f.members = newMembers(t, "postgres://sluice@"+f.address.ln.Addr().String()+"/postgres?sslmode=disable", 3)
	first := f.members.all[0]
	spec, err := filepath.Abs("testdata/things.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.members.all {
		first.cli(t, "add", spec, "--public", "--name", fmt.Sprint("things", i), "--base-url", upstream.URL)
	}
	join, token := first.invite(), first.adminToken()
	first.stop(t)
	t.Cleanup(func() {
		for _, v := range append(f.planes, f.edge) {
			if v == nil {
				continue
			}
			v.kill()
			if t.Failed() {
				t.Logf("%s wrote:\n%s", v.name, last(v.log.String(), 6000))
			}
		}
	})
	for i, p := range f.members.all {
		v := &victim{name: fmt.Sprint("control ", i), ready: "http://" + p.admin + "/readyz", args: f.members.args(p)}
		f.planes = append(f.planes, v)
		if err := v.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.pubs = append(f.pubs, &publisher{base: "http://" + p.admin, token: token, toolset: fmt.Sprint("things", i), hc: &http.Client{Timeout: 20 * time.Second}})
	}
	listen, ops := freePort(t), freePort(t)
	f.url = "http://" + listen + "/t/things0"
	f.edge = &victim{name: "edge", ready: "http://" + ops + "/readyz", args: []string{
		"serve", "--role", "edge", "--data", filepath.Join(first.dir, "edge"), "--control-plane", f.members.urls(), "--join-token-file", join,
		"--edge-name", "edge", "--listen", listen, "--ops-listen", ops, "--allow-private-upstreams", "--log-level", "warn",
	}}
	if err := f.edge.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.want, _, err = ask(http.DefaultClient, f.url); err != nil || !strings.Contains(f.want, "anvil") {
		t.Fatalf("the first answer: %s, %v", f.want, err)
	}
	return f
}

// follow makes a standby of the server that takes writes.
func (f *failover) follow() {
	f.t.Helper()
	var err error
	if f.standby, err = f.primary.Standby(f.t.Context(), standbyName); err != nil {
		f.t.Fatal(err)
	}
}

// synchronous makes the primary acknowledge what the standby has.
func (f *failover) synchronous() {
	f.t.Helper()
	if err := f.primary.Set(f.t.Context(), "synchronous_standby_names", standbyName); err != nil {
		f.t.Fatal(err)
	}
	db, err := sql.Open("pgx", f.primary.URL("postgres"))
	if err != nil {
		f.t.Fatal(err)
	}
	defer db.Close()
	f.members.all[0].until("the standby is synchronous", func() bool {
		var state string
		err := db.QueryRowContext(f.t.Context(), "SELECT sync_state FROM pg_stat_replication").Scan(&state)
		return err == nil && state == "sync"
	})
}

// fail crashes the primary and promotes the standby.
func (f *failover) fail() {
	f.t.Helper()
	f.primary.Crash()
	if err := f.standby.Promote(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	f.address.to.Store(&f.standby.Addr)
	_ = f.primary.Close()
	f.primary = f.standby
}

// revision is that of a toolset, by the word of any control plane.
func (f *failover) revision(i int) (uint64, bool) {
	var ts struct{ Revision uint64 }
	for _, p := range f.pubs {
		if err := p.send(http.MethodGet, fmt.Sprint("/v1/toolsets/things", i), nil, &ts); err == nil {
			return ts.Revision, true
		}
	}
	return 0, false
}

// TestChaosFailover crashes a PostgreSQL with a synchronous standby and promotes that, again
// and again, while toolsets are published through each of three control planes: no write that
// was acknowledged is lost, publishing goes on through each of them, and the edge answers.
func TestChaosFailover(t *testing.T) {
	f := newFailover(t)
	f.synchronous()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var counts tally
	var running sync.WaitGroup
	running.Go(func() { counts.callEdge(ctx, f.edge, f.url, f.want) })
	defer running.Wait()
	defer stop()
	published, longest, rounds := 0, time.Duration(0), 0
	for begin := time.Now(); rounds < 2 || time.Since(begin) < *chaosTime; rounds++ {
		writing, enough := context.WithCancel(ctx)
		var writers sync.WaitGroup
		for _, p := range f.pubs {
			writers.Go(func() {
				for writing.Err() == nil {
					_ = p.once() // what was acknowledged counts
					time.Sleep(50 * time.Millisecond)
				}
			})
		}
		time.Sleep(time.Duration(1000+rand.IntN(2000)) * time.Millisecond) // a moment that chance chooses
		f.fail()
		time.Sleep(time.Second) // requests that run meet it
		enough()
		writers.Wait()
		at := time.Now()
		for i, p := range f.pubs {
			acked := p.acked
			f.members.all[0].until(fmt.Sprint("things", i, " is published again"), func() bool { return p.once() == nil })
			if now, ok := f.revision(i); !ok || now < acked {
				t.Errorf("round %d: things%d is at revision %d, and %d was acknowledged", rounds, i, now, acked)
			}
		}
		longest = max(longest, time.Since(at))
		f.follow()
		f.synchronous()
	}
	stop()
	running.Wait()
	for _, p := range f.pubs {
		published += int(p.acked)
	}
	calls, failed := counts.calls.Load(), counts.failed.Load()
	t.Logf("%d fail-overs; %d publishes acknowledged, none lost; published again through all after %s at most; %d calls, %d failed, %d wrong",
		rounds, published, longest.Round(time.Millisecond), calls, failed, counts.wrong.Load())
	if counts.wrong.Load() > 0 || calls == 0 || failed > 0 {
		t.Errorf("%d of %d calls failed, %d answers were wrong: %v", failed, calls, counts.wrong.Load(), counts.faces)
	}
}

// TestChaosFailoverAsynchronous promotes a standby that lacks acknowledged publishes: the
// control planes say that the records are older than the newest release, publish nothing over
// it, and go on when the operator has decided; the edge answers all the time.
func TestChaosFailoverAsynchronous(t *testing.T) {
	f := newFailover(t)
	first := f.members.all[0]
	for _, p := range f.pubs {
		if err := p.once(); err != nil {
			t.Fatal(err)
		}
	}
	f.standby.Crash() // what follows it never gets
	for range 3 {
		for _, p := range f.pubs {
			if err := p.once(); err != nil {
				t.Fatal(err)
			}
		}
	}
	lost := f.pubs[0].acked
	first.until("the edge has the newest revision", func() bool {
		_, revision, err := ask(http.DefaultClient, f.url)
		return err == nil && revision == lost
	})
	f.primary.Crash()
	if err := f.standby.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.fail()

	begin := time.Now()
	first.until("a control plane answers", func() bool { _, ok := f.revision(0); return ok })
	if now, _ := f.revision(0); now >= lost {
		t.Fatalf("nothing was lost: revision %d", now)
	}
	var refused error
	first.until("a deploy is refused for the older records", func() bool {
		if refused = f.pubs[0].once(); refused == nil {
			t.Fatalf("revision %d was published over the newest release", f.pubs[0].acked)
		}
		return refused != nil && strings.Contains(refused.Error(), "409") && strings.Contains(refused.Error(), "older")
	})
	t.Logf("after %s a deploy is answered with: %v", time.Since(begin).Round(time.Millisecond), refused)
	text := ""
	for _, p := range f.members.all {
		res, err := http.Get("http://" + p.admin + "/readyz?verbose")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	if !strings.Contains(text, "older") {
		t.Errorf("/readyz?verbose does not say it: %s", text)
	}
	out, _ := exec.CommandContext(t.Context(), binary, append([]string{"release"}, first.flags()...)...).CombinedOutput()
	if !strings.Contains(string(out), "resume") {
		t.Errorf("sluice release: %s", out)
	}
	if got, revision, err := ask(http.DefaultClient, f.url); err != nil || got != f.want || revision != lost {
		t.Errorf("the edge: revision %d, %v, %.300s", revision, err, got)
	}
	// The operator decides.
	first.cli(t, "release", "resume", "--reason", "the replica lacked the last writes")
	for i, p := range f.pubs {
		first.until(fmt.Sprint("things", i, " is published again"), func() bool { p.acked = 0; return p.once() == nil })
	}
	first.until("the edge follows", func() bool {
		got, revision, err := ask(http.DefaultClient, f.url)
		return err == nil && got == f.want && revision == f.pubs[0].acked
	})
}

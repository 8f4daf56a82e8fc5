//go:build chaos

package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store/storetest"
)

// link is the network between control planes, or in front of a database: what others reach
// one by. It can be cut, slowed down and led elsewhere.
type link struct {
	ln   net.Listener
	to   atomic.Pointer[string]
	cut  atomic.Bool
	slow atomic.Int64 // nanoseconds before each piece
}

func newLink(t *testing.T, to string) *link {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{ln: ln}
	l.to.Store(&to)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go l.carry(c)
		}
	}()
	return l
}

func (l *link) carry(c net.Conn) {
	defer c.Close()
	if l.cut.Load() {
		return
	}
	up, err := net.DialTimeout("tcp", *l.to.Load(), time.Second)
	if err != nil {
		return
	}
	defer up.Close()
	done := make(chan struct{}, 2)
	pipe := func(to, from net.Conn) {
		defer func() { done <- struct{}{} }()
		b := make([]byte, 16<<10)
		for {
			_ = from.SetReadDeadline(time.Now().Add(100 * time.Millisecond)) // to see a cut
			n, err := from.Read(b)
			if l.cut.Load() {
				return
			}
			if ne, ok := err.(net.Error); ok && ne.Timeout() && n == 0 {
				continue
			}
			time.Sleep(time.Duration(l.slow.Load()))
			if _, werr := to.Write(b[:n]); werr != nil || err != nil {
				return
			}
		}
	}
	go pipe(up, c)
	go pipe(c, up)
	<-done
}

// server is the PostgreSQL server of a test, which can be stopped and started.
type server struct {
	ctl, data string
	options   string // of the server
	attr      *syscall.SysProcAttr
}

func serverOf(t *testing.T, database string) *server {
	t.Helper()
	out, err := exec.Command("psql", database, "-Atc", "SHOW data_directory").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	path, err := exec.LookPath("postgres")
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &server{ctl: filepath.Join(filepath.Dir(path), "pg_ctl"), data: strings.TrimSpace(string(out)), attr: &syscall.SysProcAttr{}}
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		s.attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	at, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	s.options = "-h 127.0.0.1 -p " + at.Port() + " -k " + filepath.Dir(s.data) + " -F"
	t.Cleanup(func() { _ = s.run("stop", "-m", "immediate") })
	return s
}

func (s *server) run(args ...string) error {
	cmd := exec.Command(s.ctl, append([]string{"-D", s.data, "-w", "-s", "-l", filepath.Join(filepath.Dir(s.data), "log"), "-o", s.options}, args...)...)
	cmd.SysProcAttr, cmd.Dir = s.attr, filepath.Dir(s.data)
	return cmd.Run()
}

// TestChaosCluster kills control planes and edges, stops the database, and cuts and slows down
// the connections between three control planes, while toolsets are published through each of
// them: no acknowledged write is lost, no answer is wrong, edges that are up answer, and
// publishing goes on through each of them.
func TestChaosCluster(t *testing.T) {
	const controls, edges = 3, 3
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"id":1,"name":"anvil"},{"id":2,"name":"bolt"}]`)
	}))
	defer upstream.Close()
	m := newMembers(t, storetest.Postgres(t), controls)
	postgres := serverOf(t, m.database)
	first := m.all[0]
	spec, err := filepath.Abs("testdata/things.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := range controls {
		first.cli(t, "add", spec, "--public", "--name", fmt.Sprint("things", i), "--base-url", upstream.URL)
	}
	join, token := first.invite(), first.adminToken()
	first.stop(t)

	links, all := make([]*link, controls), []*victim{}
	defer func() {
		for _, v := range all {
			v.kill()
			if t.Failed() {
				t.Logf("%s wrote:\n%s", v.name, last(v.log.String(), 6000))
			}
		}
	}()
	for i, p := range m.all {
		links[i] = newLink(t, p.admin)
		v := &victim{name: fmt.Sprint("control ", i), ready: "http://" + p.admin + "/readyz", args: append(m.args(p), "--advertise", "http://"+links[i].ln.Addr().String())}
		all = append(all, v)
		if err := v.start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	urls := make([]string, edges)
	for i := range edges {
		listen, ops := freePort(t), freePort(t)
		urls[i] = "http://" + listen + "/t/things0"
		v := &victim{name: fmt.Sprint("edge ", i), ready: "http://" + ops + "/readyz", args: []string{
			"serve", "--role", "edge", "--data", filepath.Join(first.dir, fmt.Sprint("edge", i)), "--control-plane", m.urls(), "--join-token-file", join,
			"--edge-name", fmt.Sprint("edge", i), "--listen", listen, "--ops-listen", ops, "--allow-private-upstreams", "--log-level", "warn",
		}}
		all = append(all, v)
		if err := v.start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want, _, err := ask(http.DefaultClient, urls[0])
	if err != nil || !strings.Contains(want, "anvil") {
		t.Fatalf("the first answer: %s, %v", want, err)
	}

	ctx, stop := context.WithTimeout(t.Context(), *chaosTime)
	defer stop()
	var counts tally
	var wg sync.WaitGroup
	for i, v := range all[controls:] {
		wg.Go(func() { counts.callEdge(ctx, v, urls[i], want) })
	}
	pubs, published, longest := make([]*publisher, controls), make([]int, controls), make([]time.Duration, controls)
	for i, p := range m.all {
		pubs[i] = &publisher{base: "http://" + p.admin, token: token, toolset: fmt.Sprint("things", i), hc: &http.Client{Timeout: 20 * time.Second}}
		wg.Go(func() {
			at := time.Now()
			for ctx.Err() == nil {
				if pubs[i].once() == nil {
					published[i]++
					longest[i] = max(longest[i], time.Since(at))
					at = time.Now()
				}
				time.Sleep(200 * time.Millisecond) // leave the processors to the others
			}
		})
	}
	did := map[string]int{}
	for ctx.Err() == nil {
		time.Sleep(time.Duration(500+rand.IntN(2500)) * time.Millisecond) // a moment that chance chooses
		switch n := rand.IntN(10); {
		case n < 3:
			did["control planes killed"]++
			v := all[rand.IntN(controls)]
			v.kill()
			time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond)
			if err := v.start(ctx); err != nil {
				t.Error(err)
				stop()
			}
		case n < 6:
			did["edges killed"]++
			v := all[controls+rand.IntN(edges)]
			v.kill()
			if err := v.start(ctx); err != nil {
				t.Error(err)
				stop()
			}
		case n < 7:
			did["database stops"]++
			if err := postgres.run("stop", "-m", "immediate"); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond)
			if err := postgres.run("start"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(8 * time.Second) // so that a leader is found before the next blow
		case n < 9:
			did["connections cut"]++
			l := links[rand.IntN(controls)]
			l.cut.Store(true)
			time.Sleep(time.Duration(rand.IntN(4000)) * time.Millisecond)
			l.cut.Store(false)
		default:
			did["connections slow"]++
			l := links[rand.IntN(controls)]
			l.slow.Store(int64(300 * time.Millisecond))
			time.Sleep(3 * time.Second)
			l.slow.Store(0)
		}
	}
	wg.Wait()

	// Everything is up: what was acknowledged is there.
	for _, l := range links {
		l.cut.Store(false)
		l.slow.Store(0)
	}
	for _, v := range all {
		if v.up.Load() == 0 {
			if err := v.start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	first.until("all control planes are ready", func() bool {
		for _, v := range all[:controls] {
			if !answers(v.ready) {
				return false
			}
		}
		return true
	})
	for i, p := range m.all {
		var ts struct {
			Description string
			Revision    uint64
		}
		p.api(t, fmt.Sprint("/v1/toolsets/things", i), &ts)
		if ts.Revision < pubs[i].acked {
			t.Errorf("things%d is at revision %d, and %d was acknowledged", i, ts.Revision, pubs[i].acked)
		}
	}
	kills := 0
	for _, v := range all {
		kills += v.kills
	}
	calls, failed := counts.calls.Load(), counts.failed.Load()
	t.Logf("%v; %d kills; %d calls, %d failed, %d wrong; published %v of %v tries; longest without one %v",
		did, kills, calls, failed, counts.wrong.Load(), published, []uint64{pubs[0].tries, pubs[1].tries, pubs[2].tries}, longest)
	for _, face := range counts.faces {
		t.Log(face)
	}
	if counts.wrong.Load() > 0 || calls == 0 || float64(failed) > float64(calls)*(1-chaosAvailability) {
		t.Errorf("%d of %d calls failed, %d answers were wrong", failed, calls, counts.wrong.Load())
	}
	// A leader is replaced within ten seconds, also when the database was away for three and its
	// connections are cut for four.
	for i := range controls {
		if published[i] == 0 || longest[i] > 17*time.Second {
			t.Errorf("through control plane %d %d were published, with %s without one", i, published[i], longest[i])
		}
	}
}

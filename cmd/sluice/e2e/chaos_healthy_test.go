//go:build chaos

package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var healthyFor = flag.Duration("healthy", time.Hour, "how long nothing may alert under healthy load")

// faultShare of the answers of an unsteady upstream are faults.
const faultShare = 0.02

// An unsteady upstream answers as one in good health does: soon, mostly, and with faults now
// and then.
type unsteady struct {
	calls, faults atomic.Int64
	refuses       atomic.Bool // every key
}

func (u *unsteady) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	u.calls.Add(1)
	time.Sleep(time.Duration(rand.ExpFloat64() * float64(15*time.Millisecond)))
	w.Header().Set("Content-Type", "application/json")
	if u.refuses.Load() {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if rand.Float64() >= faultShare {
		_, _ = io.WriteString(w, `[{"id":1,"name":"anvil"}]`)
		return
	}
	u.faults.Add(1)
	switch rand.IntN(8) {
	case 0:
		panic(http.ErrAbortHandler) // the connection is reset
	case 1:
		w.WriteHeader(http.StatusTooManyRequests)
	case 2:
		_, _ = io.WriteString(w, `[{"id":1,"na`)
	case 3:
		time.Sleep(4 * time.Second)
		_, _ = io.WriteString(w, `[]`)
	case 4:
		w.WriteHeader(http.StatusForbidden) // of one thing, not of the key
	case 5:
		w.WriteHeader(http.StatusNotFound)
	case 6:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// TestChaosHealthyLoad: upstreams of which 2 % of the answers are faults, toolsets with many
// calls and with few, deploys, and keys that are replaced raise no alert.
func TestChaosHealthyLoad(t *testing.T) {
	p := &plane{node: &node{admin: freePort(t), data: filepath.Join(t.TempDir(), "control")}, t: t, dir: t.TempDir()}
	p.process = start(t, func() bool { return answers("http://" + p.admin + "/readyz") }, binary, "serve", "--role", "control", "--data", p.data, "--admin-listen", p.admin, "--allow-private-upstreams")
	p.join = p.invite()
	spec, _ := things(t)
	file := filepath.Join(t.TempDir(), "key")
	writeKey := func(key string) {
		if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edges := []*follower{p.edge("eu", p.join), p.edge("us", p.join)}
	// Calls a second: of a toolset that is busy, and down to one that is asked every other minute.
	rates := []float64{8, 4, 4, 2, 1, 0.5, 0.2, 0.1, 0.02, 0.008}
	upstreams := make([]*unsteady, len(rates))
	for i := range rates {
		upstreams[i] = new(unsteady)
		s := httptest.NewServer(upstreams[i])
		t.Cleanup(s.Close)
		name := fmt.Sprintf("s%d", i)
		p.cli(t, "add", spec, "--public", "--name", name, "--base-url", s.URL, "--no-deploy")
		if i == 0 {
			writeKey("first")
			p.cli(t, "toolset", "auth", name, "set", "--auth", "header:X-Api-Key", "--api-key-file", file)
		}
		p.cli(t, "toolset", "deploy", name, "--reason", "tried elsewhere")
		for _, e := range edges {
			p.until(name+" is served by "+e.name, func() bool { return strings.Contains(e.call(name), "anvil") })
		}
	}
	ends := time.Now().Add(*healthyFor)
	var callers sync.WaitGroup
	for i, rate := range rates {
		callers.Go(func() {
			for n := 0; ; n++ {
				time.Sleep(time.Duration(rand.ExpFloat64() / rate * float64(time.Second)))
				if !time.Now().Before(ends) {
					return
				}
				callers.Go(func() { edges[n%len(edges)].call(fmt.Sprintf("s%d", i)) })
			}
		})
	}
	for n := 0; time.Now().Before(ends); n++ {
		time.Sleep(min(2*time.Minute, time.Until(ends)))
		name := fmt.Sprintf("s%d", 1+n%(len(rates)-1))
		p.cli(t, "toolset", "tools", name, "describe", "list_things", fmt.Sprintf("Lists things, said for the %d. time.", n))
		p.cli(t, "toolset", "deploy", name, "--reason", "words")
		if n%5 == 2 {
			writeKey(fmt.Sprintf("key %d", n))
			p.cli(t, "toolset", "auth", "s0", "rotate", "--api-key-file", file)
			p.cli(t, "toolset", "deploy", "s0", "--reason", "a new key")
		}
	}
	callers.Wait()
	time.Sleep(30 * time.Second) // what edges report last is looked at
	var calls, faults int64
	for _, u := range upstreams {
		calls, faults = calls+u.calls.Load(), faults+u.faults.Load()
	}
	var alerts []struct{ Kind, Title, State string }
	if err := json.Unmarshal([]byte(p.cli(t, "alert", "list", "--all", "-o", "json")), &alerts); err != nil {
		t.Fatal(err)
	}
	t.Logf("%v: %d calls, %d of them faults (%.2f %%), %d alerts", *healthyFor, calls, faults, 100*float64(faults)/float64(calls), len(alerts))
	for _, a := range alerts {
		t.Errorf("%s: %s (%s)", a.Kind, a.Title, a.State)
	}
	if calls == 0 || faults == 0 {
		t.Error("there was no load, or no fault")
	}

	upstreams[0].refuses.Store(true) // alerts would have come
	edges[0].call("s0")
	p.until("a refused key alerts", func() bool {
		return strings.Contains(p.cli(t, "alert", "list", "-o", "json"), `"upstream.auth_failed"`)
	})
}

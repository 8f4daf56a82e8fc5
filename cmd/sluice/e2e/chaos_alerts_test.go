//go:build chaos

package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var alertTries = flag.Int("alerts.tries", 50, "how often the time from a refused key to the webhook is taken")

// alertBound is the longest that the 99th percentile of both ways may take.
const alertBound = 15 * time.Second

// hookTimes is a receiver of webhooks that notes when it was notified of what.
type hookTimes struct {
	mu  sync.Mutex
	got map[string]time.Time // guarded by mu; by type and toolset
}

func (h *hookTimes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	b, _ := io.ReadAll(r.Body)
	var m struct {
		Type string `json:"type"`
		Data struct {
			Alert struct {
				Kind    string `json:"kind"`
				Details struct {
					Toolset string `json:"toolset"`
				} `json:"details"`
			} `json:"alert"`
		} `json:"data"`
	}
	if json.Unmarshal(b, &m) == nil && m.Data.Alert.Kind == "upstream.auth_failed" {
		h.mu.Lock()
		if key := m.Type + " " + m.Data.Alert.Details.Toolset; h.got[key].IsZero() {
			h.got[key] = now
		}
		h.mu.Unlock()
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *hookTimes) at(key string) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.got[key]
}

// TestChaosAlertLatency: from the first call whose key is refused at an edge of its own
// process to the webhook that reports it, and from the first that is taken to the one that
// says that it is over.
func TestChaosAlertLatency(t *testing.T) {
	p := &plane{node: &node{admin: freePort(t), data: filepath.Join(t.TempDir(), "control")}, t: t, dir: t.TempDir()}
	p.process = start(t, func() bool { return answers("http://" + p.admin + "/readyz") }, binary, "serve", "--role", "control", "--data", p.data, "--admin-listen", p.admin, "--allow-private-upstreams")
	p.join = p.invite()
	var refuse atomic.Bool
	spec, _ := things(t)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if refuse.Load() {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, `[{"id":1,"name":"anvil"}]`)
	}))
	t.Cleanup(upstream.Close)
	hooks := &hookTimes{got: map[string]time.Time{}}
	receiver := httptest.NewServer(hooks)
	t.Cleanup(receiver.Close)
	p.cli(t, "notify", "channel", "add", "ops", "--webhook", receiver.URL)
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("sesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := p.edge("eu", p.join)
	names := make([]string, *alertTries)
	for i := range names { // one each: a cause that comes back soon is held for a minute
		names[i] = fmt.Sprintf("s%d", i)
		p.cli(t, "add", spec, "--public", "--name", names[i], "--base-url", upstream.URL, "--no-deploy")
		p.cli(t, "toolset", "auth", names[i], "set", "--auth", "header:X-Api-Key", "--api-key-file", key)
		p.cli(t, "toolset", "deploy", names[i], "--reason", "tried elsewhere")
	}
	for _, name := range names {
		p.until(name+" is served", func() bool { return strings.Contains(e.call(name), "anvil") })
	}
	// way calls until the webhook says it, and returns how long that took from the first call.
	way := func(name, event string) time.Duration {
		began := time.Now()
		e.call(name)
		for hooks.at(event + " " + name).IsZero() {
			if time.Since(began) > time.Minute {
				t.Fatalf("%s of %s did not come in a minute", event, name)
			}
			time.Sleep(5 * time.Millisecond)
		}
		return hooks.at(event + " " + name).Sub(began)
	}
	var told, over []time.Duration
	for _, name := range names {
		refuse.Store(true)
		told = append(told, way(name, "alert.fired"))
		refuse.Store(false)
		over = append(over, way(name, "alert.resolved"))
	}
	for what, all := range map[string][]time.Duration{"told": told, "over": over} {
		slices.Sort(all)
		p99 := all[(len(all)*99+99)/100-1]
		t.Logf("%s: %d tries, median %v, p99 %v, longest %v", what, len(all), all[len(all)/2].Round(time.Millisecond), p99.Round(time.Millisecond), all[len(all)-1].Round(time.Millisecond))
		if p99 > alertBound {
			t.Errorf("%s: the 99th percentile is %v, more than %v", what, p99, alertBound)
		}
	}
}

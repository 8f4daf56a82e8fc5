package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/registry"

	"github.com/sluicegate/sluice/admin/store/storetest"
)

// members are control planes that share a PostgreSQL database and a registry.
type members struct {
	database, registry string
	all                []*plane
}

// newMembers makes n control planes that are not started, but for the first, which makes the
// keys that the others get copies of.
func newMembers(t *testing.T, database string, n int) *members {
	t.Helper()
	m := &members{database: database, registry: ociRegistry(t)}
	for i := range n {
		m.all = append(m.all, &plane{node: &node{admin: freePort(t), data: filepath.Join(t.TempDir(), fmt.Sprint("control", i))}, t: t, dir: t.TempDir()})
	}
	m.start(m.all[0])
	m.share()
	return m
}

// ociRegistry starts a registry and returns where members keep artifacts.
func ociRegistry(t *testing.T) string {
	t.Helper()
	artifacts := httptest.NewServer(ggcr.New(ggcr.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo))))
	t.Cleanup(artifacts.Close)
	at := strings.TrimPrefix(artifacts.URL, "http://")
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	if err := os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), []byte(`{"auths":{"`+at+`":{"auth":"YTpi"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return "oci://" + at + "/sluice"
}

// share gives the keys that the first member made to the others.
func (m *members) share() {
	for _, p := range m.all[1:] {
		t := p.t
		t.Helper()
		if err := os.MkdirAll(p.data, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"keys", "admin.token"} {
			if out, err := exec.CommandContext(t.Context(), "cp", "-a", filepath.Join(m.all[0].data, name), p.data).CombinedOutput(); err != nil {
				t.Fatalf("copy %s: %v: %s", name, err, out)
			}
		}
	}
}

// args are those of a member.
func (m *members) args(p *plane) []string {
	return []string{"serve", "--role", "control", "--cluster", "--data", p.data, "--admin-listen", p.admin, "--database", m.database, "--registry", m.registry, "--allow-private-upstreams"}
}

// start starts a member, which is ready when it leads, or reaches the one that does.
func (m *members) start(p *plane) {
	p.t.Helper()
	p.process = start(p.t, func() bool { return answers("http://" + p.admin + "/readyz") }, binary, m.args(p)...)
}

// urls are the addresses of all members, for edges.
func (m *members) urls() string {
	var out []string
	for _, p := range m.all {
		out = append(out, "http://"+p.admin)
	}
	return strings.Join(out, ",")
}

// states are those that a member lists, by name.
func (m *members) states(p *plane) map[string]string {
	var list struct {
		Items []struct{ Name, State string }
	}
	p.api(p.t, "/v1/control-planes", &list)
	out := map[string]string{}
	for _, i := range list.Items {
		out[i.Name] = i.State
	}
	return out
}

// leader is the member that leads by the word of p.
func (m *members) leader(p *plane) *plane {
	states := m.states(p)
	for _, other := range m.all {
		if states[other.admin] == "leads" {
			return other
		}
	}
	return nil
}

// describe writes the description of a toolset through a member, once: true when it was
// acknowledged.
func (p *plane) describe(hc *http.Client, token, toolset, text string) (acked bool, err error) {
	b, err := json.Marshal(map[string]string{"description": text})
	if err != nil {
		return false, err
	}
	req, err := http.NewRequest(http.MethodPatch, "http://"+p.admin+"/v1/toolsets/"+toolset, bytes.NewReader(b))
	if err != nil {
		return false, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("If-Match", "*")
	res, err := hc.Do(req)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	text2, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, text2)
	}
	return err == nil, err
}

func (p *plane) adminToken() string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.data, "admin.token"))
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// TestCluster: of three control planes on one PostgreSQL every one serves the API and edges.
// When the leader is killed under writes, no write that was acknowledged is lost, edges go on
// serving, and another one leads within ten seconds; it comes back and follows.
func TestCluster(t *testing.T) {
	m := newMembers(t, storetest.Postgres(t), 3)
	first, second, third := m.all[0], m.all[1], m.all[2]
	m.start(second)
	m.start(third)
	spec, upstream := things(t)

	// Writes and reads through each of them.
	for i, p := range m.all {
		p.cli(t, "add", spec, "--public", "--name", fmt.Sprint("by", i), "--base-url", upstream.URL)
	}
	for i, p := range m.all {
		if list := p.cli(t, "toolset", "list"); !strings.Contains(list, "by0") || !strings.Contains(list, "by1") || !strings.Contains(list, "by2") {
			t.Errorf("control plane %d lists %s", i, list)
		}
	}
	third.until("all are listed", func() bool {
		s := m.states(third)
		return s[first.admin] == "leads" && s[second.admin] == "follows" && s[third.admin] == "follows"
	})
	if list := third.cli(t, "cluster"); strings.Count(list, "follows") != 2 || strings.Count(list, "leads") != 1 {
		t.Errorf("sluice cluster: %s", list)
	}
	// Its exit status is about the gateway that is not there.
	if text, _ := exec.CommandContext(t.Context(), binary, append([]string{"doctor"}, third.flags()...)...).CombinedOutput(); !strings.Contains(string(text), first.admin+" leads, 2 others can take over") {
		t.Errorf("sluice doctor: %s", text)
	}
	var log struct {
		Items []struct {
			Action string
			Actor  struct{ IP string }
		}
	}
	second.api(t, "/v1/audit", &log)
	for _, a := range log.Items {
		if a.Action == "toolset.create" && a.Actor.IP != "127.0.0.1" {
			t.Errorf("the audit log has %+v: it does not know the client of a request that was passed on", a)
		}
	}

	// Edges that joined through followers, and know all.
	edges := make([]*follower, 2)
	for i := range edges {
		by := m.all[1+i]
		edges[i] = &follower{
			p: by, name: fmt.Sprint("edge", i), join: by.invite(), data: filepath.Join(by.dir, "edge"), serve: freePort(t), ops: freePort(t),
			control: "http://" + by.admin + "," + m.urls(),
		}
		edges[i].control = strings.Join(unique(strings.Split(edges[i].control, ",")), ",")
		edges[i].again()
	}
	serves := func(e *follower, toolset string) bool { return strings.Contains(e.call(toolset), "anvil") }
	for _, e := range edges {
		first.until(e.name+" serves", func() bool { return serves(e, "by0") && serves(e, "by1") && serves(e, "by2") })
	}

	// A control plane without the keys, or with another one, does not join.
	for name, want := range map[string]string{"none": "has no keys to follow it with", "other": "leads with another key-encryption key"} {
		p := &plane{node: &node{admin: freePort(t), data: filepath.Join(t.TempDir(), name)}, t: t}
		cmd := exec.CommandContext(t.Context(), binary, m.args(p)...)
		if name == "other" {
			if err := os.MkdirAll(p.data, 0o700); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), "cp", "-a", filepath.Join(first.data, "keys"), p.data).CombinedOutput(); err != nil {
				t.Fatalf("copy keys: %v: %s", err, out)
			}
			cmd.Env = append(os.Environ(), "SLUICE_MASTER_KEY="+strings.Repeat("0a", 32))
		}
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(string(out), want) || !strings.Contains(string(out), "copy the folder keys") {
			t.Errorf("with the keys %s: %v: %s", name, err, out)
		}
		t.Logf("with the keys %s: %s", name, out)
	}

	// The leader is killed under writes through the others and calls at the edges.
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var calls, failedCalls atomic.Uint64
	for _, e := range edges {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				calls.Add(1)
				if !serves(e, "by0") {
					failedCalls.Add(1)
				}
				time.Sleep(5 * time.Millisecond) // leave the processors to the others
			}
		})
	}
	token := first.adminToken()
	acked := make([]int, 3)
	var gap atomic.Int64 // the longest time between two acknowledged writes, in nanoseconds
	for i, p := range m.all[1:] {
		wg.Go(func() {
			hc := &http.Client{Timeout: 20 * time.Second}
			at := time.Now()
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				ok, err := p.describe(hc, token, fmt.Sprint("by", i+1), fmt.Sprint("write ", n))
				if !ok {
					t.Logf("write %d through %d: %v", n, i+1, err)
					time.Sleep(50 * time.Millisecond) // as a client that is told to
					continue
				}
				acked[i+1] = n
				gap.Store(max(gap.Load(), int64(time.Since(at))))
				at = time.Now()
			}
		})
	}
	time.Sleep(time.Second) // of writes
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.done
	killed := time.Now()
	second.until("another one leads", func() bool {
		return answers("http://"+second.admin+"/readyz") && answers("http://"+third.admin+"/readyz") && m.leader(second) != nil && m.leader(second) != first
	})
	t.Logf("another one leads after %s", time.Since(killed)) // make chaos asserts how long it may take
	time.Sleep(time.Second)                                  // of writes to the new one
	close(stop)
	wg.Wait()
	t.Logf("%d calls at edges, %d failed; longest time without a write: %s; writes: %v", calls.Load(), failedCalls.Load(), time.Duration(gap.Load()), acked)
	if failedCalls.Load() > 0 {
		t.Errorf("%d calls failed", failedCalls.Load())
	}
	for i := 1; i < 3; i++ {
		var ts struct{ Description string }
		second.api(t, fmt.Sprint("/v1/toolsets/by", i), &ts)
		var n int
		if _, err := fmt.Sscanf(ts.Description, "write %d", &n); err != nil || n < acked[i] {
			t.Errorf("by%d says %q, and write %d was acknowledged", i, ts.Description, acked[i])
		}
	}

	// What the new leader publishes arrives, also at an edge that starts again; the killed one
	// comes back and follows.
	third.cli(t, "add", spec, "--public", "--name", "after", "--base-url", upstream.URL)
	edges[0].stop(t)
	edges[0].p = second
	edges[0].again()
	for _, e := range edges {
		second.until(e.name+" has what the new leader published", func() bool { return serves(e, "after") && serves(e, "by0") })
	}
	m.start(first)
	first.cli(t, "add", spec, "--public", "--name", "last", "--base-url", upstream.URL)
	for _, e := range edges {
		second.until(e.name+" has what was published through the first", func() bool { return serves(e, "last") })
	}
	if l := m.leader(first); l == first || l == nil {
		t.Error("the first took the lead back")
	}

	// The session of the leader's lock is ended on the server: it follows, in the same process.
	was := m.leader(first)
	terminate(t, m.database)
	first.until("another one leads, and all follow it", func() bool {
		for _, p := range m.all {
			if !answers("http://" + p.admin + "/readyz") {
				return false
			}
		}
		return m.leader(first) != was && strings.Contains(was.out.String(), "this one is a standby now")
	})
	was.cli(t, "toolset", "set", "by0", "--description", "through the one that led before")
	select {
	case <-was.done:
		t.Error("the leader that was replaced ended")
	default:
	}

	// Its key-encryption key is rotated: the others follow, say what they need, and take over
	// when they have it, also after the old key was removed.
	leads := m.leader(first)
	if said := leads.cli(t, "key", "rotate"); strings.Count(said, "cannot take over before it has the folder keys of "+leads.admin) != 2 {
		t.Errorf("sluice key rotate: %s", said)
	}
	lacks := func(p *plane) bool {
		res, err := http.Get("http://" + p.admin + "/readyz?verbose")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return err == nil && res.StatusCode == http.StatusOK && strings.Contains(string(b), "[!]keys") && strings.Contains(string(b), "cp -p DIR/keys/* "+filepath.Join(p.data, "keys")+"/")
	}
	for _, p := range m.all {
		if p == leads {
			continue
		}
		p.until("it lacks the key", func() bool { return lacks(p) })
		// Its exit status is about the gateway that is not there.
		if text, _ := exec.CommandContext(t.Context(), binary, append([]string{"doctor"}, p.flags()...)...).CombinedOutput(); !strings.Contains(string(text), "cp -p DIR/keys/*") {
			t.Errorf("sluice doctor: %s", text)
		}
		p.cli(t, "toolset", "set", "by0", "--description", "through one that lacks the key")
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", filepath.Join(leads.data, "keys"), p.data).CombinedOutput(); err != nil {
			t.Fatalf("copy keys: %v: %s", err, out)
		}
		p.until("it has the key", func() bool { return !lacks(p) })
	}
	if err := leads.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-leads.done
	for _, p := range m.all {
		if p != leads {
			p.until("it has a leader with the new key", func() bool { l := m.leader(p); return l != nil && l != leads })
			p.cli(t, "toolset", "set", "by0", "--description", "under the new key")
		}
	}
}

// unique leaves out what was there before.
func unique(list []string) (out []string) {
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			out = append(out, s)
		}
		seen[s] = true
	}
	return out
}

// terminate ends the session of the leader's lock.
func terminate(t *testing.T, database string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "psql", database, "-c", `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'sluice/%')`).CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
}

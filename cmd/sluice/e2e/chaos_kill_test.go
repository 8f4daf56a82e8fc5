//go:build chaos

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var chaosTime = flag.Duration("chaos", 10*time.Minute, "how long processes are killed")

const (
	chaosEdges   = 2
	chaosCallers = 2 // of each edge
	// chaosPause between two calls of a caller leaves the processors to restarts.
	chaosPause = 5 * time.Millisecond
	// availability of calls to edges that are up.
	chaosAvailability = 0.9999
)

// victim is a process that is killed and started again.
type victim struct {
	name    string
	program string // "": the binary under test
	args    []string
	ready   string // URL
	log     output

	mu  sync.Mutex
	cmd *exec.Cmd // guarded by mu; nil: killed

	// up is the number of the run while it is up, 0 otherwise.
	up    atomic.Uint64
	runs  atomic.Uint64
	kills int
}

func (v *victim) start(ctx context.Context) error {
	program := v.program
	if program == "" {
		program = binary
	}
	cmd := exec.Command(program, v.args...)
	cmd.Stdout, cmd.Stderr = &v.log, &v.log
	if err := cmd.Start(); err != nil {
		return err
	}
	v.mu.Lock()
	v.cmd = cmd
	v.mu.Unlock()
	run := v.runs.Add(1)
	begin := time.Now()
	for !answers(v.ready) {
		if time.Since(begin) > readyTimeout {
			return fmt.Errorf("%s is not ready after %s:\n%s", v.name, readyTimeout, last(v.log.String(), 4000))
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of the run
		}
		time.Sleep(10 * time.Millisecond) // another process starts
	}
	v.up.Store(run)
	return nil
}

func (v *victim) kill() {
	v.up.Store(0)
	v.mu.Lock()
	cmd := v.cmd
	v.cmd = nil
	v.mu.Unlock()
	if cmd == nil {
		return
	}
	v.kills++
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
}

// tally counts calls.
type tally struct {
	calls, failed, wrong, down atomic.Uint64

	mu    sync.Mutex
	faces []string // guarded by mu; the first failures
}

func (c *tally) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faces) < 10 {
		c.faces = append(c.faces, fmt.Sprintf(format, args...))
	}
}

const chaosCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_things","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"chaos","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// ask makes one call and returns the answer, and the revision that gave it.
func ask(hc *http.Client, url string) (answer string, revision uint64, err error) {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(chaosCall))
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", "tools/call")
	req.Header.Set("Mcp-Name", "list_things")
	resp, err := hc.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, b)
	}
	if err != nil {
		return "", 0, err
	}
	var a struct {
		Result struct {
			Content json.RawMessage
			IsError bool
			Meta    map[string]struct{ Version string } `json:"_meta"`
		}
	}
	if err := json.Unmarshal(b, &a); err != nil || a.Result.IsError {
		return string(b), 0, nil
	}
	revision, err = strconv.ParseUint(a.Result.Meta["io.modelcontextprotocol/serverInfo"].Version, 10, 64)
	return string(a.Result.Content), revision, err
}

// callEdge calls until ctx ends. A call counts only when its edge was up, in one
// run, from before it to after it.
func (c *tally) callEdge(ctx context.Context, v *victim, url, want string) {
	hc := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{}}
	var before, in uint64 // the newest revision that answered, in which run
	for ctx.Err() == nil {
		run := v.up.Load()
		if run == 0 {
			c.down.Add(1)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		got, revision, err := ask(hc, url)
		if v.up.Load() != run {
			if err == nil && got != want {
				c.wrong.Add(1)
				c.note("%s, while it was killed, answers %.300s", v.name, got)
			}
			continue
		}
		c.calls.Add(1)
		if in != run {
			before, in = 0, run
		}
		switch {
		case err != nil:
			c.failed.Add(1)
			c.note("%s: %v", v.name, err)
		case got != want:
			c.wrong.Add(1)
			c.note("%s answers %.300s, want %.300s", v.name, got, want)
		case revision < before:
			c.wrong.Add(1)
			c.note("%s went back from revision %d to %d", v.name, before, revision)
		}
		before = max(before, revision)
		time.Sleep(chaosPause)
	}
}

// publisher changes a toolset and deploys it, again and again.
type publisher struct {
	base, token, toolset string
	hc                   *http.Client
	acked, tries         uint64
}

func (p *publisher) send(method, path string, in, out any) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, p.base+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("If-Match", "*")
	resp, err := p.hc.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s %s: %s %s", method, path, resp.Status, text)
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

func (p *publisher) once() error {
	p.tries++
	var ts struct {
		Revision uint64 `json:"revision"`
	}
	if err := p.send(http.MethodPatch, "/v1/toolsets/"+p.toolset, map[string]any{"description": fmt.Sprint("attempt ", p.tries)}, &ts); err != nil {
		return err
	}
	if err := p.send(http.MethodPost, "/v1/toolsets/"+p.toolset+"/deploy", map[string]any{"reason": "chaos"}, &ts); err != nil {
		return err
	}
	if ts.Revision < p.acked {
		return fmt.Errorf("revision %d was acknowledged after %d", ts.Revision, p.acked)
	}
	p.acked = ts.Revision
	return nil
}

// TestChaosKill kills control plane and edges at random, under load and while
// toolsets are published: no answer is wrong, no acknowledged publish is lost, and
// edges that are up answer, whatever happens to the control plane.
func TestChaosKill(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"id":1,"name":"anvil"},{"id":2,"name":"bolt"}]`)
	}))
	defer upstream.Close()
	dir := t.TempDir()
	addr, data := freePort(t), filepath.Join(dir, "control")
	control := &victim{
		name: "control", ready: "http://" + addr + "/readyz",
		args: []string{"serve", "--role", "control", "--data", data, "--admin-listen", addr, "--log-level", "warn"},
	}
	all := []*victim{control}
	defer func() {
		for _, v := range all {
			v.kill()
		}
	}()
	if err := control.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	cli := &node{data: data, admin: addr}
	spec, err := filepath.Abs("testdata/things.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cli.cli(t, "add", spec, "--public", "--name", "things", "--base-url", upstream.URL)
	join := filepath.Join(dir, "join")
	if err := os.WriteFile(join, []byte(cli.cli(t, "edge", "token", "--uses", "10")), 0o600); err != nil {
		t.Fatal(err)
	}
	urls := make([]string, chaosEdges)
	for i := range chaosEdges {
		listen, ops := freePort(t), freePort(t)
		urls[i] = "http://" + listen + "/t/things"
		v := &victim{name: fmt.Sprint("edge ", i), ready: "http://" + ops + "/readyz", args: []string{
			"serve", "--role", "edge", "--data", filepath.Join(dir, fmt.Sprint("edge", i)), "--control-plane", "http://" + addr, "--join-token-file", join,
			"--listen", listen, "--ops-listen", ops, "--allow-private-upstreams", "--log-level", "warn",
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
	token, err := os.ReadFile(filepath.Join(data, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithTimeout(t.Context(), *chaosTime)
	defer stop()
	var counts tally
	var wg sync.WaitGroup
	for i, v := range all[1:] {
		for range chaosCallers {
			wg.Go(func() { counts.callEdge(ctx, v, urls[i], want) })
		}
	}
	pub := &publisher{base: "http://" + addr, token: strings.TrimSpace(string(token)), toolset: "things", hc: &http.Client{Timeout: 20 * time.Second}}
	published := 0
	wg.Go(func() {
		for ctx.Err() == nil {
			if pub.once() == nil {
				published++
			}
			time.Sleep(200 * time.Millisecond)
		}
	})
	for ctx.Err() == nil {
		time.Sleep(time.Duration(200+rand.IntN(3000)) * time.Millisecond) // a moment that chance chooses
		victims := slices.Clone(all)
		rand.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
		victims = victims[:1+rand.IntN(2)]
		for _, v := range victims {
			v.kill()
		}
		time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
		for _, v := range victims {
			if err := v.start(ctx); err != nil {
				t.Error(err)
				stop()
			}
		}
	}
	wg.Wait()

	// Everything is up: what was acknowledged is there, and is served everywhere.
	for _, v := range all {
		if v.up.Load() == 0 {
			v.kill()
			if err := v.start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	var ts struct {
		Revision uint64 `json:"revision"`
	}
	cli.api(t, "/v1/toolsets/things", &ts)
	if ts.Revision < pub.acked {
		t.Errorf("revision %d was acknowledged, the control plane has %d", pub.acked, ts.Revision)
	}
	behind := func() bool {
		var edges struct {
			Items []struct{ State string }
		}
		cli.api(t, "/v1/edges", &edges)
		for _, e := range edges.Items {
			if e.State != "connected" {
				return true
			}
		}
		return false
	}
	for begin := time.Now(); behind(); time.Sleep(200 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("edges do not catch up:\n%s", cli.cli(t, "edge", "list"))
		}
	}
	for _, v := range all {
		v.kill()
	}
	if out, err := exec.Command(binary, "doctor", data).CombinedOutput(); err != nil {
		t.Errorf("the data directory: %v\n%s", err, out)
	}
	calls, failed := counts.calls.Load(), counts.failed.Load()
	available := 1 - float64(failed)/float64(max(calls, 1))
	var kills []string
	for _, v := range all {
		kills = append(kills, fmt.Sprintf("%s %d", v.name, v.kills))
	}
	t.Logf("%s: kills %s; %d publishes acknowledged (of %d tried), revision %d; %d calls to edges that were up, %d failed (available %.5f), %d wrong",
		*chaosTime, strings.Join(kills, ", "), published, pub.tries, ts.Revision, calls, failed, available, counts.wrong.Load())
	for _, f := range counts.faces {
		t.Log(f)
	}
	if counts.wrong.Load() > 0 || available < chaosAvailability || calls < 100 || published == 0 {
		t.Error("a promise was broken")
	}
}

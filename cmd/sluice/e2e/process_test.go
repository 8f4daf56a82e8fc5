package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/freeport"
)

// readyTimeout bounds the start of a server: Prism needs ten seconds for GitHub's
// specification on an idle machine.
const readyTimeout = 5 * time.Minute

// binary is the sluice under test, built once by TestMain.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(driverAdmin) != "" && os.Getenv("MCP_CONFORMANCE_SCENARIO") != "" { // started by the conformance suite
		if err := driveClient(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sluice-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "sluice")
	build := exec.Command("go", "build", "-o", binary, "github.com/sluicegate/sluice/cmd/sluice")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as what users get, which make check has compiled
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build sluice: %v\n%s", err, out)
		return 1
	}
	if err := os.Setenv("SLUICE_PLUGIN_GRACE", "10s"); err != nil { // plugins may be slow on a busy machine
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// output keeps what a process writes, for assertions and for the log of a failed test.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// process is a server that runs until the test ends.
type process struct {
	cmd  *exec.Cmd
	out  *output
	done chan struct{}
	once sync.Once
}

// start starts a server whose ready reports true once it serves, and stops it
// when the test ends. Its output is logged when the test failed.
func start(t *testing.T, ready func() bool, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(name, args...), out: &output{}, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.Dir = t.TempDir()
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.stop(t)
		if t.Failed() {
			t.Logf("%s wrote:\n%s", filepath.Base(name), last(p.out.String(), 20<<10))
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-p.done:
			t.Fatalf("%s ended before it was ready:\n%s", name, last(p.out.String(), 20<<10))
		case <-ctx.Done():
			t.Fatalf("%s was not ready within %s:\n%s", name, readyTimeout, last(p.out.String(), 20<<10))
		case <-tick.C:
		}
	}
	return p
}

// stop ends the process as an operator would and reports one that does not obey.
func (p *process) stop(t *testing.T) {
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(30 * time.Second):
			t.Errorf("%s did not end on SIGTERM", filepath.Base(p.cmd.Path))
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	})
}

func last(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}

func freePort(t *testing.T) string { t.Helper(); return freeport.Addr(t) }

// node is one running sluice, with the addresses of its two listeners.
type node struct {
	*process
	gateway, admin string // host:port
	data           string // its data directory
}

// startSluice runs "sluice run" with args on a data directory of its own, and
// waits until it is ready to serve.
func startSluice(t *testing.T, args ...string) *node {
	t.Helper()
	return startSluiceOn(t, t.TempDir(), args...)
}

// startSluiceOn does the same on a data directory that may have been used before.
func startSluiceOn(t *testing.T, data string, args ...string) *node {
	t.Helper()
	n := &node{gateway: freePort(t), admin: freePort(t), data: data}
	all := append([]string{"run", "--listen", n.gateway, "--admin-listen", n.admin, "--data", n.data, "--no-input"}, args...)
	n.process = start(t, func() bool { return answers("http://" + n.gateway + "/readyz") }, binary, all...)
	return n
}

// answers reports whether a GET of url is answered with 200.
func answers(url string) bool {
	res, err := http.Get(url)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode == http.StatusOK
}

// flags point a command of sluice to the node.
func (n *node) flags() []string {
	return []string{"--server", "http://" + n.admin, "--token-file", filepath.Join(n.data, "admin.token"), "--no-input"}
}

// cli runs a command of sluice against the node and returns its standard output.
func (n *node) cli(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append(n.flags(), args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sluice %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// api gets path of the admin API into v and returns the page's cursor, "" on the last.
func (n *node) api(t *testing.T, path string, v any) {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(n.data, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.admin+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	if err != nil {
		t.Fatalf("GET %s: %v\n%s", path, err, last(string(body), 2000))
	}
}

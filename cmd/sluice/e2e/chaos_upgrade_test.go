//go:build chaos && linux

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store/storetest"
)

var previous = flag.String("previous", "", "a `FOLDER` with the program of the previous version, sluice, and the name of its newest change of the schema, schema (make upgrade)")

const (
	upgradeEdges = 3
	// upgradePause is how long a state of a fleet that is half upgraded lasts.
	upgradePause = time.Second
)

// TestUpgrade starts the previous version, a control plane and edges, replaces one after the other
// with this one while the edges are called, in either order, and goes back: no call to an edge that
// is up fails, what was published and its credentials are served by each combination, new edges
// follow the old control plane, what the previous version cannot read it refuses before it writes
// anything, and its backup can be restored.
func TestUpgrade(t *testing.T) {
	if *previous == "" {
		t.Skip("-previous names no previous version: make upgrade")
	}
	for _, edgesFirst := range []bool{true, false} {
		order := map[bool]string{true: "edges first", false: "control plane first"}[edgesFirst]
		t.Run("SQLite "+order, func(t *testing.T) { upgrade(t, "", edgesFirst) })
		t.Run("PostgreSQL "+order, func(t *testing.T) { upgrade(t, storetest.Postgres(t), edgesFirst) })
	}
}

// upgraded is a control plane with edges.
type upgraded struct {
	t       *testing.T
	dir     string
	control *victim
	edges   []*victim
	urls    []string // of the edges' gateways
	cli     *node
	join    string // file with the token that edges join with
}

// end stops a process as an operator does.
func (v *victim) end(t *testing.T) {
	t.Helper()
	v.up.Store(0)
	v.mu.Lock()
	cmd := v.cmd
	v.cmd = nil
	v.mu.Unlock()
	if cmd == nil {
		return
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: %v\n%s", v.name, err, last(v.log.String(), 4000))
	}
}

// begin starts a process with a program.
func (v *victim) begin(t *testing.T, program string) {
	t.Helper()
	v.program = program
	if err := v.start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func upgrade(t *testing.T, database string, edgesFirst bool) {
	old := filepath.Join(*previous, "sluice")
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/keyed") && r.Header.Get("X-Key") != "a key of the upstream" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"id":1,"name":"anvil"},{"id":2,"name":"bolt"}]`)
	}))
	defer upstream.Close()
	dir := t.TempDir()
	addr, data := freePort(t), filepath.Join(dir, "control")
	f := &upgraded{t: t, dir: dir, cli: &node{data: data, admin: addr}, control: &victim{
		name: "control", ready: "http://" + addr + "/readyz",
		args: append([]string{"serve", "--role", "control", "--data", data, "--admin-listen", addr, "--log-level", "warn"}, withDatabase(database)...),
	}}
	defer func() {
		for _, v := range append(f.edges, f.control) {
			v.kill()
			if t.Failed() {
				t.Logf("%s wrote:\n%s", v.name, last(v.log.String(), 6000))
			}
		}
	}()

	// The previous version: toolsets without and with a credential, and edges.
	f.control.begin(t, old)
	spec, err := filepath.Abs("testdata/things.yaml")
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("a key of the upstream"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.by(old, "add", spec, "--public", "--name", "things", "--base-url", upstream.URL)
	f.by(old, "add", spec, "--public", "--name", "keyed", "--base-url", upstream.URL+"/keyed", "--auth", "header:X-Key", "--api-key-file", key)
	join := filepath.Join(dir, "join")
	if err := os.WriteFile(join, []byte(f.by(old, "edge", "token", "--uses", "10")), 0o600); err != nil {
		t.Fatal(err)
	}
	f.join = join
	for range upgradeEdges {
		f.edge().begin(t, old)
	}
	want, _, err := ask(http.DefaultClient, f.urls[0]+"/t/things")
	if err != nil || !strings.Contains(want, "anvil") {
		t.Fatalf("the first answer: %s, %v", want, err)
	}
	f.served("previous version", want)
	backup := filepath.Join(dir, "previous.backup")
	secret := filepath.Join(dir, "passphrase")
	if err := os.WriteFile(secret, []byte("open sesame, says who has it"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.run(old, append([]string{"backup", backup, "--data", data, "--passphrase-file", secret}, withDatabase(database)...)...)
	before := f.toolsets(old)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var counts tally
	var wg sync.WaitGroup
	for i, v := range f.edges {
		for _, name := range []string{"things", "keyed"} {
			wg.Go(func() { counts.callEdge(ctx, v, f.urls[i]+"/t/"+name, want) })
		}
	}
	defer wg.Wait()
	defer stop()

	if edgesFirst {
		// New edges on the data of old ones follow the control plane of the previous version.
		f.control.end(t)
		f.replace(f.edges[0])
		f.served("a new edge without a control plane", want)
		f.control.begin(t, old)
		for _, v := range f.edges[1:] {
			f.replace(v)
		}
		f.publish("published to new edges by the previous version", f.urls)
		f.served("new edges", want)
		f.control.end(t)
		time.Sleep(upgradePause)
		f.control.begin(t, binary)
	} else {
		// Old edges go on while the control plane is replaced, and with what they have where they
		// cannot read what it publishes. New ones catch up.
		f.control.end(t)
		time.Sleep(upgradePause)
		f.control.begin(t, binary)
		f.publish("published by the new control plane", nil)
		time.Sleep(upgradePause)
		f.served("edges of the previous version", want)
		f.control.end(t)
		f.replace(f.edges[0])
		f.served("a new edge without a control plane", want)
		f.control.begin(t, binary)
		for _, v := range f.edges[1:] {
			f.replace(v)
		}
	}
	if after := f.toolsets(binary); after != before {
		t.Errorf("toolsets after the upgrade:\n%s\nbefore:\n%s", after, before)
	}
	f.publish("published by the new version", f.urls)
	f.served("the new version", want)

	// An edge goes back, and comes again.
	f.edges[0].end(t)
	f.goBack(old, want)
	f.edges[0].begin(t, binary)
	f.served("an edge that was back at the previous version", want)

	// So does the control plane, where its records are as they were. Otherwise it refuses.
	f.control.end(t)
	if sameSchema(t, *previous) {
		f.control.begin(t, old)
		f.control.end(t)
	} else {
		f.refused(old, database)
	}
	f.control.begin(t, binary)
	f.publish("published after all", f.urls)
	f.served("after all", want)
	stop()
	wg.Wait()
	if n, calls := counts.failed.Load()+counts.wrong.Load(), counts.calls.Load(); n > 0 || calls == 0 {
		t.Errorf("%d of %d calls failed or were wrong: %s", n, calls, strings.Join(counts.faces, "\n"))
	}

	// The backup of the previous version.
	fresh := filepath.Join(dir, "restored")
	f.run(binary, "backup", backup, "--verify", "--passphrase-file", secret, "--temp", dir)
	f.run(binary, "restore", backup, "--passphrase-file", secret, "--data", fresh)
	r := &node{gateway: freePort(t), admin: freePort(t), data: fresh}
	r.process = start(t, func() bool { return answers("http://" + r.gateway + "/readyz") }, binary,
		"serve", "--listen", r.gateway, "--admin-listen", r.admin, "--data", fresh, "--allow-private-upstreams", "--log-level", "warn")
	for _, name := range []string{"things", "keyed"} {
		if got, _, err := ask(http.DefaultClient, "http://"+r.gateway+"/t/"+name); err != nil || got != want {
			t.Errorf("%s of the previous version's backup: %v, %.300s", name, err, got)
		}
	}
	t.Logf("%d calls, none failed or wrong", counts.calls.Load())
}

// edge adds an edge.
func (f *upgraded) edge() *victim {
	i := len(f.edges)
	listen, ops := freePort(f.t), freePort(f.t)
	f.urls = append(f.urls, "http://"+listen)
	f.edges = append(f.edges, &victim{name: fmt.Sprint("edge ", i), ready: "http://" + ops + "/readyz", args: []string{
		"serve", "--role", "edge", "--data", filepath.Join(f.dir, fmt.Sprint("edge", i)), "--control-plane", "http://" + f.cli.admin, "--join-token-file", f.join,
		"--edge-name", fmt.Sprint("edge", i), "--listen", listen, "--ops-listen", ops, "--allow-private-upstreams", "--log-level", "warn",
	}})
	return f.edges[i]
}

// run runs a command of a program.
func (f *upgraded) run(program string, args ...string) string {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("sluice %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// by runs a command of a program against the control plane.
func (f *upgraded) by(program string, args ...string) string {
	f.t.Helper()
	return f.run(program, append(args, f.cli.flags()...)...)
}

// toolsets are what the control plane says of its toolsets, which does not depend on the version.
func (f *upgraded) toolsets(program string) string {
	f.t.Helper()
	var all []struct {
		Slug, Status string
	}
	if err := json.Unmarshal([]byte(f.by(program, "toolset", "list", "-o", "json")), &all); err != nil {
		f.t.Fatal(err)
	}
	if len(all) != 2 {
		f.t.Fatalf("%d toolsets", len(all))
	}
	return fmt.Sprintf("%+v", all)
}

// replace goes on with this version on the data directory of an edge.
func (f *upgraded) replace(v *victim) {
	f.t.Helper()
	v.end(f.t)
	v.begin(f.t, binary)
	time.Sleep(upgradePause)
}

// goBack runs the previous version for a while on the data directory of the first edge: it serves
// the newest release that it can read.
func (f *upgraded) goBack(old, want string) {
	f.t.Helper()
	v := f.edges[0]
	cmd := exec.Command(old, v.args...)
	cmd.Stdout, cmd.Stderr = &v.log, &v.log
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !answers(v.ready) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	f.served("an edge at the previous version again", want)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait() // what it serves was looked at
}

// publish changes a toolset, deploys it and waits until the edges at urls serve it.
func (f *upgraded) publish(what string, urls []string) {
	f.t.Helper()
	pub := &publisher{base: "http://" + f.cli.admin, token: adminToken(f.t, f.cli.data), toolset: "things", hc: &http.Client{Timeout: 2 * time.Minute}} // of a disk that others keep busy
	if err := pub.once(); err != nil {
		f.t.Fatalf("%s: %v", what, err)
	}
	for i, url := range urls {
		deadline := time.Now().Add(time.Minute)
		for {
			_, revision, err := ask(http.DefaultClient, url+"/t/things")
			if err == nil && revision >= pub.acked {
				break
			}
			if time.Now().After(deadline) {
				f.t.Fatalf("%s: edge %d has revision %d, not %d: %v", what, i, revision, pub.acked, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// served looks at both toolsets of each edge.
func (f *upgraded) served(when, want string) {
	f.t.Helper()
	for i, url := range f.urls {
		for _, name := range []string{"things", "keyed"} {
			if got, _, err := ask(http.DefaultClient, url+"/t/"+name); err != nil || got != want {
				f.t.Errorf("%s: %s at edge %d: %v, %.300s", when, name, i, err, got)
			}
		}
	}
}

// refused: the previous version does not start on records of this one, says why, and leaves its
// data directory as it is.
func (f *upgraded) refused(old, database string) {
	f.t.Helper()
	before := contents(f.t, f.cli.data)
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, old, f.control.args...).CombinedOutput()
	if err == nil || ctx.Err() != nil || !strings.Contains(string(out), "this program knows up to") || !strings.Contains(string(out), "use the newer program") {
		f.t.Errorf("the previous version on records of this one: %v, %v\n%s", err, ctx.Err(), out)
	}
	after := contents(f.t, f.cli.data)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			f.t.Errorf("the previous version, which does not start, wrote %s", name)
		}
	}
	f.t.Logf("the previous version says: %s", strings.TrimSpace(string(out)))
}

// contents are the sums of the files below a directory.
func contents(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	out := map[string][32]byte{}
	if err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(name)
		out[name] = sha256.Sum256(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// sameSchema reports whether the previous version has the newest change of the schema.
func sameSchema(t *testing.T, previous string) bool {
	t.Helper()
	all, err := filepath.Glob("../../../admin/store/migrations/*.sql")
	if err != nil || len(all) == 0 {
		t.Fatalf("%d changes of the schema: %v", len(all), err)
	}
	had, err := os.ReadFile(filepath.Join(previous, "schema"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(had)) == filepath.Base(slices.Max(all))
}

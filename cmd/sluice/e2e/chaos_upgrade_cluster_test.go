//go:build chaos && linux

package e2e

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store/storetest"
)

var previousCluster = flag.String("previous.cluster", "", "like -previous, of a version that has clusters")

// TestUpgradeCluster replaces two control planes of the previous version on one PostgreSQL one after
// the other, followers first, while edges of the previous version are called: every call is
// answered, each mixed pair publishes, and a control plane of the previous version does not lead on
// records of this one, and says why.
func TestUpgradeCluster(t *testing.T) {
	if *previousCluster == "" {
		t.Skip("-previous.cluster names no previous version: make upgrade")
	}
	old := filepath.Join(*previousCluster, "sluice")
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"id":1,"name":"anvil"},{"id":2,"name":"bolt"}]`)
	}))
	defer upstream.Close()
	registry, dir := ociRegistry(t), t.TempDir()
	m := &members{database: storetest.Postgres(t), registry: registry}
	var controls []*victim
	for i := range 2 {
		p := &plane{node: &node{admin: freePort(t), data: filepath.Join(dir, fmt.Sprint("control", i))}, t: t, dir: dir}
		m.all = append(m.all, p)
		controls = append(controls, &victim{name: fmt.Sprint("control ", i), ready: "http://" + p.admin + "/readyz", args: m.args(p)})
	}
	f := &upgraded{t: t, dir: dir, cli: m.all[0].node, control: controls[0]}
	defer func() {
		for _, v := range append(f.edges, controls...) {
			v.kill()
			if t.Failed() {
				t.Logf("%s wrote:\n%s", v.name, last(v.log.String(), 6000))
			}
		}
	}()
	controls[0].begin(t, old)
	m.share()
	controls[1].begin(t, old)
	spec, err := filepath.Abs("testdata/things.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"things", "keyed"} {
		f.by(old, "add", spec, "--public", "--name", name, "--base-url", upstream.URL)
	}
	f.join = filepath.Join(dir, "join")
	if err := os.WriteFile(f.join, []byte(f.by(old, "edge", "token", "--uses", "10")), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		e := f.edge()
		for i, arg := range e.args {
			if arg == "http://"+f.cli.admin {
				e.args[i] = m.urls()
			}
		}
		e.begin(t, old)
	}
	want, _, err := ask(http.DefaultClient, f.urls[0]+"/t/things")
	if err != nil || !strings.Contains(want, "anvil") {
		t.Fatalf("the first answer: %s, %v", want, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var counts tally
	var wg sync.WaitGroup
	for i, v := range f.edges {
		wg.Go(func() { counts.callEdge(ctx, v, f.urls[i]+"/t/things", want) })
	}
	defer wg.Wait()
	defer stop()

	// leads waits until a member leads by its own word.
	leads := func(i int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); m.leader(m.all[i]) != m.all[i]; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("control plane %d does not lead: %v", i, m.states(m.all[i]))
			}
		}
	}
	// A newer follower passes on what it is asked to the older leader.
	controls[1].end(t)
	controls[1].begin(t, binary)
	leads(0)
	f.cli = m.all[1].node
	f.publish("published through a newer follower", f.urls)

	// It takes over when the older leader ends, and migrates.
	controls[0].end(t)
	leads(1)
	f.publish("published by the newer leader", nil)
	time.Sleep(upgradePause)
	f.served("edges of the previous version", want)

	// The older one, started once more, follows: what it is asked goes to the newer leader. When that
	// one ends it does not lead, says why, and has written nothing: the newer one goes on.
	controls[0].begin(t, old)
	leads(1)
	f.cli = m.all[0].node
	f.publish("published through an older follower", nil)
	if !sameSchema(t, *previousCluster) {
		controls[1].end(t)
		for deadline := time.Now().Add(time.Minute); !strings.Contains(controls[0].log.String(), "this program knows up to"); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("a control plane of the previous version beside records of this one does not say that it cannot lead")
			}
		}
		controls[0].mu.Lock()
		late := controls[0].cmd
		controls[0].mu.Unlock()
		if late.Wait() == nil {
			t.Error("a control plane of the previous version that cannot lead ends as if nothing were wrong")
		}
		f.served("edges without a control plane that can lead", want)
		controls[1].begin(t, binary)
		leads(1)
	}
	controls[0].kill()
	controls[0].begin(t, binary)
	leads(1)
	for _, e := range f.edges {
		f.replace(e)
	}
	f.publish("published by the new version", f.urls)
	stop()
	wg.Wait()
	if n, calls := counts.failed.Load()+counts.wrong.Load(), counts.calls.Load(); n > 0 || calls == 0 {
		t.Errorf("%d of %d calls failed or were wrong: %s", n, calls, strings.Join(counts.faces, "\n"))
	}
	t.Logf("%d calls, none failed or wrong", counts.calls.Load())
}

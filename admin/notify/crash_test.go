package notify

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/storetest"
)

// The crash test starts this test binary again as the control plane that delivers, and
// kills it. With -args -notices 10000 -kills 20 it is the full size.
var (
	crashNotices = flag.Int("notices", 300, "notices of the crash test")
	crashKills   = flag.Int("kills", 6, "times that the crash test kills the process")
)

const crashVar = "SLUICE_TEST_NOTIFY_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashVar); dir != "" {
		if err := deliverUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// crashBackoff is the one of three days, scaled to tens of milliseconds.
var crashBackoff = []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond}

func deliverUntilKilled(dir string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, st, err := openRoom(ctx, filepath.Join(dir, "s.db"), filepath.Join(dir, "key"), crashBackoff)
	if err != nil {
		return err
	}
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // its end asks for a clean stop
		cancel()
	}()
	r.Run(ctx)
	return st.Close()
}

// TestKilledWhileDelivering: with a receiver that fails half the time and a process that
// is killed again and again, each notice arrives or is a dead letter that redelivery
// brings, in the order of its alert; and no id arrives after its success was recorded,
// but those that were in flight at a kill.
func TestKilledWhileDelivering(t *testing.T) {
	dir := t.TempDir()
	path, key := filepath.Join(dir, "s.db"), filepath.Join(dir, "key")
	if err := storetest.Prepare(path); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	accepted, order, flaky := map[string]int{}, []string{}, true
	x := newTarget(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if flaky && rand.IntN(2) == 0 { // a test
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		id := r.Header.Get("webhook-id")
		if accepted[id]++; accepted[id] == 1 {
			order = append(order, id)
		}
	})
	r, st, err := openRoom(t.Context(), path, key, crashBackoff)
	if err != nil {
		t.Fatal(err)
	}
	ws := st.Workspace("one")
	if _, err := r.Create(t.Context(), ws, &NewChannel{Name: "hook", Kind: Webhook, URL: x.URL}); err != nil {
		t.Fatal(err)
	}
	err = ws.Update(t.Context(), func(tx *store.Tx) error {
		for i := range *crashNotices {
			if err := Add(t.Context(), tx, &Notice{Type: "n", Severity: Info, AlertID: "alert_" + strconv.Itoa(i/3), Title: strconv.Itoa(i)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	total := func() int { mu.Lock(); defer mu.Unlock(); return len(accepted) }
	for k := range *crashKills {
		cmd, _ := startDelivering(t, dir)
		goal, began := *crashNotices*(k+1)/(*crashKills+2), time.Now()
		for total() < goal && time.Since(began) < 20*time.Second {
			time.Sleep(time.Millisecond) // until the moment of the kill
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
	cmd, stdin := startDelivering(t, dir)
	if r, st, err = openRoom(t.Context(), path, key, crashBackoff); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	h := &hall{r, t, st, st.Workspace("one")}
	state := func(s string) []store.Delivery { return h.deliveries(store.DeliveryFilter{State: s}) }
	deadline := time.Now().Add(2*time.Minute + time.Duration(*crashNotices)*100*time.Millisecond) // on a busy machine
	settled := func() bool {
		events, err := h.ws.Outbox(t.Context(), 1)
		return err == nil && len(events) == 0 && len(state(store.DeliveryPending)) == 0
	}
	for !settled() && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond) // the other process delivers
	}
	mu.Lock()
	flaky = false
	mu.Unlock()
	dead := map[string]bool{}
	for batch := state(store.DeliveryDead); len(batch) > 0; batch = state(store.DeliveryDead) {
		for i := range batch {
			dead[batch[i].ID] = true
			if _, err := h.Redeliver(t.Context(), h.ws, batch[i].ID); err != nil {
				t.Fatal(err)
			}
		}
		for !settled() && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond) // the other process delivers
		}
	}
	_ = stdin()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	repeats := 0
	mu.Lock()
	defer mu.Unlock()
	for id, n := range accepted {
		if repeats += n - 1; n > 1+*crashKills {
			t.Errorf("%s arrived %d times", id, n)
		}
	}
	t.Logf("%d notices, %d attempts, %d kills, %d dead letters, %d repeats of messages in flight", *crashNotices, x.count(), *crashKills, len(dead), repeats)
	if len(accepted) != *crashNotices {
		t.Errorf("%d of %d notices arrived", len(accepted), *crashNotices)
	}
	last := map[string]uint64{} // of each alert
	for _, id := range order {
		d, err := h.ws.Delivery(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if dead[id] {
			continue // it was brought after those behind it
		}
		if d.EventSeq < last[d.AlertID] {
			t.Errorf("event %d of %s arrived after event %d", d.EventSeq, d.AlertID, last[d.AlertID])
		}
		last[d.AlertID] = d.EventSeq
	}
	if repeats > *crashKills*parallel {
		t.Errorf("%d repeats, at most %d can be in flight at %d kills", repeats, *crashKills*parallel, *crashKills)
	}
}

// startDelivering starts the process; what it returns asks it to stop.
func startDelivering(t *testing.T, dir string) (cmd *exec.Cmd, stop func() error) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), crashVar+"="+dir)
	var said strings.Builder
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if said.Len() > 0 {
			t.Errorf("the process said %s", said.String())
		}
	})
	return cmd, in.Close
}

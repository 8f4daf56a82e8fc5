package sim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	seeds   = flag.Uint64("sim.seeds", perRace(5, 50), "how many seeds TestSimulation runs")
	first   = flag.Uint64("sim.first", 1, "the first of them, and of those of TestSeedRepeats")
	procs   = flag.Uint64("sim.procs", 1, "processes that share them: a simulation uses one processor")
	trace   = flag.Bool("sim.trace", false, "print the trace of each")
	defects = flag.Bool("sim.defects", false, "run TestDefects, which builds the simulation once for each defect")
	repeat  = flag.Uint64("sim.repeat", perRace(1, 5), "how many seeds TestSeedRepeats runs twice")
)

// perRace is a number for builds with the race detector and one for others: with it a seed
// takes ten times as long and finds the same, but for the races. make test runs both.
func perRace(with, without uint64) uint64 {
	if raceEnabled {
		return with
	}
	return without
}

// rootDir is for the directories of simulations: in memory where there is such a place,
// since nothing has to survive the process.
func rootDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "sluice-sim-") //nolint:usetesting // in memory, which t.TempDir is not
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// alone sets the process up for simulations: goroutines that run at the same moment take
// turns, and memory is collected rarely.
func alone(t *testing.T) {
	t.Helper()
	n, gc, memory := runtime.GOMAXPROCS(1), debug.SetGCPercent(800), debug.SetMemoryLimit(1<<30)
	t.Cleanup(func() { runtime.GOMAXPROCS(n); debug.SetGCPercent(gc); debug.SetMemoryLimit(memory) })
}

// TestSimulation runs seeds. One that fails prints its trace, and is replayed with
// go test ./cmd/sluice/sim -run TestSimulation -v -sim.seeds 1 -sim.trace -sim.first SEED.
func TestSimulation(t *testing.T) {
	if *procs > 1 {
		shared(t)
		return
	}
	alone(t)
	root := rootDir(t)
	tmpl := newTemplate(t, root)
	began := time.Now()
	events, calls := 0, uint64(0)
	for seed := *first; seed < *first+*seeds; seed++ {
		r := simulate(t, tmpl, root, seed)
		events, calls = events+r.events, calls+r.calls
		if *trace || len(r.broken) > 0 {
			t.Logf("seed %d:\n%s\ntrace %s", seed, strings.Join(r.lines, "\n"), r.hash)
		}
		for _, b := range r.broken {
			t.Errorf("seed %d: %s", seed, b)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d seeds, %d events, %d calls in %s", *seeds, events, calls, time.Since(began).Round(time.Millisecond))
}

// shared runs the seeds in several processes.
func shared(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	share, from := (*seeds+*procs-1) / *procs, *first
	for range *procs {
		n := min(share, *first+*seeds-from)
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestSimulation$", "-test.v", fmt.Sprintf("-test.timeout=%s", 2*time.Hour),
			fmt.Sprintf("-sim.first=%d", from), fmt.Sprintf("-sim.seeds=%d", n), fmt.Sprintf("-sim.trace=%t", *trace))
		from += n
		wg.Go(func() {
			out, err := cmd.CombinedOutput()
			t.Logf("%s", bytes.TrimSpace(out))
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestSeedRepeats runs seeds twice: their traces are the same, or a seed that failed could
// not be replayed.
func TestSeedRepeats(t *testing.T) {
	alone(t)
	root := rootDir(t)
	tmpl := newTemplate(t, root)
	for seed := *first; seed < *first+*repeat; seed++ {
		one, two := simulate(t, tmpl, root, seed), simulate(t, tmpl, root, seed)
		if one.hash == two.hash {
			continue
		}
		for i := range min(len(one.lines), len(two.lines)) {
			if one.lines[i] != two.lines[i] {
				t.Errorf("seed %d, event %d:\n%s\n%s", seed, i, one.lines[i], two.lines[i])
				break
			}
		}
		t.Errorf("seed %d: %s and %s", seed, one.hash, two.hash)
	}
}

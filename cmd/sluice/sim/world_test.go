package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
)

const (
	// settleTime is how long after the last fault everything must be as it should:
	// a question that hangs (60 s), the longest pause (30 s), and a release that waits
	// for its credentials (20 s), twice over where one is behind the other.
	settleTime = 150 * time.Second
	// promptly is how long a change takes where nothing was disturbed for settleTime.
	promptly = 5 * time.Second
)

// world is one simulation.
type world struct {
	seed  uint64
	rng   *rand.Rand // of the scheduler, which is one goroutine
	root  string     // of all directories
	began time.Time
	dirs  int
	plan  plan

	plane  *plane   // who has the address; nil: nobody
	second *plane   // another control plane on the same directory; nil, unless a lock is broken
	planes []*plane // all that were started
	nodes  []*node

	slow    atomic.Int64 // nanoseconds that the registry takes for a content at most; it outlives a control plane
	quiet   time.Time    // since when no message is disturbed by the weather
	backups int
	nextDir string     // of the control plane that starts next
	strays  []*process // second processes of edges; none, unless a lock is broken

	mu     sync.Mutex
	counts map[string]uint64 // guarded by mu; draws, by what they are about
	lines  []string          // guarded by mu; the trace
	broken []string          // guarded by mu; promises that were broken
	stormy bool              // guarded by mu; messages are disturbed
	busy   bool              // guarded by mu; an operator's change is under way
	model  model             // guarded by mu
	called uint64            // guarded by mu; calls that were answered
	lost   uint64            // guarded by mu; calls that a crash may have lost
}

// plan is what kind of world a seed makes.
type plan struct {
	storms   bool // messages are dropped, repeated, cut off
	crashes  bool // nodes and control planes are killed
	power    bool // and lose power
	disks    bool // disks fail for a while
	slow     bool // the registry is slow for a while
	backups  bool
	outsider bool // second processes are started on directories in use
	revokes  bool // edges are revoked, and other machines take their places
}

// result is what a simulation was.
type result struct {
	hash   string
	lines  []string
	broken []string
	events int
	calls  uint64
}

// simulate runs one seed. The template is a control plane's directory.
func simulate(t *testing.T, tmpl *template, root string, seed uint64) (out result) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, seed)
	dir, err := os.MkdirTemp(root, "seed-") //nolint:usetesting // in memory, which t.TempDir is not
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // beside others of its kind, which go with root
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			seed: seed, rng: rand.New(rand.NewPCG(seed, 0x5eed)), root: dir, began: time.Now(),
			counts: map[string]uint64{}, model: tmpl.model.clone(),
		}
		w.run(tmpl)
		// Goroutines that something wakes at one moment have no order among each other.
		slices.Sort(w.lines)
		h := sha256.New()
		for _, l := range w.lines {
			fmt.Fprintln(h, l)
		}
		out = result{hex.EncodeToString(h.Sum(nil)[:8]), w.lines, w.broken, len(w.lines), w.called}
	})
	return out
}

// run is the life of a world: it is set up, disturbed, and left alone until everything
// must be as it should.
func (w *world) run(tmpl *template) {
	w.plan = w.newPlan()
	w.say("world", "%+v", w.plan)
	time.Sleep(templateTime - time.Since(w.began)) // the template was made before
	w.quiet = w.began
	if !w.startPlane(w.copyOf(tmpl.dir)) {
		return
	}
	for i, zone := range []string{"a", "b"} {
		n := &node{w: w, name: fmt.Sprintf("edge%d", i), zone: zone, join: tmpl.joins[zone], dir: w.newDir()}
		w.nodes = append(w.nodes, n)
		n.start()
	}
	w.pause(3 * time.Second)
	for steps := 12 + w.rng.IntN(12); steps > 0 && !w.failed(); steps-- {
		w.step()
		w.pause(time.Duration(w.rng.ExpFloat64() * float64(5*time.Second)))
	}
	w.calmDown()
	if !w.failed() {
		w.settled()
	}
	w.end()
}

// pause lets time pass and looks at everything afterwards.
func (w *world) pause(d time.Duration) {
	for d = min(d, time.Minute) + time.Microsecond; d > 0 && !w.failed(); d -= time.Second {
		// Never a whole second, which tickers that began with an event take.
		time.Sleep(min(d, time.Second) + time.Duration(w.rng.IntN(int(time.Millisecond))))
		synctest.Wait()
		w.check()
	}
}

func (w *world) newPlan() plan {
	r := func(p float64) bool { return w.rng.Float64() < p }
	return plan{storms: r(.6), crashes: r(.7), power: r(.5), disks: r(.4), slow: r(.5), backups: r(.1), outsider: r(.3), revokes: w.dice("revokes").Float64() < .2}
}

// dice gives the draws of one event about something. They do not depend on what happens
// elsewhere at the same moment, so goroutines may be scheduled as they like.
func (w *world) dice(about string) *rand.Rand {
	w.mu.Lock()
	n := w.counts[about]
	w.counts[about]++
	w.mu.Unlock()
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", w.seed, about, n)
	return rand.New(rand.NewPCG(h.Sum64(), w.seed))
}

// jitter is the random part of the pauses of somebody.
func (w *world) jitter(who string) func(time.Duration) time.Duration {
	return func(d time.Duration) time.Duration {
		return d/2 + time.Duration(w.dice(who+" jitter").Int64N(int64(d/2)+1))
	}
}

// say adds an event to the trace.
func (w *world) say(who, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf("%11.6f %-6s %s", time.Since(w.began).Seconds(), who, fmt.Sprintf(format, args...)))
}

// violated notes that a promise was broken.
func (w *world) violated(promise, format string, args ...any) {
	text := promise + ": " + fmt.Sprintf(format, args...)
	w.say("BROKEN", "%s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, text)
}

func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.broken) > 0
}

func (w *world) storm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stormy
}

func (w *world) setStorm(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stormy = on
}

func (w *world) newDir() string {
	w.dirs++
	dir := filepath.Join(w.root, fmt.Sprint(w.dirs))
	w.must(os.MkdirAll(dir, 0o700))
	return dir
}

// must ends the process over a fault of the machine the simulation runs on.
func (w *world) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("simulation of seed %d: %v", w.seed, err))
	}
}

// copyOf is a directory with what a process that is killed leaves in one. It is called
// when nothing runs.
func (w *world) copyOf(from string, without ...string) string {
	to := w.newDir()
	w.must(filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if slices.Contains(without, rel) {
			return filepath.SkipDir
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		if strings.HasSuffix(rel, "-shm") {
			return nil // it goes with the processes that share it
		}
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, info.Mode().Perm())
	}))
	return to
}

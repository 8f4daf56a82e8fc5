package metering_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// recorder is a file system that remembers every report that was put in place, and
// fails when it is told to.
type recorder struct {
	atomicfile.System
	mu      sync.Mutex
	reports map[string][]byte // guarded by mu; by file name
	fail    func() bool       // of each rename
	dirFail func() bool       // of each sync of a directory, after a rename
}

func (r *recorder) Rename(from, to string) error {
	if r.fail() {
		return errors.New("disk full")
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := r.System.Rename(from, to); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.HasSuffix(to, ".json") {
		r.reports[filepath.Base(to)] = b
	}
	return nil
}

func (r *recorder) SyncDir(dir string) error {
	if r.dirFail() {
		return errors.New("input/output error")
	}
	return nil // no power is cut here
}

func (r *recorder) CreateTemp(dir, pattern string) (atomicfile.File, error) {
	f, err := r.System.CreateTemp(dir, pattern)
	return unsynced{f}, err
}

type unsynced struct{ atomicfile.File }

func (unsynced) Sync() error { return nil }

// network carries reports to a store and loses, repeats and delays them.
type network struct {
	st   *store.Store
	rand *rand.Rand
	down bool
	late []registry.UsageReport // copies that arrive some time later
}

var errNetwork = errors.New("connection reset")

func (n *network) PostUsage(ctx context.Context, r *registry.UsageReport) (registry.UsageReceipt, error) {
	if n.down || n.rand.IntN(10) == 0 {
		return registry.UsageReceipt{}, errNetwork
	}
	if err := r.Validate(); err != nil {
		return registry.UsageReceipt{}, err
	}
	if n.rand.IntN(5) == 0 {
		n.late = append(n.late, *r)
	}
	if n.rand.IntN(8) == 0 { // it is lost, but a copy is on its way
		n.late = append(n.late, *r)
		return registry.UsageReceipt{}, errNetwork
	}
	applied, err := n.st.ApplyUsage(ctx, "edge", r)
	if err == nil && n.rand.IntN(6) == 0 {
		return registry.UsageReceipt{}, errNetwork // the answer is lost
	}
	return registry.UsageReceipt{Applied: applied}, err
}

// deliver lets late copies arrive in any order.
func (n *network) deliver(t *testing.T, all bool) {
	t.Helper()
	n.rand.Shuffle(len(n.late), func(i, j int) { n.late[i], n.late[j] = n.late[j], n.late[i] })
	keep := n.late[:0]
	for i := range n.late {
		if !all && n.rand.IntN(2) == 0 {
			keep = append(keep, n.late[i])
			continue
		}
		if _, err := n.st.ApplyUsage(t.Context(), "edge", &n.late[i]); err != nil {
			t.Fatal(err)
		}
	}
	n.late = keep
}

// TestEverythingSpooledIsCountedOnce: whatever is killed, lost, repeated, delayed or
// cut off, the sums in the store are those of the reports that reached the disk, by
// minute and by hour; and those are all calls but what was counted after the last
// flush before each kill.
func TestEverythingSpooledIsCountedOnce(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { countOnce(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

func countOnce(t *testing.T, r *rand.Rand) {
	now := time.Date(2026, 11, 21, 9, 59, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "s.db"), Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	if err := st.EnsureWorkspace(t.Context(), "w", "w"); err != nil {
		t.Fatal(err)
	}
	net := &network{st: st, rand: r}
	disk := &recorder{System: atomicfile.OS, reports: map[string][]byte{}}
	outage := 0 // flushes left of an outage
	disk.fail = func() bool { return r.IntN(15) == 0 }
	disk.dirFail = func() bool { return r.IntN(20) == 0 }
	dir := filepath.Join(t.TempDir(), "usage")
	start := func() (*metering.Meter, *metering.Spool) {
		t.Helper()
		m := metering.New()
		s, err := metering.NewSpool(metering.SpoolOptions{Meter: m, Dir: dir, Poster: net, Now: clock, System: disk})
		if err != nil {
			t.Fatal(err)
		}
		return m, s
	}
	m, s := start()
	made, unwritten, killed := uint64(0), uint64(0), uint64(0)
	tools := []string{"list", "get", "put"}
	for step := range 80 {
		if step == 40 {
			outage, net.down = 360, true // an hour
		}
		for range r.IntN(20) {
			id := metering.ToolID{Workspace: "w", Toolset: "ts_1", Slug: "s", Tool: tools[r.IntN(len(tools))]}
			c := &metering.Call{
				Outcome: metering.Outcome(r.IntN(3)), Duration: time.Duration(r.IntN(1e9)), Asked: r.IntN(2) == 0, Upstream: time.Duration(r.IntN(1e8)),
				Before: make([]byte, r.IntN(100)), Cached: r.IntN(4) == 0,
			}
			m.Tool(id).Call(c)
			made++
			unwritten++
		}
		now = now.Add(metering.FlushEvery)
		if s.Flush() == nil {
			unwritten = 0
		}
		_ = s.Post(t.Context()) // it is posted again
		net.deliver(t, false)
		if r.IntN(12) == 0 { // kill -9
			killed += unwritten
			unwritten = 0
			m, s = start()
		}
		for outage > 0 {
			outage--
			if outage%4 == 0 {
				m.Tool(list).Call(&metering.Call{Duration: time.Millisecond})
				made++
				unwritten++
			}
			now = now.Add(metering.FlushEvery)
			if s.Flush() == nil {
				unwritten = 0
			}
			if outage%7 == 0 {
				_ = s.Post(t.Context()) // the control plane is gone
			}
		}
		net.down = false
	}
	disk.fail, disk.dirFail = func() bool { return false }, func() bool { return false }
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	for s.Post(t.Context()) != nil {
	}
	net.deliver(t, true)
	if n := s.Waiting(); n != 0 || s.Fault() != nil {
		t.Fatalf("%d reports still wait: %v", n, s.Fault())
	}
	// Everything that was ever put in place, by minute.
	spooled, calls := map[int64]registry.UsageCounts{}, uint64(0)
	for name, b := range disk.reports {
		var u registry.UsageReport
		if err := json.Unmarshal(b, &u); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range u.Series {
			for _, at := range []int64{u.Minute, -(u.Minute - u.Minute%3600)} { // hours are negative
				sum := spooled[at]
				if err := sum.Add(&u.Series[i].UsageCounts); err != nil {
					t.Fatal(err)
				}
				spooled[at] = sum
			}
			calls += u.Series[i].Calls
		}
	}
	if calls > made || calls < made-killed {
		t.Errorf("%d calls, of which at most %d were lost by kills, and %d reached the disk", made, killed, calls)
	}
	// Each of them is in the call log once, or counted as omitted.
	ws := st.Workspace("w")
	logged, err := ws.LastCall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	omitted, err := ws.CallsOmitted(t.Context(), time.Time{}, now.Add(time.Hour), "")
	if err != nil || logged+omitted != calls || logged == 0 {
		t.Errorf("%d calls reached the disk, %d are in the log and %d are not (%v)", calls, logged, omitted, err)
	}
	for _, hours := range []bool{false, true} {
		q := &store.UsageQuery{From: time.Unix(0, 0), To: now.Add(time.Hour), Hours: hours, Step: time.Minute}
		points, err := st.Workspace("w").Usage(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, p := range points {
			at := p.At.Unix()
			if hours {
				at = -at
			}
			want, ok := spooled[at]
			got := p.UsageCounts
			got.Latency, got.UpstreamLatency = p.Latencies.AppendBinary(nil), p.UpstreamLatencies.AppendBinary(nil)
			if a, b := fmt.Sprint(got), fmt.Sprint(want); !ok || a != b {
				t.Errorf("%v: the store has\n%s, spooled was\n%s", p.At, a, b)
			}
			seen++
		}
		for at := range spooled {
			if at < 0 == hours {
				seen--
			}
		}
		if seen != 0 {
			t.Errorf("hours %v: %d times are not in both", hours, seen)
		}
	}
	t.Logf("%d calls in %d reports, %d lost by kills", calls, len(disk.reports), made-calls)
}

// taker takes every report, or refuses it.
type taker struct {
	mu   sync.Mutex
	got  []registry.UsageReport // guarded by mu
	fail error                  // guarded by mu
}

func (p *taker) PostUsage(_ context.Context, r *registry.UsageReport) (registry.UsageReceipt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return registry.UsageReceipt{}, p.fail
	}
	p.got = append(p.got, *r)
	return registry.UsageReceipt{Applied: true}, r.Validate()
}

var list = metering.ToolID{Workspace: "w", Toolset: "ts_1", Slug: "s", Tool: "list"}

// TestRun: what is counted is on disk within ten seconds, and posted.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		m, p := metering.New(), &taker{fail: errNetwork}
		s, err := metering.NewSpool(metering.SpoolOptions{Meter: m, Dir: dir, Poster: p})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		m.Tool(list).Call(&metering.Call{Outcome: metering.Timeout, Cause: "timeout", Failure: []byte(`no answer, token=abc`)})
		time.Sleep(metering.FlushEvery)
		synctest.Wait()
		if s.Waiting() != 1 || !errors.Is(s.Fault(), errNetwork) {
			t.Errorf("%d reports wait, fault %v", s.Waiting(), s.Fault())
		}
		p.mu.Lock()
		p.fail = nil
		p.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if s.Waiting() != 0 || s.Fault() != nil || len(p.got) != 1 {
			t.Errorf("%d reports wait, %d were posted, fault %v", s.Waiting(), len(p.got), s.Fault())
		}
		r := p.got[0]
		if r.Sequence != 1 || r.Oldest != 1 || r.Minute != 946684800 || len(r.Series) != 1 || r.Series[0].Calls != 1 || r.Series[0].Outcome != "timeout" ||
			len(r.Causes) != 1 || r.Causes[0].Cause != "timeout" || len(r.Samples) != 1 || r.Samples[0].Text != "no answer, token=[redacted]" {
			t.Errorf("posted %+v", r)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestUrgent: a credential that the upstream stops to take is reported within a second or
// two, and so is that it takes it again; more of the same, a 403, and a turn each call,
// wait or cost a report a second.
func TestUrgent(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		m, p := metering.New(), &taker{}
		s, err := metering.NewSpool(metering.SpoolOptions{Meter: m, Dir: dir, Poster: p})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		tool := m.Tool(list)
		call := func(status int) {
			c := &metering.Call{Outcome: metering.ToolError, Credential: metering.Refused, Status: status, Connector: "pets"}
			if status == 200 {
				c.Outcome, c.Credential = metering.OK, metering.Accepted
			}
			tool.Call(c)
		}
		posted := func() int {
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.got)
		}
		time.Sleep(2 * time.Second)
		call(200)
		call(403)
		time.Sleep(2 * time.Second)
		if n := posted(); n != 0 {
			t.Fatalf("%d reports of a 403", n)
		}
		call(401)
		time.Sleep(time.Second)
		if n := posted(); n != 1 || p.got[0].Calls[2].Status != 401 || p.got[0].Calls[2].Connector != "pets" {
			t.Fatalf("%d reports a second after a 401: %+v", n, p.got)
		}
		call(401)
		time.Sleep(2 * time.Second)
		if n := posted(); n != 1 {
			t.Errorf("%d reports after another 401", n)
		}
		call(200)
		time.Sleep(time.Second)
		if n := posted(); n != 2 {
			t.Errorf("%d reports a second after it was taken again", n)
		}
		for range 100 {
			call(401)
			call(200)
			time.Sleep(10 * time.Millisecond)
		}
		if n := posted(); n > 4 {
			t.Errorf("%d reports of a second of turns", n)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestRefusedReport: a report that the control plane will never take is put aside,
// and what follows is posted.
func TestRefusedReport(t *testing.T) {
	dir := t.TempDir()
	m, p := metering.New(), &taker{fail: problem.New(problem.InvalidArgument, "no")}
	s, err := metering.NewSpool(metering.SpoolOptions{Meter: m, Dir: dir, Poster: p})
	if err != nil {
		t.Fatal(err)
	}
	m.Tool(list).Call(&metering.Call{})
	if err := errors.Join(s.Flush(), s.Post(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "01ARZ3NDEKTSV4RRFFQ69G5FAV-00000000000000000001.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = metering.NewSpool(metering.SpoolOptions{Meter: m, Dir: dir, Poster: p}); err != nil {
		t.Fatal(err)
	}
	p.fail = nil
	m.Tool(list).Call(&metering.Call{})
	if err := errors.Join(s.Flush(), s.Post(t.Context())); err != nil {
		t.Fatal(err)
	}
	kept, _ := filepath.Glob(filepath.Join(dir, "*.refused"))
	if len(kept) != 2 || len(p.got) != 1 || s.Waiting() != 0 || s.Fault() == nil || !strings.Contains(s.Fault().Error(), "damaged") {
		t.Fatalf("%d kept, %d posted, %d wait, fault %v", len(kept), len(p.got), s.Waiting(), s.Fault())
	}
}

// TestSpoolIsBounded: at the bound nothing is dropped, beyond it the oldest is, and
// the node says so.
func TestSpoolIsBounded(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) // reports of the same size
	clock := func() time.Time { return now }
	f := func(room int64, waiting int, fault bool) {
		t.Helper()
		m := metering.New()
		s, err := metering.NewSpool(metering.SpoolOptions{Meter: m, Dir: t.TempDir(), Poster: &taker{fail: errNetwork}, MaxBytes: room, Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			m.Tool(list).Call(&metering.Call{Duration: time.Millisecond, Started: now})
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if s.Waiting() != waiting || (s.Fault() != nil) != fault {
			t.Errorf("of %d bytes: %d wait, fault %v", room, s.Waiting(), s.Fault())
		}
	}
	// A spool that is a quarter full takes counts without their log.
	probe, total := t.TempDir(), int64(0)
	m := metering.New()
	s, err := metering.NewSpool(metering.SpoolOptions{Meter: m, Dir: probe, Poster: &taker{}, MaxBytes: 1300, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		m.Tool(list).Call(&metering.Call{Duration: time.Millisecond, Started: now})
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(probe, "*.json"))
	for i, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		total += int64(len(b))
		var u registry.UsageReport
		if err := json.Unmarshal(b, &u); err != nil {
			t.Fatal(err)
		}
		if logged := len(u.Calls) == 1; u.Series[0].Calls != 1 || logged != (i == 0) || len(u.Calls)+len(u.Omitted) != 1 {
			t.Errorf("report %d logs %v and omits %v", i, u.Calls, u.Omitted)
		}
	}
	f(total, 3, false)
	f(total-1, 2, true)
	f(1, 1, true) // the newest is never dropped
}

// TestDiskThatTakesNothing: what cannot be written is counted on in memory, in few
// reports, and written when it can.
func TestDiskThatTakesNothing(t *testing.T) {
	m, p := metering.New(), &taker{}
	full := true
	disk := &recorder{System: atomicfile.OS, reports: map[string][]byte{}, fail: func() bool { return full }, dirFail: func() bool { return false }}
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	s, err := metering.NewSpool(metering.SpoolOptions{Meter: m, Dir: t.TempDir(), Poster: p, System: disk, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	const flushes = 500
	for range flushes {
		m.Tool(list).Call(&metering.Call{Duration: time.Millisecond})
		now = now.Add(metering.FlushEvery)
		if s.Flush() == nil || s.Fault() == nil {
			t.Fatal("written to a full disk")
		}
	}
	full = false
	if err := errors.Join(s.Flush(), s.Post(t.Context()), s.Fault()); err != nil {
		t.Fatal(err)
	}
	calls := uint64(0)
	for i := range p.got {
		calls += p.got[i].Series[0].Calls
	}
	if calls != flushes || len(p.got) > 60 {
		t.Fatalf("%d calls in %d reports", calls, len(p.got))
	}
}

// TestManySeries: more tools than one report holds are in several.
func TestManySeries(t *testing.T) {
	m, p := metering.New(), &taker{}
	s, err := metering.NewSpool(metering.SpoolOptions{Meter: m, Dir: t.TempDir(), Poster: p})
	if err != nil {
		t.Fatal(err)
	}
	for i := range registry.MaxUsageSeries + 1 {
		id := list
		id.Tool = fmt.Sprint(i)
		m.Tool(id).Call(&metering.Call{Outcome: metering.ToolError, Cause: fmt.Sprint("http_", i), Failure: []byte(strings.Repeat("x", 600))})
	}
	if err := errors.Join(s.Flush(), s.Post(t.Context()), s.Fault()); err != nil {
		t.Fatal(err)
	}
	calls, largest := uint64(0), 0
	for i := range p.got {
		b, err := json.Marshal(p.got[i])
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, len(b))
		for _, x := range p.got[i].Series {
			calls += x.Calls
		}
	}
	if calls != registry.MaxUsageSeries+1 || largest > registry.MaxUsageBytes {
		t.Fatalf("%d calls in %d reports, the largest of %d bytes", calls, len(p.got), largest)
	}
}

package metering

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// TestToolBounds: what one tool may fill between two drains, at each bound and one past it.
func TestToolBounds(t *testing.T) {
	id := ToolID{Workspace: "w", Toolset: "ts_1", Slug: "s", Tool: "list"}
	cause := func(i int) *Call {
		return &Call{Outcome: ToolError, Cause: fmt.Sprint("cause ", i), Failure: []byte("no")}
	}
	f := func(what string, limit int, do func(tool *Tool, i int), count func(u *Usage) int, past int) {
		t.Helper()
		for n, want := range map[int]int{limit: limit, limit + 1: past} {
			m := New()
			tool := m.Tool(id)
			for i := range n {
				do(tool, i)
			}
			u := m.Drain()
			if got := count(u); got != want {
				t.Errorf("%s, %d: %d are kept, want %d", what, n, got, want)
			}
			calls := uint64(0)
			for _, s := range u.Series {
				calls += s.Calls
			}
			if what != "searches" && calls != uint64(n) {
				t.Errorf("%s: %d of %d calls are counted", what, calls, n)
			}
		}
	}
	// What is beyond is one more cause, of all others.
	f("causes", maxCauses, func(tool *Tool, i int) { tool.Call(cause(i)) }, func(u *Usage) int { return len(u.Causes) }, maxCauses+1)
	f("samples", maxSamples, func(tool *Tool, i int) { tool.Call(cause(i)) }, func(u *Usage) int { return len(u.Samples) }, maxSamples)
	f("samples of one cause", maxSamples/4, func(tool *Tool, _ int) { tool.Call(cause(0)) }, func(u *Usage) int { return len(u.Samples) }, maxSamples/4)
	f("searches", maxFound, func(tool *Tool, i int) { tool.Found("c", "GET", "/x", fmt.Sprint(i)) }, func(u *Usage) int { return len(u.Found) }, maxFound)

	m := New()
	for i := range maxCauses + 2 {
		m.Tool(id).Call(cause(i))
	}
	for _, c := range m.Drain().Causes {
		if c.Cause == otherCause && c.Calls != 2 {
			t.Errorf("%d calls have another cause, want 2", c.Calls)
		}
	}
}

// full is a disk that takes nothing, or everything without waiting for it.
type full struct {
	atomicfile.System

	full bool
}

func (d *full) CreateTemp(dir, pattern string) (atomicfile.File, error) {
	if d.full {
		return nil, errors.New("disk full")
	}
	return d.System.CreateTemp(dir, pattern)
}

type refuses struct{}

func (refuses) PostUsage(context.Context, *registry.UsageReport) (registry.UsageReceipt, error) {
	return registry.UsageReceipt{}, problem.New(problem.InvalidArgument, "no")
}

func countOne(t *testing.T, m *Meter, s *Spool, fails bool) {
	t.Helper()
	m.Tool(ToolID{Workspace: "w", Toolset: "ts_1", Slug: "s", Tool: "list"}).Call(&Call{Outcome: ToolError, Cause: "c"})
	if err := s.Flush(); (err != nil) != fails {
		t.Fatal(err)
	}
}

// TestMaxPending: while the disk takes nothing, reports wait in memory up to the bound;
// what is counted later is added to the last one and not lost.
func TestMaxPending(t *testing.T) {
	for _, n := range []int{maxPending, maxPending + 1} {
		disk := &full{System: atomicfile.OS, full: true}
		m := New()
		now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
		s, err := NewSpool(SpoolOptions{Meter: m, Dir: t.TempDir(), Poster: refuses{}, System: disk, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			now = now.Add(time.Minute)
			countOne(t, m, s, true)
		}
		if len(s.pending) != maxPending {
			t.Errorf("%d reports: %d wait", n, len(s.pending))
		}
		calls := uint64(0)
		for _, r := range s.pending {
			calls += r.Series[0].Calls
		}
		if calls != uint64(n) {
			t.Errorf("%d of %d calls wait", calls, n)
		}
	}
}

// TestMaxRefused: reports that the control plane refuses are kept for people up to the
// bound; more are dropped, and none is posted for ever.
func TestMaxRefused(t *testing.T) {
	dir, m := t.TempDir(), New()
	s, err := NewSpool(SpoolOptions{Meter: m, Dir: dir, Poster: refuses{}})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= maxRefused+1; n++ {
		countOne(t, m, s, false)
		if err := s.Post(t.Context()); err != nil {
			t.Fatal(err)
		}
		kept, _ := filepath.Glob(filepath.Join(dir, "*"+refusedSuffix))
		if want := min(n, maxRefused); len(kept) != want || s.Waiting() != 0 {
			t.Fatalf("%d refused: %d are kept, want %d; %d wait", n, len(kept), want, s.Waiting())
		}
	}
}

// TestMaxUsageCallBytes: calls go into a report up to the bound; what is beyond is in the
// next one, and none is lost.
func TestMaxUsageCallBytes(t *testing.T) {
	base := registry.UsageCall{Workspace: "w", Toolset: "t", Tool: "x"}
	size := base.WireBytes()
	if size*2 > registry.MaxUsageCallBytes {
		t.Fatal(size)
	}
	for past := range 2 {
		long := base
		long.Tool += strings.Repeat("x", registry.MaxUsageCallBytes-2*size+past)
		head, tail := cutCalls([]registry.UsageCall{base, long})
		if len(head) != 2-past || len(tail) != past {
			t.Errorf("%d past the bound: %d calls in the report, %d in the next", past, len(head), len(tail))
		}
	}
}

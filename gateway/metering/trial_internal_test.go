package metering

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/registry"
)

func trialID(n int) TrialID {
	return TrialID{Workspace: "w", Toolset: "ts_1", Trial: fmt.Sprint("roll_", n), Slug: "shop"}
}

// candidates are the calls that drains have of each trial.
func candidates(m *Meter) map[string]uint64 {
	out := map[string]uint64{}
	for _, t := range m.Drain().Trials {
		out[t.Trial] += t.Candidate.Calls
	}
	return out
}

// TestMaxTrials: a node counts every roll-out that it serves however many it has seen: with
// one more than maxTrials the one makes room that was in no release for the longest time,
// and what that counted is reported.
func TestMaxTrials(t *testing.T) {
	m := New()
	running := m.Trial(trialID(0)) // served throughout
	var ended *Trial
	for i := 1; i < maxTrials; i++ {
		if x := m.Trial(trialID(i)); i == 1 {
			ended = x
		}
	}
	m.Touch(running)
	if len(m.trials) != maxTrials || m.Trial(trialID(1)) != ended {
		t.Fatalf("%d trials have counters, want %d", len(m.trials), maxTrials)
	}
	m.Trial(trialID(2)).Candidate.Count(TrialCall{Duration: time.Millisecond}) // touched after 3 was
	m.Trial(trialID(3)).Candidate.Count(TrialCall{})
	oldest := m.trials[trialID(4)]
	oldest.Candidate.Count(TrialCall{})
	running.Candidate.Count(TrialCall{})
	one := m.Trial(trialID(maxTrials))
	if one == nil || len(m.trials) != maxTrials || m.trials[oldest.id] != nil || m.trials[running.id] != running {
		t.Fatalf("one past the bound: %v, %d trials; the oldest is still there: %v", one, len(m.trials), m.trials[oldest.id] != nil)
	}
	one.Candidate.Count(TrialCall{})
	got := candidates(m)
	for _, n := range []int{0, 2, 3, 4, maxTrials} {
		if id := trialID(n).Trial; got[id] != 1 {
			t.Errorf("%s: %d calls are reported, want 1", id, got[id])
		}
	}
	// One that is served after all is counted again.
	m.Touch(oldest)
	oldest.Candidate.Count(TrialCall{})
	if got := candidates(m); len(got) != 1 || got[oldest.id.Trial] != 1 || len(m.trials) != maxTrials {
		t.Errorf("served again: %v, %d trials", got, len(m.trials))
	}
}

// TestTrialsWaitForTheDisk: while the disk takes nothing, what roll-outs counted is added up
// in the last report that waits, and more of them than registry.MaxUsageTrials take another.
func TestTrialsWaitForTheDisk(t *testing.T) {
	disk := &full{System: atomicfile.OS, full: true}
	m := New()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	s, err := NewSpool(SpoolOptions{Meter: m, Dir: t.TempDir(), Poster: refuses{}, System: disk, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	flush := func(trials int) {
		t.Helper()
		for i := range trials {
			m.Trial(trialID(i)).Candidate.Count(TrialCall{Duration: time.Millisecond})
		}
		now = now.Add(time.Minute)
		if err := s.Flush(); err == nil {
			t.Fatal("the disk is full")
		}
	}
	const rounds = maxPending + 2*registry.MaxUsageTrials // more than a report has room for, one by one
	for range rounds {
		flush(1)
	}
	sum := func() (calls uint64) {
		for _, r := range s.pending {
			for i := range r.Trials {
				calls += r.Trials[i].Candidate.Calls
			}
		}
		return calls
	}
	if got := sum(); got != rounds || len(s.pending) != maxPending {
		t.Errorf("%d of %d calls wait, in %d reports", got, rounds, len(s.pending))
	}
	flush(registry.MaxUsageTrials + 1)
	if got := sum(); got != rounds+registry.MaxUsageTrials+1 {
		t.Errorf("%d of %d calls wait", got, rounds+registry.MaxUsageTrials+1)
	}
	for i, r := range s.pending {
		if len(r.Trials) > registry.MaxUsageTrials {
			t.Errorf("report %d has %d roll-outs", i, len(r.Trials))
		}
	}
}

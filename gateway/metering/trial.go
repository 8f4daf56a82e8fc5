package metering

import (
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/sluicegate/sluice/internal/rollup"
	"github.com/sluicegate/sluice/registry"
)

// maxTrials have counters at once: those of a release, of which there are at most
// [registry.MaxTrials], and some that ended lately, whose last calls may still run. With
// more, the one makes room that was in no release for the longest time.
const maxTrials = 4096

// TrialID names a trial.
type TrialID struct {
	Workspace, Toolset, Trial string
	Slug                      string // of the toolset, for /metrics
}

// Trial counts what a candidate and the live toolset beside it do.
type Trial struct {
	id        TrialID
	touched   uint64 // when a release had it last, in steps of Meter.touches; guarded by Meter.mu
	Live      TrialSide
	Candidate TrialSide

	skipped, different, missing atomic.Uint64
	requests                    [DifferenceCount]atomic.Uint64
	anyRequest                  atomic.Uint64
	compared                    [trialResultCount]*metrics.Counter
}

// Difference is a part of a request that is not the same in the candidate's.
type Difference uint8

// The differences.
const (
	DifferentOrigin Difference = iota
	DifferentMethod
	DifferentPath
	DifferentQuery
	DifferentHeaders
	DifferentBody
	DifferenceCount
)

// trialResult is what became of a call that a shadow was to be run on.
type trialResult uint8

const (
	resultSame trialResult = iota
	resultDifferent
	resultFailed // the candidate, where what is live did not
	resultMissing
	resultSkipped
	trialResultCount
)

var trialResultNames = [trialResultCount]string{"same", "different", "failed", "missing", "skipped"}

// TrialSide counts one of the two.
type TrialSide struct {
	calls, errors, bytes, tokens, duration atomic.Uint64 // the last in nanoseconds
	latency                                rollup.Live
	series                                 [2]*metrics.Counter // ok, error
}

// Trial gives the counters of a trial that a release has; nil when the Meter is.
func (m *Meter) Trial(id TrialID) *Trial {
	if m == nil || id.Toolset == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.touches++
	if t := m.trials[id]; t != nil {
		t.touched = m.touches
		return t
	}
	if len(m.trials) >= maxTrials {
		m.forgetTrial()
	}
	t := &Trial{id: id, touched: m.touches}
	for i, s := range []*TrialSide{&t.Live, &t.Candidate} {
		side := [...]string{"live", "candidate"}[i]
		for j, outcome := range [...]string{"ok", "error"} {
			s.series[j] = m.set.GetOrCreateCounter(Series("sluice_rollout_calls_total", "toolset", id.Slug, "side", side, "outcome", outcome))
		}
	}
	for i, name := range trialResultNames {
		t.compared[i] = m.set.GetOrCreateCounter(Series("sluice_rollout_comparisons_total", "toolset", id.Slug, "result", name))
	}
	m.trials[id] = t
	return t
}

// Touch says that a release still has the trial.
func (m *Meter) Touch(t *Trial) {
	if m == nil || t == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.touches++
	t.touched = m.touches
	if m.trials[t.id] == nil {
		if len(m.trials) >= maxTrials {
			m.forgetTrial()
		}
		m.trials[t.id] = t
	}
}

// forgetTrial drops the trial that was in no release for the longest time. What it counted
// is in the next drain. m.mu is held.
func (m *Meter) forgetTrial() {
	var oldest *Trial
	for _, t := range m.trials {
		if oldest == nil || t.touched < oldest.touched {
			oldest = t
		}
	}
	var u Usage
	oldest.drain(&u)
	m.forgotten = append(m.forgotten, u.Trials...)
	delete(m.trials, oldest.id)
}

// TrialCall is one call of one side that ended.
type TrialCall struct {
	Failed   bool // the call did, or a plugin in it
	Duration time.Duration
	Bytes    int
	Tokens   int
}

// Count counts a call.
func (s *TrialSide) Count(c TrialCall) {
	s.calls.Add(1)
	failed := 0
	if c.Failed {
		s.errors.Add(1)
		failed = 1
	}
	s.series[failed].Inc()
	s.bytes.Add(uint64(max(c.Bytes, 0)))
	s.tokens.Add(uint64(max(c.Tokens, 0)))
	s.duration.Add(uint64(max(c.Duration, 0)))
	s.latency.Add(c.Duration)
}

// Comparison is what a shadow found out about one call.
type Comparison struct {
	Live, Candidate TrialCall
	Different       bool // the answers are not the same bytes
	Requests        [DifferenceCount]bool
}

// Compare counts a call that a shadow was run on.
func (t *Trial) Compare(c *Comparison) {
	t.Live.Count(c.Live)
	t.Candidate.Count(c.Candidate)
	result := resultSame
	if c.Different {
		t.different.Add(1)
		result = resultDifferent
	}
	some := false
	for i, differs := range c.Requests {
		if differs {
			t.requests[i].Add(1)
			some = true
		}
	}
	if some {
		t.anyRequest.Add(1)
		result = resultDifferent
	}
	if c.Candidate.Failed && !c.Live.Failed {
		result = resultFailed
	}
	t.compared[result].Inc()
}

// Skip counts a call that a shadow could not be run on.
func (t *Trial) Skip() {
	t.skipped.Add(1)
	t.compared[resultSkipped].Inc()
}

// Miss counts a call of a tool that the candidate does not have.
func (t *Trial) Miss() {
	t.missing.Add(1)
	t.compared[resultMissing].Inc()
}

func (s *TrialSide) drain() registry.TrialSide {
	out := registry.TrialSide{
		Calls: s.calls.Swap(0), Errors: s.errors.Swap(0), Bytes: s.bytes.Swap(0), Tokens: s.tokens.Swap(0), Duration: micros(&s.duration),
	}
	var h rollup.Histogram
	s.latency.Drain(&h)
	out.Latency = h.AppendBinary(nil)
	return out
}

func (t *Trial) drain(u *Usage) {
	n := registry.TrialCounts{
		Live: t.Live.drain(), Candidate: t.Candidate.drain(), Skipped: t.skipped.Swap(0), Different: t.different.Swap(0), Missing: t.missing.Swap(0),
	}
	r := &n.Requests
	r.Any = t.anyRequest.Swap(0)
	for i, to := range [DifferenceCount]*uint64{&r.Origin, &r.Method, &r.Path, &r.Query, &r.Headers, &r.Body} {
		*to = t.requests[i].Swap(0)
	}
	if !n.Zero() {
		u.Trials = append(u.Trials, registry.UsageTrial{Workspace: t.id.Workspace, Toolset: t.id.Toolset, Trial: t.id.Trial, TrialCounts: n})
	}
}

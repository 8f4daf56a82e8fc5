package registry

import (
	"fmt"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/rollup"
)

// Modes of a trial.
const (
	// TrialShadow runs the candidate beside the live toolset on calls that were answered;
	// no caller gets its answers and no upstream its requests.
	TrialShadow = "shadow"
	// TrialCanary serves the candidate to a share of the callers.
	TrialCanary = "canary"
)

// ReleaseTrial is a candidate that is on trial beside a live toolset: another bundle of it.
// Its zero value is none.
type ReleaseTrial struct {
	ID         string `json:"id"`
	Mode       string `json:"mode"`              // TrialShadow or TrialCanary
	Percent    int    `json:"percent,omitempty"` // of a canary: 1 to 100
	Repository string `json:"repository"`        // of the candidate's bundle
	Bundle     Digest `json:"bundle"`            // OCI manifest digest of it
}

// Running reports whether there is a candidate.
func (t *ReleaseTrial) Running() bool { return t.ID != "" }

// Candidate is the release's entry of the toolset with the candidate in place of the live
// bundle.
func (t *ReleaseToolset) Candidate() ReleaseToolset {
	out := *t
	out.Repository, out.Bundle, out.Trial = t.Trial.Repository, t.Trial.Bundle, ReleaseTrial{}
	return out
}

func (t *ReleaseTrial) validate(f *faults, at string) {
	if *t == (ReleaseTrial{}) {
		return
	}
	f.check(validID(t.ID), at+"/id", "id %.80q is not an identifier", t.ID)
	f.check(t.Mode == TrialShadow || t.Mode == TrialCanary, at+"/mode", "mode %.80q is neither shadow nor canary", t.Mode)
	f.check(t.Mode != TrialShadow || t.Percent == 0, at+"/percent", "a shadow has no share of the callers")
	f.check(t.Mode != TrialCanary || t.Percent >= 1 && t.Percent <= 100, at+"/percent", "%d %% of the callers is not between 1 and 100", t.Percent)
	f.check(ValidRepository(t.Repository), at+"/repository", "%.80q is not a repository name", t.Repository)
	f.check(t.Bundle.Valid(), at+"/bundle", "%.80q is not a sha256 digest", string(t.Bundle))
}

// MaxTrials run at a time in one installation: what gateways count of them is judged and
// reported every few seconds, and each is a toolset more in their memory.
const MaxTrials = 1000

// MaxUsageTrials of one usage report: what runs fits in one.
const MaxUsageTrials = MaxTrials

// UsageTrial is what a node counted of a trial.
type UsageTrial struct {
	Workspace string `json:"workspace"`
	Toolset   string `json:"toolset"` // its identifier
	Trial     string `json:"trial"`
	TrialCounts
}

// TrialCounts compare a candidate with what is live.
type TrialCounts struct {
	Live      TrialSide `json:"live"`
	Candidate TrialSide `json:"candidate"`
	// The rest is of a shadow. Skipped are calls that it could not be run on: it was busy,
	// or the answer was too large.
	Skipped   uint64 `json:"skipped,omitempty"`
	Different uint64 `json:"different,omitempty"` // answers that are not the same bytes
	Missing   uint64 `json:"missing,omitempty"`   // the candidate has no such tool
	// Requests that the candidate would have sent with another part than the live one did.
	Requests TrialRequests `json:"requests,omitzero"`
}

// TrialRequests count requests by what is different in them.
type TrialRequests struct {
	Any     uint64 `json:"any,omitempty"`
	Origin  uint64 `json:"origin,omitempty"`
	Method  uint64 `json:"method,omitempty"`
	Path    uint64 `json:"path,omitempty"`
	Query   uint64 `json:"query,omitempty"`
	Headers uint64 `json:"headers,omitempty"` // without credentials
	Body    uint64 `json:"body,omitempty"`
}

// TrialSide are sums over the calls of one side. Times are microseconds.
type TrialSide struct {
	Calls    uint64 `json:"calls"`
	Errors   uint64 `json:"errors,omitempty"`   // that failed, or in which a plugin did
	Bytes    uint64 `json:"bytes,omitempty"`    // of answers
	Tokens   uint64 `json:"tokens,omitempty"`   // of answers, estimated
	Duration uint64 `json:"duration,omitempty"` // of whole calls; of a shadow's sides without the upstream
	Latency  []byte `json:"latency,omitempty"`  // an encoded rollup.Histogram of the same
}

func (s *TrialSide) counters() []*uint64 {
	return []*uint64{&s.Calls, &s.Errors, &s.Bytes, &s.Tokens, &s.Duration}
}

func (s *TrialSide) add(o *TrialSide) error {
	latency, err := mergeEncoded(s.Latency, o.Latency)
	if err != nil {
		return err
	}
	s.Latency = latency
	to := s.counters()
	for i, n := range o.counters() {
		*to[i] += *n
	}
	return nil
}

func (c *TrialCounts) counters() []*uint64 {
	r := &c.Requests
	return []*uint64{&c.Skipped, &c.Different, &c.Missing, &r.Any, &r.Origin, &r.Method, &r.Path, &r.Query, &r.Headers, &r.Body}
}

// Zero reports whether nothing was counted.
func (c *TrialCounts) Zero() bool {
	if c.Live.Calls > 0 || c.Candidate.Calls > 0 || len(c.Live.Latency) > 0 || len(c.Candidate.Latency) > 0 {
		return false
	}
	for _, n := range c.counters() {
		if *n > 0 {
			return false
		}
	}
	return true
}

// Add adds the counts of o. It fails when a histogram cannot be read; c is then of no use.
func (c *TrialCounts) Add(o *TrialCounts) error {
	if err := c.Live.add(&o.Live); err != nil {
		return err
	}
	if err := c.Candidate.add(&o.Candidate); err != nil {
		return err
	}
	to := c.counters()
	for i, n := range o.counters() {
		*to[i] += *n
	}
	return nil
}

// validTrials checks names, sizes and counts.
func (r *UsageReport) validTrials() error {
	if len(r.Trials) > MaxUsageTrials {
		return problem.New(problem.TooLarge, "the usage has more than %d roll-outs", MaxUsageTrials)
	}
	for i := range r.Trials {
		t := &r.Trials[i]
		if !usageTool(t.Workspace, t.Toolset, "x") || !usageWord(t.Trial, maxIDBytes) {
			return problem.New(problem.InvalidArgument, "roll-out %d of the usage does not name one", i)
		}
		all := append(t.counters(), t.Live.counters()...)
		for _, n := range append(all, t.Candidate.counters()...) {
			if *n > MaxUsageCount {
				return problem.New(problem.InvalidArgument, "a count of roll-out %d of the usage is too large", i)
			}
		}
		for _, b := range [][]byte{t.Live.Latency, t.Candidate.Latency} {
			var h rollup.Histogram
			if err := h.MergeBinary(b); err != nil {
				return problem.New(problem.InvalidArgument, "a histogram of roll-out %d of the usage cannot be read", i).Because(err)
			}
			for _, n := range h {
				if n > MaxUsageCount {
					return problem.New(problem.InvalidArgument, "a count of roll-out %d of the usage is too large", i)
				}
			}
		}
	}
	return nil
}

// Quantile is how long the given share of the calls of a side took at most, in seconds; 0
// when there are none.
func (s *TrialSide) Quantile(q float64) (float64, error) {
	var h rollup.Histogram
	if err := h.MergeBinary(s.Latency); err != nil {
		return 0, fmt.Errorf("reading the latency of a roll-out: %w", err)
	}
	if h.Count() == 0 {
		return 0, nil
	}
	return h.Quantile(q).Seconds(), nil
}

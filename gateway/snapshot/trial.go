package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/registry"
)

// TrialInput is the candidate beside a toolset of the release.
type TrialInput struct {
	Release   registry.ReleaseTrial
	Candidate *ToolsetInput
}

// Trial is a candidate beside a live toolset. Its fields are not changed.
type Trial struct {
	registry.ReleaseTrial
	Candidate *Toolset        // of the same identifier, slug, revision and access
	Meter     *metering.Trial // nil: nothing is counted
}

// newTrial makes the candidate of a toolset. Who may enter, how often, and what is kept of
// calls is one decision for both.
func newTrial(live *Toolset, in *TrialInput, all *Input) (*Trial, error) {
	c := in.Candidate
	if c == nil || c.Bundle == nil {
		return nil, errors.New("the bundle of its candidate is missing")
	}
	ts, err := newToolset(c, all, live)
	if err != nil {
		return nil, fmt.Errorf("compiling its candidate: %w", err)
	}
	ts.Access, ts.Capture = live.Access, live.Capture
	t := &Trial{ReleaseTrial: in.Release, Candidate: ts}
	t.Meter = all.Meter.Trial(metering.TrialID{Workspace: live.Workspace(), Toolset: live.ID, Trial: t.ID, Slug: live.Slug})
	if t.Meter != nil && t.Mode == registry.TrialCanary {
		live.side, ts.side = &t.Meter.Live, &t.Meter.Candidate
	}
	return t, nil
}

// Side counts the calls of the toolset for its trial; nil: they are not.
func (ts *Toolset) Side() *metering.TrialSide { return ts.side }

// Shadow is the trial whose candidate is to be run beside the calls of the toolset; nil:
// there is none.
func (ts *Toolset) Shadow() *Trial {
	if t := ts.trial; t != nil && t.Mode == registry.TrialShadow {
		return t
	}
	return nil
}

// Canary reports whether some callers get a candidate, so that [Toolset.For] needs a caller.
func (ts *Toolset) Canary() bool {
	return ts != nil && ts.trial != nil && ts.trial.Mode == registry.TrialCanary
}

// For is the toolset that a caller gets: the candidate when the trial has drawn the caller,
// and the same at every call and on every node until the trial ends. ts may be nil.
func (ts *Toolset) For(caller string) *Toolset {
	if ts.Canary() && ts.trial.drawn(caller) {
		return ts.trial.Candidate
	}
	return ts
}

// drawn reports whether a caller is in the share of the trial. Each trial draws anew, and
// who was drawn for a share is drawn for every larger one.
func (t *Trial) drawn(caller string) bool {
	if t.Percent >= 100 {
		return true
	}
	sum := sha256.Sum256([]byte(t.ID + "\x00" + caller))
	return binary.BigEndian.Uint64(sum[:8])%10_000 < uint64(t.Percent)*100
}

// ToolOf finds the tool of an operation, whatever its name is; nil if there is none.
func (ts *Toolset) ToolOf(connector, method, path string) (*Tool, error) {
	list, err := ts.Tools()
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		if t.Binding == nil || t.Binding.Name != connector || t.Item != nil {
			continue
		}
		ready, err := t.Load()
		if err != nil {
			return nil, err
		}
		if ready.Method == method && ready.Path == path {
			return t, nil
		}
	}
	return nil, nil
}

// sameTrial reports whether the trial of the toolset is that of the input.
func (ts *Toolset) sameTrial(in *TrialInput) bool {
	if in == nil || ts.trial == nil {
		return in == nil && ts.trial == nil
	}
	return ts.trial.ReleaseTrial == in.Release
}

package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// RolloutThresholds say when a canary is worse than what is live. Zero fields are the defaults.
type RolloutThresholds struct {
	MinCalls       uint64  `json:"minCalls,omitempty" maximum:"1000000" doc:"Calls that each side needs before it is judged. Default: 50."`
	ErrorPoints    float64 `json:"errorPoints,omitempty" minimum:"0" maximum:"100" doc:"Percentage points by which its share of failed calls may be larger. Default: 5."`
	LatencyPercent float64 `json:"latencyPercent,omitempty" minimum:"0" maximum:"10000" doc:"Percent by which its 95th percentile of the duration may be longer, and by at least 20 ms. Default: 50."`
}

const (
	defaultMinCalls       = 50
	defaultErrorPoints    = 5
	defaultLatencyPercent = 50
	// leastLatency is how much longer calls must take before that is worse at all: what is
	// less is the noise of a network.
	leastLatency = 20 * time.Millisecond
	// judgedQuantile of durations is compared: a mean hides what some callers wait for.
	judgedQuantile = 0.95
	// minMinCalls is the least traffic to judge: with less, one failed call decides.
	minMinCalls = 5
)

func (t *RolloutThresholds) read() error {
	switch {
	case t.MinCalls == 0:
		t.MinCalls = defaultMinCalls
	case t.MinCalls < minMinCalls:
		return request.FieldFault("/thresholds/minCalls", "%d calls are too few to judge a canary by: at least %d", t.MinCalls, minMinCalls)
	}
	if t.ErrorPoints == 0 {
		t.ErrorPoints = defaultErrorPoints
	}
	if t.LatencyPercent == 0 {
		t.LatencyPercent = defaultLatencyPercent
	}
	return nil
}

// thresholdsOf reads those of a roll-out.
func thresholdsOf(row *store.Trial) (t RolloutThresholds, err error) {
	if err := json.Unmarshal([]byte(row.Thresholds), &t); err != nil {
		return t, fmt.Errorf("reading the thresholds of roll-out %s: %w", row.ID, err)
	}
	return t, nil
}

// worse says in which way a canary is worse than what is live; "": it is not, or there is
// too little traffic to tell. Where the live side has too few calls, because its callers are
// few or all of them were drawn, the candidate is judged by its errors alone: going back is
// safe. judged says that both were compared, or that all callers have the candidate.
func (t *RolloutThresholds) worse(c *registry.TrialCounts, percent int64) (why string, judged bool, err error) {
	if c.Candidate.Calls < t.MinCalls {
		return "", false, nil
	}
	alone := c.Live.Calls < t.MinCalls
	var faults []string
	now, was := share(&c.Candidate), share(&c.Live)
	if now-was > t.ErrorPoints {
		faults = append(faults, fmt.Sprintf("%.1f %% of its %d calls failed, and %.1f %% of %d live ones (more than %g points)", now, c.Candidate.Calls, was, c.Live.Calls, t.ErrorPoints))
	}
	if !alone {
		slow, err := c.Candidate.Quantile(judgedQuantile)
		if err != nil {
			return "", false, err
		}
		usual, err := c.Live.Quantile(judgedQuantile)
		if err != nil {
			return "", false, err
		}
		if slow-usual > leastLatency.Seconds() && slow > usual*(1+t.LatencyPercent/100) {
			faults = append(faults, fmt.Sprintf("95 %% of its calls took up to %s, and of the live ones %s (more than %g %% longer)", milliseconds(slow), milliseconds(usual), t.LatencyPercent))
		}
	}
	return strings.Join(faults, "; "), !alone || percent == 100, nil
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.0f ms", seconds*1000) }

// share is the share of failed calls, in percent.
func share(s *registry.TrialSide) float64 {
	if s.Calls == 0 {
		return 0
	}
	return 100 * float64(s.Errors) / float64(s.Calls)
}

// Run judges roll-outs until ctx ends.
func (r *Room) Run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.wake:
		}
		if err := r.Round(ctx); err != nil && ctx.Err() == nil {
			r.Log.LogAttrs(ctx, slog.LevelWarn, "roll-outs were not judged: it is tried again", slog.Any("error", err))
		}
	}
}

// Round judges every canary that runs once, while this process holds the claim on the
// database. It returns the first error and judges all.
func (r *Room) Round(ctx context.Context) error {
	if err := r.Store.Claimed(ctx); err != nil {
		return err
	}
	rows, err := r.Store.RunningTrials(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	var first error
	for i := range rows {
		row := &rows[i]
		if row.Mode != registry.TrialCanary {
			continue
		}
		err := r.judge(request.With(ctx, &request.Request{Workspace: row.WorkspaceID}), row)
		if problem.Is(err, problem.Conflict) {
			r.Log.LogAttrs(ctx, slog.LevelInfo, "roll-out goes on", slog.String("rollout", row.ID), slog.Any("error", err))
			err = nil // it was ended meanwhile, or what it is to become is not allowed now
		}
		if err != nil && first == nil {
			first = fmt.Errorf("judging roll-out %s: %w", row.ID, err)
		}
	}
	return first
}

// judge rolls a canary back that is worse, and promotes one whose time has come.
func (r *Room) judge(ctx context.Context, row *store.Trial) error {
	t, err := thresholdsOf(row)
	if err != nil {
		return err
	}
	counts, err := row.Counted()
	if err != nil {
		return err
	}
	why, judged, err := t.worse(counts, row.Percent)
	if err != nil {
		return err
	}
	ws := r.Store.Workspace(row.WorkspaceID)
	switch {
	case why != "":
		r.Log.LogAttrs(ctx, slog.LevelWarn, "the roll-out is worse than the live revision and was rolled back",
			slog.String("toolset", row.ToolsetID), slog.String("rollout", row.ID), slog.String("reason", why))
		return r.end(ctx, ws, row, store.TrialRolledBack, "toolset.rollout.rollback", EventRolledBack, why)
	case judged && !row.PromoteAt.IsZero() && !ws.Now().Before(row.PromoteAt.Time):
		return r.Promote(ctx, ws, row, "its time was over, and it was not worse than what was live")
	}
	return nil
}

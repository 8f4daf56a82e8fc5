package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

// Rollout is a roll-out as the API shows it.
type Rollout struct {
	ID              string                  `json:"id" example:"roll_01JQ8Z6J5X2V4T7N9B3C1D0E8F"`
	Mode            string                  `json:"mode" enum:"shadow,canary"`
	Percent         int64                   `json:"percent,omitempty" doc:"Share of the callers that get the candidate."`
	State           string                  `json:"state" enum:"running,promoted,rolled_back,aborted" doc:"rolled_back: it ended by itself, because the candidate was worse."`
	Reason          string                  `json:"reason,omitempty" doc:"Why it ended, or why it runs without a test."`
	Digest          string                  `json:"digest" doc:"Of the candidate."`
	LiveDigest      string                  `json:"liveDigest" doc:"Of what it is compared with."`
	LiveRevision    uint64                  `json:"liveRevision" doc:"Revision that it is compared with."`
	Revision        uint64                  `json:"revision,omitempty" doc:"That the candidate became."`
	TestRunID       string                  `json:"testRunId,omitempty" doc:"The test that it passed before."`
	Changes         []RolloutChange         `json:"changes" doc:"What the candidate changes."`
	Thresholds      *RolloutThresholds      `json:"thresholds,omitempty" doc:"Of a canary."`
	PromoteAt       time.Time               `json:"promoteAt,omitzero" doc:"When it is promoted by itself, if it is not worse then."`
	Live            RolloutSide             `json:"live" doc:"Counts of the live revision, on all nodes since the roll-out began."`
	Candidate       RolloutSide             `json:"candidate" doc:"The same of the candidate."`
	DifferenceShare float64                 `json:"differenceShare" doc:"Of a shadow: percent of the compared calls in which the answer or the request is another, or the candidate failed or has no such tool."`
	Different       uint64                  `json:"different" doc:"Of a shadow: answers that are not the same bytes."`
	Missing         uint64                  `json:"missing" doc:"Of a shadow: calls of tools that the candidate does not have."`
	Skipped         uint64                  `json:"skipped" doc:"Of a shadow: calls that it did not run on, because it was busy or they were too large."`
	Requests        *registry.TrialRequests `json:"requests,omitempty" doc:"Of a shadow: requests that would have been others, by what is different."`
	StartedAt       time.Time               `json:"startedAt"`
	StartedBy       string                  `json:"startedBy" doc:"API token or member."`
	EndedAt         time.Time               `json:"endedAt,omitzero"`
}

// RolloutSide is one side of a roll-out.
type RolloutSide struct {
	Calls        uint64  `json:"calls"`
	Errors       uint64  `json:"errors" doc:"Calls that failed, or in which a plugin did."`
	ErrorPercent float64 `json:"errorPercent"`
	MeanMs       float64 `json:"meanMs" doc:"Of whole calls; of a shadow without the upstream."`
	P95Ms        float64 `json:"p95Ms" doc:"95 % of the calls took at most this."`
	MeanBytes    float64 `json:"meanBytes" doc:"Of an answer."`
	MeanTokens   float64 `json:"meanTokens" doc:"Of an answer, estimated."`
}

func sideOf(s *registry.TrialSide) (RolloutSide, error) {
	out := RolloutSide{Calls: s.Calls, Errors: s.Errors, ErrorPercent: share(s)}
	if s.Calls > 0 {
		n := float64(s.Calls)
		out.MeanMs, out.MeanBytes, out.MeanTokens = float64(s.Duration)/n/1000, float64(s.Bytes)/n, float64(s.Tokens)/n
	}
	q, err := s.Quantile(judgedQuantile)
	out.P95Ms = q * 1000
	return out, err
}

// Show is a roll-out as the API shows it.
func Show(row *store.Trial) (Rollout, error) {
	out := Rollout{
		ID: row.ID, Mode: row.Mode, Percent: row.Percent, State: row.State, Reason: row.Reason, Digest: row.Digest, LiveDigest: row.LiveDigest,
		LiveRevision: row.LiveRevision, Revision: row.Revision, TestRunID: row.TestRunID, PromoteAt: row.PromoteAt.Time,
		StartedAt: row.StartedAt.Time, StartedBy: row.StartedBy, EndedAt: row.EndedAt.Time,
	}
	if err := json.Unmarshal([]byte(row.Changes), &out.Changes); err != nil {
		return out, fmt.Errorf("reading what roll-out %s changes: %w", row.ID, err)
	}
	if out.Changes == nil {
		out.Changes = []RolloutChange{}
	}
	c, err := row.Counted()
	if err != nil {
		return out, err
	}
	if out.Live, err = sideOf(&c.Live); err != nil {
		return out, err
	}
	if out.Candidate, err = sideOf(&c.Candidate); err != nil {
		return out, err
	}
	if row.Mode == registry.TrialCanary {
		t, err := thresholdsOf(row)
		out.Thresholds = &t
		return out, err
	}
	out.Different, out.Missing, out.Skipped, out.Requests = c.Different, c.Missing, c.Skipped, &c.Requests
	if n := c.Candidate.Calls + c.Missing; n > 0 {
		// One call may differ in both: the larger number is of calls for sure.
		out.DifferenceShare = 100 * float64(max(c.Different, c.Requests.Any)+c.Missing) / float64(n)
	}
	return out, nil
}

// RolloutList are the roll-outs of a toolset, newest first.
type RolloutList struct {
	Rollouts []Rollout `json:"rollouts"`
}

// List lists the roll-outs of a toolset.
func (r *Room) List(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (RolloutList, error) {
	out := RolloutList{Rollouts: []Rollout{}}
	r.settle(ctx)
	rows, err := ws.Trials(ctx, ts.ID)
	for i := range rows {
		one, err := Show(&rows[i])
		if err != nil {
			return out, err
		}
		out.Rollouts = append(out.Rollouts, one)
	}
	return out, err
}

// current names the roll-out that runs.
const current = "current"

// Find reads a roll-out of a toolset by its id, or the one that runs.
func (r *Room) Find(ctx context.Context, ws *store.Workspace, ts *store.Toolset, id string) (*store.Trial, error) {
	r.settle(ctx)
	if id == current {
		return r.Running(ctx, ws, ts)
	}
	return ws.Trial(ctx, ts.ID, id)
}

// settle brings the counts of this node's gateway up to date.
func (r *Room) settle(ctx context.Context) {
	if r.Settle == nil {
		return
	}
	if err := r.Settle(ctx); err != nil && ctx.Err() == nil {
		r.Log.LogAttrs(ctx, slog.LevelWarn, "the newest counts of this node are not in the answer", slog.Any("error", err))
	}
}

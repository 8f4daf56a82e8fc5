package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// States of a trial.
const (
	TrialRunning    = "running"
	TrialPromoted   = "promoted"    // its candidate became live
	TrialRolledBack = "rolled_back" // it ended by itself: the candidate was worse
	TrialAborted    = "aborted"     // somebody ended it
)

// trialRuns is written out, as in the index of running trials: SQLite compares a parameter
// with it only when it has its value, and would read and plan the statement a second time.
const trialRuns = "state = '" + TrialRunning + "'"

// maxTrialsKept of one toolset; the oldest go. A roll-out takes hours, and whoever looks
// back further has the audit log.
const maxTrialsKept = 50

// Trial is a candidate that is, or was, on trial beside a live toolset.
type Trial struct {
	bun.BaseModel `bun:"table:trials,alias:t"`
	InWorkspace
	ID              string `bun:"id,pk"` // roll_…
	ToolsetID       string `bun:"toolset_id"`
	Mode            string `bun:"mode"`       // registry.TrialShadow or TrialCanary
	Percent         int64  `bun:"percent"`    // of a canary
	Repository      string `bun:"repository"` // of the candidate's bundle
	Digest          string `bun:"digest"`     // of it
	ConnectorDigest string `bun:"connector_digest"`
	LiveDigest      string `bun:"live_digest"` // of what it is compared with
	LiveRevision    uint64 `bun:"live_revision"`
	TestRunID       string `bun:"test_run_id"` // of the passed test of the candidate; empty: it was not tested
	Changes         string `bun:"changes"`     // JSON: what differs
	Thresholds      string `bun:"thresholds"`  // JSON
	PromoteAt       Time   `bun:"promote_at"`  // zero: only by command
	State           string `bun:"state"`
	Reason          string `bun:"reason"`   // of the end; of one that was not tested, why it was started
	Revision        uint64 `bun:"revision"` // that it became; 0: none
	Counts          string `bun:"counts"`   // JSON of registry.TrialCounts
	StartedBy       string `bun:"started_by"`
	StartedAt       Time   `bun:"started_at"`
	EndedAt         Time   `bun:"ended_at"` // zero: it runs
}

// Counted reads what nodes counted.
func (t *Trial) Counted() (*registry.TrialCounts, error) {
	c := new(registry.TrialCounts)
	if err := json.Unmarshal([]byte(t.Counts), c); err != nil {
		return nil, fmt.Errorf("reading the counts of roll-out %s: %w", t.ID, err)
	}
	return c, nil
}

func (t *Trial) release() registry.ReleaseTrial {
	return registry.ReleaseTrial{ID: t.ID, Mode: t.Mode, Percent: int(t.Percent), Repository: t.Repository, Bundle: registry.Digest(t.Digest)}
}

// Trials lists the trials of a toolset, newest first.
func (c *scope) Trials(ctx context.Context, toolset string) ([]Trial, error) {
	var rows []Trial
	if err := c.from(&rows).Where("toolset_id = ?", toolset).Order("started_at DESC", "id DESC").Limit(maxTrialsKept).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing the roll-outs of %s: %w", toolset, err)
	}
	return rows, nil
}

// Trial reads a trial of a toolset. It fails with [problem.NotFound].
func (c *scope) Trial(ctx context.Context, toolset, id string) (*Trial, error) {
	row := new(Trial)
	return row, table.Found(c.from(row).Where("toolset_id = ?", toolset).Where("id = ?", id).Scan(ctx), "roll-out", id)
}

// RunningTrial reads the trial of a toolset that runs; nil: none does.
func (c *scope) RunningTrial(ctx context.Context, toolset string) (*Trial, error) {
	row := new(Trial)
	err := c.from(row).Where("toolset_id = ?", toolset).Where(trialRuns).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // nil: none
	}
	if err != nil {
		return nil, fmt.Errorf("reading the roll-out of %s: %w", toolset, err)
	}
	return row, nil
}

// RolledBackTrials lists the trials that ended by themselves after a time because their
// candidate was worse, of toolsets that had no other since.
func (c *scope) RolledBackTrials(ctx context.Context, since time.Time) ([]Trial, error) {
	var rows []Trial
	err := c.from(&rows).Where("state = '"+TrialRolledBack+"'").Where("ended_at > ?", Time{Time: since}).
		Where("NOT EXISTS (SELECT 1 FROM trials AS n WHERE n.workspace_id = t.workspace_id AND n.toolset_id = t.toolset_id AND " +
			"(n.started_at > t.started_at OR n.started_at = t.started_at AND n.id > t.id))").Order("id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing roll-outs that were rolled back: %w", err)
	}
	return rows, nil
}

// AddTrial writes a trial that begins and gives it its id. It fails with
// [problem.Conflict] when the toolset has one that runs, or [registry.MaxTrials] run.
func (t *Tx) AddTrial(ctx context.Context, row *Trial) error {
	running, err := t.tx.NewSelect().Model((*Trial)(nil)).Where(trialRuns).Count(ctx)
	if err != nil {
		return fmt.Errorf("counting roll-outs: %w", err)
	}
	if running >= registry.MaxTrials {
		return problem.New(problem.Conflict, "%d roll-outs run in this installation already, and gateways count no more", running).
			Fix("promote or abort one of another toolset first: sluice toolset rollout promote TOOLSET")
	}
	row.ID, row.State, row.StartedAt, row.Counts = t.NewID("roll"), TrialRunning, Time{Time: t.Now()}, "{}"
	switch _, err := t.insert(row).Exec(ctx); {
	case isUnique(err):
		return problem.New(problem.Conflict, "another roll-out of this toolset runs").Fix("promote or abort it first")
	case err != nil:
		return fmt.Errorf("writing roll-out %s: %w", row.ID, err)
	}
	rows, err := t.Trials(ctx, row.ToolsetID)
	if err != nil {
		return err
	}
	if len(rows) < maxTrialsKept {
		return nil
	}
	last := &rows[len(rows)-1]
	_, err = t.deleteOf((*Trial)(nil)).Where("toolset_id = ?", row.ToolsetID).Where("state <> ?", TrialRunning).Where("started_at < ?", last.StartedAt).Exec(ctx)
	if err != nil {
		return fmt.Errorf("removing old roll-outs of %s: %w", row.ToolsetID, err)
	}
	return nil
}

// EndTrial ends a trial that runs, with a state and why; revision is what it became. It
// fails with [problem.Conflict] when it has ended.
func (t *Tx) EndTrial(ctx context.Context, row *Trial, state, reason string, revision uint64) error {
	now := Time{Time: t.Now()}
	n, err := affected(t.updateOf((*Trial)(nil)).Set("state = ?", state).Set("reason = ?", reason).Set("revision = ?", revision).Set("ended_at = ?", now).
		Where("id = ?", row.ID).Where(trialRuns).Exec(ctx))
	if err != nil {
		return fmt.Errorf("ending roll-out %s: %w", row.ID, err)
	}
	if n == 0 {
		return problem.New(problem.Conflict, "roll-out %s has ended", row.ID).Because(ErrStale)
	}
	row.State, row.Reason, row.Revision, row.EndedAt = state, reason, revision, now
	return nil
}

// ResumeTrial takes back that a trial ended, for a release that could not be made.
func (t *Tx) ResumeTrial(ctx context.Context, row *Trial) error {
	_, err := t.updateOf((*Trial)(nil)).Set("state = ?", TrialRunning).Set("reason = ?", "").Set("revision = 0").Set("ended_at = ?", Time{}).
		Where("id = ?", row.ID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("resuming roll-out %s: %w", row.ID, err)
	}
	row.State, row.Reason, row.Revision, row.EndedAt = TrialRunning, "", 0, Time{}
	return nil
}

// DropTrial removes a trial that never began: its release could not be made.
func (t *Tx) DropTrial(ctx context.Context, id string) error {
	if _, err := t.deleteOf((*Trial)(nil)).Where("id = ?", id).Exec(ctx); err != nil {
		return fmt.Errorf("removing roll-out %s: %w", id, err)
	}
	return nil
}

// RunningTrials lists the trials of every workspace that run.
func (s *Store) RunningTrials(ctx context.Context) ([]Trial, error) {
	return runningTrials(ctx, s.read)
}

func runningTrials(ctx context.Context, db bun.IDB) ([]Trial, error) {
	var rows []Trial
	if err := db.NewSelect().Model(&rows).Where(trialRuns).Order("workspace_id", "id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing roll-outs: %w", err)
	}
	return rows, nil
}

// trialBundles are the bundles of candidates.
func trialBundles(ctx context.Context, db bun.IDB) ([]Bundle, error) {
	rows, err := runningTrials(ctx, db)
	out := make([]Bundle, len(rows))
	for i := range rows {
		out[i] = Bundle{rows[i].Repository, rows[i].Digest}
	}
	return out, err
}

// addTrials adds what a report says of trials, also of those that ended meanwhile. The
// workspaces are locked: counts are read and written.
func addTrials(ctx context.Context, tx bun.Tx, r *registry.UsageReport) error {
	for i := range r.Trials {
		n := &r.Trials[i]
		row := new(Trial)
		err := tx.NewSelect().Model(row).Where("workspace_id = ?", n.Workspace).Where("id = ?", n.Trial).Where("toolset_id = ?", n.Toolset).Scan(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			continue // its toolset is gone, or it is long over
		}
		if err != nil {
			return err
		}
		sum, err := row.Counted()
		if err != nil {
			return err
		}
		if err := sum.Add(&n.TrialCounts); err != nil {
			return err
		}
		if _, err := tx.NewUpdate().Model((*Trial)(nil)).ModelTableExpr("trials").Set("counts = ?", JSON(sum)).
			Where("workspace_id = ?", n.Workspace).Where("id = ?", n.Trial).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// EdgesWithoutTrials names the edges that serve toolsets of a workspace, reported since a
// time and said nothing of reading releases with trials.
func (s *Store) EdgesWithoutTrials(ctx context.Context, workspace string, since time.Time) ([]string, error) {
	var rows []Edge
	err := s.read.NewSelect().Model(&rows).Where("revoked_at = ?", Time{}).Where("seen_at > ?", Time{Time: since}).
		Where("all_workspaces = ? OR workspace_id = ?", true, workspace).Order("name").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing edges: %w", err)
	}
	var out []string
	for i := range rows {
		var st registry.EdgeStatus
		if rows[i].Status == "" {
			continue // it enrolled, and has no release yet
		}
		if err := json.Unmarshal([]byte(rows[i].Status), &st); err != nil {
			return nil, fmt.Errorf("reading the status of edge %s: %w", rows[i].Name, err)
		}
		if !st.Trials {
			out = append(out, rows[i].Name)
		}
	}
	return out, nil
}

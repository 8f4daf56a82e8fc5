package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/usage"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// The usage of a workspace, which package usage keeps. [Workspace] and [Tx] have the
// methods of its reader.
type (
	// Call is one call of a tool.
	Call = usage.Call
	// CallFilter says which calls are wanted.
	CallFilter = usage.CallFilter
	// CallerUsage is the usage of a caller at a tool, or of all tools of a toolset.
	CallerUsage = usage.CallerUsage
	// MinuteSeries is the usage of a tool in one minute that ended in one way.
	MinuteSeries = usage.MinuteSeries
	// UsageCause counts failed calls by cause.
	UsageCause = usage.Cause
	// UsageGroup says what the rows of a usage query are divided by, besides time.
	UsageGroup = usage.Group
	// UsagePoint is the usage of a group in a step.
	UsagePoint = usage.Point
	// UsageQuery asks for usage of a workspace.
	UsageQuery = usage.Query
	// UsageSample is a failed call that was kept for people to read.
	UsageSample = usage.Sample
	// UsageTotal sums up the usage of a tool.
	UsageTotal = usage.Total
)

// Bounds and ages of usage; see package usage.
const (
	CallerOther        = usage.CallerOther
	DefaultCallLogAge  = usage.DefaultCallLogAge
	DefaultCallLogRows = usage.DefaultCallLogRows
	ScriptRunAge       = usage.ScriptRunAge
	UsageHourAge       = usage.HourAge
)

// RunRecord is what the run of a script is sealed for.
func RunRecord(workspace, toolset, script string) secrets.Record {
	return usage.RunRecord(workspace, toolset, script)
}

// lockUsage makes the writers of one workspace's usage run one after the other; they
// read a histogram and write the sum.
const lockUsage = `SELECT pg_advisory_xact_lock(hashtextextended('sluice usage ' || ?, 0))`

// ApplyUsage adds a report of a node to the minutes and hours, once: it reports
// false for one that was applied before or is older than minutes are kept. The
// report must be valid, and its workspaces be those the node may report for.
func (s *Store) ApplyUsage(ctx context.Context, node string, r *registry.UsageReport) (applied bool, err error) {
	if time.Unix(r.Minute, 0).Before(s.now().Add(-registry.UsageMinuteAge)) {
		return false, nil
	}
	tx, err := s.write.BeginTx(ctx, &sql.TxOptions{})
	if err != nil {
		return false, fmt.Errorf("beginning a transaction: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit this does nothing
	if err := s.lockReport(ctx, tx, node, r); err != nil {
		return false, err
	}
	if fresh, err := s.usage.Add(ctx, tx, node, r); err != nil || !fresh {
		return false, err
	}
	if err := s.addFound(ctx, tx, r); err != nil {
		return false, fmt.Errorf("adding what node %s learned: %w", node, err)
	}
	if err := addTrials(ctx, tx, r); err != nil {
		return false, fmt.Errorf("adding what node %s counted of roll-outs: %w", node, err)
	}
	if err := tx.Commit(); err != nil {
		return false, fmt.Errorf("committing: %w", err)
	}
	return true, nil
}

// lockReport makes the writers of a node's reports and of each workspace's usage run one
// after the other, as on SQLite.
func (s *Store) lockReport(ctx context.Context, tx bun.Tx, node string, r *registry.UsageReport) error {
	if !s.postgres {
		return nil
	}
	for _, name := range append([]string{"usage node " + node}, usage.Workspaces(r)...) {
		if _, err := tx.ExecContext(ctx, lockUsage, name); err != nil {
			return fmt.Errorf("waiting for other writers: %w", err)
		}
	}
	return s.fence(ctx, tx)
}

// RewrapRuns puts the runs of scripts that are kept under the current key-encryption key and
// returns how many it changed. One whose key is gone is removed.
func (t *Tx) RewrapRuns(ctx context.Context, ring *secrets.Keyring) (int, error) {
	return usage.RewrapRuns(ctx, t.tx, t.id, ring)
}

// sweepUsage removes usage that is past its time in every workspace.
func (s *Store) sweepUsage(ctx context.Context) error {
	ids, err := s.Workspaces(ctx)
	if err != nil {
		return err
	}
	return s.usage.Sweep(ctx, s.write, ids)
}

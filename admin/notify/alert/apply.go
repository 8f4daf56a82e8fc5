package alert

import (
	"context"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/store"
)

// flapWindow is how long after an alert was resolved the same cause must stay longer to
// be reported again.
const flapWindow = 10 * time.Minute

// flapHold is how long.
const flapHold = time.Minute

// condition is something that is wrong now.
type condition struct {
	key      string // of its cause: one alert
	kind     string
	severity string
	stage    string // of a reminder: each is reported
	toolset  string // identifier
	title    string
	details  Details
	since    time.Time     // when it began; zero: now
	hold     time.Duration // how long it must be there before it is reported
	linger   time.Duration // how long it must be gone before it is resolved
}

// open is the open alerts of a workspace by key.
type open map[string]*store.Alert

func openOf(rows []store.Alert) open {
	out := make(open, len(rows))
	for i := range rows {
		out[rows[i].Key] = &rows[i]
	}
	return out
}

// apply brings the alerts of some kinds to what is wrong now, and writes what is to be
// notified of it, in the transaction. covers says of which kinds the conditions are all there
// are: an alert of one of them without a condition has lost its cause.
func apply(ctx context.Context, tx *store.Tx, covers func(kind string) bool, conditions []condition) (told bool, err error) {
	rows, err := tx.OpenAlerts(ctx)
	if err != nil {
		return false, err
	}
	have, seen := openOf(rows), map[string]bool{}
	for i := range conditions {
		c := &conditions[i]
		if seen[c.key] {
			continue
		}
		seen[c.key] = true
		did, err := there(ctx, tx, have[c.key], c)
		if err != nil {
			return told, err
		}
		told = told || did
	}
	for key, row := range have {
		if seen[key] || !covers(row.Kind) {
			continue
		}
		did, err := gone(ctx, tx, row)
		if err != nil {
			return told, err
		}
		told = told || did
	}
	return told, nil
}

// there is what becomes of the alert of a condition; row is nil when there is none.
func there(ctx context.Context, tx *store.Tx, row *store.Alert, c *condition) (told bool, err error) {
	now := tx.Now()
	if row == nil {
		row = &store.Alert{Key: c.key, Kind: c.kind, ToolsetID: c.toolset, State: Pending, Since: store.Time{Time: c.since}}
		if c.since.IsZero() {
			row.Since = store.Time{Time: now}
		}
		set(row, c)
		if err := tx.AddAlert(ctx, row); err != nil {
			return false, err
		}
	}
	before := *row
	set(row, c)
	row.AbsentAt = store.Time{}
	kind := ""
	switch {
	case row.State == Pending:
		hold := c.hold
		last, err := tx.LastResolved(ctx, row.Key)
		if err != nil {
			return false, err
		}
		if last != nil && row.Since.Sub(last.ResolvedAt.Time) < flapWindow {
			hold = max(hold, flapHold)
		}
		if now.Sub(row.Since.Time) >= hold {
			row.State, row.FiredAt, kind = Firing, store.Time{Time: now}, TypeFired
		}
	case row.State == Snoozed && !now.Before(row.SnoozedUntil.Time):
		row.State, row.SnoozedUntil, kind = Firing, store.Time{}, TypeFired
	case before.Stage != row.Stage, notify.Worse(row.Severity, before.Severity):
		row.State, row.SnoozedUntil, kind = Firing, store.Time{}, TypeChanged
	}
	if *row == before {
		return false, nil
	}
	if err := tx.SaveAlert(ctx, row); err != nil {
		return false, err
	}
	return tell(ctx, tx, kind, row)
}

// set takes over what a condition says.
func set(row *store.Alert, c *condition) {
	row.Severity, row.Stage, row.Title = c.severity, c.stage, c.title
	row.Document = store.JSON(c.details)
	if row.Linger = int64(c.linger / time.Second); c.kind != "" {
		row.Kind = c.kind
	}
}

// gone is what becomes of an alert whose cause is not seen any more.
func gone(ctx context.Context, tx *store.Tx, row *store.Alert) (told bool, err error) {
	now := tx.Now()
	if row.State == Pending {
		return false, tx.DeleteAlert(ctx, row.ID)
	}
	kind := ""
	before := *row
	if row.AbsentAt.IsZero() {
		row.AbsentAt = store.Time{Time: now}
	}
	if now.Sub(row.AbsentAt.Time) >= time.Duration(row.Linger)*time.Second {
		row.State, row.ResolvedAt, kind = Resolved, store.Time{Time: now}, TypeResolved
	}
	if *row == before {
		return false, nil
	}
	if err := tx.SaveAlert(ctx, row); err != nil {
		return false, err
	}
	return tell(ctx, tx, kind, row)
}

// tell writes a notice; kind "": there is nothing to tell.
func tell(ctx context.Context, tx *store.Tx, kind string, row *store.Alert) (bool, error) {
	if kind == "" {
		return false, nil
	}
	row.WorkspaceID = tx.ID()
	n, err := noticeOf(kind, row)
	if err != nil {
		return false, err
	}
	return true, notify.Add(ctx, tx, n)
}

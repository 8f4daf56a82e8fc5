package alert

import (
	"context"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// maxSnooze is the longest an alert can be snoozed.
const maxSnooze = 30 * 24 * time.Hour

// Acknowledge says that somebody works on an alert: it is not reported again until it is
// worse or over.
func (r *Room) Acknowledge(ctx context.Context, ws *store.Workspace, id, note string) (*store.Alert, error) {
	return handle(ctx, ws, id, "alert.acknowledge", func(row *store.Alert, _ time.Time) error {
		row.State, row.SnoozedUntil, row.Note = Acknowledged, store.Time{}, note
		return nil
	})
}

// Snooze keeps an alert quiet for a time. It is reported again when that is over and its
// cause is still there.
func (r *Room) Snooze(ctx context.Context, ws *store.Workspace, id, note string, d time.Duration) (*store.Alert, error) {
	if d <= 0 || d > maxSnooze {
		return nil, request.FieldFault("/seconds", "an alert is snoozed for up to %d days", maxSnooze/(24*time.Hour))
	}
	return handle(ctx, ws, id, "alert.snooze", func(row *store.Alert, now time.Time) error {
		row.State, row.SnoozedUntil, row.Note = Snoozed, store.Time{Time: now.Add(d)}, note
		return nil
	})
}

func handle(ctx context.Context, ws *store.Workspace, id, action string, change func(*store.Alert, time.Time) error) (*store.Alert, error) {
	var row *store.Alert
	err := ws.Update(ctx, func(tx *store.Tx) (err error) {
		if row, err = tx.Alert(ctx, id); err != nil {
			return err
		}
		if !row.ResolvedAt.IsZero() {
			return problem.New(problem.Conflict, "the alert was resolved at %s", row.ResolvedAt.Format(time.RFC3339))
		}
		before := row.State
		if err := change(row, tx.Now()); err != nil {
			return err
		}
		row.HandledBy, row.HandledAt = request.Of(ctx).ActorID(), store.Time{Time: tx.Now()}
		if err := tx.SaveAlert(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, action, row.ID)
		rec.Before, rec.After, rec.Reason = store.JSON(map[string]string{"state": before}), store.JSON(map[string]string{"state": row.State}), row.Note
		return tx.Audit(ctx, rec)
	})
	return row, err
}

// TypeTest is the type of the notice that shows what becomes of an alert of a kind.
const TypeTest = "alert.test"

// Test tells the channels of an alert of a kind and severity that does not exist, to see
// who is told.
func (r *Room) Test(ctx context.Context, ws *store.Workspace, kind, severity string) error {
	err := ws.Update(ctx, func(tx *store.Tx) error {
		n := &notify.Notice{
			Type: TypeTest, Subject: kind, Severity: severity, Title: "This is a test: an alert " + kind + " would be reported here",
			Lines: []notify.Line{{Name: "Workspace", Value: ws.ID()}}, Data: map[string]string{"workspace": ws.ID(), "kind": kind},
		}
		if err := notify.Add(ctx, tx, n); err != nil {
			return err
		}
		return tx.Audit(ctx, request.Audit(ctx, "alert.test", kind))
	})
	if err == nil && r.Told != nil {
		r.Told()
	}
	return err
}

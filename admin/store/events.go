package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
)

// eventAge is how long events, resolved alerts and deliveries that ended are kept.
const eventAge = 90 * 24 * time.Hour

// Event is something that happened and that people may want to know. It is written
// in the transaction of what happened, and stays in the outbox until [Tx.RouteEvent] gave
// it to the channels of its workspace.
type Event struct {
	bun.BaseModel `bun:"table:events,alias:e"`
	InWorkspace
	Seq       uint64 `bun:"seq,pk"` // 1, 2, … in its workspace
	ID        string `bun:"id"`     // evt_…
	At        Time   `bun:"at"`
	Type      string `bun:"type"`       // alert.fired, alert.resolved …
	Subject   string `bun:"subject"`    // what it is routed by: the kind of an alert, or the type
	Severity  string `bun:"severity"`   // info, warning, critical
	ToolsetID string `bun:"toolset_id"` // empty: of no toolset
	AlertID   string `bun:"alert_id"`   // empty: of no alert
	ChannelID string `bun:"channel_id"` // the only channel that gets it; empty: by their routes
	Document  string `bun:"document"`   // JSON of what is said of it; never a secret
	RoutedAt  Time   `bun:"routed_at"`  // zero: not given to the channels yet
}

// AddEvent writes an event into the outbox. Seq, ID and At are set.
func (t *Tx) AddEvent(ctx context.Context, row *Event) error {
	last := new(Event)
	err := t.from(last).Column("seq").Order("seq DESC").Limit(1).Scan(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("reading the events: %w", err)
	}
	row.Seq, row.ID, row.At, row.RoutedAt = last.Seq+1, t.NewID("evt"), Time{Time: t.Now()}, Time{}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("writing event %s: %w", row.Type, err)
	}
	return nil
}

// Outbox lists events that no channel was given yet, in their order.
func (c *scope) Outbox(ctx context.Context, limit int) ([]Event, error) {
	var rows []Event
	if err := c.from(&rows).Where("routed_at = 0").Order("seq").Limit(Page{Limit: limit}.Size()).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading the outbox: %w", err)
	}
	return rows, nil
}

// RouteEvent takes an event out of the outbox and writes its deliveries. It reports false
// when that was done before.
func (t *Tx) RouteEvent(ctx context.Context, ev *Event, to []Delivery) (bool, error) {
	n, err := affected(t.updateOf((*Event)(nil)).Set("routed_at = ?", Time{Time: t.Now()}).Where("seq = ?", ev.Seq).Where("routed_at = 0").Exec(ctx))
	if err != nil || n == 0 {
		return false, err
	}
	for i := range to {
		d := &to[i]
		d.EventSeq, d.AlertID, d.Type = ev.Seq, ev.AlertID, ev.Type
		if err := t.AddDelivery(ctx, d); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Events lists events, newest first; of one alert when alert is not empty.
func (c *scope) Events(ctx context.Context, alert string, p Page) ([]Event, string, error) {
	var rows []Event
	q := c.from(&rows)
	if alert != "" {
		q = q.Where("alert_id = ?", alert)
	}
	return table.Read(ctx, c.db, q, &rows, EventList, p, "events")
}

// EventAt reads an event by its number. It fails with [problem.NotFound].
func (c *scope) EventAt(ctx context.Context, seq uint64) (*Event, error) {
	row := new(Event)
	return row, table.Found(c.from(row).Where("seq = ?", seq).Scan(ctx), "event", fmt.Sprint(seq))
}

// sweepEvents removes what is past its time; what is still to be delivered stays.
func (s *Store) sweepEvents(ctx context.Context) error {
	before := Time{Time: s.now().Add(-eventAge)}
	for _, q := range []*bun.DeleteQuery{
		s.write.NewDelete().Model((*Delivery)(nil)).Where("ended_at > 0 AND ended_at < ?", before),
		s.write.NewDelete().Model((*Event)(nil)).Where("at < ?", before).Where("routed_at > 0").
			// The newest stays, so that no number is given twice.
			Where("seq < (SELECT MAX(x.seq) FROM events AS x WHERE x.workspace_id = e.workspace_id)").
			Where("NOT EXISTS (SELECT 1 FROM deliveries AS d WHERE d.workspace_id = e.workspace_id AND d.event_seq = e.seq)"),
		s.write.NewDelete().Model((*Alert)(nil)).Where("resolved_at > 0 AND resolved_at < ?", before),
	} {
		if _, err := q.Exec(ctx); err != nil {
			return fmt.Errorf("sweeping events: %w", err)
		}
	}
	return nil
}

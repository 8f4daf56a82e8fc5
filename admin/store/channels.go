package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Channel is a way to tell people or programs of events. Sealed is opened by the keyring
// for [Channel.Record].
type Channel struct {
	bun.BaseModel `bun:"table:channels"`
	InWorkspace
	ID            string `bun:"id,pk"` // chan_…
	Version       uint64 `bun:"version"`
	Name          string `bun:"name"` // unique in the workspace
	Kind          string `bun:"kind"`
	Settings      string `bun:"settings"` // JSON: what is no secret; its form is package notify's
	SecretVersion uint64 `bun:"secret_version"`
	Sealed        []byte `bun:"sealed"`   // its secrets as JSON, sealed
	Disabled      string `bun:"disabled"` // why nothing is sent to it; empty: it is in use
	CreatedAt     Time   `bun:"created_at"`
	UpdatedAt     Time   `bun:"updated_at"`
}

// Record is what Sealed is sealed for.
func (c *Channel) Record() secrets.Record {
	return secrets.Record{Key: "workspaces/" + c.WorkspaceID + "/channels/" + c.ID, Version: c.SecretVersion}
}

func (c *Channel) sealed() *[]byte { return &c.Sealed }

// Channels lists channels by their id.
func (c *scope) Channels(ctx context.Context, p Page) ([]Channel, string, error) {
	var rows []Channel
	return table.Read(ctx, c.db, c.from(&rows), &rows, ChannelList, p, "channels")
}

// Channel reads a channel by id or name. It fails with [problem.NotFound].
func (c *scope) Channel(ctx context.Context, id string) (*Channel, error) {
	row := new(Channel)
	err := c.from(row).Where("id = ? OR name = ?", id, id).OrderExpr("CASE WHEN id = ? THEN 0 ELSE 1 END", id).Limit(1).Scan(ctx)
	return row, c.found(ctx, err, (*Channel)(nil), "name", "channel", id)
}

// AddChannel writes a new channel, whose id is set. It fails with [problem.Conflict] when
// another has its name.
func (t *Tx) AddChannel(ctx context.Context, row *Channel) error {
	row.Version, row.CreatedAt, row.UpdatedAt = 1, Time{Time: t.Now()}, Time{Time: t.Now()}
	if row.Sealed == nil {
		row.Sealed = []byte{}
	}
	if _, err := t.insert(row).Exec(ctx); isUnique(err) {
		return channelNamed(row.Name)
	} else if err != nil {
		return fmt.Errorf("writing channel %s: %w", row.Name, err)
	}
	return nil
}

func channelNamed(name string) error {
	return problem.New(problem.Conflict, "there is a channel %.80q already", name).Fix("choose another name, or change that one")
}

// SaveChannel writes a channel that was read before. It fails with [ErrStale] when it was
// changed meanwhile, and with [problem.Conflict] when another has its name.
func (t *Tx) SaveChannel(ctx context.Context, row *Channel) error {
	was := row.Version
	row.Version, row.UpdatedAt = was+1, Time{Time: t.Now()}
	n, err := affected(t.updateOf(row).ExcludeColumn("workspace_id", "id", "created_at").Where("id = ?", row.ID).Where("version = ?", was).Exec(ctx))
	switch {
	case isUnique(err):
		return channelNamed(row.Name)
	case err == nil && n == 0:
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("writing channel %s: %w", row.ID, err)
	}
	return nil
}

// DeleteChannel removes a channel with its deliveries. It fails with [problem.NotFound].
func (t *Tx) DeleteChannel(ctx context.Context, id string) error {
	n, err := affected(t.deleteOf((*Channel)(nil)).Where("id = ?", id).Exec(ctx))
	if err == nil && n == 0 {
		err = problem.New(problem.NotFound, "there is no channel %.80q in this workspace", id)
	}
	if err != nil {
		return fmt.Errorf("deleting channel %s: %w", id, err)
	}
	return nil
}

// States of a delivery.
const (
	DeliveryPending   = "pending"   // it waits for its first attempt, or for the next
	DeliveryDelivered = "delivered" // the channel took it
	DeliveryDead      = "dead"      // no attempt is left; it can be delivered again by hand
	DeliveryDigested  = "digested"  // it was part of a digest, which is another delivery
)

// Delivery is one event on its way to one channel.
type Delivery struct {
	bun.BaseModel `bun:"table:deliveries,alias:d"`
	InWorkspace
	ID        string `bun:"id,pk"` // msg_…: of the message, the same in every attempt
	ChannelID string `bun:"channel_id"`
	Channel   string `bun:"channel_name,scanonly"` // its name; where the delivery was listed or read
	EventSeq  uint64 `bun:"event_seq"`
	AlertID   string `bun:"alert_id"` // messages of one alert arrive in its order; empty: in any
	Type      string `bun:"type"`
	State     string `bun:"state"`
	Attempts  int64  `bun:"attempts"`
	NextAt    Time   `bun:"next_at"`   // of the next attempt
	Status    int    `bun:"status"`    // HTTP status of the last answer; 0: there was none
	Fault     string `bun:"fault"`     // of the last attempt; empty: it worked
	Log       string `bun:"log"`       // JSON: the last attempts
	Digest    bool   `bun:"digest"`    // while it is pending: it waits for the next digest
	DigestID  string `bun:"digest_id"` // the digest that it was part of; empty: of none
	CreatedAt Time   `bun:"created_at"`
	EndedAt   Time   `bun:"ended_at"` // zero: it is pending
}

// AddDelivery writes a delivery that is due at once, or when its NextAt is.
func (t *Tx) AddDelivery(ctx context.Context, row *Delivery) error {
	row.ID, row.State, row.CreatedAt, row.Log = t.NewID("msg"), DeliveryPending, Time{Time: t.Now()}, "[]"
	if row.NextAt.Before(t.Now()) {
		row.NextAt = Time{Time: t.Now()}
	}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("writing a delivery to %s: %w", row.ChannelID, err)
	}
	return nil
}

// DueDeliveries lists what is to be sent to a channel now, in the order of its events,
// without what another message of the same alert must come before and without what is part
// of a digest.
func (c *scope) DueDeliveries(ctx context.Context, channel string, now Time, limit int) ([]Delivery, error) {
	var rows []Delivery
	err := c.db.NewSelect().Model(&rows).Where("d.workspace_id = ?", c.id).Where("d.channel_id = ?", channel).Where("d.state = 'pending'").
		Where("d.next_at <= ?", now).Where("d.digest = ?", false).
		Where("(d.alert_id = '' OR NOT EXISTS (SELECT 1 FROM deliveries AS o WHERE o.workspace_id = d.workspace_id AND o.channel_id = d.channel_id "+
			"AND o.alert_id = d.alert_id AND o.state = 'pending' AND o.event_seq < d.event_seq))").
		Order("d.event_seq", "d.id").Limit(Page{Limit: limit}.Size()).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing what is to be delivered: %w", err)
	}
	return rows, nil
}

// DueDigest lists what the digest of a channel that is due now is made of, in the order of
// its events.
func (c *scope) DueDigest(ctx context.Context, channel string, now Time, limit int) ([]Delivery, error) {
	var rows []Delivery
	err := c.from(&rows).Where("d.channel_id = ?", channel).Where("d.state = 'pending'").Where("d.digest = ?", true).
		Where("d.next_at <= ?", now).Order("d.event_seq", "d.id").Limit(Page{Limit: limit}.Size()).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing what a digest is made of: %w", err)
	}
	return rows, nil
}

// EndDigest ends the deliveries that became part of a digest. It fails with [ErrStale] when
// one of them was not waiting for it any more.
func (t *Tx) EndDigest(ctx context.Context, rows []Delivery, digest string) error {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	n, err := affected(t.updateOf((*Delivery)(nil)).Set("state = ?", DeliveryDigested).Set("digest_id = ?", digest).Set("ended_at = ?", Time{Time: t.Now()}).
		Where("id IN (?)", bun.List(ids)).Where("state = 'pending'").Where("digest = ?", true).Exec(ctx))
	if err == nil && n != int64(len(rows)) {
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("writing what digest %s is made of: %w", digest, err)
	}
	return nil
}

// LeaveDigest sends a delivery that waits for a digest by itself.
func (t *Tx) LeaveDigest(ctx context.Context, id string) error {
	if _, err := t.updateOf((*Delivery)(nil)).Set("digest = ?", false).Where("id = ?", id).Where("state = 'pending'").Exec(ctx); err != nil {
		return fmt.Errorf("writing delivery %s: %w", id, err)
	}
	return nil
}

// MoveDigest changes when the next digest of a channel is due.
func (t *Tx) MoveDigest(ctx context.Context, channel string, at Time) error {
	_, err := t.updateOf((*Delivery)(nil)).Set("next_at = ?", at).Where("channel_id = ?", channel).Where("state = 'pending'").Where("digest = ?", true).Exec(ctx)
	if err != nil {
		return fmt.Errorf("writing deliveries: %w", err)
	}
	return nil
}

// HastenDeliveries makes what waits for its first attempt of an alert due now, also what
// waits for a digest.
func (t *Tx) HastenDeliveries(ctx context.Context, alert string) error {
	_, err := t.tx.NewUpdate().Model((*Delivery)(nil)).Set("next_at = ?", Time{Time: t.Now()}).Set("digest = ?", false).Where("workspace_id = ?", t.id).Where("alert_id = ?", alert).
		Where("state = 'pending'").Where("attempts = 0").Where("next_at > ?", Time{Time: t.Now()}).Exec(ctx)
	if err != nil {
		return fmt.Errorf("writing deliveries: %w", err)
	}
	return nil
}

// NextDelivery is when the earliest pending delivery of the store is due, in any workspace;
// zero: none is pending.
func (s *Store) NextDelivery(ctx context.Context) (Time, error) {
	var at int64
	err := s.read.NewSelect().Model((*Delivery)(nil)).ColumnExpr("COALESCE(MIN(next_at), 0)").Where("state = 'pending'").Scan(ctx, &at)
	if err != nil {
		return Time{}, fmt.Errorf("reading what is to be delivered: %w", err)
	}
	var t Time
	return t, t.Scan(at)
}

// SaveDelivery writes the outcome of an attempt of a delivery that was pending. It reports
// false when it was not any more.
func (t *Tx) SaveDelivery(ctx context.Context, row *Delivery) (bool, error) {
	n, err := affected(t.updateOf(row).Column("state", "attempts", "next_at", "status", "fault", "log", "ended_at").
		Where("id = ?", row.ID).Where("state = 'pending'").Exec(ctx))
	if err != nil {
		return false, fmt.Errorf("writing delivery %s: %w", row.ID, err)
	}
	return n > 0, nil
}

// ReviveDelivery makes a dead delivery pending again, under its own id. It reports false
// when it is not dead.
func (t *Tx) ReviveDelivery(ctx context.Context, id string) (bool, error) {
	n, err := affected(t.updateOf((*Delivery)(nil)).Set("state = 'pending'").Set("attempts = 0").Set("next_at = ?", Time{Time: t.Now()}).Set("ended_at = 0").
		Where("id = ?", id).Where("state = 'dead'").Exec(ctx))
	if err != nil {
		return false, fmt.Errorf("writing delivery %s: %w", id, err)
	}
	return n > 0, nil
}

// Delivery reads a delivery. It fails with [problem.NotFound].
func (c *scope) Delivery(ctx context.Context, id string) (*Delivery, error) {
	row := new(Delivery)
	return row, table.Found(withChannel(c.from(row)).Where("id = ?", id).Scan(ctx), "delivery", id)
}

// withChannel adds what people call the channel of a delivery.
func withChannel(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr("d.*").ColumnExpr("COALESCE((SELECT c.name FROM channels AS c WHERE c.workspace_id = d.workspace_id AND c.id = d.channel_id), '') AS channel_name")
}

// DeliveryFilter says which deliveries are wanted. Zero fields do not restrict.
type DeliveryFilter struct{ Channel, State, Alert string }

// Deliveries lists deliveries, newest first.
func (c *scope) Deliveries(ctx context.Context, f DeliveryFilter, p Page) ([]Delivery, string, error) {
	var rows []Delivery
	q := withChannel(c.from(&rows))
	for _, x := range []struct{ column, value string }{{"channel_id", f.Channel}, {"state", f.State}, {"alert_id", f.Alert}} {
		if x.value != "" {
			q = q.Where("? = ?", bun.Ident(x.column), x.value)
		}
	}
	return table.Read(ctx, c.db, q, &rows, DeliveryList, p, "deliveries")
}

package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
)

const (
	// keptAttempts of a delivery are in its log.
	keptAttempts = 20
	// faultBytes of what an attempt failed of.
	faultBytes = 500
)

// Attempt is one attempt to deliver a message.
type Attempt struct {
	At     time.Time `json:"at"`
	Status int       `json:"status,omitempty" doc:"HTTP status of the answer; absent: there was none, or the channel does not speak HTTP."`
	Fault  string    `json:"fault,omitempty" doc:"Absent: the message was taken."`
	Ms     int64     `json:"ms" doc:"How long it took."`
}

// drain sends what is due to a channel until nothing is.
func (r *Room) drain(ctx context.Context, ws *store.Workspace, channel string) {
	for ctx.Err() == nil {
		row, err := ws.Channel(ctx, channel)
		if err != nil || row.Disabled != "" {
			return // it was removed, or switched off
		}
		if err := r.collect(ctx, ws, channel); err != nil {
			if ctx.Err() == nil {
				r.log.LogAttrs(ctx, slog.LevelWarn, "a digest was not made: it is tried again", slog.String("channel", row.Name), slog.Any("error", err))
				_ = retry.Sleep(ctx, time.Second) // the loop looks at ctx
			}
			return
		}
		due, err := ws.DueDeliveries(ctx, channel, store.Time{Time: r.store.Now()}, parallel)
		if err != nil || len(due) == 0 {
			return
		}
		var wg sync.WaitGroup
		failed := make([]error, len(due))
		for i := range due {
			wg.Go(func() { failed[i] = r.deliver(ctx, ws, row, &due[i]) })
		}
		wg.Wait()
		for _, err := range failed {
			if err != nil && ctx.Err() == nil {
				r.log.LogAttrs(ctx, slog.LevelWarn, "the delivery of a notice was not recorded", slog.String("channel", row.Name), slog.Any("error", err))
				_ = retry.Sleep(ctx, time.Second) // the loop looks at ctx
				return
			}
		}
	}
}

// deliver makes one attempt and records its outcome.
func (r *Room) deliver(ctx context.Context, ws *store.Workspace, row *store.Channel, d *store.Delivery) error {
	m, err := r.message(ctx, ws, row, d)
	if err != nil {
		return err
	}
	began := time.Now()
	o := r.send(ctx, m)
	if o.fault != "" && ctx.Err() != nil {
		return ctx.Err() // this process stops: the attempt was not made
	}
	d.Attempts++
	d.Status, d.Fault = o.status, cut(o.fault, faultBytes)
	var log []Attempt
	if json.Unmarshal([]byte(d.Log), &log) != nil {
		log = nil // it is for people
	}
	log = append(log, Attempt{At: m.now, Status: o.status, Fault: d.Fault, Ms: time.Since(began).Milliseconds()})
	d.Log = store.JSON(log[max(len(log)-keptAttempts, 0):])
	now, ended := store.Time{Time: r.store.Now()}, "failed"
	switch {
	case o.fault == "":
		d.State, d.EndedAt = store.DeliveryDelivered, now
		ended = d.State
	case o.gone || int(d.Attempts) > len(r.backoff):
		d.State, d.EndedAt = store.DeliveryDead, now
		ended = d.State
		r.log.LogAttrs(ctx, slog.LevelWarn, "a notice could not be delivered", slog.String("channel", row.Name), slog.String("message", d.ID), slog.String("cause", d.Fault))
	default:
		d.NextAt = store.Time{Time: now.Add(max(retry.Half(r.backoff[d.Attempts-1]), o.after))}
	}
	r.counted(row.Kind, ended)
	// The answer is here: it is recorded even if this process is to stop.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	return ws.Update(ctx, func(tx *store.Tx) error {
		if _, err := tx.SaveDelivery(ctx, d); err != nil || !o.gone {
			return err
		}
		now, err := tx.Channel(ctx, row.ID)
		if err != nil || now.Disabled != "" {
			return err
		}
		now.Disabled = "the receiver answered 410: it wants no more messages"
		return tx.SaveChannel(ctx, now)
	})
}

func (r *Room) message(ctx context.Context, ws *store.Workspace, row *store.Channel, d *store.Delivery) (*message, error) {
	ev, err := ws.EventAt(ctx, d.EventSeq)
	if err != nil {
		return nil, err
	}
	m := &message{id: d.ID, ev: ev, row: row, now: r.store.Now()}
	if m.doc, err = documentOf(ev); err != nil {
		return nil, err
	}
	s, err := settingsOf(row)
	if err != nil {
		return nil, err
	}
	m.set = &s
	m.sec, err = r.open(row)
	return m, err
}

func (r *Room) send(ctx context.Context, m *message) outcome {
	switch m.row.Kind {
	case Webhook:
		return r.sendWebhook(ctx, m)
	case Slack:
		return r.sendSlack(ctx, m)
	case Email:
		return r.sendMail(ctx, m)
	}
	return outcome{fault: fmt.Sprintf("this version does not know channels of kind %q", m.row.Kind)}
}

// Delivery is a message to a channel.
type Delivery struct {
	ID        string    `json:"id" doc:"Of the message: webhook-id, the same in every attempt." example:"msg_01JQ8Z6J5X2V4T7N9B3C1D0E8F"`
	Channel   string    `json:"channel" doc:"Id of the channel."`
	Name      string    `json:"channelName,omitempty" doc:"Name of the channel." example:"ops"`
	Type      string    `json:"type"`
	AlertID   string    `json:"alertId,omitempty"`
	State     string    `json:"state" enum:"pending,delivered,dead,digested" doc:"dead: no attempt is left; it can be delivered again. digested: it was part of the digest that digestId names."`
	Attempts  int64     `json:"attempts" doc:"Since it was made, or made pending again."`
	Status    int       `json:"status,omitempty" doc:"HTTP status of the last answer."`
	Fault     string    `json:"fault,omitempty" doc:"Of the last attempt."`
	NextAt    time.Time `json:"nextAt,omitzero" doc:"Of the next attempt."`
	Digest    bool      `json:"digest,omitempty" doc:"It waits for the next digest of the channel."`
	DigestID  string    `json:"digestId,omitempty" doc:"Message of the digest that it was part of." example:"msg_01JQ8Z6J5X2V4T7N9B3C1D0E8F"`
	Log       []Attempt `json:"log" doc:"The last 20 attempts."`
	CreatedAt time.Time `json:"createdAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
}

// ShowDelivery is a delivery as the API shows it.
func ShowDelivery(row *store.Delivery) (Delivery, error) {
	d := Delivery{
		ID: row.ID, Channel: row.ChannelID, Name: row.Channel, Type: row.Type, AlertID: row.AlertID, State: row.State, Attempts: row.Attempts, Status: row.Status, Fault: row.Fault,
		DigestID: row.DigestID, Log: []Attempt{}, CreatedAt: row.CreatedAt.Time, EndedAt: row.EndedAt.Time,
	}
	if row.State == store.DeliveryPending {
		d.NextAt, d.Digest = row.NextAt.Time, row.Digest
	}
	if err := json.Unmarshal([]byte(row.Log), &d.Log); err != nil {
		return d, fmt.Errorf("reading delivery %s: %w", row.ID, err)
	}
	return d, nil
}

// Redeliver sends a message again: a dead one under its own id, one that was delivered
// under a new one, because receivers drop an id that they have seen.
func (r *Room) Redeliver(ctx context.Context, ws *store.Workspace, id string) (*store.Delivery, error) {
	var row *store.Delivery
	err := ws.Update(ctx, func(tx *store.Tx) (err error) {
		if row, err = tx.Delivery(ctx, id); err != nil {
			return err
		}
		switch row.State {
		case store.DeliveryPending:
			return problem.New(problem.Conflict, "message %s is on its way", id).Fix("wait for its next attempt, at %s", row.NextAt.Format(time.RFC3339))
		case store.DeliveryDead:
			if _, err = tx.ReviveDelivery(ctx, id); err != nil {
				return err
			}
		default:
			again := &store.Delivery{ChannelID: row.ChannelID, EventSeq: row.EventSeq, Type: row.Type} // in no order: it was there
			if err = tx.AddDelivery(ctx, again); err != nil {
				return err
			}
			id = again.ID
		}
		if row, err = tx.Delivery(ctx, id); err != nil {
			return err
		}
		return tx.Audit(ctx, request.Audit(ctx, "delivery.repeat", id))
	})
	r.Wake()
	return row, err
}

// Test sends a message to a channel that says that it works.
func (r *Room) Test(ctx context.Context, ws *store.Workspace, id string) error {
	err := ws.Update(ctx, func(tx *store.Tx) error {
		row, err := tx.Channel(ctx, id)
		if err != nil {
			return err
		}
		if row.Disabled != "" {
			return problem.New(problem.Conflict, "nothing is sent to channel %s: %s", row.Name, row.Disabled).Fix("switch it on first")
		}
		return Add(ctx, tx, &Notice{
			Type: TypeTest, Severity: Info, ChannelID: row.ID, Title: "This is a test of channel " + row.Name,
			Lines: []Line{{Name: "Workspace", Value: ws.ID()}}, Data: map[string]string{"workspace": ws.ID(), "channel": row.ID},
		})
	})
	r.Wake()
	return err
}

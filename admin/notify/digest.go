package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// How often digests come.
const (
	hourly = "hourly"
	daily  = "daily"
	off    = "off"
)

const (
	// TypeDigest is the type of the message that several notices are in.
	TypeDigest = "digest"
	// maxDigest notices are in one digest, so that a receiver takes it and somebody reads
	// it; what is left makes another.
	maxDigest = 100
	// digestTime of day of those that come daily.
	digestTime = "08:00"
)

// Digest collects what is not critical in one message.
type Digest struct {
	Every string `json:"every" enum:"hourly,daily,off" doc:"hourly: at each full hour; daily: at the time of day of at; off: each notice by itself."`
	At    string `json:"at,omitempty" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" doc:"Of daily: time of day. Default: 08:00."`
	Zone  string `json:"zone,omitempty" maxLength:"60" doc:"Time zone of at, such as Europe/Berlin. Default: UTC."`
}

// check reports what is wrong with a digest; nil is none.
func (d *Digest) check() error {
	if d == nil {
		return nil
	}
	switch d.Every {
	case daily:
	case hourly, off:
		if d.At != "" || d.Zone != "" {
			return request.FieldFault("/digest/at", "a time of day and its zone are of a daily digest")
		}
		return nil
	default:
		return request.FieldFault("/digest/every", "a digest comes hourly or daily, not %.20q", d.Every)
	}
	if _, err := time.Parse("15:04", d.time()); err != nil {
		return request.FieldFault("/digest/at", "%.20q is not a time of day such as 08:00", d.At)
	}
	if _, err := time.LoadLocation(d.Zone); err != nil || d.Zone == "Local" {
		return request.FieldFault("/digest/zone", "there is no time zone %.60q on this machine", d.Zone)
	}
	return nil
}

func (d *Digest) time() string {
	if d.At == "" {
		return digestTime
	}
	return d.At
}

// wanted is nil for a digest that is off.
func (d *Digest) wanted() *Digest {
	if d == nil || d.Every == off {
		return nil
	}
	return d
}

// next is when the next digest comes, after now; zero: there is none.
func (d *Digest) next(now time.Time) time.Time {
	if d.wanted() == nil || d.check() != nil {
		return time.Time{} // the machine lost the zone: each notice goes by itself
	}
	if d.Every == hourly {
		return now.UTC().Truncate(time.Hour).Add(time.Hour)
	}
	zone, _ := time.LoadLocation(d.Zone)   // as checked
	of, _ := time.Parse("15:04", d.time()) // as checked
	now = now.In(zone)
	at := time.Date(now.Year(), now.Month(), now.Day(), of.Hour(), of.Minute(), 0, 0, zone)
	if !at.After(now) {
		at = time.Date(now.Year(), now.Month(), now.Day()+1, of.Hour(), of.Minute(), 0, 0, zone)
	}
	return at
}

// digestDue is when the next digest of a channel comes: not in its quiet hours. Zero: it has
// none.
func (s *Settings) digestDue(now time.Time) time.Time {
	at := s.Digest.next(now)
	if at.IsZero() {
		return at
	}
	if over := s.Quiet.until(at); !over.IsZero() {
		return over
	}
	return at
}

// digestOr is when what waits for a digest goes, also when there is none any more.
func (s *Settings) digestOr(now time.Time) time.Time {
	if at := s.digestDue(now); !at.IsZero() {
		return at
	}
	if over := s.Quiet.until(now); !over.IsZero() {
		return over
	}
	return now
}

// digestData is what programs get of a digest.
type digestData struct {
	Workspace string         `json:"workspace"`
	Notices   []digestNotice `json:"notices"`
}

// digestNotice is one notice of a digest, as a webhook of its own would have it.
type digestNotice struct {
	ID string `json:"id"` // in the log of deliveries
	webhookBody
}

// collect makes one message of what the digest of a channel is made of, when it is due: in
// one transaction the message is there and what it is made of is not sent any more. A notice
// that is alone goes by itself.
func (r *Room) collect(ctx context.Context, ws *store.Workspace, channel string) error {
	for {
		due, err := ws.DueDigest(ctx, channel, store.Time{Time: r.store.Now()}, maxDigest)
		if err != nil || len(due) == 0 {
			return err
		}
		err = ws.Update(ctx, func(tx *store.Tx) error {
			if len(due) == 1 {
				return tx.LeaveDigest(ctx, due[0].ID)
			}
			ev, err := digestOf(ctx, tx, due)
			if err != nil {
				return err
			}
			ev.ChannelID = channel
			if err := tx.AddEvent(ctx, ev); err != nil {
				return err
			}
			to := []store.Delivery{{ChannelID: channel}}
			if _, err := tx.RouteEvent(ctx, ev, to); err != nil {
				return err
			}
			return tx.EndDigest(ctx, due, to[0].ID)
		})
		if err != nil {
			return fmt.Errorf("making a digest: %w", err)
		}
	}
}

// digestOf is what a digest of deliveries says.
func digestOf(ctx context.Context, tx *store.Tx, due []store.Delivery) (*store.Event, error) {
	doc := document{Title: digestTitle(len(due))}
	data := digestData{Workspace: tx.ID(), Notices: make([]digestNotice, len(due))}
	severity := Info
	for i := range due {
		ev, err := tx.EventAt(ctx, due[i].EventSeq)
		if err != nil {
			return nil, err
		}
		m := message{ev: ev}
		if m.doc, err = documentOf(ev); err != nil {
			return nil, err
		}
		if Worse(ev.Severity, severity) {
			severity = ev.Severity
		}
		said := m.head()
		if m.doc.Remedy != "" {
			said += ". Remedy: " + m.doc.Remedy
		}
		doc.Lines = append(doc.Lines, Line{Name: ev.At.UTC().Format("2006-01-02 15:04 UTC"), Value: said, Reminder: m.doc.Reminder})
		doc.Reminder = doc.Reminder || m.doc.Reminder
		data.Notices[i] = digestNotice{due[i].ID, bodyOf(&m)}
	}
	b, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encoding a digest: %w", err)
	}
	doc.Data = b
	return &store.Event{Type: TypeDigest, Subject: TypeDigest, Severity: severity, Document: store.JSON(doc)}, nil
}

func digestTitle(n int) string {
	if n == 1 {
		return "1 notice"
	}
	return fmt.Sprintf("%d notices", n)
}

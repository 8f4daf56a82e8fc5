package notify

import (
	"context"
	"fmt"
	"strings"

	"github.com/wneessen/go-mail"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// Letter is a mail to one person, which is sent at once and kept nowhere.
type Letter struct {
	To    string // address
	Title string // one line
	Lines []Line
	Link  string // a page for the recipient; "": none
}

// Mailer finds the channel by whose mail server people are written to: one of kind email that
// is switched on. It fails with [problem.NotFound] when there is none of that name.
func Mailer(ctx context.Context, from interface {
	Channel(context.Context, string) (*store.Channel, error)
}, name string,
) (*store.Channel, error) {
	row, err := from.Channel(ctx, name)
	if err != nil {
		return nil, err
	}
	if row.Kind != Email || row.Disabled != "" {
		return nil, problem.New(problem.NotFound, "channel %.80q does not send e-mail", name).Fix("make one of kind email, or switch it on")
	}
	return row, nil
}

// Send sends a letter by the mail server of a channel, and waits until the server took it. It
// fails with [problem.NotFound] as [Mailer] does, and with [problem.Unavailable] when the mail
// server does not take the letter.
func (r *Room) Send(ctx context.Context, ws *store.Workspace, channel string, l *Letter) error {
	row, err := Mailer(ctx, ws, channel)
	if err != nil {
		return err
	}
	set, err := settingsOf(row)
	if err != nil {
		return err
	}
	sec, err := r.open(row)
	if err != nil {
		return err
	}
	m := &message{id: ws.NewID("msg"), row: row, set: &set, sec: sec, now: r.store.Now(), doc: &document{Title: l.Title, Over: true, Lines: l.Lines, Link: l.Link}}
	msg, fault := letter(m, m.id, []string{l.To}, "")
	if fault == "" {
		fault = r.hand(ctx, set.Mail, sec.Password, []*mail.Msg{msg}).fault
	}
	ended := store.DeliveryDelivered
	if fault != "" {
		ended = "failed"
		err = problem.New(problem.Unavailable, "the e-mail could not be sent: %s", cut(fault, faultBytes)).Fix("look at the mail server of channel %s", row.Name)
	}
	r.counted(Email, ended)
	return err
}

// addressOfPerson is the e-mail address of a member, or of somebody of the public page of
// connector requests. It fails with [problem.NotFound] when they are gone.
func (r *Room) addressOfPerson(ctx context.Context, id, workspace string) (string, error) {
	ws := r.store.Workspace(workspace)
	if !strings.HasPrefix(id, store.RequestPersonPrefix) {
		m, err := ws.Member(ctx, id)
		if err != nil {
			return "", err
		}
		return m.Email, nil
	}
	row, err := ws.RequestPerson(ctx, id)
	if err != nil {
		return "", err
	}
	b, err := r.keyring.OpenBytes(row.Record(), row.Sealed)
	if err != nil {
		return "", fmt.Errorf("opening the address of %s: %w", id, err)
	}
	return string(b), nil
}

// personal reports whether an event is for one person.
func personal(ev *store.Event) bool {
	d, err := documentOf(ev)
	return err == nil && d.Recipient != ""
}

package notify

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/mail"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// One-click unsubscribe (RFC 8058): a mail with a reminder goes to each address by itself,
// with a link that ends the reminders of that address. The link is a sealed record, so it
// needs no login and cannot be made for another address.

const (
	// UnsubscribePath is below what the links begin with.
	UnsubscribePath = "/unsubscribe/"
	// maxLink is the longest end of a link that is opened, in bytes: the ids of a workspace
	// and of a channel and an address of 254 bytes need less.
	maxLink = 1024
)

// subscription is what a link is for.
type subscription struct {
	Workspace string `json:"w"`
	Channel   string `json:"c"`
	Address   string `json:"a"`
}

// linkRecord is what links are sealed for: nothing else is sealed for it.
var linkRecord = secrets.Record{Key: "links/unsubscribe", Version: 1}

// unknownLink is the answer to whatever is wrong with a link.
func unknownLink() error {
	return problem.New(problem.NotFound, "this link is not valid, or has expired").
		Fix("ask the operator of the control plane to remove the address from the channel")
}

// link is the address at which the reminders of an address end; "": nobody can reach one.
func (r *Room) link(s subscription) (string, error) {
	if !strings.HasPrefix(r.public, "https://") {
		return "", nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	sealed, err := r.keyring.SealBytes(linkRecord, b)
	if err != nil {
		return "", fmt.Errorf("making a link to unsubscribe: %w", err)
	}
	return r.public + UnsubscribePath + base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Subscription is what a link to unsubscribe is for.
type Subscription struct {
	Channel string // its name
	Address string
	Ended   bool // the address gets no reminders
}

func (r *Room) openLink(text string) (s subscription, err error) {
	if len(text) > maxLink {
		return s, unknownLink()
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return s, unknownLink()
	}
	b, err := r.keyring.OpenBytes(linkRecord, sealed)
	if err != nil || json.Unmarshal(b, &s) != nil {
		return s, unknownLink()
	}
	return s, nil
}

// subscribed finds the channel of a link and its settings.
func subscribed(ctx context.Context, from interface {
	Channel(context.Context, string) (*store.Channel, error)
}, s subscription,
) (*store.Channel, *Settings, error) {
	row, err := from.Channel(ctx, s.Channel)
	if problem.Is(err, problem.NotFound) {
		return nil, nil, unknownLink()
	}
	if err != nil {
		return nil, nil, err
	}
	set, err := settingsOf(row)
	if err != nil {
		return nil, nil, err
	}
	if set.Mail == nil || !slices.ContainsFunc(set.Mail.To, func(to string) bool { return addressOf(to) == s.Address }) {
		return nil, nil, unknownLink()
	}
	return row, &set, nil
}

// SubscriptionOf says what a link to unsubscribe is for, and changes nothing: programs that
// look at mail open its links. It fails with [problem.NotFound].
func (r *Room) SubscriptionOf(ctx context.Context, link string) (*Subscription, error) {
	s, err := r.openLink(link)
	if err != nil {
		return nil, err
	}
	row, set, err := subscribed(ctx, r.store.Workspace(s.Workspace), s)
	if err != nil {
		return nil, err
	}
	return &Subscription{Channel: row.Name, Address: s.Address, Ended: slices.Contains(set.Unsubscribed, s.Address)}, nil
}

// Unsubscribe ends the reminders of the address of a link. It may be done again. It fails
// with [problem.NotFound].
func (r *Room) Unsubscribe(ctx context.Context, link string) (*Subscription, error) {
	s, err := r.openLink(link)
	if err != nil {
		return nil, err
	}
	out := &Subscription{Address: s.Address, Ended: true}
	return out, r.store.Workspace(s.Workspace).Update(ctx, func(tx *store.Tx) error {
		row, set, err := subscribed(ctx, tx, s)
		if err != nil {
			return err
		}
		out.Channel = row.Name
		if slices.Contains(set.Unsubscribed, s.Address) {
			return nil
		}
		set.Unsubscribed = append(set.Unsubscribed, s.Address) // one of To, so there are no more than those
		row.Settings = store.JSON(set)
		if err := tx.SaveChannel(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "channel.unsubscribe", row.ID)
		rec.ActorType, rec.ActorID = "recipient", s.Address
		rec.After = store.JSON(map[string]any{"channel": row.Name, "address": s.Address, "reminders": false})
		return tx.Audit(ctx, rec)
	})
}

// addressOf is the address of a recipient without a name, in lower case.
func addressOf(to string) string {
	a, err := mail.ParseAddress(to)
	if err != nil {
		return strings.ToLower(to)
	}
	return strings.ToLower(a.Address)
}

// resubscribe gives addresses their reminders again.
func (s *Settings) resubscribe(addresses []string) error {
	for _, a := range addresses {
		i := slices.Index(s.Unsubscribed, addressOf(a))
		if i < 0 {
			return request.FieldFault("/resubscribe", "%.254q is not unsubscribed from the reminders of this channel", a)
		}
		s.Unsubscribed = slices.Delete(s.Unsubscribed, i, i+1)
	}
	return nil
}

// unheard reports whether an event is a reminder that nobody of a channel wants.
func (s *Settings) unheard(ev *store.Event) bool {
	if s.Mail == nil || len(s.Unsubscribed) == 0 {
		return false
	}
	d, err := documentOf(ev)
	return err == nil && d.Reminder && !slices.ContainsFunc(s.Mail.To, func(to string) bool { return !slices.Contains(s.Unsubscribed, addressOf(to)) })
}

// withoutReminders is a digest without its reminders; nil: nothing is left.
func (d *document) withoutReminders() *document {
	if len(d.Lines) == 0 || !slices.ContainsFunc(d.Lines, func(l Line) bool { return l.Reminder }) {
		return nil // a reminder, not a digest
	}
	out := *d
	out.Lines = slices.DeleteFunc(slices.Clone(d.Lines), func(l Line) bool { return l.Reminder })
	if len(out.Lines) == 0 {
		return nil
	}
	out.Title = digestTitle(len(out.Lines))
	return &out
}

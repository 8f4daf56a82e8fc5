package notify

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// DeclaredChannel is a channel as a document says it. Its secrets are the URL, the password
// and what messages are signed with; an export leaves them out.
type DeclaredChannel struct {
	Name     string       `json:"name" pattern:"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" minLength:"1" maxLength:"63"`
	Kind     string       `json:"kind" enum:"webhook,slack,email"`
	Where    string       `json:"where,omitempty" maxLength:"4096" doc:"For people: where it leads, without what may be a secret. Import takes no notice of it."`
	URL      secrets.Wire `json:"url,omitzero" maxLength:"2048" doc:"Of webhook and slack. Absent: the stored one stays."`
	Mail     *Mail        `json:"mail,omitempty" doc:"Of email."`
	Password secrets.Wire `json:"password,omitzero" maxLength:"1024" doc:"Of mail.username. Absent: the stored one stays, for the same server and login."`
	Routes   Routes       `json:"routes,omitzero" doc:"Toolsets are named by slug."`
	Quiet    *Quiet       `json:"quiet,omitempty" doc:"When nothing but what is critical is sent; the rest waits until then."`
	Digest   *Digest      `json:"digest,omitempty"`
	Off      bool         `json:"off,omitempty" doc:"Nothing is sent to it."`
}

// wanted is what the document asks for, with a URL that stands for the stored one where it
// says none.
func (d *DeclaredChannel) wanted() *NewChannel {
	in := &NewChannel{Name: d.Name, Kind: d.Kind, URL: d.URL.Reveal(), Mail: d.Mail, Password: d.Password.Reveal(), Routes: d.Routes, Quiet: d.Quiet, Digest: d.Digest}
	if in.URL == "" && d.Kind != Email {
		in.URL = "https://stored.invalid"
	}
	return in
}

// Check finds what is wrong with a channel of a document.
func (d *DeclaredChannel) Check() error {
	_, _, err := prepared(d.wanted())
	return err
}

// Public is the channel without its secrets and what is for people.
func (d *DeclaredChannel) Public() DeclaredChannel {
	c := *d
	c.URL, c.Password, c.Where, c.Digest = secrets.Wire{}, secrets.Wire{}, "", d.Digest.wanted()
	return c
}

// Declared are the channels of a workspace by name. slug names a toolset by its id; what it
// does not know stays an id.
func (r *Room) Declared(ctx context.Context, ws *store.Workspace, slug func(id string) string) ([]DeclaredChannel, error) {
	rows, _, err := ws.Channels(ctx, store.Page{Limit: store.MaxLimit})
	if err != nil {
		return nil, err
	}
	var out []DeclaredChannel
	for i := range rows {
		s, err := settingsOf(&rows[i])
		if err != nil {
			return nil, err
		}
		d := DeclaredChannel{Name: rows[i].Name, Kind: rows[i].Kind, Where: s.Where, Mail: s.Mail, Routes: s.Routes, Quiet: s.Quiet, Digest: s.Digest, Off: rows[i].Disabled == switchedOff}
		d.Routes.Toolsets = nil
		for _, id := range s.Routes.Toolsets {
			d.Routes.Toolsets = append(d.Routes.Toolsets, cmp.Or(slug(id), id))
		}
		slices.Sort(d.Routes.Toolsets)
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b DeclaredChannel) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// named is the channel of a name; nil: there is none.
func named(ctx context.Context, from interface {
	Channel(ctx context.Context, id string) (*store.Channel, error)
}, name string,
) (*store.Channel, error) {
	row, err := from.Channel(ctx, name)
	if problem.Is(err, problem.NotFound) || err == nil && row.Name != name {
		return nil, nil //nolint:nilnil // nil: there is none
	}
	return row, err
}

// Secrets says which secrets of a channel of a document are neither given nor stored for
// where it leads, by their members, and whether one that is given is another than the stored.
func (r *Room) Secrets(ctx context.Context, ws *store.Workspace, d *DeclaredChannel) (missing []string, another bool, err error) {
	row, err := named(ctx, ws, d.Name)
	if err != nil {
		return nil, false, err
	}
	s, p := Settings{}, &private{}
	if row != nil {
		if s, err = settingsOf(row); err != nil {
			return nil, false, err
		}
		if p, err = r.open(row); err != nil {
			return nil, false, err
		}
	}
	given, stored, field := d.URL, p.URL, "url"
	if d.Kind == Email {
		if given, stored, field = d.Password, p.Password, "password"; d.Mail.Username == "" {
			return nil, false, nil
		}
		// A password goes to no other server, and with no other name, than it was given for.
		if was := s.Mail; was == nil || was.Host != d.Mail.Host || was.Port != d.Mail.Port || was.Username != d.Mail.Username || was.Security != d.Mail.Security {
			stored = secrets.Wire{}
		}
	} else if row != nil && row.Kind != d.Kind {
		stored = secrets.Wire{}
	}
	switch {
	case given.IsZero() && stored.IsZero():
		return []string{field}, false, nil
	case given.IsZero():
		return nil, false, nil
	}
	return nil, !stored.Equal(given.Secret), nil
}

// Put makes a channel what a document says, whose secrets are there. toolsets of its routes
// are identifiers.
func (r *Room) Put(ctx context.Context, ws *store.Workspace, d *DeclaredChannel) error {
	have, err := named(ctx, ws, d.Name)
	if err != nil {
		return err
	}
	off := ""
	if d.Off {
		off = switchedOff
	}
	if have == nil {
		in := d.wanted()
		if in.URL = d.URL.Reveal(); in.URL == "" && d.Kind != Email {
			return request.FieldFault("/url", "a new channel needs its URL")
		}
		_, err := r.create(ctx, ws, in, off)
		return err
	}
	want, fresh, err := prepared(d.wanted())
	if err != nil {
		return err
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		row, err := tx.Channel(ctx, have.ID)
		if err != nil {
			return err
		}
		s, err := settingsOf(row)
		if err != nil {
			return err
		}
		p, err := r.open(row)
		if err != nil {
			return err
		}
		if row.Kind != d.Kind {
			row.Kind, p = d.Kind, fresh
		}
		switch {
		case d.Kind == Email && d.Mail.Username == "":
			p.Password = secrets.Wire{}
		case d.Kind == Email && !d.Password.IsZero():
			p.Password = d.Password
		case d.Kind != Email && !d.URL.IsZero():
			p.URL = d.URL
		}
		if want.Unsubscribed = s.Unsubscribed; d.Kind != Email {
			want.Unsubscribed = nil
			if d.URL.IsZero() {
				want.Where = s.Where
			}
		}
		if row.Disabled == "" || row.Disabled == switchedOff { // what a receiver ended stays so
			row.Disabled = off
		}
		before := s
		row.Settings = store.JSON(want)
		if err := errors.Join(r.seal(row, p), tx.MoveDigest(ctx, row.ID, store.Time{Time: want.digestOr(tx.Now())}), tx.SaveChannel(ctx, row)); err != nil {
			return err
		}
		rec := request.Audit(ctx, "channel.update", row.ID)
		rec.Before, rec.After = store.JSON(before), row.Settings
		return tx.Audit(ctx, rec)
	})
	r.Wake()
	return err
}

// Drop removes a channel that a document does not have.
func (r *Room) Drop(ctx context.Context, ws *store.Workspace, name string) error {
	return r.Remove(ctx, ws, name, &request.MatchInput{})
}

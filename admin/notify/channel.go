package notify

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Kinds of channels.
const (
	Webhook = "webhook" // Standard Webhooks
	Slack   = "slack"   // an incoming webhook of Slack, or of a program that takes the same
	Email   = "email"   // SMTP
)

const (
	// maxChannels of a workspace: each may deliver at the same time.
	maxChannels = 50
	// switchedOff is why nothing is sent to a channel that somebody switched off.
	switchedOff = "switched off"
	// rotationTime is how long messages are signed with the secret before the new one,
	// too.
	rotationTime = 24 * time.Hour
	// secretBytes of a new signing secret: Standard Webhooks asks for 24 to 64.
	secretBytes = 32
	// secretPrefix of signing secrets (Standard Webhooks, "Symmetric").
	secretPrefix = "whsec_"
)

// Routes say which notices a channel gets. Absent fields do not restrict.
type Routes struct {
	Kinds       []string `json:"kinds,omitempty" maxItems:"50" doc:"Kinds of alerts and types of notices, with globs: upstream.*, key.rotation_due."`
	MinSeverity string   `json:"minSeverity,omitempty" enum:"info,warning,critical" doc:"Least severity that is reported. The end of an alert is reported to the channels that reported the alert."`
	Toolsets    []string `json:"toolsets,omitempty" maxItems:"200" doc:"Only of these toolsets, by id."`
}

// Settings of a channel are what of it is no secret.
type Settings struct {
	Routes Routes  `json:"routes,omitzero"`
	Mail   *Mail   `json:"mail,omitempty" doc:"Of kind email."`
	Quiet  *Quiet  `json:"quiet,omitempty"`
	Digest *Digest `json:"digest,omitempty"`
	// Unsubscribed are addresses of Mail.To that get no reminders, in lower case.
	Unsubscribed []string `json:"unsubscribed,omitempty"`
	// Where is the address of a webhook without what may be secret in it.
	Where string `json:"where,omitempty"`
}

// Mail is how e-mail is sent.
type Mail struct {
	Host     string   `json:"host" minLength:"1" maxLength:"253" doc:"Mail server."`
	Port     int      `json:"port,omitempty" minimum:"0" maximum:"65535" doc:"Default: 587, with tls 465."`
	Security string   `json:"security,omitempty" enum:"starttls,tls,none" doc:"Default: starttls, and no mail without it. none is for a server on this machine."`
	Username string   `json:"username,omitempty" maxLength:"254" doc:"Default: no login."`
	From     string   `json:"from" minLength:"3" maxLength:"254"`
	To       []string `json:"to" minItems:"1" maxItems:"50"`
}

// Channel is a channel as the API shows it.
type Channel struct {
	ID     string  `json:"id" example:"chan_01JQ8Z6J5X2V4T7N9B3C1D0E8F"`
	Name   string  `json:"name"`
	Kind   string  `json:"kind" enum:"webhook,slack,email"`
	Where  string  `json:"where" doc:"Where it leads; of webhooks without what may be a secret."`
	Routes Routes  `json:"routes,omitzero"`
	Mail   *Mail   `json:"mail,omitempty"`
	Quiet  *Quiet  `json:"quiet,omitempty" doc:"When nothing but what is critical is sent."`
	Digest *Digest `json:"digest,omitempty" doc:"When what is not critical is sent, in one message; absent: each notice at once."`
	// Unsubscribed are addresses of mail.to.
	Unsubscribed []string  `json:"unsubscribed,omitempty" doc:"Addresses that get no reminders any more, because the link in one of them was used."`
	Disabled     string    `json:"disabled,omitempty" doc:"Why nothing is sent to it."`
	Secret       string    `json:"secret,omitempty" doc:"Of a webhook: what its messages are signed with. It is in this answer only."`
	CreatedAt    time.Time `json:"createdAt"`
	UpdatedAt    time.Time `json:"updatedAt"`
}

// NewChannel asks for a channel.
type NewChannel struct {
	Name     string  `json:"name" pattern:"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" minLength:"1" maxLength:"63"`
	Kind     string  `json:"kind" enum:"webhook,slack,email"`
	URL      string  `json:"url,omitempty" maxLength:"2048" doc:"Of webhook and slack."`
	Routes   Routes  `json:"routes,omitzero"`
	Mail     *Mail   `json:"mail,omitempty" doc:"Of email."`
	Password string  `json:"password,omitempty" maxLength:"1024" doc:"Of mail.username."`
	Quiet    *Quiet  `json:"quiet,omitempty" doc:"When nothing but what is critical is sent; the rest waits until then."`
	Digest   *Digest `json:"digest,omitempty" doc:"What is not critical comes together in one message."`
}

// ChangeChannel changes a channel. What is absent stays.
type ChangeChannel struct {
	Routes      *Routes  `json:"routes,omitempty"`
	Quiet       *Quiet   `json:"quiet,omitempty" doc:"When nothing but what is critical is sent."`
	Loud        bool     `json:"loud,omitempty" doc:"true: no quiet hours any more."`
	Digest      *Digest  `json:"digest,omitempty" null:"{\"every\":\"off\"}" doc:"What is not critical comes together in one message. What waits for a digest goes with the next of the new ones; off: at once, together."`
	Resubscribe []string `json:"resubscribe,omitempty" maxItems:"50" doc:"Addresses of unsubscribed that get reminders again."`
	Enabled     *bool    `json:"enabled,omitempty" null:"true" doc:"false: nothing is sent to it; true: what waited is."`
}

// UnmarshalJSON decodes a merge patch.
func (p *ChangeChannel) UnmarshalJSON(b []byte) error {
	type plain ChangeChannel
	if err := request.UnmarshalPatch(b, (*plain)(p)); err != nil {
		return err
	}
	if slices.Contains(request.Nulls(b), "quiet") {
		p.Quiet, p.Loud = nil, true
	}
	return nil
}

// key signs messages. Until is when the secret before the newest is not used any more.
type key struct {
	Secret secrets.Wire `json:"secret"`
	Until  time.Time    `json:"until,omitzero"`
}

// private is what of a channel is sealed.
type private struct {
	URL      secrets.Wire `json:"url,omitzero"`
	Keys     []key        `json:"keys,omitempty"` // the newest first
	Password secrets.Wire `json:"password,omitzero"`
}

// Show is a channel as the API shows it.
func Show(row *store.Channel) (Channel, error) {
	s, err := settingsOf(row)
	return Channel{
		ID: row.ID, Name: row.Name, Kind: row.Kind, Where: s.Where, Routes: s.Routes, Mail: s.Mail, Quiet: s.Quiet, Digest: s.Digest, Unsubscribed: s.Unsubscribed, Disabled: row.Disabled,
		CreatedAt: row.CreatedAt.Time, UpdatedAt: row.UpdatedAt.Time,
	}, err
}

func settingsOf(row *store.Channel) (s Settings, err error) {
	if err := json.Unmarshal([]byte(row.Settings), &s); err != nil {
		return s, fmt.Errorf("reading channel %s: %w", row.ID, err)
	}
	return s, nil
}

func (r *Room) open(row *store.Channel) (*private, error) {
	b, err := r.keyring.OpenBytes(row.Record(), row.Sealed)
	if err != nil {
		return nil, fmt.Errorf("opening channel %s: %w", row.ID, err)
	}
	defer clear(b)
	p := new(private)
	return p, json.Unmarshal(b, p)
}

func (r *Room) seal(row *store.Channel, p *private) error {
	row.SecretVersion++
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	defer clear(b)
	row.Sealed, err = r.keyring.SealBytes(row.Record(), b)
	return err
}

// newSecret is a new signing secret.
func newSecret() secrets.Secret {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // it never fails
	return secrets.New(secretPrefix + base64.StdEncoding.EncodeToString(b))
}

// prepared is a channel that is asked for, not stored, and what of it is sealed.
func prepared(in *NewChannel) (*Settings, *private, error) {
	s, p := &Settings{Routes: in.Routes, Quiet: in.Quiet, Digest: in.Digest.wanted()}, &private{}
	if err := errors.Join(checkRoutes(&in.Routes), in.Quiet.check(), in.Digest.check()); err != nil {
		return nil, nil, err
	}
	switch in.Kind {
	case Webhook, Slack:
		u, err := url.Parse(in.URL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, nil, request.FieldFault("/url", "a channel of kind %s needs the http or https URL of its receiver", in.Kind)
		}
		if in.Mail != nil || in.Password != "" {
			return nil, nil, request.FieldFault("/mail", "mail and password are of kind email")
		}
		p.URL, s.Where = secrets.Wire{Secret: secrets.New(in.URL)}, safehttp.Redact(in.URL)
		if in.Kind == Slack {
			s.Where = u.Scheme + "://" + u.Host + "/…" // the path is the secret
		} else {
			p.Keys = []key{{Secret: secrets.Wire{Secret: newSecret()}}}
		}
	case Email:
		if in.Mail == nil || in.URL != "" {
			return nil, nil, request.FieldFault("/mail", "a channel of kind email needs mail, and no url")
		}
		if err := checkMail(in.Mail); err != nil {
			return nil, nil, err
		}
		s.Mail, s.Where = in.Mail, strings.Join(in.Mail.To, ", ")
		p.Password = secrets.Wire{Secret: secrets.New(in.Password)}
	default:
		return nil, nil, request.FieldFault("/kind", "there is no kind of channel %.40q", in.Kind)
	}
	return s, p, nil
}

// Create makes a channel. The answer is the only place its signing secret is in.
func (r *Room) Create(ctx context.Context, ws *store.Workspace, in *NewChannel) (*Channel, error) {
	return r.create(ctx, ws, in, "")
}

// create is Create, of a channel that may be switched off from the start.
func (r *Room) create(ctx context.Context, ws *store.Workspace, in *NewChannel, disabled string) (*Channel, error) {
	row := &store.Channel{ID: ws.NewID("chan"), Name: in.Name, Kind: in.Kind, Disabled: disabled}
	row.WorkspaceID = ws.ID()
	s, p, err := prepared(in)
	if err != nil {
		return nil, err
	}
	row.Settings = store.JSON(s)
	if err := r.seal(row, p); err != nil {
		return nil, err
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		have, _, err := tx.Channels(ctx, store.Page{Limit: store.MaxLimit})
		if err != nil {
			return err
		}
		if len(have) >= maxChannels {
			return problem.New(problem.Conflict, "a workspace has at most %d channels", maxChannels).Fix("remove one first")
		}
		if err := tx.AddChannel(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "channel.create", row.ID)
		rec.After = store.JSON(map[string]any{"name": row.Name, "kind": row.Kind, "where": s.Where})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	out, err := Show(row)
	if len(p.Keys) > 0 {
		out.Secret = p.Keys[0].Secret.Reveal()
	}
	return &out, err
}

func checkRoutes(r *Routes) error {
	for _, k := range r.Kinds {
		if _, err := path.Match(k, ""); err != nil || len(k) > 100 {
			return request.FieldFault("/routes/kinds", "%.100q is not the name of a kind, nor a pattern of names", k)
		}
	}
	if r.MinSeverity != "" && rank[r.MinSeverity] == 0 {
		return request.FieldFault("/routes/minSeverity", "there is no severity %.40q", r.MinSeverity)
	}
	return nil
}

func checkMail(m *Mail) error {
	if strings.ContainsAny(m.Host, "/@ \t\r\n") || strings.Contains(m.Host, ":") && net.ParseIP(m.Host) == nil {
		return request.FieldFault("/mail/host", "%.253q is not the name or address of a mail server; its port is in port", m.Host)
	}
	if _, err := mail.ParseAddress(m.From); err != nil {
		return request.FieldFault("/mail/from", "%.254q is not an e-mail address", m.From)
	}
	for _, to := range m.To {
		if _, err := mail.ParseAddress(to); err != nil || len(to) > 254 {
			return request.FieldFault("/mail/to", "%.254q is not an e-mail address", to)
		}
	}
	if m.Security == "none" && m.Username != "" {
		return problem.New(problem.InvalidArgument, "a password is not sent in the clear").At("", 0, 0, "/mail/security").Fix("use starttls or tls")
	}
	return nil
}

// Change changes a channel.
func (r *Room) Change(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput, in *ChangeChannel) (*store.Channel, error) {
	if in.Routes != nil {
		if err := checkRoutes(in.Routes); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(in.Quiet.check(), in.Digest.check()); err != nil {
		return nil, err
	}
	var row *store.Channel
	err := ws.Update(ctx, func(tx *store.Tx) (err error) {
		if row, err = tx.Channel(ctx, id); err != nil {
			return err
		}
		if err := match.Check(row.Version, false); err != nil {
			return err
		}
		s, err := settingsOf(row)
		if err != nil {
			return err
		}
		if in.Routes != nil {
			s.Routes = *in.Routes
		}
		if in.Quiet != nil || in.Loud {
			s.Quiet = in.Quiet
		}
		if in.Digest != nil {
			s.Digest = in.Digest.wanted()
		}
		if err := s.resubscribe(in.Resubscribe); err != nil {
			return err
		}
		if in.Digest != nil || in.Quiet != nil || in.Loud {
			if err := tx.MoveDigest(ctx, row.ID, store.Time{Time: s.digestOr(tx.Now())}); err != nil {
				return err
			}
		}
		if in.Enabled != nil {
			if row.Disabled = ""; !*in.Enabled {
				row.Disabled = switchedOff
			}
		}
		row.Settings = store.JSON(s)
		if err := tx.SaveChannel(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "channel.update", row.ID)
		rec.After = store.JSON(in)
		return tx.Audit(ctx, rec)
	})
	r.Wake()
	return row, err
}

// RotateSecret gives a webhook a new signing secret. For a day messages are signed with
// the one before, too.
func (r *Room) RotateSecret(ctx context.Context, ws *store.Workspace, id string) (*Channel, error) {
	var row *store.Channel
	p := &private{}
	err := ws.Update(ctx, func(tx *store.Tx) (err error) {
		if row, err = tx.Channel(ctx, id); err != nil {
			return err
		}
		if row.Kind != Webhook {
			return problem.New(problem.Conflict, "a channel of kind %s has no signing secret", row.Kind)
		}
		if p, err = r.open(row); err != nil {
			return err
		}
		if len(p.Keys) > 0 {
			p.Keys[0].Until = tx.Now().Add(rotationTime)
			p.Keys = p.Keys[:1] // two at most
		}
		p.Keys = slices.Insert(p.Keys, 0, key{Secret: secrets.Wire{Secret: newSecret()}})
		if err := r.seal(row, p); err != nil {
			return err
		}
		if err := tx.SaveChannel(ctx, row); err != nil {
			return err
		}
		return tx.Audit(ctx, request.Audit(ctx, "channel.secret.rotate", row.ID))
	})
	if err != nil {
		return nil, err
	}
	out, err := Show(row)
	out.Secret = p.Keys[0].Secret.Reveal()
	return &out, err
}

// Remove removes a channel, and what was to be delivered to it.
func (r *Room) Remove(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput) error {
	return ws.Update(ctx, func(tx *store.Tx) error {
		row, err := tx.Channel(ctx, id)
		if err != nil {
			return err
		}
		if err := match.Check(row.Version, false); err != nil {
			return err
		}
		if err := tx.DeleteChannel(ctx, row.ID); err != nil {
			return err
		}
		return tx.Audit(ctx, request.Audit(ctx, "channel.delete", row.ID))
	})
}

// takes reports whether a channel wants an event.
func (s *Settings) takes(row *store.Channel, ev *store.Event) bool {
	r := &s.Routes
	switch {
	case row.Disabled != "":
		return false
	case ev.ChannelID != "":
		return ev.ChannelID == row.ID
	case len(r.Toolsets) > 0 && !concerns(ev, r.Toolsets):
		return false
	case Worse(r.MinSeverity, ev.Severity), s.unheard(ev):
		return false
	case len(r.Kinds) == 0:
		return true
	}
	return slices.ContainsFunc(r.Kinds, func(k string) bool {
		subject, _ := path.Match(k, ev.Subject)
		kind, _ := path.Match(k, ev.Type)
		return subject || kind
	})
}

// concerns reports whether an event is about one of some toolsets.
func concerns(ev *store.Event, toolsets []string) bool {
	if slices.Contains(toolsets, ev.ToolsetID) {
		return true
	}
	d, err := documentOf(ev)
	return err == nil && slices.ContainsFunc(d.Toolsets, func(id string) bool { return slices.Contains(toolsets, id) })
}

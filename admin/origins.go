package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// boundTo is where a credential may be sent, as its record has it
// (docs/adr/0010-credentials-are-bound-to-origins.md).
type boundTo struct {
	// Call are the origins of requests that carry it.
	Call registry.Origins `json:"call"`
	// Token are the origins that the secret of an OAuth client and its tokens are sent
	// to; none: nothing was sent yet. The first request decides.
	Token registry.Origins `json:"token,omitempty"`
}

func (b *boundTo) text() string {
	if b.Call == nil {
		b.Call = registry.Origins{}
	}
	return store.JSON(b)
}

// parseBound reads the origins of a record; known is false for one from before they
// were kept.
func parseBound(row *store.Credential) (b boundTo, known bool, err error) {
	if row.Origins == "" {
		return b, false, nil
	}
	if err := json.Unmarshal([]byte(row.Origins), &b); err != nil {
		return b, false, fmt.Errorf("reading the origins of credential %s: %w", row.ID, err)
	}
	return b, true, nil
}

// boundOf returns where a credential may be sent. One from before that was kept is
// bound to the base URL by which the live revision uses it, which is where it went
// until now, and to nowhere when no live revision does: never to what a draft says.
func (s *Server) boundOf(ctx context.Context, row *store.Credential) (boundTo, error) {
	b, known, err := parseBound(row)
	if err != nil || known {
		return b, err
	}
	ws := s.o.Store.Workspace(row.WorkspaceID)
	ts, err := ws.Toolset(ctx, row.ToolsetID)
	if err != nil {
		return b, err
	}
	live, err := s.liveCalls(ctx, ts)
	if err != nil {
		return b, fmt.Errorf("finding out where credential %s is sent: %w", row.ID, err)
	}
	for _, c := range live {
		if c.uses(row.ID) && c.base != "" {
			b.Call = b.Call.With(c.base)
		}
	}
	text := b.text()
	err = ws.Update(ctx, func(tx *store.Tx) error {
		done, err := tx.SetOrigins(ctx, row.ID, "", text)
		if err != nil || !done {
			return err
		}
		rec := request.Audit(ctx, "authentication.origins", row.ToolsetID)
		rec.Reason = "the credential is from before origins were kept: it is bound to where the live revision sends it"
		rec.After = store.JSON(map[string]any{"credentialId": row.ID, "origins": b.Call})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return b, err
	}
	fresh, err := ws.CredentialByID(ctx, row.ID) // somebody may have been faster
	if err != nil {
		return b, err
	}
	row.Origins = fresh.Origins
	b, _, err = parseBound(row)
	return b, err
}

// bindOldCredentials gives the credentials from before origins were kept theirs. It goes on
// after a failure: such a credential is tried again when it is used.
func (s *Server) bindOldCredentials(ctx context.Context) error {
	rows, err := s.o.Store.UnboundCredentials(ctx)
	if err != nil {
		return err
	}
	for i := range rows {
		if _, err := s.boundOf(ctx, &rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// calls is where the requests of one connector of a bundle go.
type calls struct {
	connector   string
	base        string           // origin of the base URL; "": nobody says
	keyed       registry.Origins // of operations with servers of their own that want a credential
	elsewhere   registry.Origins // and of all such operations
	credentials []string
}

func (c *calls) uses(credential string) bool { return slices.Contains(c.credentials, credential) }

// wanted are the origins that get a credential.
func (c *calls) wanted() registry.Origins {
	if c.base == "" {
		return c.keyed
	}
	return c.keyed.With(c.base)
}

// all are the origins that requests go to.
func (c *calls) all() registry.Origins {
	if c.base == "" {
		return c.elsewhere
	}
	return c.elsewhere.With(c.base)
}

// callsOf says where requests of a connector go; baseURL is what the toolset sets in the
// place of the specification's servers.
func callsOf(name, baseURL string, g *toolset.Generated) calls {
	c := calls{connector: name}
	if baseURL != "" {
		c.base, _ = registry.OriginOf(baseURL) // one that is none is called nowhere
		return c
	}
	c.base, c.keyed, c.elsewhere = g.Base, g.Keyed, g.Elsewhere
	return c
}

func (p *part) calls() calls {
	c := callsOf(p.row.Name, p.row.BaseURL, p.conn)
	for i := range p.creds {
		c.credentials = append(c.credentials, p.creds[i].row.ID)
	}
	return c
}

// liveCalls is where the live revision of a toolset sends requests; nothing of one that
// is not live.
func (s *Server) liveCalls(ctx context.Context, ts *store.Toolset) ([]calls, error) {
	if ts.LiveRevision == 0 {
		return nil, nil
	}
	return s.bundleCalls(ctx, ts.LiveRepository, registry.Digest(ts.LiveDigest))
}

func (s *Server) bundleCalls(ctx context.Context, repository string, bundle registry.Digest) ([]calls, error) {
	t, err := s.o.Publisher.Toolset(ctx, repository, bundle)
	if err != nil {
		return nil, err
	}
	out := make([]calls, len(t.Connectors))
	for i := range t.Connectors {
		ref := &t.Connectors[i]
		conn, err := s.opened.Open(ctx, &store.ConnectorVersion{Connector: ref.Name, Digest: string(ref.Digest), Manifest: string(ref.Manifest), Repository: ref.Repository})
		if err != nil {
			return nil, err
		}
		out[i] = callsOf(ref.Name, ref.BaseURL, conn)
		for _, a := range ref.Auth.Each() {
			if a.CredentialID != "" {
				out[i].credentials = append(out[i].credentials, a.CredentialID)
			}
		}
	}
	return out, nil
}

// bind binds the credentials of a draft's connector whose secret a request gives to
// where the draft sends them. What is live sends the new secret too, so those of its
// origins that the old one was for stay.
func (s *Server) bind(ctx context.Context, d *draft) error {
	for i := range d.creds {
		c := &d.creds[i]
		b := boundTo{}
		switch {
		case c.adopted != nil:
			b.Call = originsOf(c.adopted.server)
		case c.given && c.row.Version == 0:
			w := d.part.calls()
			b.Call = w.wanted()
		case c.given:
			old, err := s.boundOf(ctx, &c.row)
			if err != nil {
				return err
			}
			live, err := s.liveCalls(ctx, d.ts)
			if err != nil {
				return err
			}
			w := d.part.calls()
			b.Call = w.wanted()
			for k := range live {
				for _, origin := range live[k].wanted() {
					if live[k].uses(c.row.ID) && old.Call.Has(origin) {
						b.Call = b.Call.With(origin)
					}
				}
			}
		case c.elsewhere: // another authorization server, for a client without a secret
			old, err := s.boundOf(ctx, &c.row)
			if err != nil {
				return err
			}
			b.Call = old.Call
		default:
			continue
		}
		c.was, c.row.Origins, c.rebound = c.row.Origins, b.text(), true
	}
	return nil
}

func originsOf(addresses ...string) registry.Origins {
	var out registry.Origins
	for _, a := range addresses {
		if origin, err := registry.OriginOf(a); err == nil {
			out = out.With(origin)
		}
	}
	return out
}

// OriginChange is an address that waits to be confirmed.
type OriginChange struct {
	Connector string   `json:"connector" doc:"Name of the connector in the toolset."`
	From      []string `json:"from" doc:"Scheme, host and port of where calls went, or the credential may be sent."`
	To        []string `json:"to" doc:"And of where they would go."`
	New       []string `json:"new,omitempty" doc:"Those of them that the credential is not for: an administrator must confirm them, or the secret must be given again."`
}

// String is the change in one line.
func (c *OriginChange) String() string {
	from, to := registry.Origins(c.From), registry.Origins(c.To)
	return from.String() + " → " + to.String()
}

// unconfirmed lists where a draft would send a credential that it is not for.
func (s *Server) unconfirmed(ctx context.Context, d *draft) ([]OriginChange, error) {
	var list []calls
	rows := map[string]*store.Credential{}
	for _, p := range d.parts {
		list = append(list, p.calls())
		for i := range p.creds {
			rows[p.creds[i].row.ID] = &p.creds[i].row
		}
	}
	return s.unconfirmedCalls(ctx, list, func(id string) (*store.Credential, error) { return rows[id], nil })
}

func (s *Server) unconfirmedCalls(ctx context.Context, list []calls, row func(id string) (*store.Credential, error)) ([]OriginChange, error) {
	var out []OriginChange
	for i := range list {
		c := &list[i]
		change := OriginChange{Connector: c.connector, To: c.wanted()}
		var from, missing registry.Origins
		for _, id := range c.credentials {
			r, err := row(id)
			if err != nil {
				return nil, err
			}
			b, err := s.boundOf(ctx, r)
			if err != nil {
				return nil, err
			}
			from, missing = from.With(b.Call...), missing.With(b.Call.Missing(c.wanted())...)
		}
		if len(missing) > 0 {
			change.From, change.New = nonNil(from), missing
			out = append(out, change)
		}
	}
	return out, nil
}

func nonNil(o registry.Origins) registry.Origins {
	if o == nil {
		return registry.Origins{}
	}
	return o
}

// whyWaits says for people that addresses must be confirmed.
func whyWaits(changes []OriginChange) string {
	texts := make([]string, len(changes))
	for i := range changes {
		c := &changes[i]
		from, to := registry.Origins(c.From), registry.Origins(c.New)
		texts[i] = fmt.Sprintf("the credential of %s is for %s, and calls would take it to %s", c.Connector, from, to)
	}
	return strings.Join(texts, "; ")
}

// originsRefused is the error of sending a credential to a new address.
func originsRefused(slug string, changes []OriginChange) error {
	var all registry.Origins
	for i := range changes {
		all = all.With(changes[i].New...)
	}
	return problem.New(problem.Conflict, "%s", whyWaits(changes)).
		Fix("an administrator confirms the new address: sluice toolset origins %s --confirm %s   or somebody who has the secret sets it again: sluice toolset auth %s",
			slug, strings.Join(all, ","), slug)
}

// requireConfirmed refuses a draft that would send a credential to a new address.
func (s *Server) requireConfirmed(ctx context.Context, d *draft) error {
	changes, err := s.unconfirmed(ctx, d)
	if err == nil && len(changes) > 0 {
		err = originsRefused(d.ts.Slug, changes)
	}
	return err
}

// restorable refuses to roll back to a bundle that would send a credential to an address
// that it is not for.
func (s *Server) restorable(ctx context.Context, ws *store.Workspace, slug, repository string, bundle registry.Digest) error {
	list, err := s.bundleCalls(ctx, repository, bundle)
	if err != nil {
		return err
	}
	changes, err := s.unconfirmedCalls(ctx, list, func(id string) (*store.Credential, error) { return ws.CredentialByID(ctx, id) })
	if err == nil && len(changes) > 0 {
		err = originsRefused(slug, changes)
	}
	return err
}

// why says why the change waits.
func (c *OriginChange) why() string {
	if len(c.New) == 0 {
		return "calls would go to another address: " + c.String()
	}
	return whyWaits([]OriginChange{*c})
}

// moved says how another version of a connector sends requests elsewhere; nil: it does
// not.
func moved(name, baseURL string, old, next *toolset.Generated) *OriginChange {
	from, to := callsOf(name, baseURL, old), callsOf(name, baseURL, next)
	if from.all().Missing(to.all()) == nil {
		return nil
	}
	return &OriginChange{Connector: name, From: nonNil(from.all()), To: nonNil(to.all())}
}

// bindToken returns where a credential may be sent, and binds its tokens to origins when
// nothing did before.
func (s *Server) bindToken(ctx context.Context, row *store.Credential, origins registry.Origins) (boundTo, error) {
	ws := s.o.Store.Workspace(row.WorkspaceID)
	for {
		current, err := ws.CredentialByID(ctx, row.ID)
		if problem.Is(err, problem.NotFound) { // deleted: its tokens are being revoked
			b, _, err := parseBound(row)
			return b, err
		}
		if err != nil {
			return boundTo{}, err
		}
		b, err := s.boundOf(ctx, current)
		if err != nil || len(b.Token) > 0 {
			return b, err
		}
		b.Token = origins
		done := false
		err = ws.Update(ctx, func(tx *store.Tx) (err error) {
			done, err = tx.SetOrigins(ctx, row.ID, current.Origins, b.text())
			return err
		})
		if done || err != nil { // else another request was faster, and its word holds
			return b, err
		}
	}
}

// permitToken decides where the secret of an OAuth client and its tokens may be sent: the
// first request binds them to its authorization server.
func (s *Server) permitToken(row *store.Credential) func(ctx context.Context, use string, known []string) error {
	return func(ctx context.Context, use string, known []string) error {
		origin, err := registry.OriginOf(use)
		if err != nil {
			return err
		}
		b, err := s.bindToken(ctx, row, originsOf(known...).With(origin))
		if err != nil {
			return err
		}
		if !b.Token.Has(origin) {
			return problem.New(problem.Forbidden, "the secret of this OAuth client is for %s, and its authorization server now wants it at %s", b.Token, origin).
				Fix("an administrator confirms the new address: sluice toolset origins TOOLSET --confirm-token %s   or somebody who has the secret sets it again", origin)
		}
		return nil
	}
}

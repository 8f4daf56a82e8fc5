package admin

import (
	"context"
	"fmt"

	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// boundOf returns where a credential may be sent. One from before that was kept is
// bound to the base URL by which the live revision uses it, which is where it went
// until now, and to nowhere when no live revision does: never to what a draft says.
func (s *Server) boundOf(ctx context.Context, row *store.Credential) (credential.Bound, error) {
	b, known, err := credential.ParseBound(row)
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
		if c.Uses(row.ID) && c.Base != "" {
			b.Call = b.Call.With(c.Base)
		}
	}
	text := b.Text()
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
	b, _, err = credential.ParseBound(row)
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

func (p *part) calls() credential.Calls {
	c := credential.CallsOf(p.row.Name, p.row.BaseURL, p.conn)
	for i := range p.creds {
		c.Credentials = append(c.Credentials, p.creds[i].Row.ID)
	}
	return c
}

// liveCalls is where the live revision of a toolset sends requests; nothing of one that
// is not live.
func (s *Server) liveCalls(ctx context.Context, ts *store.Toolset) ([]credential.Calls, error) {
	if ts.LiveRevision == 0 {
		return nil, nil
	}
	return s.bundleCalls(ctx, ts.LiveRepository, registry.Digest(ts.LiveDigest))
}

func (s *Server) bundleCalls(ctx context.Context, repository string, bundle registry.Digest) ([]credential.Calls, error) {
	t, err := s.o.Publisher.Toolset(ctx, repository, bundle)
	if err != nil {
		return nil, err
	}
	out := make([]credential.Calls, len(t.Connectors))
	for i := range t.Connectors {
		ref := &t.Connectors[i]
		conn, err := s.opened.Open(ctx, &store.ConnectorVersion{Connector: ref.Name, Digest: string(ref.Digest), Manifest: string(ref.Manifest), Repository: ref.Repository})
		if err != nil {
			return nil, err
		}
		out[i] = credential.CallsOf(ref.Name, ref.BaseURL, conn)
		for _, a := range ref.Auth.Each() {
			if a.CredentialID != "" {
				out[i].Credentials = append(out[i].Credentials, a.CredentialID)
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
		b := credential.Bound{}
		switch {
		case c.Adopted != nil:
			b.Call = credential.OriginsOf(c.Adopted.Server)
		case c.Given && c.Row.Version == 0:
			w := d.part.calls()
			b.Call = w.Wanted()
		case c.Given:
			old, err := s.boundOf(ctx, &c.Row)
			if err != nil {
				return err
			}
			live, err := s.liveCalls(ctx, d.ts)
			if err != nil {
				return err
			}
			w := d.part.calls()
			b.Call = w.Wanted()
			for k := range live {
				for _, origin := range live[k].Wanted() {
					if live[k].Uses(c.Row.ID) && old.Call.Has(origin) {
						b.Call = b.Call.With(origin)
					}
				}
			}
		case c.Elsewhere: // another authorization server, for a client without a secret
			old, err := s.boundOf(ctx, &c.Row)
			if err != nil {
				return err
			}
			b.Call = old.Call
		default:
			continue
		}
		c.Was, c.Row.Origins, c.Rebound = c.Row.Origins, b.Text(), true
	}
	return nil
}

// unconfirmed lists where a draft would send a credential that it is not for.
func (s *Server) unconfirmed(ctx context.Context, d *draft) ([]credential.OriginChange, error) {
	var list []credential.Calls
	rows := map[string]*store.Credential{}
	for _, p := range d.parts {
		list = append(list, p.calls())
		for i := range p.creds {
			rows[p.creds[i].Row.ID] = &p.creds[i].Row
		}
	}
	return s.unconfirmedCalls(ctx, list, func(id string) (*store.Credential, error) { return rows[id], nil })
}

func (s *Server) unconfirmedCalls(ctx context.Context, list []credential.Calls, row func(id string) (*store.Credential, error)) ([]credential.OriginChange, error) {
	var out []credential.OriginChange
	for i := range list {
		c := &list[i]
		change := credential.OriginChange{Connector: c.Connector, To: c.Wanted()}
		var from, missing registry.Origins
		for _, id := range c.Credentials {
			r, err := row(id)
			if err != nil {
				return nil, err
			}
			b, err := s.boundOf(ctx, r)
			if err != nil {
				return nil, err
			}
			from, missing = from.With(b.Call...), missing.With(b.Call.Missing(c.Wanted())...)
		}
		if len(missing) > 0 {
			change.From, change.New = credential.NonNil(from), missing
			out = append(out, change)
		}
	}
	return out, nil
}

// requireConfirmed refuses a draft that would send a credential to a new address.
func (s *Server) requireConfirmed(ctx context.Context, d *draft) error {
	changes, err := s.unconfirmed(ctx, d)
	if err == nil && len(changes) > 0 {
		err = credential.Refused(d.ts.Slug, changes)
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
		err = credential.Refused(slug, changes)
	}
	return err
}

// bindToken returns where a credential may be sent, and binds its tokens to origins when
// nothing did before.
func (s *Server) bindToken(ctx context.Context, row *store.Credential, origins registry.Origins) (credential.Bound, error) {
	ws := s.o.Store.Workspace(row.WorkspaceID)
	for {
		current, err := ws.CredentialByID(ctx, row.ID)
		if problem.Is(err, problem.NotFound) { // deleted: its tokens are being revoked
			b, _, err := credential.ParseBound(row)
			return b, err
		}
		if err != nil {
			return credential.Bound{}, err
		}
		b, err := s.boundOf(ctx, current)
		if err != nil || len(b.Token) > 0 {
			return b, err
		}
		b.Token = origins
		done := false
		err = ws.Update(ctx, func(tx *store.Tx) (err error) {
			done, err = tx.SetOrigins(ctx, row.ID, current.Origins, b.Text())
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
		b, err := s.bindToken(ctx, row, credential.OriginsOf(known...).With(origin))
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

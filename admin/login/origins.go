package login

import (
	"context"
	"fmt"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Origins decides where credentials may be sent.
type Origins struct {
	Store     *store.Store
	Publisher *publish.Publisher
	Opened    *toolset.Connectors
}

// Of returns where a credential may be sent. One from before that was kept is
// bound to the base URL by which the live revision uses it, which is where it went
// until now, and to nowhere when no live revision does: never to what a draft says.
func (o *Origins) Of(ctx context.Context, row *store.Credential) (credential.Bound, error) {
	b, known, err := credential.ParseBound(row)
	if err != nil || known {
		return b, err
	}
	ws := o.Store.Workspace(row.WorkspaceID)
	ts, err := ws.Toolset(ctx, row.ToolsetID)
	if err != nil {
		return b, err
	}
	live, err := o.Live(ctx, ts)
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

// BindOld gives the credentials from before origins were kept theirs. It goes on
// after a failure: such a credential is tried again when it is used.
func (o *Origins) BindOld(ctx context.Context) error {
	rows, err := o.Store.UnboundCredentials(ctx)
	if err != nil {
		return err
	}
	for i := range rows {
		if _, err := o.Of(ctx, &rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// Live is where the live revision of a toolset sends requests; nothing of one that
// is not live.
func (o *Origins) Live(ctx context.Context, ts *store.Toolset) ([]credential.Calls, error) {
	if ts.LiveRevision == 0 {
		return nil, nil
	}
	return o.bundleCalls(ctx, ts.LiveRepository, registry.Digest(ts.LiveDigest))
}

func (o *Origins) bundleCalls(ctx context.Context, repository string, bundle registry.Digest) ([]credential.Calls, error) {
	t, err := o.Publisher.Toolset(ctx, repository, bundle)
	if err != nil {
		return nil, err
	}
	out := make([]credential.Calls, len(t.Connectors))
	for i := range t.Connectors {
		ref := &t.Connectors[i]
		conn, err := o.Opened.Open(ctx, &store.ConnectorVersion{Connector: ref.Name, Digest: string(ref.Digest), Manifest: string(ref.Manifest), Repository: ref.Repository})
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

// Bind binds the credentials of a toolset's connector whose secret a request gives to
// where its draft sends them, which is drafted. What is live sends the new secret too, so those of its
// origins that the old one was for stay.
func (o *Origins) Bind(ctx context.Context, ts *store.Toolset, creds []credential.Draft, drafted *credential.Calls) error {
	for i := range creds {
		c := &creds[i]
		b := credential.Bound{}
		switch {
		case c.Adopted != nil:
			b.Call = credential.OriginsOf(c.Adopted.Server)
		case c.Given && c.Row.Version == 0:
			b.Call = drafted.Wanted()
		case c.Given:
			old, err := o.Of(ctx, &c.Row)
			if err != nil {
				return err
			}
			live, err := o.Live(ctx, ts)
			if err != nil {
				return err
			}
			b.Call = drafted.Wanted()
			for k := range live {
				for _, origin := range live[k].Wanted() {
					if live[k].Uses(c.Row.ID) && old.Call.Has(origin) {
						b.Call = b.Call.With(origin)
					}
				}
			}
		case c.Elsewhere: // another authorization server, for a client without a secret
			old, err := o.Of(ctx, &c.Row)
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

// Unconfirmed lists where calls would send a credential that it is not for. row finds
// the record of a credential.
func (o *Origins) Unconfirmed(ctx context.Context, list []credential.Calls, row func(id string) (*store.Credential, error)) ([]credential.OriginChange, error) {
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
			b, err := o.Of(ctx, r)
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

// Restorable refuses to roll back to a bundle that would send a credential to an address
// that it is not for.
func (o *Origins) Restorable(ctx context.Context, ws *store.Workspace, slug, repository string, bundle registry.Digest) error {
	list, err := o.bundleCalls(ctx, repository, bundle)
	if err != nil {
		return err
	}
	changes, err := o.Unconfirmed(ctx, list, func(id string) (*store.Credential, error) { return ws.CredentialByID(ctx, id) })
	if err == nil && len(changes) > 0 {
		err = credential.Refused(slug, changes)
	}
	return err
}

// bindToken returns where a credential may be sent, and binds its tokens to origins when
// nothing did before.
func (o *Origins) bindToken(ctx context.Context, row *store.Credential, origins registry.Origins) (credential.Bound, error) {
	ws := o.Store.Workspace(row.WorkspaceID)
	for {
		current, err := ws.CredentialByID(ctx, row.ID)
		if problem.Is(err, problem.NotFound) { // deleted: its tokens are being revoked
			b, _, err := credential.ParseBound(row)
			return b, err
		}
		if err != nil {
			return credential.Bound{}, err
		}
		b, err := o.Of(ctx, current)
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
func (o *Origins) permitToken(row *store.Credential) func(ctx context.Context, use string, known []string) error {
	return func(ctx context.Context, use string, known []string) error {
		origin, err := registry.OriginOf(use)
		if err != nil {
			return err
		}
		b, err := o.bindToken(ctx, row, credential.OriginsOf(known...).With(origin))
		if err != nil {
			return err
		}
		return tokenAt(b, origin)
	}
}

// permitLogin decides whether a person is sent to log in: where the secret and the tokens
// are bound, the code must go there too, or the login would be refused on its way back.
// Nothing is bound here, because nothing is sent yet.
func (o *Origins) permitLogin(row *store.Credential) func(ctx context.Context, use string) error {
	return func(ctx context.Context, use string) error {
		origin, err := registry.OriginOf(use)
		if err != nil {
			return err
		}
		current, err := o.Store.Workspace(row.WorkspaceID).CredentialByID(ctx, row.ID)
		if err != nil {
			return err
		}
		b, _, err := credential.ParseBound(current)
		if err != nil || len(b.Token) == 0 {
			return err
		}
		return tokenAt(b, origin)
	}
}

// tokenAt refuses to send the secret of an OAuth client where it is not for.
func tokenAt(b credential.Bound, origin string) error {
	if b.Token.Has(origin) {
		return nil
	}
	return problem.New(problem.Forbidden, "the secret of this OAuth client is for %s, and its authorization server now wants it at %s", b.Token, origin).
		Fix("an administrator confirms the new address: sluice toolset origins TOOLSET --confirm-token %s   or somebody who has the secret sets it again", origin)
}

// ConnectorOrigins is where the credentials of a connector may be sent and where its
// calls go.
type ConnectorOrigins struct {
	Connector    string   `json:"connector"`
	Origins      []string `json:"origins" doc:"Where the credential may be sent: scheme, host and port."`
	TokenOrigins []string `json:"tokenOrigins,omitempty" doc:"Where the secret of an OAuth client and its tokens may be sent; absent: the first request for a token decides."`
	Draft        []string `json:"draft" doc:"Where the draft sends requests with the credential."`
	Live         []string `json:"live" doc:"Where the live revision does."`
	New          []string `json:"new,omitempty" doc:"Those of draft, or of a change that waits, that the credential is not for."`
}

// ConfirmOrigins confirms addresses.
type ConfirmOrigins struct {
	Connector    string   `json:"connector,omitempty" maxLength:"63" doc:"Which one, of a toolset with several."`
	Origins      []string `json:"origins,omitempty" maxItems:"64" doc:"That the credential may be sent to from now on, as well." example:"[\"https://api.example.com\"]"`
	TokenOrigins []string `json:"tokenOrigins,omitempty" maxItems:"64" doc:"That the secret of the OAuth client and its tokens may be sent to, as well."`
	Reason       string   `json:"reason,omitempty" maxLength:"500" doc:"For the audit log."`
}

// Show says where the credentials of a connector may be sent and where calls take them.
// drafted is where its draft sends requests, live where the live revision does, and waits what
// a change that waits is about.
func (o *Origins) Show(ctx context.Context, creds []credential.Draft, drafted *credential.Calls, live []credential.Calls, waits registry.Origins) (ConnectorOrigins, error) {
	var bound, token, missing, served registry.Origins
	for i := range creds {
		b, err := o.Of(ctx, &creds[i].Row)
		if err != nil {
			return ConnectorOrigins{}, err
		}
		bound, token, missing = bound.With(b.Call...), token.With(b.Token...), missing.With(b.Call.Missing(drafted.Wanted())...)
	}
	for i := range live {
		if live[i].Connector == drafted.Connector {
			served = served.With(live[i].Wanted()...)
		}
	}
	return ConnectorOrigins{
		Connector: drafted.Connector, Origins: credential.NonNil(bound), TokenOrigins: token, Draft: credential.NonNil(drafted.Wanted()), Live: credential.NonNil(served),
		New: missing.With(bound.Missing(waits)...),
	}, nil
}

// Confirm lets the credentials of a connector be sent to more addresses. Their cached
// secrets must be forgotten then.
func (o *Origins) Confirm(ctx context.Context, ws *store.Workspace, ts *store.Toolset, connector string, creds []credential.Draft, in *ConfirmOrigins) error {
	var call, token registry.Origins
	for _, f := range []struct {
		to    *registry.Origins
		given []string
		at    string
	}{{&call, in.Origins, "/origins/"}, {&token, in.TokenOrigins, "/tokenOrigins/"}} {
		for i, a := range f.given {
			origin, err := registry.OriginOf(a)
			if err != nil {
				return problem.As(err).At("", 0, 0, fmt.Sprintf("%s%d", f.at, i))
			}
			*f.to = f.to.With(origin)
		}
	}
	switch {
	case len(call)+len(token) == 0:
		return problem.New(problem.InvalidArgument, "no address is named").At("", 0, 0, "/origins").Fix("name the new address, for example https://api.example.com")
	case len(creds) == 0:
		return problem.New(problem.Conflict, "connector %s has no credential that could be sent anywhere", connector)
	}
	type change struct {
		CredentialID string           `json:"credentialId"`
		Bound        credential.Bound `json:"bound"`
	}
	var before, after []change
	for i := range creds {
		row := &creds[i].Row
		b, err := o.Of(ctx, row)
		if err != nil {
			return err
		}
		before = append(before, change{row.ID, b})
		b.Call = b.Call.With(call...)
		if credential.IsOAuth(row.AuthType) {
			b.Token = b.Token.With(token...)
		}
		if len(b.Call) > registry.MaxOrigins || len(b.Token) > registry.MaxOrigins {
			return problem.New(problem.InvalidArgument, "a credential has at most %d addresses", registry.MaxOrigins).At("", 0, 0, "/origins").
				Fix("set the secret again: it is then bound to where calls go now")
		}
		after = append(after, change{row.ID, b})
	}
	return ws.Update(ctx, func(tx *store.Tx) error {
		for i := range creds {
			row := &creds[i].Row
			done, err := tx.SetOrigins(ctx, row.ID, row.Origins, after[i].Bound.Text())
			if err != nil {
				return err
			}
			if !done {
				return problem.New(problem.Conflict, "the authentication was changed meanwhile").Fix("look at it and try again")
			}
			row.Origins = after[i].Bound.Text()
		}
		if err := tx.SaveToolset(ctx, ts); err != nil {
			return err
		}
		rec := request.Audit(ctx, "authentication.origins", ts.ID)
		rec.Before, rec.After, rec.Reason = store.JSON(before), store.JSON(after), in.Reason
		return tx.Audit(ctx, rec)
	})
}

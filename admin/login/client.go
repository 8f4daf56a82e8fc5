package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/handshake"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// DocumentPath is where authorization servers read who this control plane
	// is as a client (client ID metadata document).
	DocumentPath = "/client-metadata.json"
	// clientName is what people see at the login page of an authorization server.
	clientName = "Sluice"
)

// search is what a client is looked for with.
type search struct {
	shape    *credential.Shape
	server   bool               // the resource is an MCP server
	old      *credential.Client // nil: none was found before
	redirect string
	more     []string // scopes beyond the usual ones
	anew     bool     // a registered client is not used again
}

// findClient finds the authorization server of a configuration and a client at it:
// the configured one, else the one that the server reads of a document, else one
// that is registered (MCP 2026-07-28 basic/authorization "Client Registration").
func (cs *Clients) findClient(ctx context.Context, q *search) (*credential.Client, error) {
	sh, c := q.shape, &credential.Client{Redirect: q.redirect, Resource: q.shape.Resource, Scopes: q.shape.Scopes}
	metadata, err := cs.findServer(ctx, q, c)
	if err != nil {
		return nil, err
	}
	c.AddScopes(q.more, q.old)
	if sh.ClientID != "" {
		c.ClientID, c.AuthMethod = sh.ClientID, sh.TokenAuth
		return c, nil
	}
	if document := cs.Document(); metadata.TakesDocuments && document != nil {
		c.ClientID, c.AuthMethod, c.Redirect = document.ClientID, oauth.AuthNone, document.RedirectURIs[0]
		return c, nil
	}
	if q.old.UsableFor(c, cs.o.Store.Now()) && !q.anew {
		c.ClientID, c.ClientSecret, c.AuthMethod, c.Registered, c.Expires = q.old.ClientID, q.old.ClientSecret, q.old.AuthMethod, true, q.old.Expires
		return c, nil
	}
	about := oauth.Describe(clientName, q.redirect)
	reg, err := cs.o.OAuth.Register(ctx, metadata, &about)
	if err != nil {
		return nil, err
	}
	c.ClientID, c.ClientSecret, c.AuthMethod, c.Registered = reg.ClientID, secrets.Wire{Secret: reg.ClientSecret}, reg.AuthMethod, true
	if !reg.Expires.IsZero() {
		c.Expires = reg.Expires.Unix()
	}
	return c, nil
}

// findServer finds the authorization server and what of it belongs to a client.
func (cs *Clients) findServer(ctx context.Context, q *search, c *credential.Client) (*oauth.Metadata, error) {
	sh := q.shape
	if sh.Issuer != "" {
		m, err := cs.o.OAuth.Discover(ctx, sh.Issuer)
		if err == nil {
			c.Issuer = sh.Issuer
		}
		return m, err
	}
	known := ""
	if q.old != nil {
		known = q.old.Issuer
	}
	found, err := cs.o.OAuth.DiscoverServer(ctx, sh.Resource, cs.challengeOf(ctx, sh.Resource, q.server), known)
	if err != nil {
		return nil, err
	}
	c.Issuer, c.Resource = found.Metadata.Issuer, found.Resource
	if found.Guessed {
		c.AuthorizationURL, c.TokenURL = found.Metadata.AuthorizationEndpoint, found.Metadata.TokenEndpoint
	}
	if len(sh.Scopes) == 0 {
		c.Scopes = found.Scopes
	}
	return found.Metadata, nil
}

// challengeOf is what a resource says that it wants, asked without a credential. A
// resource that says nothing is described by its well-known metadata.
func (cs *Clients) challengeOf(ctx context.Context, resource string, server bool) oauth.Challenge {
	if !server || cs.o.Challenge == nil {
		return cs.o.OAuth.Ask(ctx, resource)
	}
	return cs.o.Challenge(ctx, resource)
}

// Document describes this control plane as a client that is named by a URL;
// nil when it has no https address that others reach.
func (cs *Clients) Document() *oauth.ClientMetadata {
	u, err := url.Parse(cs.o.PublicURL)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil
	}
	m := oauth.Describe(clientName, cs.o.PublicURL+CallbackPath)
	m.ClientID, m.URI = cs.o.PublicURL+DocumentPath, cs.o.PublicURL
	return &m
}

// CallbackURL is where a browser comes back to.
func (cs *Clients) CallbackURL(ctx context.Context) string {
	if cs.o.PublicURL != "" {
		return cs.o.PublicURL + CallbackPath
	}
	return request.Of(ctx).Base + CallbackPath
}

// oldClient is the client that a credential found or registered before; nil: none.
func (cs *Clients) oldClient(ctx context.Context, ws *store.Workspace, id string) (*credential.Client, error) {
	row, err := ws.OAuthClient(ctx, id)
	if row == nil || err != nil {
		return nil, err
	}
	text, err := cs.o.Keyring.Open(row.Record(), row.Sealed)
	if err != nil {
		return nil, fmt.Errorf("opening the client of credential %s: %w", id, err)
	}
	c := new(credential.Client)
	if json.Unmarshal([]byte(text.Reveal()), c) != nil { // its error would quote it
		return nil, fmt.Errorf("the client of credential %s is not in the form it was written", id)
	}
	return c, nil
}

// clientFor finds the client for another login with a credential and writes it
// down. Logins of one credential that begin at the same time share one search.
func (cs *Clients) clientFor(ctx context.Context, row *store.Credential, q search) (*credential.Client, error) {
	v, err, _ := cs.flights.Do("client/"+row.ID, func() (any, error) {
		ws := cs.o.Store.Workspace(row.WorkspaceID)
		var err error
		if q.old, err = cs.oldClient(ctx, ws, row.ID); err != nil {
			return nil, err
		}
		c, err := cs.findClient(ctx, &q)
		if err != nil {
			return nil, err
		}
		return c, ws.Update(ctx, func(tx *store.Tx) error {
			return tx.SealOAuthClient(ctx, cs.o.Keyring, row.ID, secrets.New(store.JSON(c)))
		})
	})
	if err != nil {
		return nil, err
	}
	return v.(*credential.Client), nil
}

// dropClient forgets a registered client that its server does not know any more, so
// that the next login registers anew.
func (cs *Clients) dropClient(ctx context.Context, ws *store.Workspace, id string, c *credential.Client) error {
	if c == nil || !c.Registered || id == "" {
		return nil
	}
	old, err := cs.oldClient(ctx, ws, id)
	if err != nil || old == nil || old.ClientID != c.ClientID {
		return err
	}
	return ws.Update(ctx, func(tx *store.Tx) error { return tx.DeleteOAuthClient(ctx, id) })
}

// Explain says of an MCP server that wants authentication which one, and how to give
// it. It changes no other error. stored says that it was asked with a credential.
func (cs *Clients) Explain(ctx context.Context, server string, stored bool, err error) error {
	wants, ok := errors.AsType[*handshake.WantsAuthError](err)
	if !ok {
		return err
	}
	wants.Wants = handshake.OfChallenge(wants.Challenge)
	if cs.o.OAuth == nil {
		return err
	}
	challenge, bearer := oauth.ParseChallenge(wants.Challenge)
	if !bearer && wants.Challenge != "" {
		return err
	}
	p := problem.As(err)
	if challenge.Error == "insufficient_scope" && len(challenge.Scopes) > 0 {
		list := request.ClipText(strings.Join(challenge.Scopes, ","), 500)
		return problem.New(p.Kind, "%s: it wants more permissions than the login has", p.Detail).
			Fix("log in with them: sluice add URL --auth oauth --scope %s   or, with a toolset, sluice toolset auth TOOLSET login --scope %s", list, list).Because(err)
	}
	found, fault := cs.o.OAuth.DiscoverServer(ctx, server, challenge, "")
	switch {
	case fault == nil && found.Guessed:
		return err // nothing there speaks of OAuth
	case fault != nil:
		out := problem.New(p.Kind, "%s; where to log in cannot be found out: %s", p.Detail, request.Detail(fault)).Because(err)
		out.Remedy = "set authentication of type bearer or header with a token that was got elsewhere, or oauth2 with issuer and clientId"
		if p := request.Fault(fault); p != nil && p.Remedy != "" {
			out.Remedy = p.Remedy + "; or " + out.Remedy
		}
		return out
	}
	if stored {
		return problem.New(p.Kind, "%s", p.Detail).Fix("log in again: sluice toolset auth TOOLSET login; or set the authentication of the toolset again").Because(err)
	}
	detail := fmt.Sprintf("%s at %s", strings.TrimSuffix(p.Detail, " (HTTP 401)"), credential.Host(found.Metadata.Issuer))
	if len(found.Scopes) > 0 {
		detail += " for the scopes " + request.ClipText(strings.Join(found.Scopes, " "), 200)
	}
	out := problem.New(p.Kind, "%s (HTTP 401)", detail).Because(err)
	m := found.Metadata
	registers := m.TakesDocuments && cs.Document() != nil || m.RegistrationEndpoint != ""
	wants.Wants = &handshake.Wants{Kind: handshake.OAuth, Issuer: m.Issuer, Scopes: found.Scopes, Registers: registers, RedirectURL: cs.CallbackURL(ctx)}
	if registers {
		return out.Fix("log in: sluice add URL --auth oauth; a client is registered there by itself")
	}
	return out.Fix("register a client there that may come back to %s, then: sluice add URL --auth oauth:CLIENT_ID", cs.CallbackURL(ctx))
}

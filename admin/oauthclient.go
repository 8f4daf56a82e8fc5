package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/sluicegate/sluice/admin/handshake"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// clientDocumentPath is where authorization servers read who this control plane
	// is as a client (client ID metadata document).
	clientDocumentPath = "/client-metadata.json"
	// clientName is what people see at the login page of an authorization server.
	clientName = "Sluice"
	// clientEarly is how long before the end of its secret a registered client is
	// not used for another login.
	clientEarly = time.Hour
)

// WantsAuthError is the cause of a problem with a server that wants authentication.
type WantsAuthError struct {
	// Challenge is the WWW-Authenticate of its answer; may be "". It comes from
	// outside.
	Challenge string
	// Wants is what it asks for, once that was looked up.
	Wants *handshake.Wants
}

// Error says nothing of the challenge, which is for machines.
func (*WantsAuthError) Error() string { return "the server wants authentication" }

// foundClient is a client that was found or registered from what a resource says,
// as it is sealed. Tokens keep the one that they were given to.
type foundClient struct {
	Issuer           string       `json:"issuer,omitempty"`
	AuthorizationURL string       `json:"authorizationUrl,omitempty"` // of a server without metadata
	TokenURL         string       `json:"tokenUrl,omitempty"`
	ClientID         string       `json:"clientId"`
	ClientSecret     secrets.Wire `json:"clientSecret,omitzero"` // of a registered one
	AuthMethod       string       `json:"authMethod,omitempty"`
	Resource         string       `json:"resource,omitempty"`
	Scopes           []string     `json:"scopes,omitempty"` // to ask for
	More             []string     `json:"more,omitempty"`   // those of them that were asked for beyond the usual ones
	Redirect         string       `json:"redirect"`
	Registered       bool         `json:"registered,omitempty"` // by RFC 7591
	Expires          int64        `json:"expires,omitempty"`    // of the secret, seconds since 1970; 0: never
}

// discovers reports whether a configuration leaves to the resource where to log in,
// or as which client.
func (sh *shape) discovers() bool {
	return sh.Resource != "" && sh.TokenURL == "" && (sh.Issuer == "" || sh.ClientID == "")
}

// apply puts what was found into a configuration.
func (c *foundClient) apply(cfg *oauth.Config) {
	cfg.Issuer, cfg.AuthorizationURL, cfg.TokenURL = c.Issuer, c.AuthorizationURL, c.TokenURL
	cfg.Scopes, cfg.Resource, cfg.RedirectURL = c.Scopes, c.Resource, c.Redirect
	if cfg.ClientID == "" {
		cfg.ClientID, cfg.ClientSecret, cfg.AuthMethod = c.ClientID, c.ClientSecret.Secret, c.AuthMethod
	}
}

// usableFor reports whether a registered client can be used for another login at a
// server.
func (c *foundClient) usableFor(found *foundClient, now time.Time) bool {
	return c != nil && c.Registered && c.Issuer == found.Issuer && c.TokenURL == found.TokenURL && c.Redirect == found.Redirect &&
		(c.Expires == 0 || now.Add(clientEarly).Unix() < c.Expires)
}

// search is what a client is looked for with.
type search struct {
	shape    *shape
	server   bool         // the resource is an MCP server
	old      *foundClient // nil: none was found before
	redirect string
	more     []string // scopes beyond the usual ones
	anew     bool     // a registered client is not used again
}

// findClient finds the authorization server of a configuration and a client at it:
// the configured one, else the one that the server reads of a document, else one
// that is registered (MCP 2026-07-28 basic/authorization "Client Registration").
func (s *Server) findClient(ctx context.Context, q *search) (*foundClient, error) {
	sh, c := q.shape, &foundClient{Redirect: q.redirect, Resource: q.shape.Resource, Scopes: q.shape.Scopes}
	metadata, err := s.findServer(ctx, q, c)
	if err != nil {
		return nil, err
	}
	c.addScopes(q)
	if sh.ClientID != "" {
		c.ClientID, c.AuthMethod = sh.ClientID, sh.TokenAuth
		return c, nil
	}
	if document := s.clientDocument(); metadata.TakesDocuments && document != nil {
		c.ClientID, c.AuthMethod, c.Redirect = document.ClientID, oauth.AuthNone, document.RedirectURIs[0]
		return c, nil
	}
	if q.old.usableFor(c, s.now()) && !q.anew {
		c.ClientID, c.ClientSecret, c.AuthMethod, c.Registered, c.Expires = q.old.ClientID, q.old.ClientSecret, q.old.AuthMethod, true, q.old.Expires
		return c, nil
	}
	about := oauth.Describe(clientName, q.redirect)
	reg, err := s.o.OAuth.Register(ctx, metadata, &about)
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
func (s *Server) findServer(ctx context.Context, q *search, c *foundClient) (*oauth.Metadata, error) {
	sh := q.shape
	if sh.Issuer != "" {
		m, err := s.o.OAuth.Discover(ctx, sh.Issuer)
		if err == nil {
			c.Issuer = sh.Issuer
		}
		return m, err
	}
	known := ""
	if q.old != nil {
		known = q.old.Issuer
	}
	found, err := s.o.OAuth.DiscoverServer(ctx, sh.Resource, s.challengeOf(ctx, sh.Resource, q.server), known)
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

// addScopes adds what was asked for beyond the usual scopes, now and before: a
// server that wanted more once wants it again.
func (c *foundClient) addScopes(q *search) {
	more := slices.Clone(q.more)
	if q.old != nil && q.old.Issuer == c.Issuer {
		more = append(more, q.old.More...)
	}
	for _, scope := range oauth.ValidScopes(more) {
		if !slices.Contains(c.Scopes, scope) && len(c.Scopes) < maxScopes {
			c.Scopes = append(slices.Clip(c.Scopes), scope)
			c.More = append(c.More, scope)
		}
	}
}

// challengeOf is what a resource says that it wants, asked without a credential. A
// resource that says nothing is described by its well-known metadata.
func (s *Server) challengeOf(ctx context.Context, resource string, server bool) oauth.Challenge {
	if !server || s.o.MCP == nil {
		return s.o.OAuth.Ask(ctx, resource)
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	_, err := s.o.MCP.List(ctx, MCPTarget{URL: resource})
	if wants, ok := errors.AsType[*WantsAuthError](err); ok {
		c, _ := oauth.ParseChallenge(wants.Challenge)
		return c
	}
	return oauth.Challenge{}
}

// clientDocument describes this control plane as a client that is named by a URL;
// nil when it has no https address that others reach.
func (s *Server) clientDocument() *oauth.ClientMetadata {
	u, err := url.Parse(s.o.PublicURL)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil
	}
	m := oauth.Describe(clientName, s.o.PublicURL+callbackPath)
	m.ClientID, m.URI = s.o.PublicURL+clientDocumentPath, s.o.PublicURL
	return &m
}

// serveClientDocument answers authorization servers that ask who we are.
func (s *Server) serveClientDocument(w http.ResponseWriter, r *http.Request) {
	m := s.clientDocument()
	switch {
	case m == nil:
		s.writeProblem(w, r, notHere(r))
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		s.writeProblem(w, r, statusProblem(http.StatusMethodNotAllowed, "the resource does not know the method "+request.SafeMethod(r.Method)))
	default:
		w.Header().Set("Cache-Control", "public, max-age=3600")
		if err := request.WriteJSON(w, m); err != nil {
			s.writeProblem(w, r, err)
		}
	}
}

// callbackURL is where a browser comes back to.
func (s *Server) callbackURL(ctx context.Context) string {
	if s.o.PublicURL != "" {
		return s.o.PublicURL + callbackPath
	}
	return request.Of(ctx).Base + callbackPath
}

// oldClient is the client that a credential found or registered before; nil: none.
func (s *Server) oldClient(ctx context.Context, ws *store.Workspace, credential string) (*foundClient, error) {
	row, err := ws.OAuthClient(ctx, credential)
	if row == nil || err != nil {
		return nil, err
	}
	text, err := s.o.Keyring.Open(row.Record(), row.Sealed)
	if err != nil {
		return nil, fmt.Errorf("opening the client of credential %s: %w", credential, err)
	}
	c := new(foundClient)
	if json.Unmarshal([]byte(text.Reveal()), c) != nil { // its error would quote it
		return nil, fmt.Errorf("the client of credential %s is not in the form it was written", credential)
	}
	return c, nil
}

// clientFor finds the client for another login with a credential and writes it
// down. Logins of one credential that begin at the same time share one search.
func (s *Server) clientFor(ctx context.Context, row *store.Credential, q search) (*foundClient, error) {
	v, err, _ := s.flights.Do("client/"+row.ID, func() (any, error) {
		ws := s.o.Store.Workspace(row.WorkspaceID)
		var err error
		if q.old, err = s.oldClient(ctx, ws, row.ID); err != nil {
			return nil, err
		}
		c, err := s.findClient(ctx, &q)
		if err != nil {
			return nil, err
		}
		return c, ws.Update(ctx, func(tx *store.Tx) error {
			return tx.SealOAuthClient(ctx, s.o.Keyring, row.ID, secrets.New(store.JSON(c)))
		})
	})
	if err != nil {
		return nil, err
	}
	return v.(*foundClient), nil
}

// dropClient forgets a registered client that its server does not know any more, so
// that the next login registers anew.
func (s *Server) dropClient(ctx context.Context, ws *store.Workspace, credential string, c *foundClient) error {
	if c == nil || !c.Registered || credential == "" {
		return nil
	}
	old, err := s.oldClient(ctx, ws, credential)
	if err != nil || old == nil || old.ClientID != c.ClientID {
		return err
	}
	return ws.Update(ctx, func(tx *store.Tx) error { return tx.DeleteOAuthClient(ctx, credential) })
}

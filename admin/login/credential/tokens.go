package credential

import (
	"slices"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// States of the tokens of a credential.
const (
	stateOK      = "ok"
	stateLogin   = "login_required"
	stateFailing = "failing"
	stateExpired = "expired"
)

// TokenState says for people how it stands with the access token.
func TokenState(t *store.OAuthToken, grant string, now time.Time) (state, lastError string, expires *time.Time) {
	if t == nil {
		t = &store.OAuthToken{}
	}
	if at := t.ExpiresAt.Time; !at.IsZero() {
		expires = &at
	}
	person := grant == oauth.AuthorizationCode
	switch {
	case t.Error != "" && person && len(t.Sealed) == 0:
		return stateLogin, t.Error, expires
	case t.Error != "":
		return stateFailing, t.Error, expires
	case len(t.Sealed) == 0 && person:
		return stateLogin, "", nil
	case expires != nil && now.After(*expires) && person:
		// Calls and the renewal replace a token before; this one had nothing to be
		// renewed with, or its server does not answer.
		return stateExpired, "", expires
	}
	return stateOK, "", expires
}

// Tokens are what is sealed of an answer of an authorization server.
type Tokens struct {
	Access   secrets.Wire `json:"access"`
	Refresh  secrets.Wire `json:"refresh,omitzero"`
	Obtained int64        `json:"obtained"` // seconds since 1970
	// Client is who they were given to, when it was found or registered: only it can
	// renew them.
	Client *Client `json:"client,omitempty"`
}

// TokensOf is what is kept of an answer of an authorization server.
func TokensOf(t *oauth.Token, now time.Time, client *Client) Tokens {
	return Tokens{Access: secrets.Wire{Secret: t.Access}, Refresh: secrets.Wire{Secret: t.Refresh}, Obtained: now.Unix(), Client: client}
}

// clientEarly is how long before the end of its secret a registered client is not used
// for another login.
const clientEarly = time.Hour

// Client is a client that was found or registered from what a resource says,
// as it is sealed. Tokens keep the one that they were given to.
type Client struct {
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

// Discovers reports whether a configuration leaves to the resource where to log in,
// or as which client.
func (sh *Shape) Discovers() bool {
	return sh.Resource != "" && sh.TokenURL == "" && (sh.Issuer == "" || sh.ClientID == "")
}

// Apply puts what was found into a configuration.
func (c *Client) Apply(cfg *oauth.Config) {
	cfg.Issuer, cfg.AuthorizationURL, cfg.TokenURL = c.Issuer, c.AuthorizationURL, c.TokenURL
	cfg.Scopes, cfg.Resource, cfg.RedirectURL = c.Scopes, c.Resource, c.Redirect
	if cfg.ClientID == "" {
		cfg.ClientID, cfg.ClientSecret, cfg.AuthMethod = c.ClientID, c.ClientSecret.Secret, c.AuthMethod
	}
}

// Adopted is a login that a configuration takes over.
type Adopted struct {
	Login   string
	Server  string // that it was for
	Tokens  Tokens
	Expires time.Time
}

// HeldSecret is a secret as the gateway applies it.
type HeldSecret struct {
	Value   secrets.Secret // the key or token; "user:password" of basic; an access token; the PEM text of a certificate chain with its private key
	Version uint64
	Origins registry.Origins // where it may be sent; none: nowhere
}

// UsableFor reports whether a registered client can be used for another login at a
// server.
func (c *Client) UsableFor(found *Client, now time.Time) bool {
	return c != nil && c.Registered && c.Issuer == found.Issuer && c.TokenURL == found.TokenURL && c.Redirect == found.Redirect &&
		(c.Expires == 0 || now.Add(clientEarly).Unix() < c.Expires)
}

// AddScopes adds what was asked for beyond the usual scopes, now and before: a
// server that wanted more once wants it again.
func (c *Client) AddScopes(more []string, old *Client) {
	more = slices.Clone(more)
	if old != nil && old.Issuer == c.Issuer {
		more = append(more, old.More...)
	}
	for _, scope := range oauth.ValidScopes(more) {
		if !slices.Contains(c.Scopes, scope) && len(c.Scopes) < maxScopes {
			c.Scopes = append(slices.Clip(c.Scopes), scope)
			c.More = append(c.More, scope)
		}
	}
}

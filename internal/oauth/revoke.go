package oauth

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Kinds of tokens that [Client.Revoke] takes (RFC 7009 §2.1).
const (
	AccessToken  = "access_token"
	RefreshToken = "refresh_token"
)

// Revoke tells the server that a token is not used any more (RFC 7009). announced says
// whether its metadata names where to tell; without, nothing was asked and the error is
// nil. A server that knows the token no more says so by success.
//
// It fails as [Client.Refresh] does.
func (c *Client) Revoke(ctx context.Context, cfg *Config, token secrets.Secret, kind string) (announced bool, err error) {
	if cfg.Issuer == "" || token.IsZero() {
		return false, nil
	}
	m, err := c.Discover(ctx, cfg.Issuer)
	if err != nil {
		return false, err
	}
	if m.RevocationEndpoint == "" {
		return false, nil
	}
	ep, err := c.endpoints(ctx, cfg)
	if err != nil {
		return true, err
	}
	if err := cfg.permit(ctx, m.RevocationEndpoint, &ep); err != nil {
		return true, err
	}
	form := url.Values{"token": {token.Reveal()}, "token_type_hint": {kind}}
	err = c.revoke(ctx, m.RevocationEndpoint, ep.auth, cfg, form)
	if err != nil && ep.guessed && ep.auth == AuthBasic && codeOf(err) == "invalid_client" {
		err = c.revoke(ctx, m.RevocationEndpoint, AuthPost, cfg, form)
	}
	return true, err
}

func (c *Client) revoke(ctx context.Context, at, auth string, cfg *Config, form url.Values) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	sent := maps.Clone(form)
	if auth != AuthBasic {
		sent.Set("client_id", cfg.ClientID)
	}
	if auth == AuthPost {
		sent.Set("client_secret", cfg.ClientSecret.Reveal())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(sent.Encode()))
	if err != nil {
		return problem.New(problem.InvalidArgument, "the place to revoke tokens at is not a URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if auth == AuthBasic {
		req.SetBasicAuth(url.QueryEscape(cfg.ClientID), url.QueryEscape(cfg.ClientSecret.Reveal()))
	}
	status, _, body, err := c.do(req, "the place to revoke tokens at")
	if err != nil {
		return err
	}
	if status >= 200 && status < 300 {
		return nil // RFC 7009 §2.2: what the body says does not matter
	}
	var a answer
	if json.Unmarshal(body, &a) == nil {
		if code := a.words([]string{form.Get("token"), cfg.ClientSecret.Reveal()}); code != "" {
			return refused(host(at), code, a.Description, status)
		}
	}
	return refusedStatus(host(at), status)
}

package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/url"

	"github.com/sluicegate/sluice/internal/problem"
)

// verifierBytes of randomness make a verifier of 43 characters, the shortest and
// recommended length (RFC 7636 §4.1).
const verifierBytes = 32

// NewVerifier makes a code verifier, or any other value that nobody can guess.
func NewVerifier() string {
	var b [verifierBytes]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// codeChallenge is the S256 challenge of a verifier (RFC 7636 §4.2).
func codeChallenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// AuthorizationURL is where a person logs in. state comes back in the answer.
func (c *Client) AuthorizationURL(ctx context.Context, cfg *Config, state, verifier string) (string, error) {
	ep, err := c.endpoints(ctx, cfg)
	if err != nil {
		return "", err
	}
	if ep.authorization == "" {
		return "", problem.New(problem.InvalidArgument, "the authorization server names no page to log in at").Fix("set authorizationUrl")
	}
	if cfg.PermitLogin != nil {
		if err := cfg.PermitLogin(ctx, ep.token); err != nil {
			return "", err
		}
	}
	u, err := url.Parse(ep.authorization)
	if err != nil {
		return "", problem.New(problem.InvalidArgument, "authorizationUrl is not a URL")
	}
	q := u.Query() // RFC 6749 §3.1: a query of the endpoint stays
	q.Set("response_type", "code")
	q.Set("client_id", cfg.ClientID)
	q.Set("redirect_uri", cfg.RedirectURL)
	q.Set("state", state)
	q.Set("code_challenge", codeChallenge(verifier))
	q.Set("code_challenge_method", "S256")
	cfg.describe(q)
	for _, s := range cfg.Scopes {
		if s == "offline_access" { // OpenID Connect Core §11: else no refresh token comes
			q.Set("prompt", "consent")
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// CheckIssuer compares the iss of an answer with the server that was asked
// (RFC 9207 §2.4). iss may be empty when the server does not announce to send it.
func (c *Client) CheckIssuer(ctx context.Context, cfg *Config, iss string) error {
	ep, err := c.endpoints(ctx, cfg)
	if err != nil {
		return err
	}
	if iss == "" && !ep.sendsIssuer || iss != "" && (ep.issuer == "" || iss == ep.issuer) {
		return nil
	}
	return problem.New(problem.Forbidden, "the answer came from another authorization server than the one that was asked").
		Fix("log in again; if it happens again, somebody mixes up servers")
}

package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
)

// maxClientID of a registered client, in bytes: some servers make them signed
// tokens.
const maxClientID = 4 << 10

// ClientMetadata describes a client (RFC 7591 §2). It is what is registered, and
// with an id what a client ID metadata document holds.
type ClientMetadata struct {
	ClientID        string   `json:"client_id,omitempty"` // of a metadata document: its own URL
	Name            string   `json:"client_name"`
	URI             string   `json:"client_uri,omitempty"`
	RedirectURIs    []string `json:"redirect_uris"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types"`
	AuthMethod      string   `json:"token_endpoint_auth_method"`
	ApplicationType string   `json:"application_type"` // OpenID Connect Registration §2; MCP 2026-07-28 wants it
	Scope           string   `json:"scope,omitempty"`
}

// Describe is the metadata of a client that comes back to one address.
func Describe(name, redirect string) ClientMetadata {
	kind := "web"
	if u, err := url.Parse(redirect); err == nil && safedial.Loopback(u.Hostname()) {
		kind = "native" // OpenID Connect Registration §2: web clients have no loopback
	}
	return ClientMetadata{
		Name: name, RedirectURIs: []string{redirect}, GrantTypes: []string{AuthorizationCode, "refresh_token"},
		ResponseTypes: []string{"code"}, AuthMethod: AuthNone, ApplicationType: kind,
	}
}

// Registration is a client as a server knows it.
type Registration struct {
	ClientID     string
	ClientSecret secrets.Secret // zero: a public client
	AuthMethod   string         // at the token endpoint
	Expires      time.Time      // of the secret; zero: never
}

// Register makes a client known to a server (RFC 7591). The way to authenticate at
// the token endpoint is the best that the server knows.
//
// It fails with [problem.Unsupported] when the server registers no clients,
// [problem.Unauthenticated] when it refuses this one, [problem.UpstreamMalformed]
// when the answer cannot be used, and the problems of the dialer.
func (c *Client) Register(ctx context.Context, m *Metadata, about *ClientMetadata) (*Registration, error) {
	if m.RegistrationEndpoint == "" {
		return nil, problem.New(problem.Unsupported, "the authorization server %s registers no clients by itself", m.name()).
			Fix("register a client there with the redirect %.200s and configure its clientId", first(about.RedirectURIs))
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	send := *about
	send.AuthMethod = m.authMethod()
	body, err := json.Marshal(send)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.RegistrationEndpoint, bytes.NewReader(body))
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "the registration endpoint is not a URL")
	}
	req.Header.Set("Content-Type", "application/json")
	status, _, answer, err := c.do(req, "the registration endpoint")
	if err != nil {
		return nil, err
	}
	return readRegistration(host(m.RegistrationEndpoint), status, answer, send.AuthMethod)
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// authMethod is what a client that can keep a secret asks for.
func (m *Metadata) authMethod() string {
	if len(m.AuthMethods) == 0 {
		return AuthBasic // RFC 8414 §2
	}
	for _, way := range []string{AuthBasic, AuthPost} {
		if slices.Contains(m.AuthMethods, way) {
			return way
		}
	}
	return AuthNone
}

func readRegistration(host string, status int, body []byte, asked string) (*Registration, error) {
	var a struct {
		ClientID     string          `json:"client_id"`
		ClientSecret string          `json:"client_secret"`
		AuthMethod   string          `json:"token_endpoint_auth_method"`
		Expires      json.Number     `json:"client_secret_expires_at"`
		Error        json.RawMessage `json:"error"`
		Description  string          `json:"error_description"`
	}
	err := json.Unmarshal(body, &a)
	if status < 200 || status > 299 {
		code := errorCode(a.Error)
		if err != nil || code == "" {
			return nil, problem.New(problem.Unauthenticated, "the authorization server %s did not register a client (status %d)", host, status).
				Fix("register one there and configure its clientId").Because(&RefusedError{Status: status})
		}
		return nil, refused(host, code, a.Description, status)
	}
	switch {
	case err != nil || a.ClientID == "":
		return nil, problem.New(problem.UpstreamMalformed, "the registration endpoint of %s did not answer with a client", host).Fix("configure a clientId")
	case len(a.ClientID) > maxClientID || len(a.ClientSecret) > maxClientID || !visible(a.ClientSecret):
		return nil, problem.New(problem.UpstreamMalformed, "the client that %s registered cannot be used", host).Fix("configure a clientId")
	}
	r := &Registration{ClientID: a.ClientID, ClientSecret: secrets.New(a.ClientSecret), AuthMethod: a.AuthMethod}
	switch r.AuthMethod {
	case AuthBasic, AuthPost, AuthNone:
	case "":
		r.AuthMethod = asked
	default:
		return nil, problem.New(problem.Unsupported, "the authorization server %s wants its clients to authenticate by %.40q", host, clean(r.AuthMethod)).
			Fix("configure a clientId that may use client_secret_basic")
	}
	if r.ClientSecret.IsZero() {
		r.AuthMethod = AuthNone
	}
	if n, err := a.Expires.Int64(); err == nil && n > 0 {
		r.Expires = time.Unix(n, 0)
	}
	return r, nil
}

// name of the server for people.
func (m *Metadata) name() string {
	if m.Issuer != "" {
		return host(m.Issuer)
	}
	return host(m.TokenEndpoint)
}

// RequirePKCE refuses a server that does not say that it knows S256: MCP
// 2026-07-28 basic/authorization has clients go no further then.
func (m *Metadata) RequirePKCE() error {
	if slices.Contains(m.Challenges, "S256") {
		return nil
	}
	return problem.New(problem.Unsupported, "the authorization server %s does not announce PKCE with S256, which protects logins", m.name()).
		Fix("use a token that was got elsewhere, with authType bearer or header; or, if you know that it does, set issuer and clientId yourself")
}

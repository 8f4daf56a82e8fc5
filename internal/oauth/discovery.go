package oauth

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// metadataTTL is how long metadata is believed: servers change keys daily, but
	// endpoints hardly ever.
	metadataTTL = time.Hour
	// maxKnown issuers are remembered.
	maxKnown = 1000
)

// Metadata is what a server says of itself (RFC 8414 §2, OpenID Connect
// Discovery 1.0 §3), as far as it is used.
type Metadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	Grants                []string `json:"grant_types_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	Challenges            []string `json:"code_challenge_methods_supported"`
	Scopes                []string `json:"scopes_supported"`
	SendsIssuer           bool     `json:"authorization_response_iss_parameter_supported"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"` // RFC 7009; "" also when it cannot be used
	// TakesDocuments says that a client may be named by the URL of its metadata
	// (draft-ietf-oauth-client-id-metadata-document).
	TakesDocuments bool `json:"client_id_metadata_document_supported"`
}

type known struct {
	m    *Metadata
	till time.Time
}

// Discover reads the metadata of an issuer: the document of RFC 8414, then that of
// OpenID Connect (the order of MCP 2026-07-28 basic/authorization). The issuer in it must be the one that was asked (RFC 8414
// §3.3). An answer is remembered for an hour.
//
// It fails with [problem.InvalidArgument] for an issuer that is not a URL,
// [problem.UpstreamMalformed] for metadata that cannot be used, and the problems
// of the dialer.
func (c *Client) Discover(ctx context.Context, issuer string) (*Metadata, error) {
	if err := CheckURL(issuer); err != nil {
		return nil, err
	}
	c.mu.Lock()
	k, ok := c.known[issuer]
	c.mu.Unlock()
	if ok && c.now().Before(k.till) {
		return k.m, nil
	}
	var first error
	for _, at := range metadataURLs(issuer) {
		m, err := c.metadata(ctx, issuer, at)
		if err == nil {
			c.remember(issuer, m)
			return m, nil
		}
		if first == nil || problem.Is(first, problem.NotFound) {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

func (c *Client) remember(issuer string, m *Metadata) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[issuer] = known{m, c.now().Add(metadataTTL)}
}

// metadataURLs are the places of the metadata in the order of MCP 2026-07-28. RFC
// 8414 §3.1 puts its part before the issuer's path, OpenID Connect appends it.
func metadataURLs(issuer string) []string {
	const oidc, oauth = "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"
	base := strings.TrimSuffix(issuer, "/")
	u, err := url.Parse(base)
	if err != nil {
		return nil
	}
	path := u.EscapedPath()
	root := strings.TrimSuffix(base, path)
	return slices.Compact([]string{root + oauth + path, root + oidc + path, base + oidc})
}

func (c *Client) metadata(ctx context.Context, issuer, at string) (*Metadata, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "the issuer is not a URL")
	}
	status, _, body, err := c.do(req, "the metadata")
	if err != nil {
		return nil, err
	}
	name := host(issuer)
	if status != http.StatusOK {
		return nil, problem.New(problem.NotFound, "%s has no metadata of an authorization server (status %d)", name, status).
			Fix("check the issuer, or set authorizationUrl and tokenUrl")
	}
	m := new(Metadata)
	switch err := json.Unmarshal(body, m); {
	case err != nil:
		return nil, problem.New(problem.UpstreamMalformed, "the metadata of %s is not JSON", name).Fix("check the issuer")
	case strings.TrimSuffix(m.Issuer, "/") != strings.TrimSuffix(issuer, "/"):
		return nil, problem.New(problem.UpstreamMalformed, "the metadata of %s is that of another issuer, %.200q", name, m.Issuer).
			Fix("set the issuer exactly as the server writes it")
	case checkNamed(issuer, m.TokenEndpoint) != nil:
		return nil, problem.New(problem.UpstreamMalformed, "the metadata of %s has no usable token endpoint", name).Fix("set tokenUrl")
	case m.AuthorizationEndpoint != "" && checkNamed(issuer, m.AuthorizationEndpoint) != nil:
		return nil, problem.New(problem.UpstreamMalformed, "the metadata of %s has no usable authorization endpoint", name).Fix("set authorizationUrl")
	case m.RegistrationEndpoint != "" && checkNamed(issuer, m.RegistrationEndpoint) != nil:
		return nil, problem.New(problem.UpstreamMalformed, "the metadata of %s has no usable registration endpoint", name)
	case len(m.Challenges) > 0 && !slices.Contains(m.Challenges, "S256"):
		return nil, problem.New(problem.Unsupported, "%s does not support PKCE with S256", name)
	}
	if m.RevocationEndpoint != "" && checkNamed(issuer, m.RevocationEndpoint) != nil {
		m.RevocationEndpoint = "" // logins do not need it
	}
	return m, nil
}

// endpoints is where a client goes and how it shows itself.
type endpoints struct {
	authorization, token string
	revocation           string // empty: there is none
	issuer               string // empty: not known
	sendsIssuer          bool
	auth                 string // at the token endpoint
	guessed              bool   // auth is a guess
}

// endpoints of a configuration: what it says itself, then what the issuer says.
func (c *Client) endpoints(ctx context.Context, cfg *Config) (endpoints, error) {
	ep := endpoints{authorization: cfg.AuthorizationURL, token: cfg.TokenURL, auth: cfg.AuthMethod}
	var methods []string
	if cfg.Issuer != "" {
		m, err := c.Discover(ctx, cfg.Issuer)
		if err != nil {
			return ep, err
		}
		ep.issuer, ep.sendsIssuer, ep.revocation, methods = m.Issuer, m.SendsIssuer, m.RevocationEndpoint, m.AuthMethods
		if ep.authorization == "" {
			ep.authorization = m.AuthorizationEndpoint
		}
		if ep.token == "" {
			ep.token = m.TokenEndpoint
		}
	}
	if ep.token == "" {
		return ep, problem.New(problem.InvalidArgument, "there is no token endpoint").Fix("set tokenUrl or issuer")
	}
	switch {
	case cfg.ClientSecret.IsZero() || cfg.AuthMethod == AuthNone:
		ep.auth = AuthNone
	case ep.auth != "":
	case !slices.Contains(methods, AuthBasic) && slices.Contains(methods, AuthPost):
		ep.auth = AuthPost
	default:
		ep.auth, ep.guessed = AuthBasic, !slices.Contains(methods, AuthBasic)
	}
	return ep, nil
}

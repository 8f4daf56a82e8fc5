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
	"github.com/sluicegate/sluice/internal/safedial"
)

const (
	// discoveryTimeout bounds finding out all about one resource: up to two
	// documents of the resource and three of its authorization server.
	discoveryTimeout = 30 * time.Second
	// maxIssuers of a resource are looked at.
	maxIssuers = 16
)

// Resource is what a protected resource says of itself (RFC 9728 §2), as far as
// it is used.
type Resource struct {
	ID      string   // its resource identifier, what tokens are asked for (RFC 8707)
	Issuers []string // authorization servers, at least one
	Scopes  []string // that it supports
	// Guessed says that the resource has no metadata: as the MCP revision of
	// 2025-03-26 has it, its own origin is taken for the authorization server.
	Guessed bool
}

// DiscoverResource reads the metadata of a resource: where its challenge says,
// else at the well-known place of its path, else at that of its origin. The
// metadata must be of this resource: the same origin, and its path or one above
// it (RFC 9728 §3.3; a server at a path is often described by its origin).
//
// It fails with [problem.InvalidArgument] when the resource is not an https URL,
// [problem.NotFound] when it has no metadata where its challenge says,
// [problem.Forbidden] when the metadata is of another resource,
// [problem.UpstreamMalformed] when it cannot be used, and the problems of the
// dialer.
func (c *Client) DiscoverResource(ctx context.Context, resource string, challenge Challenge) (*Resource, error) {
	if err := CheckURL(resource); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	if at := challenge.ResourceMetadata; at != "" {
		if err := checkNamed(resource, at); err != nil {
			return nil, problem.New(problem.UpstreamMalformed, "the server %s names metadata that cannot be asked for: %s", host(resource), problem.As(err).Detail)
		}
		return c.resource(ctx, resource, at)
	}
	for _, at := range resourceURLs(resource) {
		r, err := c.resource(ctx, resource, at)
		if !problem.Is(err, problem.NotFound) {
			return r, err
		}
	}
	origin, err := originOf(resource)
	if err != nil {
		return nil, err
	}
	return &Resource{ID: resource, Issuers: []string{origin}, Guessed: true}, nil
}

// resourceURLs are the well-known places of a resource's metadata (RFC 9728 §3.1).
func resourceURLs(resource string) []string {
	const wellKnown = "/.well-known/oauth-protected-resource"
	u, err := url.Parse(resource)
	if err != nil {
		return nil
	}
	root := url.URL{Scheme: u.Scheme, Host: u.Host}
	base := root.String()
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return slices.Compact([]string{base + wellKnown + path, base + wellKnown})
}

func originOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", problem.New(problem.InvalidArgument, "the address is not a URL")
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String(), nil
}

func (c *Client) resource(ctx context.Context, resource, at string) (*Resource, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "the address of the metadata is not a URL")
	}
	name := host(resource)
	status, _, body, err := c.do(req, "the metadata")
	switch {
	case err != nil:
		return nil, err
	case status >= 500:
		return nil, problem.New(problem.Unavailable, "the metadata of the resource %s cannot be read (status %d)", name, status).Fix("try again later")
	case status != http.StatusOK:
		return nil, problem.New(problem.NotFound, "the server %s has no metadata of a protected resource (status %d)", name, status).
			Fix("set issuer, or authorizationUrl and tokenUrl")
	}
	var m struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
	}
	if json.Unmarshal(body, &m) != nil {
		if at != resource && strings.HasPrefix(strings.TrimSpace(string(body)), "<") {
			// Some servers show a web page for every path they do not know.
			return nil, problem.New(problem.NotFound, "the server %s shows a web page for its metadata", name)
		}
		return nil, problem.New(problem.UpstreamMalformed, "the metadata of the resource %s is not JSON", name).Fix("set issuer, or authorizationUrl and tokenUrl")
	}
	if !covers(m.Resource, resource) {
		return nil, problem.New(problem.Forbidden, "the metadata of %s is that of another resource, %.200q", name, clean(m.Resource)).
			Fix("correct the server's metadata, or set issuer yourself")
	}
	out := &Resource{ID: m.Resource, Scopes: ValidScopes(m.Scopes)}
	for _, s := range m.Servers {
		if checkNamed(resource, s) == nil && len(out.Issuers) < maxIssuers {
			out.Issuers = append(out.Issuers, s)
		}
	}
	if len(out.Issuers) == 0 {
		return nil, problem.New(problem.UpstreamMalformed, "the metadata of the resource %s names no usable authorization server", name).
			Fix("set issuer, or authorizationUrl and tokenUrl")
	}
	return out, nil
}

// covers reports whether a claimed resource identifier is that of the address, or
// of something it is below.
func covers(claimed, address string) bool {
	c, err := url.Parse(claimed)
	if err != nil || c.Host == "" || c.User != nil || c.Fragment != "" || c.RawQuery != "" && claimed != address {
		return false
	}
	a, err := url.Parse(address)
	if err != nil || c.Scheme != a.Scheme || !strings.EqualFold(c.Hostname(), a.Hostname()) || portOf(c) != portOf(a) {
		return false
	}
	prefix, path := strings.TrimSuffix(c.EscapedPath(), "/"), a.EscapedPath()
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// checkNamed is CheckURL for an address that metadata names. Only metadata from
// this machine may name this machine: an operator's trust in a server elsewhere
// must not reach what listens here.
func checkNamed(by, address string) error {
	if err := CheckURL(address); err != nil {
		return err
	}
	from, err := url.Parse(by)
	if err != nil {
		return problem.New(problem.InvalidArgument, "the address is not a URL")
	}
	to, err := url.Parse(address)
	if err != nil || safedial.Loopback(to.Hostname()) && !safedial.Loopback(from.Hostname()) {
		return problem.New(problem.BlockedAddress, "the address is on this machine, and was named from elsewhere")
	}
	return nil
}

func portOf(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// Server is the authorization server that a resource trusts, with everything that
// is needed to log in at it.
type Server struct {
	Resource string    // resource identifier, to be sent as resource (RFC 8707); "": it has no metadata
	Scopes   []string  // to ask for; empty: none
	Metadata *Metadata // of the server
	// Guessed says that the server has no metadata: its endpoints are those that
	// the MCP revision of 2025-03-26 names.
	Guessed bool
}

// DiscoverServer finds the authorization server of a resource. known is the issuer
// that was used before; it is kept while the resource still names it.
//
// Scopes are chosen as MCP 2026-07-28 says (basic/authorization "Scope Selection"):
// those of the challenge, else those of the resource's metadata, else none; and
// offline_access where the authorization server knows it, so that the login lasts.
//
// It fails as [Client.DiscoverResource] and [Client.Discover] do, and with
// [problem.Unsupported] for a server that does not say that it knows PKCE with
// S256, because then nothing protects the login.
func (c *Client) DiscoverServer(ctx context.Context, resource string, challenge Challenge, known string) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	r, err := c.DiscoverResource(ctx, resource, challenge)
	if err != nil {
		return nil, err
	}
	issuer := r.Issuers[0]
	if slices.Contains(r.Issuers, known) {
		issuer = known
	}
	out := &Server{Resource: r.ID, Scopes: challenge.Scopes}
	if len(out.Scopes) == 0 {
		out.Scopes = r.Scopes
	}
	out.Metadata, err = c.Discover(ctx, issuer)
	if r.Guessed {
		out.Resource = "" // servers of that revision do not know the parameter
		if problem.Is(err, problem.NotFound) {
			out.Guessed = true
			out.Metadata = &Metadata{
				AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register",
			}
			return out, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if err := out.Metadata.RequirePKCE(); err != nil {
		return nil, err
	}
	if slices.Contains(out.Metadata.Scopes, offlineAccess) && !slices.Contains(out.Scopes, offlineAccess) {
		out.Scopes = append(slices.Clone(out.Scopes), offlineAccess)
	}
	return out, nil
}

// offlineAccess asks for a refresh token (OpenID Connect Core §11).
const offlineAccess = "offline_access"

// Ask asks a resource without a credential and returns what it wants; the zero
// Challenge when it wants nothing or cannot be asked.
func (c *Client) Ask(ctx context.Context, resource string) Challenge {
	if CheckURL(resource) != nil {
		return Challenge{}
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, resource, http.NoBody)
	if err != nil {
		return Challenge{}
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Challenge{}
	}
	_ = res.Body.Close() // only the head matters
	if res.StatusCode != http.StatusUnauthorized {
		return Challenge{}
	}
	for _, h := range res.Header.Values("WWW-Authenticate") {
		if found, ok := ParseChallenge(h); ok {
			return found
		}
	}
	return Challenge{}
}

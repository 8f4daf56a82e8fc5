package external

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// elsewhere sends requests to the registry, and to other places that it names: the store of a
// download, the service of a challenge that gives tokens, where an upload goes on. What
// it names is of its choice, so credentials and contents go to no site but the registry's
// own, unless the operator has credentials for that one too; and a registry at a public
// address leads to no private one.
type elsewhere struct {
	registry url.URL // its scheme and host
	known    auth.CredentialFunc
	direct   http.RoundTripper
	strict   *safedial.Dialer
	public   *http.Transport // dials public addresses only; nil: as direct
}

func newElsewhere(registry url.URL, known auth.CredentialFunc, base http.RoundTripper) (*elsewhere, error) {
	strict, err := safedial.New(safedial.Options{})
	if err != nil {
		return nil, err
	}
	e := &elsewhere{registry: registry, known: known, direct: base, strict: strict}
	if t, ok := base.(*http.Transport); ok {
		e.public = t.Clone()
		e.public.DialContext = strict.DialContext
	}
	return e, nil
}

// RoundTrip implements [http.RoundTripper].
func (e *elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.EqualFold(r.URL.Host, e.registry.Host) {
		return e.direct.RoundTrip(r)
	}
	if (r.Header.Get("Authorization") != "" || r.Body != nil && r.Body != http.NoBody) && !sameSite(r.URL.Hostname(), e.registry.Hostname()) && !e.knows(r.Context(), r.URL.Host) {
		return nil, problem.New(problem.Forbidden, "the registry %s sends credentials or contents to %.120s, which is another site", e.registry.Host, r.URL.Host).
			Fix("if they belong there, log in there too: docker login %.120s", r.URL.Host)
	}
	if e.public == nil || e.isPrivate(r.Context()) {
		return e.direct.RoundTrip(r)
	}
	return e.public.RoundTrip(r)
}

// isPrivate reports whether the registry itself is on a network of the operator's.
func (e *elsewhere) isPrivate(ctx context.Context) bool {
	port := e.registry.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[e.registry.Scheme]
	}
	return problem.Is(e.strict.Check(ctx, net.JoinHostPort(e.registry.Hostname(), port)), problem.BlockedAddress)
}

// knows reports whether the operator has credentials for a host.
func (e *elsewhere) knows(ctx context.Context, host string) bool {
	if e.known == nil {
		return false
	}
	c, err := e.known(ctx, host)
	return err == nil && c != auth.EmptyCredential
}

// sameSite reports whether two hosts are of one owner: registries have the service that
// gives tokens beside them, as registry.gitlab.com and gitlab.com.
func sameSite(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	if net.ParseIP(a) != nil || net.ParseIP(b) != nil {
		return false
	}
	one, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(strings.TrimSuffix(a, ".")))
	other, oerr := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(strings.TrimSuffix(b, ".")))
	return err == nil && oerr == nil && one == other
}

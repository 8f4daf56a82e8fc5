// Package safehttp is the HTTP client for addresses that come from outside:
// specifications, authorization servers and their keys, files. Its connections are made
// by a guarded dialer (package safedial), so each hop of a redirect is checked too.
//
// It is not the way of a tool call, which is package upstream's, nor that of this
// program to its own control plane, whose address the operator names.
package safehttp

import (
	"net/http"
	"net/url"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

const (
	// timeout of one request: 16 MB over a slow line.
	timeout = 30 * time.Second
	// maxRedirects of one request: fewer than browsers follow.
	maxRedirects = 5
)

// NewClient returns a client whose connections d makes.
func NewClient(d *safedial.Dialer) *http.Client {
	shared := &http.Transport{
		DialContext: d.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
		ResponseHeaderTimeout: timeout, MaxIdleConns: 8, IdleConnTimeout: 30 * time.Second,
	}
	alone := &http.Transport{ // without HTTP/2, whose connections are shared while they are open
		DialContext: d.DialContext, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: timeout, DisableKeepAlives: true,
	}
	return &http.Client{Timeout: timeout, Transport: scoped{d, shared, alone}, CheckRedirect: checkRedirect}
}

// maxPluginHeader bounds the header of an answer to a plugin, which is handed on whole.
const maxPluginHeader = 64 << 10

// NewPluginClient returns a client for the requests of plugins, whose connections d
// makes. It follows no redirects: each request is one to a host that was granted, and
// where else to go is the plugin's to ask for. It keeps no cookies.
func NewPluginClient(d *safedial.Dialer) *http.Client {
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext: d.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: timeout,
			MaxResponseHeaderBytes: maxPluginHeader, MaxIdleConns: 32, MaxIdleConnsPerHost: 4, MaxConnsPerHost: 32, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return problem.New(problem.UpstreamStatus, "%s redirects more than %d times", Redact(via[0].URL.String()), maxRedirects)
	}
	if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return problem.New(problem.UpstreamStatus, "%s redirects to something that is not a web address", Redact(via[0].URL.String()))
	}
	return nil
}

// scoped keeps connections between requests, but not those of a context that names
// grants of private addresses: what a grant opened serves no other toolset.
type scoped struct {
	dialer        *safedial.Dialer
	shared, alone *http.Transport // alone: a connection for each request
}

// RoundTrip implements [http.RoundTripper].
func (t scoped) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.dialer.ScopeOf(r.Context()) != nil {
		return t.alone.RoundTrip(r)
	}
	return t.shared.RoundTrip(r)
}

// Redact is a URL without user information and query, which may hold secrets.
func Redact(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "the URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	orasregistry "oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

// maxRedirects of one request: registries send blobs to a store, and that sends
// nowhere else.
const maxRedirects = 5

// Options configure a Registry.
type Options struct {
	Reference string // HOST[:PORT][/PREFIX]: repositories are below PREFIX. Required
	PlainHTTP bool   // http instead of https
	// Config is Docker's configuration file, config.json, with credentials or the
	// helpers that know them. It is read whenever credentials are needed. Default: none
	// are sent.
	Config string
	Client *http.Client // redirects are followed by this package's rule. Required
}

// answerTimeout is how long a registry may take from the end of a request to the head of its
// answer, also where it puts together what was pushed: one that hangs would hold up a start, and
// every publish, for ever.
const answerTimeout = 30 * time.Second

// Registry is a registry elsewhere.
type Registry struct {
	*oci.Remote

	host, prefix string
}

var _ oci.Backend = (*Registry)(nil)

// Split parts a reference into host and prefix. It fails with a
// [problem.InvalidArgument].
func Split(reference string) (host, prefix string, err error) {
	host, prefix, _ = strings.Cut(strings.TrimSuffix(reference, "/"), "/")
	ref := orasregistry.Reference{Registry: host}
	if ref.ValidateRegistry() != nil || host == "" || prefix != "" && !registry.ValidRepository(prefix) {
		return "", "", problem.New(problem.InvalidArgument, "%.120q does not name a registry", reference).Fix("write HOST[:PORT] or HOST[:PORT]/PREFIX")
	}
	return ref.Host(), prefix, nil
}

// Open makes a Registry. Nothing is asked of it yet.
func Open(o Options) (*Registry, error) {
	host, prefix, err := Split(o.Reference)
	if err != nil {
		return nil, err
	}
	if o.Client == nil {
		return nil, errors.New("use a registry: no HTTP client is given")
	}
	scheme := "https"
	if o.PlainHTTP {
		scheme = "http"
	}
	client := *o.Client
	client.CheckRedirect = checkRedirect
	known := fromConfig(o.Config)
	if client.Transport, err = newElsewhere(url.URL{Scheme: scheme, Host: host}, known, bounded(client.Transport)); err != nil {
		return nil, err
	}
	r := &Registry{host: host, prefix: prefix}
	remote, err := oci.NewRemote(oci.RemoteOptions{
		URL: scheme + "://" + host, Prefix: prefix, KeepTags: true,
		Client: &challenged{host: host, client: &auth.Client{Client: &client, Credential: known, Cache: auth.NewCache()}},
	})
	if err != nil {
		return nil, err
	}
	r.Remote = remote
	return r, nil
}

// bounded is a transport that waits for answers as long as answerTimeout, if it has no bound of
// its own.
func bounded(base http.RoundTripper) http.RoundTripper {
	t, ok := base.(*http.Transport)
	if !ok || t.ResponseHeaderTimeout != 0 {
		return base
	}
	t = t.Clone()
	t.ResponseHeaderTimeout = answerTimeout
	return t
}

// Host is the registry's host, with its port.
func (r *Registry) Host() string { return r.host }

// Prefix is what stands before every repository; "" nothing.
func (r *Registry) Prefix() string { return r.prefix }

// checkRedirect lets a registry send a download elsewhere, but never from https to http,
// and not with the credentials: net/http sends them on to another port of the host, and to
// hosts below it.
func checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects: // via has the first request too
		return problem.New(problem.Unavailable, "the registry redirects more than %d times", maxRedirects)
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		return http.ErrUseLastResponse // what is pushed goes where we were told to push
	case via[0].URL.Scheme == "https" && req.URL.Scheme != "https":
		return problem.New(problem.Unavailable, "the registry redirects to a place without TLS")
	}
	if req.URL.Scheme != via[0].URL.Scheme || !strings.EqualFold(req.URL.Host, via[0].URL.Host) {
		req.Header.Del("Authorization")
	}
	return nil
}

// fromConfig finds credentials in Docker's configuration.
func fromConfig(path string) auth.CredentialFunc {
	if path == "" {
		return nil
	}
	return func(ctx context.Context, host string) (auth.Credential, error) {
		store, err := credentials.NewStore(path, credentials.StoreOptions{})
		if err != nil {
			return auth.Credential{}, problem.New(problem.InvalidArgument, "Docker's configuration %s cannot be used", path).Because(err)
		}
		c, err := credentials.Credential(store)(ctx, host)
		if err != nil {
			return c, problem.New(problem.Unavailable, "the credentials of %s cannot be had", host).
				Fix("log in with docker or oras login, and see that the credential helper of %s runs", path).Because(err)
		}
		return c, nil
	}
}

// challenged answers the challenges of a registry, and asks for tokens that are good
// for the repository and the action at once.
type challenged struct {
	host   string
	client *auth.Client
}

// Do implements [oci.Doer].
func (c *challenged) Do(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if repository := repositoryOf(req.URL.Path); repository != "" {
		actions := []string{auth.ActionPull}
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			actions = append(actions, auth.ActionPush)
		}
		ctx = auth.AppendRepositoryScope(ctx, orasregistry.Reference{Registry: c.host, Repository: repository}, actions...)
	}
	resp, err := c.client.Do(req.WithContext(ctx))
	if err != nil {
		if p := problem.As(err); problem.Is(err, problem.Unreachable) || problem.Is(err, problem.Timeout) {
			return nil, problem.New(p.Kind, "the registry %s cannot be reached: %s", c.host, p.Detail).Fix("%s", p.Remedy).Because(err)
		} else if p != nil {
			return nil, p
		}
		if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() && ctx.Err() == nil {
			return nil, problem.New(problem.Unavailable, "the registry %s accepts connections and does not answer", c.host).
				Fix("look at its log, and at what stands in front of it").Because(err)
		}
		return nil, problem.New(problem.Unavailable, "the registry %s cannot be reached or refuses the credentials", c.host).
			Fix("see that it runs, and that docker login %s works", c.host).Because(fmt.Errorf("ask %s: %w", c.host, err))
	}
	return resp, nil
}

// repositoryOf is the repository that a path of the protocol is about.
func repositoryOf(path string) string {
	at, ok := strings.CutPrefix(path, "/v2/")
	for _, kind := range []string{"/blobs/", "/manifests/", "/tags/"} {
		if i := strings.LastIndex(at, kind); ok && i > 0 {
			return at[:i]
		}
	}
	return ""
}

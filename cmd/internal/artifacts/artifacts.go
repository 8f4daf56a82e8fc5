package artifacts

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/external"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

// externalPoll is how often a node looks into a registry elsewhere for a release that
// it was not notified: what it publishes itself it knows at once.
const externalPoll = 30 * time.Second

// externalScheme begins the URL of a registry elsewhere.
const externalScheme = "oci://"

// Registry is where a control plane keeps what it publishes.
type Registry struct {
	oci.Backend

	Files    *server.Store // the embedded registry. nil: it is elsewhere
	external *external.Registry
}

// Holds implements [oci.Holder]. A registry elsewhere fetches by the name of the repository.
func (x *Registry) Holds(ctx context.Context, repository string, manifest registry.Digest, blobs ...registry.Digest) (bool, error) {
	if x.Files == nil {
		return true, nil
	}
	return x.Files.Holds(ctx, repository, manifest, blobs...)
}

// Poll is how often a node looks for releases in it; 0: as often as can be.
func (x *Registry) Poll() time.Duration {
	if x.external != nil {
		return externalPoll
	}
	return 0
}

// Mirrored is the registry elsewhere, for edges that cannot reach it; nil: none.
func (x *Registry) Mirrored() server.Fetcher {
	if x.external == nil {
		return nil
	}
	return x.external
}

// Places says where artifacts are; with neither, in the data directory.
type Places struct {
	Blobs    string // s3 URL of the embedded registry's contents
	Registry string // oci URL of another registry
}

// Opener opens registries. The zero Opener opens the one of a data directory.
type Opener struct {
	Client       *http.Client // to registries and stores elsewhere. Required for those
	DockerConfig string       // file with the credentials for registries. Default: none
	Logger       *slog.Logger // Default: discard
}

// Open opens the registry that p names. dir is the embedded one's, and remembers which
// it was.
func (o Opener) Open(ctx context.Context, dir string, p Places) (*Registry, error) {
	if p.Blobs != "" && p.Registry != "" {
		return nil, problem.New(problem.InvalidArgument, "--blobs is of the embedded registry, and --registry names another: give one")
	}
	if p.Registry == "" {
		files, err := o.openEmbedded(ctx, dir, p.Blobs)
		return &Registry{Backend: files, Files: files}, err
	}
	known, err := contentOf(dir)
	if err != nil {
		return nil, err
	}
	if _, serr := os.Stat(filepath.Join(dir, "oci-layout")); serr == nil {
		return nil, problem.New(problem.Conflict, "the artifacts of this control plane are in its own registry, not in %s", bucketOf(p.Registry)).
			Fix("start it without --registry; a new control plane can begin with it")
	}
	if known != "" && bucketOf(known) != bucketOf(p.Registry) {
		return nil, problem.New(problem.Conflict, "the artifacts of this control plane are at %s, not at %s", bucketOf(known), bucketOf(p.Registry)).
			Fix("copy them there with oras or skopeo, then write the new URL into %s", filepath.Join(dir, contentFile))
	}
	r, err := o.External(p.Registry)
	if err != nil {
		return nil, err
	}
	if known != p.Registry {
		if err := remember(dir, p.Registry); err != nil {
			return nil, err
		}
	}
	return &Registry{Backend: r, external: r}, nil
}

// PlacesOf is where the artifacts of a registry's directory are.
func PlacesOf(dir string) (Places, error) {
	known, err := contentOf(dir)
	if strings.HasPrefix(known, externalScheme) {
		return Places{Registry: known}, err
	}
	return Places{Blobs: known}, err
}

func remember(dir, where string) error {
	if err := atomicfile.MkdirAll(atomicfile.OS, dir, 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, contentFile), []byte(where+"\n"), 0o600); err != nil {
		return fmt.Errorf("remember where the contents are: %w", err)
	}
	return nil
}

// External opens the registry of oci://HOST[:PORT][/PREFIX][?insecure=true], with the
// credentials of Docker's configuration.
func (o Opener) External(text string) (*external.Registry, error) {
	at, query, _ := strings.Cut(strings.TrimPrefix(text, externalScheme), "?")
	q, err := url.ParseQuery(query)
	if err != nil || len(q) > 1 || len(q) == 1 && q.Get("insecure") != "true" && q.Get("insecure") != "false" {
		return nil, problem.New(problem.InvalidArgument, "%q: behind the question mark only insecure=true is known", bucketOf(text))
	}
	host, _, err := external.Split(at)
	if err != nil {
		return nil, err
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	return external.Open(external.Options{
		Reference: at, PlainHTTP: q.Get("insecure") == "true" || safedial.Loopback(name), Config: o.DockerConfig, Client: o.Client,
	})
}

// Among finds the registry of a reference among those that the operator lets plugins
// come from; nil when there is none.
func (o Opener) Among(allowed []string) (func(string) (*oci.Store, string, string, error), error) {
	if len(allowed) == 0 {
		return nil, nil //nolint:nilnil // no registry is no fault
	}
	known := make([]*external.Registry, len(allowed))
	for i, text := range allowed {
		var err error
		if known[i], err = o.External(text); err != nil {
			return nil, err
		}
	}
	return func(reference string) (*oci.Store, string, string, error) { return registryAmong(known, reference) }, nil
}

// registryAmong parts HOST/REPOSITORY:TAG (or @DIGEST) and finds its registry.
func registryAmong(known []*external.Registry, reference string) (st *oci.Store, repository, at string, err error) {
	name, at, byDigest := strings.Cut(reference, "@")
	if i := strings.LastIndex(reference, ":"); !byDigest && i > strings.LastIndex(reference, "/") {
		name, at = reference[:i], reference[i+1:]
	}
	host, repository, err := external.Split(name)
	if err != nil || repository == "" || at == "" {
		return nil, "", "", problem.New(problem.InvalidArgument, "%.120q is not a plugin in a registry", reference).Fix("write HOST/REPOSITORY:TAG or HOST/REPOSITORY@DIGEST").At("", 0, 0, "/oci")
	}
	for _, r := range known {
		rest, below := repository, r.Prefix() == ""
		if !below {
			rest, below = strings.CutPrefix(repository, r.Prefix()+"/")
		}
		if r.Host() == host && below {
			return oci.NewStore(r), rest, at, nil
		}
	}
	return nil, "", "", problem.New(problem.Forbidden, "plugins may not come from %.120q", name).
		Fix("have the operator name it with --plugin-registry, or push the plugin to this control plane's registry")
}

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry/external"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

// externalPoll is how often a node looks into a registry elsewhere for a release that
// it was not told of: what it publishes itself it knows at once.
const externalPoll = 30 * time.Second

// externalScheme begins the URL of a registry elsewhere.
const externalScheme = "oci://"

// artifacts is where a control plane keeps what it publishes.
type artifacts struct {
	oci.Backend

	files    *server.Store      // the embedded registry, or
	external *external.Registry // one elsewhere
}

// poll is how often a node looks for releases in it; 0: as often as can be.
func (x *artifacts) poll() time.Duration {
	if x.external != nil {
		return externalPoll
	}
	return 0
}

// mirrored is the registry elsewhere, for edges that cannot reach it; nil: none.
func (x *artifacts) mirrored() server.Fetcher {
	if x.external == nil {
		return nil
	}
	return x.external
}

// places says where artifacts are; with neither, in the data directory.
type places struct {
	blobs    string // s3 URL of the embedded registry's contents
	registry string // oci URL of another registry
}

// artifactsAt is openArtifacts for a node.
func (a *app) artifactsAt(p places, logger *slog.Logger) func(context.Context, string) (*artifacts, error) {
	return func(ctx context.Context, dir string) (*artifacts, error) { return a.openArtifacts(ctx, dir, p, logger) }
}

// openArtifacts opens the registry that p names. dir is the embedded one's, and
// remembers which it was.
func (a *app) openArtifacts(ctx context.Context, dir string, p places, logger *slog.Logger) (*artifacts, error) {
	if p.blobs != "" && p.registry != "" {
		return nil, usagef("--blobs is of the embedded registry, and --registry names another: give one")
	}
	if p.registry == "" {
		files, err := a.openRegistry(ctx, dir, p.blobs, logger)
		return &artifacts{Backend: files, files: files}, err
	}
	known, err := contentOf(dir)
	if err != nil {
		return nil, err
	}
	if _, serr := os.Stat(filepath.Join(dir, "oci-layout")); serr == nil {
		return nil, problem.New(problem.Conflict, "the artifacts of this control plane are in its own registry, not in %s", bucketOf(p.registry)).
			Fix("start it without --registry; a new control plane can begin with it")
	}
	if known != "" && bucketOf(known) != bucketOf(p.registry) {
		return nil, problem.New(problem.Conflict, "the artifacts of this control plane are at %s, not at %s", bucketOf(known), bucketOf(p.registry)).
			Fix("copy them there with oras or skopeo, then write the new URL into %s", filepath.Join(dir, contentFile))
	}
	r, err := a.openExternal(p.registry)
	if err != nil {
		return nil, err
	}
	if known != p.registry {
		if err := remember(dir, p.registry); err != nil {
			return nil, err
		}
	}
	return &artifacts{Backend: r, external: r}, nil
}

// placesOf is where the artifacts of a registry's directory are.
func placesOf(dir string) (places, error) {
	known, err := contentOf(dir)
	if strings.HasPrefix(known, externalScheme) {
		return places{registry: known}, err
	}
	return places{blobs: known}, err
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

// openExternal opens the registry of oci://HOST[:PORT][/PREFIX][?insecure=true], with
// the credentials of Docker's configuration.
func (a *app) openExternal(text string) (*external.Registry, error) {
	at, query, _ := strings.Cut(strings.TrimPrefix(text, externalScheme), "?")
	q, err := url.ParseQuery(query)
	if err != nil || len(q) > 1 || len(q) == 1 && q.Get("insecure") != "true" && q.Get("insecure") != "false" {
		return nil, usagef("%s: behind the question mark only insecure=true is known", printable(bucketOf(text)))
	}
	host, _, err := external.Split(at)
	if err != nil {
		return nil, err
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	client, err := a.httpClient()
	if err != nil {
		return nil, err
	}
	return external.Open(external.Options{
		Reference: at, PlainHTTP: q.Get("insecure") == "true" || loopbackHost(name), Config: a.env.dockerConfig(), Client: client,
	})
}

// dockerConfig is Docker's configuration file; "" without a home.
func (e environment) dockerConfig() string {
	dir := e.getenv("DOCKER_CONFIG")
	if dir == "" && e.home != "" {
		dir = filepath.Join(e.home, ".docker")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "config.json")
}

// pluginRegistries finds the registry of a reference among those that the operator
// lets plugins come from; nil when there is none.
func (a *app) pluginRegistries(allowed []string) (func(string) (*oci.Store, string, string, error), error) {
	if len(allowed) == 0 {
		return nil, nil //nolint:nilnil // no registry is no fault
	}
	known := make([]*external.Registry, len(allowed))
	for i, text := range allowed {
		var err error
		if known[i], err = a.openExternal(text); err != nil {
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

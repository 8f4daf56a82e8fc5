package publish

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

// Plugin is a stored third-party plugin.
type Plugin struct {
	Package *guest.Package
	Ref     registry.PluginRef // binds it; without a configuration
	Config  registry.Digest    // of the OCI configuration
}

// PluginRepository is where the plugins of a name are kept.
func PluginRepository(workspace, name string) string { return workspace + "/plugins/" + name }

// Plugin stores a third-party plugin under a tag ("" for none); when it returns nil
// the plugin is durable. The same module gives the same digests.
func (p *Publisher) Plugin(ctx context.Context, workspace, tag string, g *guest.Package) (*Plugin, error) {
	m := g.Manifest
	a, err := oci.NewPlugin(g.Code, m.Name, m.Version)
	if err != nil {
		return nil, err
	}
	out := pluginOf(PluginRepository(workspace, m.Name), a, g)
	return out, p.opts.Store.Push(ctx, out.Ref.Repository, tag, a)
}

func pluginOf(repository string, a *oci.Artifact, g *guest.Package) *Plugin {
	return &Plugin{
		Package: g, Config: registry.DigestOf(a.Config()),
		Ref: registry.PluginRef{
			Name: g.Manifest.Name, Version: g.Manifest.Version, Repository: repository, Manifest: a.Digest(), Digest: a.LayerDigest(),
		},
	}
}

// Artifacts is where the publisher keeps what it publishes.
func (p *Publisher) Artifacts() *oci.Store { return p.opts.Store }

// FindPlugin reads a plugin that somebody pushed to our registry; see [FindPlugin].
func (p *Publisher) FindPlugin(ctx context.Context, repository, reference string) (*Plugin, error) {
	return FindPlugin(ctx, p.opts.Store, repository, reference)
}

// FindPlugin reads a plugin that somebody pushed to a registry, by tag or digest. It fails with [problem.NotFound] when there is none, and as [guest.Open] does.
func FindPlugin(ctx context.Context, st *oci.Store, repository, reference string) (*Plugin, error) {
	missing := func(err error) error {
		return problem.New(problem.NotFound, "the registry has no %.200s:%.128s", repository, reference).
			Fix("push it first: oras push …").Because(err)
	}
	d, err := registry.ParseDigest(reference)
	if err != nil {
		if !oci.ValidTag(reference) {
			return nil, missing(err)
		}
		if d, err = st.Resolve(ctx, repository, reference); errors.Is(err, registry.ErrNotFound) {
			return nil, missing(err)
		} else if err != nil {
			return nil, err
		}
	}
	a, err := st.Pull(ctx, repository, d, oci.KindPlugin)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, missing(err)
	}
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", repository, err)
	}
	g, err := guest.Open(a.Layer())
	if err != nil {
		return nil, err
	}
	return pluginOf(repository, a, g), nil
}

// OpenPlugin reads a stored plugin back, verified.
func (p *Publisher) OpenPlugin(ctx context.Context, ref registry.PluginRef) (*guest.Package, error) {
	a, err := p.opts.Store.Pull(ctx, ref.Repository, ref.Manifest, oci.KindPlugin)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", ref.Name, err)
	}
	if a.LayerDigest() != ref.Digest {
		return nil, problem.New(problem.InvalidRelease, "plugin %q has the module %s, the bundle names %s", ref.Name, a.LayerDigest().Short(), ref.Digest.Short())
	}
	g, err := guest.Open(a.Layer())
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", ref.Name, err)
	}
	return g, nil
}

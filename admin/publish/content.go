package publish

import (
	"context"
	"fmt"

	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

// Content is what a bundle needs of the registry and of the credentials.
type Content struct {
	Digests     []registry.Digest // manifests, layers and configurations, of the bundle and its connectors
	Credentials []string          // identifiers of the credentials its connectors use
	Users       []string          // identifiers of those whose tokens belong to single callers
}

// Content reads what a bundle needs. What was read once is remembered: a bundle
// is named by its digest. The caller must not change the answer.
func (p *Publisher) Content(ctx context.Context, repository string, bundle registry.Digest) (*Content, error) {
	p.mu.Lock()
	c := p.content[bundle]
	p.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := ReadContent(ctx, p.opts.Store, repository, bundle)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.content) >= registry.MaxReleaseToolsets {
		clear(p.content) // of revisions long gone; what is live is read again
	}
	p.content[bundle] = c
	return c, nil
}

// ReadContent reads what a bundle needs from a registry, and so checks that it is there
// and whole.
func ReadContent(ctx context.Context, st *oci.Store, repository string, bundle registry.Digest) (*Content, error) {
	return readContent(ctx, st, repository, bundle, func(context.Context, string, *oci.Artifact) error { return nil })
}

// readContent is [ReadContent]; each gets every artifact that was read.
func readContent(ctx context.Context, st *oci.Store, repository string, bundle registry.Digest, each func(ctx context.Context, repository string, a *oci.Artifact) error) (*Content, error) {
	pull := func(repository string, d registry.Digest, kind oci.Kind) (*oci.Artifact, error) {
		a, err := st.Pull(ctx, repository, d, kind)
		if err == nil {
			err = each(ctx, repository, a)
		}
		return a, err
	}
	a, err := pull(repository, bundle, oci.KindToolset)
	if err != nil {
		return nil, err
	}
	t, err := toolsetOf(a)
	if err != nil {
		return nil, err
	}
	c := &Content{Digests: digests(a)}
	for i := range t.Connectors {
		ref := &t.Connectors[i]
		module, err := pull(ref.Repository, ref.Manifest, oci.KindPlugin)
		if err != nil {
			return nil, fmt.Errorf("connector %s: %w", ref.Name, err)
		}
		c.Digests = append(c.Digests, digests(module)...)
		for _, a := range ref.Auth.Each() {
			if t.Local() {
				break // no edge serves it, and none gets its credentials
			}
			switch {
			case a.CredentialID == "":
			case a.User:
				c.Users = append(c.Users, a.CredentialID)
			default:
				c.Credentials = append(c.Credentials, a.CredentialID)
			}
		}
	}
	for _, ref := range t.Plugins {
		module, err := pull(ref.Repository, ref.Manifest, oci.KindPlugin)
		if err != nil {
			return nil, fmt.Errorf("plugin %s: %w", ref.Name, err)
		}
		c.Digests = append(c.Digests, digests(module)...)
	}
	return c, nil
}

// Toolset reads the toolset of a bundle, without what its connectors are made of.
func (p *Publisher) Toolset(ctx context.Context, repository string, bundle registry.Digest) (*registry.Toolset, error) {
	a, err := p.opts.Store.Pull(ctx, repository, bundle, oci.KindToolset)
	if err != nil {
		return nil, err
	}
	return toolsetOf(a)
}

func toolsetOf(a *oci.Artifact) (*registry.Toolset, error) {
	bare, _, err := registry.SplitIndex(a.Layer())
	if err != nil {
		return nil, err
	}
	t, _, err := registry.OpenBundle(bare)
	return t, err
}

func digests(a *oci.Artifact) []registry.Digest {
	return []registry.Digest{a.Digest(), a.LayerDigest(), registry.DigestOf(a.Config())}
}

package publish

import (
	"context"
	"fmt"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// Access signs and stores the access document of a toolset beside its bundles and
// returns the digest that a release names it by; when it returns nil the document
// is durable. It makes nothing live. The same document gives the same digest.
func (p *Publisher) Access(ctx context.Context, repository string, d *registry.AccessDocument) (registry.Digest, error) {
	env, err := sign.SignAccess(p.opts.ReleaseKey, d)
	if err != nil {
		return "", err
	}
	a, err := oci.New(oci.KindAccess, env, nil)
	if err != nil {
		return "", err
	}
	return a.Digest(), p.opts.Store.Push(ctx, repository, "", a)
}

// Absence signs a notice of the credentials that an edge is not sent.
func (p *Publisher) Absence(n *registry.AbsenceNotice) ([]byte, error) {
	return sign.SignAbsence(p.opts.ReleaseKey, n)
}

// verifyAccess opens the access document of a toolset as a gateway will.
func (p *Publisher) verifyAccess(ctx context.Context, t registry.ReleaseToolset) error {
	if t.Access == "" {
		return nil
	}
	a, err := p.pull(ctx, t.Repository, t.Access, oci.KindAccess)
	if err != nil {
		return fmt.Errorf("access document: %w", err)
	}
	trust, err := sign.NewTrust(p.Trusted(), registry.UseRelease)
	if err != nil {
		return err
	}
	d, err := sign.VerifyAccess(a.Layer(), trust)
	if err != nil {
		return fmt.Errorf("access document: %w", err)
	}
	if d.Toolset != t.ID || d.Workspace != t.Workspace {
		return problem.New(problem.InvalidRelease, "the access document is of toolset %s of %q", d.Toolset, d.Workspace)
	}
	return nil
}

// AccessContent lists what a gateway fetches for the access document of a toolset:
// nothing when it has none.
func (p *Publisher) AccessContent(ctx context.Context, t *registry.ReleaseToolset) ([]registry.Digest, error) {
	if t.Access == "" {
		return nil, nil
	}
	p.mu.Lock()
	c := p.content[t.Access]
	p.mu.Unlock()
	if c != nil {
		return c.Digests, nil
	}
	a, err := p.opts.Store.Pull(ctx, t.Repository, t.Access, oci.KindAccess)
	if err != nil {
		return nil, err
	}
	c = &Content{Digests: digests(a)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.content) >= registry.MaxReleaseToolsets {
		clear(p.content) // of releases long gone; what is live is read again
	}
	p.content[t.Access] = c
	return c.Digests, nil
}

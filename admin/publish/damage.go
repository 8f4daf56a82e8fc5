package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

// MaxLost is how many of the numbers that the records noted are looked up when the newest
// release cannot be read: a push that failed half way left one without a release.
const MaxLost = 8

// Lookup is what a registry has of the newest release of a group.
type Lookup struct {
	Artifact *oci.Artifact // nil: it has none
	// Lost is how many releases the records noted after it. Edges may have them.
	Lost uint64
	// Cause says why the tag does not lead to the release; nil: it does, or there was never one.
	Cause error
}

// LookUp finds the newest release of a group: what the tag points at, or, where tag or release
// were lost or damaged, the newest one that the records noted and that is whole. A registry
// without tag and numbers has none. Where a tag leads nowhere and no number is whole, or the
// registry has a number that the records did not note, the operator has to decide: the error says what is damaged.
func LookUp(ctx context.Context, st *oci.Store, r Records, group string) (Lookup, error) {
	repository := oci.ReleaseRepository(group)
	tagged, err := st.Resolve(ctx, repository, oci.TagLatest)
	if err == nil {
		a, perr := st.Pull(ctx, repository, tagged, oci.KindRelease)
		if perr == nil {
			return Lookup{Artifact: a}, nil
		}
		err = fmt.Errorf("read the newest release: %w", perr)
	}
	damage := registry.Damage(err)
	if damage == nil {
		return Lookup{}, err
	}
	epoch, marked, merr := markOf(ctx, r, group)
	if merr != nil {
		return Lookup{}, errors.Join(damage, merr)
	}
	if _, nerr := st.Resolve(ctx, repository, numberOf(epoch, marked+1)); !errors.Is(nerr, registry.ErrNotFound) {
		return Lookup{}, damage
	}
	for n := marked; n > 0 && n+MaxLost > marked; n-- {
		d, nerr := st.Resolve(ctx, repository, numberOf(epoch, n))
		if nerr != nil {
			continue
		}
		if a, perr := st.Pull(ctx, repository, d, oci.KindRelease); perr == nil {
			return Lookup{Artifact: a, Lost: marked - n, Cause: err}, nil
		}
	}
	switch {
	case ctx.Err() != nil:
		return Lookup{}, ctx.Err()
	case tagged != "" || !errors.Is(err, registry.ErrNotFound):
		return Lookup{}, damage
	case marked == 0:
		return Lookup{}, nil
	}
	return Lookup{Lost: marked, Cause: err}, nil
}

// find is [LookUp], after which the tag leads to the release that was found.
func (p *Publisher) find(ctx context.Context, group string) (*oci.Artifact, error) {
	found, err := LookUp(ctx, p.opts.Store, p.opts.Records, group)
	if err != nil || found.Cause == nil {
		return found.Artifact, err
	}
	p.setLost(group, found.Lost > 0)
	p.log.LogAttrs(ctx, slog.LevelWarn, "the newest release of the registry cannot be read, another one takes its place",
		slog.String("group", group), slog.Uint64("lost", found.Lost), slog.Any("error", found.Cause))
	if found.Artifact == nil {
		return nil, nil //nolint:nilnil // there is none, as the caller asks
	}
	return found.Artifact, p.opts.Store.Tag(ctx, oci.ReleaseRepository(group), oci.TagLatest, found.Artifact)
}

// numberOf a release is its tag.
func numberOf(epoch, revision uint64) string { return fmt.Sprintf("%d.%d", epoch, revision) }

func (p *Publisher) setLost(group string, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost[group] = lost
}

func (p *Publisher) hasLost(group string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost[group]
}

// replaceLost makes a release of what is live in place of one that was lost. Where that
// does not work now Run tries again.
func (p *Publisher) replaceLost(ctx context.Context, group string) {
	if _, err := p.releaseGroup(ctx, group, false); err != nil {
		p.log.LogAttrs(ctx, slog.LevelError, "no release can be made in place of the one that was lost", slog.String("group", group), slog.Any("error", err))
		p.tryAgain(group)
	}
}

// mend has the registry hand out under the name of a repository what was read from it: an
// index that lost it would leave edges without it.
func (p *Publisher) mend(ctx context.Context, repository string, a *oci.Artifact) error {
	mended, err := p.opts.Store.Mend(ctx, repository, a)
	if mended && err == nil {
		p.log.LogAttrs(ctx, slog.LevelWarn, "what the registry had lost of an artifact was stored again",
			slog.String("repository", repository), slog.String("digest", string(a.Digest())))
	}
	return err
}

// pull reads an artifact that is about to be released.
func (p *Publisher) pull(ctx context.Context, repository string, d registry.Digest, kind oci.Kind) (*oci.Artifact, error) {
	a, err := p.opts.Store.Pull(ctx, repository, d, kind)
	if err == nil {
		err = p.mend(ctx, repository, a)
	}
	return a, err
}

// mendRelease puts the newest release of a group, which this process has, back where its tag or
// its content was lost.
func (p *Publisher) mendRelease(ctx context.Context, group string) error {
	if err := p.take(ctx); err != nil {
		return err
	}
	defer func() { p.turn <- struct{}{} }()
	newest := p.Newest(group)
	if newest == nil || p.Stopped(group) != nil {
		return nil
	}
	a, err := oci.New(oci.KindRelease, newest.Envelope(), nil)
	if err != nil {
		return err
	}
	repository, r := oci.ReleaseRepository(group), newest.Release()
	for _, tag := range []string{numberOf(r.Epoch, r.Revision), oci.TagLatest} {
		d, err := p.opts.Store.Resolve(ctx, repository, tag)
		if err == nil && d == a.Digest() {
			_, err = p.opts.Store.Pull(ctx, repository, d, oci.KindRelease)
		}
		switch {
		case err == nil && d != a.Digest(): // of another control plane, for whoever publishes next to find
			return nil
		case err == nil:
			err = p.mend(ctx, repository, a)
		case registry.Damage(err) != nil:
			if err = p.opts.May(ctx); err == nil {
				err = p.opts.Store.Push(ctx, repository, tag, a)
			}
			if err == nil {
				p.log.LogAttrs(ctx, slog.LevelWarn, "the registry had lost the newest release, it was stored again", slog.String("group", group), slog.String("tag", tag))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inspectToolset reads what a live toolset needs, and mends what it can.
func (p *Publisher) inspectToolset(ctx context.Context, t *registry.ReleaseToolset) error {
	if _, err := readContent(ctx, p.opts.Store, t.Repository, t.Bundle, p.mend); err != nil || t.Access == "" {
		return err
	}
	_, err := p.pull(ctx, t.Repository, t.Access, oci.KindAccess)
	return err
}

// Inspect reads everything that the newest releases need, so that damage is found, and
// healed where that can be, before an edge or a deploy meets it.
func (p *Publisher) Inspect(ctx context.Context) error {
	groups, err := p.otherGroups(ctx)
	if err != nil {
		return err
	}
	var first, lost error
	damaged := 0
	for _, group := range append(groups, p.opts.Group) {
		newest := p.Newest(group)
		if newest == nil {
			continue
		}
		if err := p.mendRelease(ctx, group); err != nil && ctx.Err() == nil {
			p.log.LogAttrs(ctx, slog.LevelError, "the registry has lost the newest release", slog.String("group", group), slog.Any("error", err))
			lost = err
		}
		toolsets := newest.Release().Toolsets
		for i := range toolsets {
			t := &toolsets[i]
			err := p.inspectToolset(ctx, t)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil {
				continue
			}
			p.log.LogAttrs(ctx, slog.LevelError, "the registry does not have what a live toolset needs",
				slog.String("workspace", t.Workspace), slog.String("toolset", t.Slug), slog.Any("error", err))
			if damaged++; first == nil {
				first = err
			}
		}
	}
	var found error
	const remedy = "nodes that have it serve on; restore a backup (sluice restore --help), and look at the disk"
	switch { // without names: whoever reaches the listener reads it, and they are of all workspaces
	case lost != nil:
		found = problem.New(problem.Unavailable, "the registry has lost the newest release, which cannot be stored again; the log of this control plane says why").
			Fix(remedy).Because(lost)
	case first != nil:
		found = problem.New(problem.Unavailable, "the registry does not have what %d live toolsets need; the log of this control plane names them", damaged).
			Fix(remedy).Because(first)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.damage = found
	return nil
}

// Damaged is what [Publisher.Inspect] found last.
func (p *Publisher) Damaged() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.damage
}

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

// find reads the newest release of a group: what the tag points at. Where tag or release
// were lost or damaged, it is the newest one that the records noted and that is whole. The
// digest is empty when there is no tag.
func (p *Publisher) find(ctx context.Context, group string) (*oci.Artifact, registry.Digest, error) {
	repository := oci.ReleaseRepository(group)
	d, err := p.opts.Store.Resolve(ctx, repository, oci.TagLatest)
	if err == nil {
		a, perr := p.opts.Store.Pull(ctx, repository, d, oci.KindRelease)
		if perr == nil {
			return a, d, nil
		}
		err = fmt.Errorf("read the newest release: %w", perr)
	}
	damage := registry.Damage(err)
	if damage == nil {
		return nil, d, err
	}
	kept, lost, ferr := Kept(ctx, p.opts.Store, p.opts.Records, group)
	switch {
	case ferr == nil && kept != nil:
	case d == "" && errors.Is(err, registry.ErrNotFound): // there is no release yet
		return nil, "", errors.Join(err, ferr)
	default:
		return nil, d, errors.Join(damage, ferr)
	}
	p.setLost(group, lost > 0) // edges may have what was lost
	p.log.LogAttrs(ctx, slog.LevelWarn, "the newest release of the registry cannot be read, another one takes its place",
		slog.String("group", group), slog.Uint64("lost", lost), slog.Any("error", err))
	return kept, kept.Digest(), p.opts.Store.Tag(ctx, repository, oci.TagLatest, kept)
}

// Kept is the newest release of a group that a registry has whole under its number, and how
// many the records noted after it; nil: there is none. Where the registry has a number that the
// records did not note, which of the two is right is for the operator to decide.
func Kept(ctx context.Context, st *oci.Store, r Records, group string) (a *oci.Artifact, lost uint64, err error) {
	marks, ok := r.(MarkedRecords)
	if !ok {
		return nil, 0, nil
	}
	epoch, marked, err := marks.ReleaseMark(ctx, group)
	if err != nil {
		return nil, 0, err
	}
	repository := oci.ReleaseRepository(group)
	if _, err := st.Resolve(ctx, repository, numberOf(epoch, marked+1)); !errors.Is(err, registry.ErrNotFound) {
		return nil, 0, nil
	}
	for n := marked; n > 0 && n+MaxLost > marked; n-- {
		d, err := st.Resolve(ctx, repository, numberOf(epoch, n))
		if err != nil {
			continue
		}
		if a, err := st.Pull(ctx, repository, d, oci.KindRelease); err == nil {
			return a, marked - n, nil
		}
	}
	return nil, 0, ctx.Err()
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

// Inspect reads everything that the newest releases need, so that damage is found, and
// healed where the store has a spare, before an edge or a deploy meets it.
func (p *Publisher) Inspect(ctx context.Context) error {
	groups, err := p.otherGroups(ctx)
	if err != nil {
		return err
	}
	var first error
	damaged := 0
	for _, group := range append(groups, p.opts.Group) {
		newest := p.Newest(group)
		if newest == nil {
			continue
		}
		toolsets := newest.Release().Toolsets
		for i := range toolsets {
			t := &toolsets[i]
			_, err := ReadContent(ctx, p.opts.Store, t.Repository, t.Bundle)
			if err == nil && t.Access != "" {
				_, err = p.opts.Store.Pull(ctx, t.Repository, t.Access, oci.KindAccess)
			}
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
	if first != nil { // without their names: whoever reaches the listener reads it, and they are of all workspaces
		found = problem.New(problem.Unavailable, "the registry does not have what %d live toolsets need; the log of this control plane names them", damaged).
			Fix("nodes that have it serve on; restore a backup (sluice restore --help), and look at the disk").Because(first)
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

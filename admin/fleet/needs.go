package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

const (
	// needsWait is how long a request waits for what a release needs to be read: an
	// edge that is answered "not yet" asks again after a second.
	needsWait = 10 * time.Second
	// needsTimeout ends reading what a release needs: 20,000 toolsets of a registry that
	// takes 200 ms a request and is asked needsParallel at a time.
	needsTimeout = time.Hour
	// needsParallel is how many bundles are read at a time: a registry elsewhere answers
	// slowly, and more connections than this are more than its share.
	needsParallel = 16
)

// needs knows what the newest release of each group of edges needs. What is not
// read yet is an error, never an empty answer.
type needs struct {
	publisher *publish.Publisher
	flights   singleflight.Group // by group and release

	mu    sync.Mutex
	known map[string]*groupNeeds // guarded by mu; by group
}

// groupNeeds is immutable.
type groupNeeds struct {
	release     registry.ReleaseName
	credentials []string
	users       []string // credentials whose tokens belong to single callers
	digests     map[registry.Digest]bool
	before      map[registry.Digest]bool // contents of the release before
}

// nameOf names a release.
func nameOf(r *sign.Release) registry.ReleaseName {
	return registry.ReleaseName{Epoch: r.Release().Epoch, Revision: r.Release().Revision, Digest: r.Digest()}
}

// nameRelease says in an answer to an edge which release it belongs to.
func nameRelease(w http.ResponseWriter, n registry.ReleaseName) {
	w.Header().Set(registry.EdgeReleaseHeader, n.String()+" "+string(n.Digest))
}

// notYet makes the error of something that could not be read one that an edge waits
// for. What has a kind keeps it.
func notYet(err error, format string, args ...any) error {
	if p := problem.As(err); p != nil && p.Kind != problem.NotFound {
		return err
	}
	return problem.New(problem.Unavailable, format, args...).Fix("look at the log of the control plane, and at its registry").Because(err)
}

// of lists the credentials and the contents of a group's newest release. It fails
// with [problem.Unavailable] when they are not known: the release or a bundle in it
// cannot be read, or reading takes longer than a request waits; it goes on then.
func (n *needs) of(ctx context.Context, group string) (*groupNeeds, error) {
	wait, cancel := context.WithTimeout(ctx, needsWait)
	defer cancel()
	rel := n.publisher.Newest(group)
	key := group
	if rel != nil {
		if known := n.remembered(group); known != nil && known.release.Digest == rel.Digest() {
			return known, nil
		}
		key += " " + string(rel.Digest())
	}
	flight := n.flights.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), needsTimeout)
		defer cancel()
		rel, err := n.publisher.Latest(ctx, group)
		if err != nil {
			return nil, notYet(err, "the newest release of this group of edges cannot be read yet")
		}
		return n.read(ctx, group, rel)
	})
	select {
	case r := <-flight:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*groupNeeds), nil
	case <-wait.Done():
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, problem.New(problem.Unavailable, "what the newest release of this group of edges needs is still being read").Fix("ask again")
	}
}

func (n *needs) remembered(group string) *groupNeeds {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[group]
}

// read reads what a release needs, and remembers it.
func (n *needs) read(ctx context.Context, group string, rel *sign.Release) (*groupNeeds, error) {
	list := rel.Release().Toolsets
	contents, entries := make([]*publish.Content, 2*len(list)), make([][]registry.Digest, len(list)) // candidates behind all toolsets
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(needsParallel)
	for i := range list {
		g.Go(func() (err error) {
			t := &list[i]
			if contents[i], err = n.publisher.Content(gctx, t.Repository, t.Bundle); err == nil {
				entries[i], err = n.publisher.AccessContent(gctx, t)
			}
			if err == nil && t.Trial.Running() {
				contents[len(list)+i], err = n.publisher.Content(gctx, t.Trial.Repository, t.Trial.Bundle)
			}
			if err != nil {
				return notYet(fmt.Errorf("read what toolset %s needs: %w", t.Slug, err), "what toolset %s of release %s needs cannot be read", t.Slug, nameOf(rel))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := &groupNeeds{release: nameOf(rel), digests: make(map[registry.Digest]bool, 8*len(list))}
	for i := range list {
		for _, d := range entries[i] {
			out.digests[d] = true
		}
	}
	for _, c := range contents {
		if c == nil {
			continue // no candidate is on trial
		}
		for _, d := range c.Digests {
			out.digests[d] = true
		}
		out.credentials = append(out.credentials, c.Credentials...)
		out.users = append(out.users, c.Users...)
	}
	slices.Sort(out.credentials)
	out.credentials = slices.Compact(out.credentials)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[string]*groupNeeds{}
	}
	// The release before stays allowed: an edge may still be fetching it.
	switch old := n.known[group]; {
	case old == nil:
	case old.release.Digest == out.release.Digest, out.release.Before(old.release): // read twice, or late
		return out, nil
	default:
		out.before = old.digests
	}
	n.known[group] = out
	return out, nil
}

// mayPull reports whether the newest release of a group, or the one before, needs
// a content.
func (n *needs) mayPull(ctx context.Context, group string, d registry.Digest) (bool, error) {
	if known := n.remembered(group); known != nil && (known.digests[d] || known.before[d]) {
		return true, nil
	}
	needs, err := n.of(ctx, group)
	return err == nil && (needs.digests[d] || needs.before[d]), err
}

// neededBy names the newest release of a group when it, or the one before, needs a
// content; nil when it does not, or the group has no release.
func (n *needs) neededBy(ctx context.Context, group string, d registry.Digest) (*registry.ReleaseName, error) {
	if _, err := n.publisher.Latest(ctx, group); errors.Is(err, registry.ErrNotFound) {
		return nil, nil //nolint:nilnil // "not needed" is an ordinary answer
	}
	needs, err := n.of(ctx, group)
	if err != nil || !needs.digests[d] && !needs.before[d] {
		return nil, err
	}
	return &needs.release, nil
}

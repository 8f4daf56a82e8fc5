package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/registry"
)

const (
	// collectBatch is how many manifests, contents or links are removed together, with one
	// sync of each directory. Pushes wait for a batch, so it is a matter of milliseconds.
	collectBatch = 64
	// collectParallel is how many manifests are read, and contents looked for, at a time: it
	// matters for contents in a bucket.
	collectParallel = 8
)

// Enumerator is an Index that can list what it knows, and remove many facts at once;
// collection needs it.
type Enumerator interface {
	// EachManifest calls fn for every manifest of every repository until fn fails.
	// What is linked meanwhile may or may not be among them.
	EachManifest(ctx context.Context, fn func(repository string, d registry.Digest) error) error
	// EachBlob is EachManifest for the blobs that repositories have.
	EachBlob(ctx context.Context, fn func(repository string, d registry.Digest) error) error
	// Unlink removes facts of a repository: tags, then manifests, then blobs, each kind
	// durably before the next. Facts that are missing are not an error. Other than
	// UnlinkManifest it looks for no tags.
	Unlink(ctx context.Context, repository string, facts Facts) error
}

// Facts of a repository.
type Facts struct {
	Tags      []string
	Manifests []Descriptor
	Blobs     []registry.Digest
}

// CollectOptions say what stays.
type CollectOptions struct {
	// Needed are manifests that stay, whatever their tags.
	Needed map[registry.Digest]bool
	// Before: what was written, or pushed again, after this time stays, but for releases
	// that have their tag: a newer one took their place.
	Before time.Time
	// Releases is how many releases of each group stay, the newest, however young the others
	// are. At least 1.
	Releases int
	// Limit is how long a collection removes before it leaves the rest to the next one.
	// Listing and reading what is there come before and do not count, and some is always
	// removed. Default: no limit.
	Limit time.Duration
}

// Collected is what a collection did.
type Collected struct {
	Manifests, Blobs int
	Bytes            int64
	Kept             int  // contents that stay
	More             bool // the limit ended it: the next collection goes on
}

// Collect removes manifests without a tag that are not needed, releases beyond
// the newest, and contents that no manifest names, if they are old enough. It may
// run while everything else goes on, but for what [Hold] holds: then it fails with
// [problem.Unavailable].
//
// Whenever it stops or crashes, what has a tag is whole: tags go before their manifests,
// manifests before what they name.
func (s *Store) Collect(ctx context.Context, o CollectOptions) (_ Collected, err error) {
	index, ok := s.index.(Enumerator)
	if !ok {
		return Collected{}, errors.New("collect: the index of this registry cannot be listed")
	}
	done, err := s.collecting()
	if err != nil {
		return Collected{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	c := &collection{store: s, index: index, o: o, sizes: map[registry.Digest]stored{}, named: map[registry.Digest]int{}, fixed: map[string][]string{}}
	err = c.run(ctx)
	c.out.Kept = len(c.sizes)
	return c.out, err
}

// collection is one run of Collect.
type collection struct {
	store *Store
	index Enumerator
	o     CollectOptions
	out   Collected
	until time.Time // zero: no limit

	sizes map[registry.Digest]stored // contents that are there
	// named counts the manifests that are linked and name a content, themselves included.
	named map[registry.Digest]int
	// fixed are the tags of repositories of releases that are not numbers, such as "latest".
	fixed map[string][]string
	// unneeded manifests, in the order in which they go: of each repository the oldest
	// releases first.
	unneeded []*linked
}

// stored is a content that is there.
type stored struct {
	size     int64
	modified time.Time
}

// linked is a manifest of a repository.
type linked struct {
	repository string
	digest     registry.Digest
	mediaType  string
	contents   *contents // nil: it cannot be read, and names nothing
	superseded bool      // a release whose place newer ones took
	tags       []string  // of a superseded release
	order      int       // among the superseded releases of a repository, oldest first
}

// contents is what a manifest names.
type contents struct {
	layers    []registry.Digest
	manifests []registry.Digest // of an index: they stay as long as it does
	others    []registry.Digest // configuration, subject
	subject   registry.Digest   // what it is about, such as a signature, and stays with; "" nothing
}

func (m *linked) names() []registry.Digest {
	out := []registry.Digest{m.digest}
	if m.contents != nil {
		out = append(append(append(out, m.contents.layers...), m.contents.manifests...), m.contents.others...)
	}
	return out
}

func (c *collection) run(ctx context.Context) error {
	all, err := c.list(ctx)
	if err != nil {
		return err
	}
	if err := c.mark(ctx, all); err != nil {
		return err
	}
	if c.o.Limit > 0 {
		c.until = time.Now().Add(c.o.Limit)
	}
	steps := []func(context.Context) error{c.removeManifests, c.removeContents, c.removeLinks}
	for _, step := range steps {
		if err := step(ctx); err != nil || c.out.More {
			return err
		}
	}
	return nil
}

// over reports whether the limit is reached, and notes that some is left.
func (c *collection) over() bool {
	c.out.More = !c.until.IsZero() && time.Now().After(c.until)
	return c.out.More
}

// list reads what is linked and stored.
func (c *collection) list(ctx context.Context) ([]*linked, error) {
	var all []*linked
	err := c.index.EachManifest(ctx, func(repository string, d registry.Digest) error {
		all = append(all, &linked{repository: repository, digest: d})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := c.read(ctx, all); err != nil {
		return nil, err
	}
	err = c.store.content.Walk(ctx, func(d registry.Digest, size int64, modified time.Time) error {
		c.sizes[d] = stored{size, modified}
		return ctx.Err()
	})
	return all, err
}

// read reads manifests. What a manifest names never changes, so the store remembers it
// from one collection to the next.
func (c *collection) read(ctx context.Context, all []*linked) error {
	var mu sync.Mutex
	known := make(map[registry.Digest]*linked, len(all))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(collectParallel)
	for _, m := range all {
		if old := c.store.known[m.digest]; old != nil && old.repository == m.repository {
			m.mediaType, m.contents = old.mediaType, old.contents
			mu.Lock()
			known[m.digest] = old
			mu.Unlock()
			continue
		}
		g.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			m.mediaType, err = c.store.index.MediaType(ctx, m.repository, m.digest)
			if errors.Is(err, registry.ErrNotFound) {
				return nil // removed meanwhile
			}
			if err != nil {
				return err
			}
			b, err := c.store.content.Fetch(ctx, m.digest, MaxManifestBytes)
			if errors.Is(err, registry.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			read, err := readManifest(b, m.mediaType)
			if err != nil {
				return nil //nolint:nilerr // one that cannot be read names nothing
			}
			m.contents = &contents{layers: digests(read.Layers), manifests: digests(read.Manifests), others: digests(read.optional())}
			if read.Subject != nil {
				m.contents.subject = registry.Digest(read.Subject.Digest)
			}
			mu.Lock()
			known[m.digest] = &linked{repository: m.repository, digest: m.digest, mediaType: m.mediaType, contents: m.contents}
			mu.Unlock()
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	c.store.known = known
	return nil
}

func digests(all []reference) []registry.Digest {
	out := make([]registry.Digest, len(all))
	for i := range all {
		out[i] = registry.Digest(all[i].Digest)
	}
	return out
}

// mark finds out which manifests are not needed, and counts what all of them name.
func (c *collection) mark(ctx context.Context, all []*linked) error {
	for d := range c.o.Needed {
		c.named[d]++
	}
	tags := map[string]*repositoryTags{}
	var stay, may []*linked
	for _, m := range all {
		for _, d := range m.names() {
			c.named[d]++
		}
		if tags[m.repository] == nil {
			t, err := c.tagsOf(ctx, m.repository)
			if err != nil {
				return err
			}
			tags[m.repository], c.fixed[m.repository] = t, t.fixed
		}
		t := tags[m.repository]
		if c.o.Needed[m.digest] || t.keep[m.digest] {
			stay = append(stay, m)
			continue
		}
		if past, ok := t.past[m.digest]; ok {
			m.superseded, m.tags, m.order = true, past.tags, past.order
		} else if at, ok := c.sizes[m.digest]; ok && !at.modified.Before(c.o.Before) {
			stay = append(stay, m) // looked at again when it is removed
			continue
		}
		may = append(may, m)
	}
	c.unneeded = unneeded(may, stay)
	slices.SortFunc(c.unneeded, func(a, b *linked) int {
		return cmp.Or(strings.Compare(a.repository, b.repository), cmp.Compare(a.order, b.order), strings.Compare(string(a.digest), string(b.digest)))
	})
	return nil
}

// unneeded returns those of the manifests in may that nothing keeps which stays: an index
// keeps the manifests that it names, and a manifest keeps what is about it.
func unneeded(may, stay []*linked) []*linked {
	type name struct {
		repository string
		digest     registry.Digest
	}
	rest := make(map[name]*linked, len(may))
	about := map[name][]registry.Digest{}
	for _, m := range may {
		rest[name{m.repository, m.digest}] = m
		if m.contents != nil && m.contents.subject != "" {
			subject := name{m.repository, m.contents.subject}
			about[subject] = append(about[subject], m.digest)
		}
	}
	for len(stay) > 0 {
		m := stay[len(stay)-1]
		stay = stay[:len(stay)-1]
		kept := about[name{m.repository, m.digest}]
		if m.contents != nil {
			kept = append(kept, m.contents.manifests...)
		}
		for _, d := range kept {
			if x, ok := rest[name{m.repository, d}]; ok {
				delete(rest, name{m.repository, d})
				stay = append(stay, x)
			}
		}
	}
	return slices.Collect(maps.Values(rest))
}

// repositoryTags are the tags of a repository.
type repositoryTags struct {
	keep  map[registry.Digest]bool // manifests that a tag keeps
	past  map[registry.Digest]*pastRelease
	fixed []string // of a repository of releases: those that are not numbers
}

// pastRelease is a release beyond the newest ones.
type pastRelease struct {
	tags  []string
	order int
}

// tagsOf reads the tags of a repository. In one of releases "latest" and the newest ones
// keep their manifests; elsewhere every tag does.
func (c *collection) tagsOf(ctx context.Context, repository string) (*repositoryTags, error) {
	out := &repositoryTags{keep: map[registry.Digest]bool{}, past: map[registry.Digest]*pastRelease{}}
	tags, err := c.store.index.Tags(ctx, repository, "", -1)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return nil, err
	}
	releases := strings.HasPrefix(repository, "releases/")
	if releases {
		slices.SortFunc(tags, func(a, b string) int {
			ea, ra := position(a)
			eb, rb := position(b)
			return -registry.Compare(ea, ra, eb, rb)
		})
	}
	kept := 0
	for i, t := range tags {
		d, err := c.store.index.Tag(ctx, repository, t)
		if errors.Is(err, registry.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		e, _ := position(t)
		switch {
		case releases && e == 0:
			out.fixed = append(out.fixed, t)
			out.keep[d] = true
		case !releases || kept < max(c.o.Releases, 1):
			kept++
			out.keep[d] = true
		default:
			if out.past[d] == nil {
				out.past[d] = &pastRelease{}
			}
			out.past[d].tags, out.past[d].order = append(out.past[d].tags, t), len(tags)-i
		}
	}
	return out, nil
}

// position reads a release's tag, <epoch>.<revision>; 0, 0 for another.
func position(tag string) (epoch, revision uint64) {
	e, r, ok := strings.Cut(tag, ".")
	epoch, err1 := strconv.ParseUint(e, 10, 64)
	revision, err2 := strconv.ParseUint(r, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		return 0, 0
	}
	return epoch, revision
}

// removeManifests removes the manifests that are not needed, and with each batch the
// contents of superseded releases: no later collection would know that they need no grace.
func (c *collection) removeManifests(ctx context.Context) error {
	for rest := c.unneeded; len(rest) > 0; {
		n := 1
		for n < len(rest) && n < collectBatch && rest[n].repository == rest[0].repository {
			n++
		}
		if err := c.removeBatch(ctx, rest[:n]); err != nil {
			return err
		}
		if rest = rest[n:]; len(rest) > 0 && c.over() {
			return nil
		}
	}
	return nil
}

// removeBatch removes manifests of one repository.
func (c *collection) removeBatch(ctx context.Context, batch []*linked) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	gone, err := c.unlink(ctx, batch)
	if err != nil {
		return err
	}
	c.out.Manifests += len(gone)
	var past []registry.Digest
	for _, m := range gone {
		delete(c.store.known, m.digest)
		for _, d := range m.names() {
			c.named[d]--
		}
		if m.superseded && m.contents != nil {
			past = append(append(past, m.digest), m.contents.layers...)
		}
	}
	past = slices.DeleteFunc(past, func(d registry.Digest) bool { return c.named[d] > 0 })
	// Each release is content of its own, its number is in it, so nothing else that is being
	// pushed needs it.
	deleted, err := c.delete(ctx, time.Now(), past)
	if err != nil || len(deleted) == 0 {
		return err
	}
	return c.unlinkBlobs(ctx, batch[0].repository, deleted)
}

// unlink takes manifests out of their repository, but for those that were pushed or tagged
// since they were listed, and returns which. Nobody links anything meanwhile.
func (c *collection) unlink(ctx context.Context, batch []*linked) ([]*linked, error) {
	s, repository := c.store, batch[0].repository
	s.links.Lock()
	defer s.links.Unlock()
	tagged := map[registry.Digest]bool{}
	for _, t := range c.fixed[repository] {
		d, err := s.index.Tag(ctx, repository, t)
		if err != nil && !errors.Is(err, registry.ErrNotFound) {
			return nil, err
		}
		tagged[d] = true
	}
	young, err := parallel(ctx, batch, func(ctx context.Context, m *linked) (bool, error) {
		if m.superseded {
			return tagged[m.digest], nil
		}
		old, err := s.content.OlderThan(ctx, m.digest, c.o.Before)
		return !old, err
	})
	if err != nil {
		return nil, err
	}
	var facts Facts
	var gone []*linked
	for i, m := range batch {
		if young[i] {
			continue
		}
		for _, t := range m.tags {
			d, err := s.index.Tag(ctx, repository, t)
			if err != nil && !errors.Is(err, registry.ErrNotFound) {
				return nil, err
			}
			if err == nil && d == m.digest {
				facts.Tags = append(facts.Tags, t)
			}
		}
		desc := Descriptor{Digest: m.digest, MediaType: m.mediaType}
		if m.contents != nil {
			desc.Subject = m.contents.subject
		}
		facts.Manifests = append(facts.Manifests, desc)
		gone = append(gone, m)
	}
	return gone, c.index.Unlink(ctx, repository, facts)
}

// parallel asks the same of each of some things.
func parallel[T any](ctx context.Context, all []T, ask func(context.Context, T) (bool, error)) ([]bool, error) {
	out := make([]bool, len(all))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(collectParallel)
	for i, x := range all {
		g.Go(func() (err error) {
			out[i], err = ask(ctx, x)
			return err
		})
	}
	return out, g.Wait()
}

// removeContents removes what no manifest names and is old enough.
func (c *collection) removeContents(ctx context.Context) error {
	var old []registry.Digest
	for d, at := range c.sizes {
		if c.named[d] == 0 && at.modified.Before(c.o.Before) {
			old = append(old, d)
		}
	}
	for batch := range slices.Chunk(old, collectBatch) {
		if c.out.Blobs > 0 && c.over() {
			return nil
		}
		if _, err := c.delete(ctx, c.o.Before, batch); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes contents that are older than a time, and returns which.
func (c *collection) delete(ctx context.Context, before time.Time, all []registry.Digest) ([]registry.Digest, error) {
	if err := ctx.Err(); err != nil || len(all) == 0 {
		return nil, err
	}
	gone, err := c.store.content.DeleteOld(ctx, before, all...)
	for _, d := range gone {
		if at, ok := c.sizes[d]; ok {
			c.out.Blobs++
			c.out.Bytes += at.size
			delete(c.sizes, d)
		}
	}
	return gone, err
}

// removeLinks makes repositories forget blobs whose contents are gone, also those that an
// earlier collection left behind when it stopped.
func (c *collection) removeLinks(ctx context.Context) error {
	gone := map[string][]registry.Digest{}
	err := c.index.EachBlob(ctx, func(repository string, d registry.Digest) error {
		if _, ok := c.sizes[d]; !ok {
			gone[repository] = append(gone[repository], d)
		}
		return nil
	})
	if err != nil {
		return err
	}
	first := true
	for _, repository := range slices.Sorted(maps.Keys(gone)) {
		for batch := range slices.Chunk(gone[repository], collectBatch) {
			if !first && c.over() {
				return nil
			}
			first = false
			if err := c.unlinkBlobs(ctx, repository, batch); err != nil {
				return err
			}
		}
	}
	return nil
}

// unlinkBlobs makes a repository forget blobs, but for those that were pushed again.
// Nobody links anything meanwhile.
func (c *collection) unlinkBlobs(ctx context.Context, repository string, all []registry.Digest) error {
	s := c.store
	s.links.Lock()
	defer s.links.Unlock()
	missing, err := parallel(ctx, all, func(ctx context.Context, d registry.Digest) (bool, error) {
		_, err := s.content.Size(ctx, d)
		if errors.Is(err, registry.ErrNotFound) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("look for the contents of %s: %w", repository, err)
	}
	var facts Facts
	for i, d := range all {
		if missing[i] {
			facts.Blobs = append(facts.Blobs, d)
		}
	}
	return c.index.Unlink(ctx, repository, facts)
}

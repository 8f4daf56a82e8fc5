package edge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// minParallel is how many artifacts are fetched at a time on a small machine:
// fetching waits for the network, opening for the processors.
const minParallel = 8

// openAgain is how long a connector that could not be opened is not tried again.
const openAgain = 5 * time.Second

// bundle is an opened toolset bundle.
type bundle struct {
	toolset  *registry.Toolset
	programs [][]byte
	index    []byte
	content  *holding // what it occupies in the cache
	users    int      // live toolsets
}

// module is a connector, opened, or to be opened from the cache when it is used; or
// a plugin, opened.
type module struct {
	connector *connector.Connector // nil for a plugin
	plugin    *guest.Package       // nil for a connector
	digest    registry.Digest      // of the module
	// content is what it occupies in the cache; set when it is opened.
	content atomic.Pointer[holding]
	users   int // live toolsets
}

// entry is an opened access document.
type entry struct {
	document *registry.AccessDocument
	content  *holding
	users    int // live toolsets
}

// loader turns a release into a State. It keeps the parts that the live state has opened:
// the next release opens only what changed and looks nothing else up, because the toolsets
// of two releases are compared in their order. load and keep are called by one goroutine.
type loader struct {
	cache  *cache // nil: none, everything is fetched
	source Source

	fetched atomic.Uint64
	opened  atomic.Uint64

	live    []*Toolset                  // in the order of the release
	bundles map[registry.Digest]*bundle // of the live state, by OCI manifest digest
	modules map[registry.Digest]*module
	entries map[registry.Digest]*entry

	attempt registry.Digest // release of the last load

	mu      sync.Mutex
	pending map[registry.Digest]*oci.Artifact // fetched for attempt and not yet persisted
}

func newLoader(c *cache, s Source) *loader {
	return &loader{
		cache: c, source: s, pending: make(map[registry.Digest]*oci.Artifact),
		bundles: make(map[registry.Digest]*bundle), modules: make(map[registry.Digest]*module), entries: make(map[registry.Digest]*entry),
	}
}

// loaded is a State and what the loader has to change when it becomes live.
type loaded struct {
	state *State
	// What the toolsets that are new or changed use; the rest is the loader's.
	bundles map[registry.Digest]*bundle
	modules map[registry.Digest]*module
	entries map[registry.Digest]*entry // access documents

	fresh, gone []*Toolset // of the state and not live before; live before and not of the state
}

// content is what the live state needs from the cache.
func (l *loader) content() []*holding {
	all := make([]*holding, 0, len(l.bundles)+len(l.modules)+len(l.entries))
	for _, b := range l.bundles {
		all = append(all, b.content)
	}
	for _, m := range l.modules {
		if c := m.content.Load(); c != nil {
			all = append(all, c)
		}
	}
	for _, e := range l.entries {
		all = append(all, e.content)
	}
	return all
}

// needs reports whether the live state uses the artifact with a manifest digest.
func (l *loader) needs(d registry.Digest) bool {
	return l.bundles[d] != nil || l.modules[d] != nil || l.entries[d] != nil
}

// load opens everything a verified release lists. remote false takes nothing
// from the source, and leaves connectors that are in the cache to be opened when
// they are used or settled: a former run has verified them. It changes nothing
// that is live.
func (l *loader) load(ctx context.Context, r *registry.Release, digest registry.Digest, remote bool) (*loaded, error) {
	if digest != l.attempt {
		l.take() // what a release that never became live had fetched
		l.attempt = digest
	}
	out := &loaded{
		state:   &State{Release: r, Digest: digest, Toolsets: make([]*Toolset, len(r.Toolsets))},
		bundles: make(map[registry.Digest]*bundle),
		modules: make(map[registry.Digest]*module),
	}
	changed := l.carry(out, r.Toolsets)
	var missing []registry.ReleaseToolset
	wanted := bundlesOf(r, changed)
	for _, t := range wanted {
		if _, queued := out.bundles[t.Bundle]; queued {
			continue
		}
		if out.bundles[t.Bundle] = l.bundles[t.Bundle]; out.bundles[t.Bundle] == nil {
			missing = append(missing, t)
		}
	}
	bundles := make([]*bundle, len(missing))
	err := parallel(ctx, len(missing), func(ctx context.Context, i int) (err error) {
		bundles[i], err = l.openBundle(ctx, missing[i], remote)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, t := range missing {
		out.bundles[t.Bundle] = bundles[i]
	}

	refs := l.wanted(wanted, out)
	modules := make([]*module, len(refs))
	err = parallel(ctx, len(refs), func(ctx context.Context, i int) (err error) {
		modules[i], err = l.openModule(ctx, refs[i], remote)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, c := range refs {
		out.modules[c.manifest] = modules[i]
	}

	if out.entries, err = l.loadEntries(ctx, r, changed, remote); err != nil {
		return nil, err
	}
	out.fresh = make([]*Toolset, 0, len(changed))
	for _, i := range changed {
		t, err := out.join(r.Toolsets[i])
		if err != nil {
			return nil, err
		}
		if t.Trial.Running() {
			if t.Candidate, err = out.join(t.ReleaseToolset.Candidate()); err != nil {
				return nil, fmt.Errorf("the candidate of toolset %s: %w", t.Slug, err)
			}
		}
		out.state.Toolsets[i] = t
		out.fresh = append(out.fresh, t)
	}
	return out, nil
}

// carry takes over the live toolsets that a release lists unchanged, notes those that
// it does not, and returns where in the list the others are. Both lists are sorted by
// ID; where one is not, toolsets are opened again.
func (l *loader) carry(out *loaded, list []registry.ReleaseToolset) (changed []int) {
	j := 0
	for i := range list {
		for ; j < len(l.live) && l.live[j].ID < list[i].ID; j++ {
			out.gone = append(out.gone, l.live[j])
		}
		if j < len(l.live) && l.live[j].ReleaseToolset == list[i] {
			out.state.Toolsets[i] = l.live[j]
			j++
			continue
		}
		changed = append(changed, i)
	}
	out.gone = append(out.gone, l.live[j:]...)
	return changed
}

// loadEntries opens the access documents a release names. A document is believed
// when a key that the release trusts signed it.
func (l *loader) loadEntries(ctx context.Context, r *registry.Release, changed []int, remote bool) (map[registry.Digest]*entry, error) {
	out := make(map[registry.Digest]*entry)
	var missing []registry.ReleaseToolset
	for _, i := range changed {
		t := r.Toolsets[i]
		if t.Access == "" {
			continue
		}
		if out[t.Access] = l.entries[t.Access]; out[t.Access] == nil {
			missing = append(missing, t)
		}
	}
	trust, err := sign.NewTrust(r.Trusted, registry.UseRelease)
	if err != nil {
		return nil, err
	}
	opened := make([]*entry, len(missing))
	err = parallel(ctx, len(missing), func(ctx context.Context, i int) error {
		t := missing[i]
		a, err := l.artifact(ctx, t.Repository, t.Access, oci.KindAccess, remote)
		if err != nil {
			return fmt.Errorf("load the access document of toolset %s: %w", t.Slug, err)
		}
		l.opened.Add(1)
		d, err := sign.VerifyAccess(a.Layer(), trust)
		if err != nil {
			return fmt.Errorf("open the access document of toolset %s: %w", t.Slug, err)
		}
		opened[i] = &entry{document: d, content: contentOf(a)}
		return nil
	})
	for i, t := range missing {
		out[t.Access] = opened[i]
	}
	return out, err
}

// bundlesOf lists what a release names of the changed toolsets, each candidate behind its
// toolset.
func bundlesOf(r *registry.Release, changed []int) []registry.ReleaseToolset {
	out := make([]registry.ReleaseToolset, 0, len(changed))
	for _, i := range changed {
		t := &r.Toolsets[i]
		out = append(out, *t)
		if t.Trial.Running() {
			out = append(out, t.Candidate())
		}
	}
	return out
}

// reference is a connector or plugin that a bundle names.
type reference struct {
	name, repository string
	manifest, digest registry.Digest
	plugin           bool
}

// wanted lists what the bundles of the changed toolsets name and the live state has not
// opened; what it has is taken over.
func (l *loader) wanted(toolsets []registry.ReleaseToolset, out *loaded) []reference {
	var refs []reference
	want := func(ref reference) {
		if _, seen := out.modules[ref.manifest]; seen {
			return
		}
		m := l.modules[ref.manifest]
		out.modules[ref.manifest] = m
		if m == nil {
			refs = append(refs, ref)
		}
	}
	for i := range toolsets {
		b := out.bundles[toolsets[i].Bundle].toolset
		for _, c := range b.Connectors {
			want(reference{c.Name, c.Repository, c.Manifest, c.Digest, false})
		}
		for _, p := range b.Plugins {
			want(reference{p.Name, p.Repository, p.Manifest, p.Digest, true})
		}
	}
	return refs
}

// join makes a toolset of its opened parts and checks that they are the ones
// that were meant.
func (l *loaded) join(t registry.ReleaseToolset) (*Toolset, error) {
	b := l.bundles[t.Bundle]
	if b.toolset.ID != t.ID || b.toolset.Slug != t.Slug || b.toolset.Workspace != t.Workspace {
		return nil, problem.New(problem.InvalidRelease, "the release lists toolset %q (%s) of %q with a bundle of %q (%s) of %q",
			t.Slug, t.ID, t.Workspace, b.toolset.Slug, b.toolset.ID, b.toolset.Workspace)
	}
	out := &Toolset{
		ReleaseToolset: t, Bundle: b.toolset, Programs: b.programs, Index: b.index,
		Connectors: make(map[string]*connector.Connector, len(b.toolset.Connectors)),
	}
	if t.Access != "" {
		out.Access = l.entries[t.Access].document
		if out.Access.Toolset != t.ID || out.Access.Workspace != t.Workspace {
			return nil, problem.New(problem.InvalidRelease, "the release lists toolset %q (%s) of %q with an access document of %s of %q",
				t.Slug, t.ID, t.Workspace, out.Access.Toolset, out.Access.Workspace)
		}
	}
	for _, c := range b.toolset.Connectors {
		m := l.modules[c.Manifest]
		if m.connector == nil {
			return nil, problem.New(problem.InvalidRelease, "toolset %q names a plugin as its connector %q", t.Slug, c.Name)
		}
		if m.digest != c.Digest { // two toolsets name the same manifest with different modules
			return nil, problem.New(problem.InvalidRelease, "toolset %q wants connector %q with the module %s and its OCI manifest has %s",
				t.Slug, c.Name, c.Digest.Short(), m.digest.Short())
		}
		out.Connectors[c.Name] = m.connector
	}
	for _, p := range b.toolset.Plugins {
		m := l.modules[p.Manifest]
		if m.plugin == nil || m.digest != p.Digest {
			return nil, problem.New(problem.InvalidRelease, "toolset %q wants plugin %q with the module %s and its OCI manifest has %s",
				t.Slug, p.Name, p.Digest.Short(), m.digest.Short())
		}
		out.Plugins = append(out.Plugins, m.plugin)
	}
	return out, nil
}

// keep makes a loaded state the one the next release is compared with, and forgets
// what it does not use.
func (l *loader) keep(n *loaded) {
	maps.Copy(l.bundles, n.bundles)
	maps.Copy(l.modules, n.modules)
	maps.Copy(l.entries, n.entries)
	for _, t := range n.fresh {
		l.count(t, 1)
	}
	for _, t := range n.gone {
		l.count(t, -1)
	}
	l.live = n.state.Toolsets
}

// count adds n to the users of what a toolset is made of. What nobody uses goes.
func (l *loader) count(t *Toolset, n int) {
	if t.Candidate != nil {
		l.count(t.Candidate, n)
	}
	if b := l.bundles[t.ReleaseToolset.Bundle]; b != nil {
		if b.users += n; b.users == 0 {
			delete(l.bundles, t.ReleaseToolset.Bundle)
		}
	}
	module := func(d registry.Digest) {
		if m := l.modules[d]; m != nil {
			if m.users += n; m.users == 0 {
				delete(l.modules, d)
			}
		}
	}
	for i := range t.Bundle.Connectors {
		module(t.Bundle.Connectors[i].Manifest)
	}
	for i := range t.Bundle.Plugins {
		module(t.Bundle.Plugins[i].Manifest)
	}
	if e := l.entries[t.ReleaseToolset.Access]; e != nil {
		if e.users += n; e.users == 0 {
			delete(l.entries, t.ReleaseToolset.Access)
		}
	}
}

func (l *loader) openBundle(ctx context.Context, t registry.ReleaseToolset, remote bool) (*bundle, error) {
	a, err := l.artifact(ctx, t.Repository, t.Bundle, oci.KindToolset, remote)
	if err != nil {
		return nil, fmt.Errorf("load toolset %s: %w", t.Slug, err)
	}
	l.opened.Add(1)
	bare, index, err := registry.SplitIndex(a.Layer())
	if err != nil {
		return nil, fmt.Errorf("open the bundle of toolset %s: %w", t.Slug, err)
	}
	toolset, programs, err := registry.OpenBundle(bare)
	if err != nil {
		return nil, fmt.Errorf("open the bundle of toolset %s: %w", t.Slug, err)
	}
	return &bundle{toolset: toolset, programs: programs, index: index, content: contentOf(a)}, nil
}

func (l *loader) openModule(ctx context.Context, c reference, remote bool) (*module, error) {
	m := &module{digest: c.digest}
	if c.plugin {
		a, err := l.module(ctx, m, c, remote)
		if err != nil {
			return nil, err
		}
		if m.plugin, err = guest.Open(a.Layer()); err != nil {
			return nil, fmt.Errorf("open plugin %s: %w", c.name, err)
		}
		return m, nil
	}
	if !remote && l.cache.holds(c.manifest) && l.cache.holds(c.digest) {
		m.connector = connector.Later(l.later(m, c))
		return m, nil
	}
	var err error
	m.connector, err = l.open(ctx, m, c, remote)
	return m, err
}

// module takes the artifact of a connector or plugin and notes in m what it occupies.
func (l *loader) module(ctx context.Context, m *module, c reference, remote bool) (*oci.Artifact, error) {
	what := "connector"
	if c.plugin {
		what = "plugin"
	}
	a, err := l.artifact(ctx, c.repository, c.manifest, oci.KindPlugin, remote)
	if err != nil {
		return nil, fmt.Errorf("load %s %s: %w", what, c.name, err)
	}
	if a.LayerDigest() != c.digest {
		return nil, problem.New(problem.InvalidRelease, "a toolset wants %s %q with the module %s and its OCI manifest has %s",
			what, c.name, c.digest.Short(), a.LayerDigest().Short())
	}
	l.opened.Add(1)
	m.content.Store(contentOf(a))
	return a, nil
}

// open opens a connector.
func (l *loader) open(ctx context.Context, m *module, c reference, remote bool) (*connector.Connector, error) {
	a, err := l.module(ctx, m, c, remote)
	if err != nil {
		return nil, err
	}
	opened, err := connector.Open(a.Layer())
	if err != nil {
		return nil, fmt.Errorf("open connector %s: %w", c.name, err)
	}
	return opened, nil
}

// later opens a connector from the cache, or from the source when the cache is
// damaged. A failure is repeated for a while without trying again: calls do not
// wait one after the other for a source that does not answer.
func (l *loader) later(m *module, c reference) func() (*connector.Connector, error) {
	var failure error
	var until time.Time
	return func() (*connector.Connector, error) {
		if failure != nil && time.Now().Before(until) {
			return nil, failure
		}
		var opened *connector.Connector
		if opened, failure = l.open(context.Background(), m, c, true); failure != nil {
			until = time.Now().Add(openAgain)
		}
		return opened, failure
	}
}

// settle opens the connectors that load left for later. It returns the first error
// and tries all.
func (l *loader) settle(ctx context.Context) (first error) {
	for _, m := range l.modules {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if m.connector == nil {
			continue
		}
		if err := m.connector.Load(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// artifact takes an artifact from the cache, or from the source when the cache
// has it not or has other bytes.
func (l *loader) artifact(ctx context.Context, repository string, d registry.Digest, kind oci.Kind, remote bool) (*oci.Artifact, error) {
	l.mu.Lock()
	a := l.pending[d]
	l.mu.Unlock()
	if a != nil && a.Kind() == kind {
		return a, nil
	}
	cached := registry.ErrNotFound
	if l.cache != nil {
		if a, cached = l.cache.store.Pull(ctx, repository, d, kind); cached == nil {
			return a, nil
		}
	}
	if !remote {
		return nil, cached
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	l.fetched.Add(1)
	a, err := l.source.Artifact(ctx, repository, d, kind)
	if err != nil {
		if errors.Is(cached, registry.ErrNotFound) {
			return nil, err
		}
		return nil, fmt.Errorf("%w; the cache: %w", err, cached)
	}
	// The type says that the bytes were verified, not that they are the ones
	// asked for.
	if a.Digest() != d || a.Kind() != kind {
		return nil, fmt.Errorf("fetch %s@%s, the source sent %s: %w", repository, d, a.Digest(), registry.ErrCorrupt)
	}
	l.mu.Lock()
	l.pending[d] = a
	l.mu.Unlock()
	return a, nil
}

// take returns what was fetched since the last take, and forgets it.
func (l *loader) take() map[registry.Digest]*oci.Artifact {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.pending
	l.pending = make(map[registry.Digest]*oci.Artifact)
	return out
}

// parallel runs n tasks on all processors and returns the first error. A task
// that panics fails: what came from outside must not take the node down.
func parallel(ctx context.Context, n int, task func(ctx context.Context, i int) error) error {
	if n == 0 {
		return nil
	}
	g, gctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(n, max(minParallel, runtime.GOMAXPROCS(0))) {
		g.Go(func() (err error) {
			defer func() {
				if v := recover(); v != nil {
					err = fmt.Errorf("BUG: loading panicked: %v", v)
				}
			}()
			for {
				i := int(next.Add(1)) - 1
				if i >= n || gctx.Err() != nil {
					return nil
				}
				if err := task(gctx, i); err != nil {
					return err
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

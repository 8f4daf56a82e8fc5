package snapshot

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

// Input is a verified release with everything it names, opened.
type Input struct {
	Release  *registry.Release // may be nil: a draft, or a test
	Toolsets []ToolsetInput
	Meter    *metering.Meter // counters of tools; may be nil
	// Keys of authorization servers, for toolsets that are opened by their tokens;
	// nil: such a toolset is refused.
	Keys *access.Keys
	// Counter counts the requests of all nodes of a pool; nil: this node counts alone.
	Counter access.Counter
}

// ToolsetInput is one toolset of the release. Nothing in it is changed later.
type ToolsetInput struct {
	ID       string
	Slug     string
	Revision uint64
	// Digest is the OCI manifest digest of the bundle. Two toolsets with equal ID,
	// Slug, Revision and non-empty Digest are the same.
	Digest     registry.Digest
	Bundle     *registry.Toolset
	Programs   [][]byte                        // the bundle's own response programs
	Connectors map[string]*connector.Connector // by ConnectorRef.Name
	Plugins    []*guest.Package                // in the order of Bundle.Plugins
	Index      []byte                          // of the tools (registry.SplitIndex); needed in search mode only
	// Access says who may enter and AccessDigest names it; nil: the bundle says.
	Access       *registry.AccessDocument
	AccessDigest registry.Digest
	Trial        *TrialInput // nil: no candidate is on trial
}

// Snapshot is one state of the gateway.
type Snapshot struct {
	release  *registry.Release
	bySlug   map[string]*Toolset
	toolsets []*Toolset // in the order of the input
	domains  map[string]Domain
}

// Domain is what is served at a host name of its own.
type Domain struct {
	// Toolset is at "/". nil: the toolsets of Workspace are at "/t/<slug>".
	Toolset   *Toolset
	Workspace string
}

// compileTurn is how many toolsets Compile looks at before it lets calls run that wait
// for the processor: of 10,000 the whole takes milliseconds.
const compileTurn = 256

// Compile makes a snapshot. Toolsets that are the same as in prev (nil: none) are
// taken from it. A toolset that cannot be served fails the whole: a release is
// obeyed as a whole or not at all, and the caller keeps prev. It fails with
// *problem.Error or says which toolset is incomplete.
func Compile(in Input, prev *Snapshot) (*Snapshot, error) {
	s := &Snapshot{release: in.Release, bySlug: make(map[string]*Toolset, len(in.Toolsets)), toolsets: make([]*Toolset, 0, len(in.Toolsets))}
	for i := range in.Toolsets {
		if i%compileTurn == compileTurn-1 {
			runtime.Gosched()
		}
		t := &in.Toolsets[i]
		if t.Bundle == nil {
			return nil, fmt.Errorf("compiling toolset %s: its bundle is missing", t.Slug)
		}
		if s.bySlug[t.Slug] != nil {
			return nil, fmt.Errorf("compiling toolset %s: the slug is used twice", t.Slug)
		}
		ts := prev.unchanged(t)
		if ts == nil {
			var err error
			if ts, err = newToolset(t, &in, prev.Slug(t.Slug)); err != nil {
				return nil, fmt.Errorf("compiling toolset %s: %w", t.Slug, err)
			}
			if t.Trial != nil {
				if ts.trial, err = newTrial(ts, t.Trial, &in); err != nil {
					return nil, fmt.Errorf("compiling toolset %s: %w", t.Slug, err)
				}
			}
		}
		if ts.trial != nil {
			in.Meter.Touch(ts.trial.Meter)
		}
		s.bySlug[t.Slug] = ts
		s.toolsets = append(s.toolsets, ts)
	}
	s.compileDomains()
	return s, nil
}

// compileDomains reads which hosts the release has. One whose toolset is not served here
// serves nothing.
func (s *Snapshot) compileDomains() {
	if s.release == nil || len(s.release.Domains) == 0 {
		return
	}
	byID := make(map[string]*Toolset, len(s.toolsets))
	for _, ts := range s.toolsets {
		byID[ts.ID] = ts
	}
	s.domains = make(map[string]Domain, len(s.release.Domains))
	for _, d := range s.release.Domains {
		ts := byID[d.Toolset]
		if d.Toolset != "" && (ts == nil || ts.bundle.Workspace != d.Workspace) {
			continue
		}
		s.domains[d.Host] = Domain{Toolset: ts, Workspace: d.Workspace}
	}
}

// unchanged returns the toolset of s that is the same as t.
func (s *Snapshot) unchanged(t *ToolsetInput) *Toolset {
	if s == nil {
		return nil
	}
	old := s.bySlug[t.Slug]
	if old == nil || old.ID != t.ID || old.Revision != t.Revision || t.Digest == "" || old.Digest != t.Digest || old.accessDigest != t.AccessDigest || !old.sameTrial(t.Trial) {
		return nil
	}
	return old
}

// Shared counts the toolsets that two snapshots have in common: not equal ones, but the
// same, with everything they have made ready.
func Shared(a, b *Snapshot) int {
	n := 0
	for _, ts := range a.Toolsets() {
		if b.Slug(ts.Slug) == ts {
			n++
		}
	}
	return n
}

// pathPrefix is what comes before the slug in a toolset URL.
const pathPrefix = "/t/"

// Toolset finds the toolset of a request by host and path; nil if there is none.
// The path is as received, without query; one slash at its end is ignored. A host that
// is a domain serves what it is for; every other host serves every toolset.
func (s *Snapshot) Toolset(host, path []byte) *Toolset {
	if s == nil {
		return nil
	}
	d, own := s.Domain(host)
	if own && d.Toolset != nil {
		if len(path) > 1 {
			return nil
		}
		return d.Toolset
	}
	if len(path) <= len(pathPrefix) || string(path[:len(pathPrefix)]) != pathPrefix {
		return nil
	}
	slug := path[len(pathPrefix):]
	if slug[len(slug)-1] == '/' {
		slug = slug[:len(slug)-1]
	}
	ts := s.bySlug[string(slug)]
	if own && ts != nil && ts.bundle.Workspace != d.Workspace {
		return nil
	}
	return ts
}

// Domain returns what is served at a host; false: it is none of the release's domains. The
// host is a "host:port" in lower case, or a name.
func (s *Snapshot) Domain(host []byte) (Domain, bool) {
	if s == nil || len(s.domains) == 0 {
		return Domain{}, false
	}
	d, ok := s.domains[string(access.HostName(host))]
	return d, ok
}

// Slug finds a toolset by its slug; nil if there is none.
func (s *Snapshot) Slug(slug string) *Toolset {
	if s == nil {
		return nil
	}
	return s.bySlug[slug]
}

// Toolsets are all toolsets; do not change the slice.
func (s *Snapshot) Toolsets() []*Toolset {
	if s == nil {
		return nil
	}
	return s.toolsets
}

// Release is what the snapshot was made of; nil for none.
func (s *Snapshot) Release() *registry.Release {
	if s == nil {
		return nil
	}
	return s.release
}

// Warm makes names and tools/list of all toolsets ready, until ctx ends. It
// returns the first fault, having tried all.
func (s *Snapshot) Warm(ctx context.Context) error {
	var first error
	for _, ts := range s.Toolsets() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := ts.List(); err != nil && first == nil {
			first = fmt.Errorf("warming toolset %s: %w", ts.Slug, err)
		}
	}
	return first
}

// Holder holds the current snapshot. The zero Holder holds none.
type Holder struct {
	p       atomic.Pointer[Snapshot]
	changed atomic.Pointer[chan struct{}]
}

// Load returns the current snapshot; nil before the first Store.
func (h *Holder) Load() *Snapshot { return h.p.Load() }

// Store makes s the current snapshot. Requests that run keep the one they loaded.
func (h *Holder) Store(s *Snapshot) {
	h.p.Store(s)
	if c := h.changed.Swap(nil); c != nil {
		close(*c)
	}
}

// Changed returns a channel that is closed at the next Store. Take it before
// Load to miss nothing.
func (h *Holder) Changed() <-chan struct{} {
	for {
		if c := h.changed.Load(); c != nil {
			return *c
		}
		c := make(chan struct{})
		if h.changed.CompareAndSwap(nil, &c) {
			return c
		}
	}
}

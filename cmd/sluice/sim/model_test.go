package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// tools are those of every toolset; a deploy enables some of them.
var tools = []string{"list", "read", "write", "erase"}

// model is what the operator was told, which is what has to hold.
type model struct {
	operator secrets.Secret
	toolsets []*toolset
	releases map[string]registry.Digest // by group and position, as edges served them
}

// toolset is a toolset as far as it was acknowledged.
type toolset struct {
	slug, id, zone string

	revision uint64              // the newest acknowledged
	sets     map[uint64][]string // tools by revision
	tries    [][]string          // tools of deploys whose end is not known

	key, tried int       // the newest value of its key that was acknowledged, and that was sent
	rotated    time.Time // when key was acknowledged
	sent       time.Time // when tried was sent
	credential string    // its id, once an edge has told

	tokens []*token
}

// token opens a toolset.
type token struct {
	id, text string
	made     bool // acknowledged
	revoking bool // its revocation was sent
	revoked  bool // and acknowledged
	since    time.Time
}

func (m *model) clone() model {
	out := model{operator: m.operator, releases: map[string]registry.Digest{}}
	for _, t := range m.toolsets {
		c := *t
		c.sets, c.tokens = maps.Clone(t.sets), nil
		for _, k := range t.tokens {
			k := *k
			c.tokens = append(c.tokens, &k)
		}
		out.toolsets = append(out.toolsets, &c)
	}
	return out
}

func (m *model) toolset(slug string) *toolset {
	for _, t := range m.toolsets {
		if t.slug == slug {
			return t
		}
	}
	return nil
}

// release notes a release that an edge serves, and reports whether its number was that
// of another one before.
func (m *model) release(group string, at position, d registry.Digest) (fork bool) {
	key := group + " " + at.String()
	known, ok := m.releases[key]
	m.releases[key] = d
	return ok && known != d
}

// offers says why an edge that serves a toolset may not have a tool; "" when it may.
func (m *toolset) offers(ts *snapshot.Toolset, name string) string {
	list, err := ts.Tools()
	if err != nil {
		return err.Error()
	}
	var have []string
	for _, t := range list {
		have = append(have, t.Name)
	}
	slices.Sort(have)
	same := func(set []string) bool { return slices.Equal(slices.Sorted(slices.Values(set)), have) }
	set, known := m.sets[ts.Revision]
	if !known {
		i := slices.IndexFunc(m.tries, same)
		if i < 0 {
			return "nobody deployed what it serves"
		}
		set = m.tries[i]
		m.sets[ts.Revision] = set
	}
	switch {
	case !same(set):
		return "its revision has other tools"
	case !slices.Contains(set, name):
		return "its revision does not have it"
	}
	return ""
}

// slugsIn lists the toolsets of a zone.
func (w *world) slugsIn(zone string) (out []string) {
	for _, t := range w.model.toolsets { // the list does not change
		if t.zone == "" || t.zone == zone {
			out = append(out, t.slug)
		}
	}
	return out
}

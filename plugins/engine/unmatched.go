package engine

import (
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/nearest"
)

const (
	// MaxUnmatched names that [Mask.Unmatched] returns.
	MaxUnmatched = 10
	// maxLookedAt objects at one place of a document; those behind are like them.
	maxLookedAt = 200
)

// Unmatched is a name of a mask that a document has nowhere.
type Unmatched struct {
	Path    string `json:"path" doc:"As the mask names it, with dots." example:"items.neme"`
	Nearest string `json:"nearest,omitempty" doc:"A member that is there and has a name like it." example:"name"`
}

// Unmatched are the names of the mask that a document has nowhere where they could stand, the
// outermost of a path, at most [MaxUnmatched]. Lists are looked into. An empty list, and null,
// say nothing about what a full one would have.
func (m *Mask) Unmatched(doc jsonscan.Value) []Unmatched {
	return m.unmatched(nil, "", objects(nil, doc))
}

func (m *Mask) unmatched(out []Unmatched, at string, in []jsonscan.Value) []Unmatched {
	if len(in) == 0 {
		return out
	}
	for _, name := range m.names {
		var below []jsonscan.Value
		there := false
		for _, o := range in {
			if v := o.Get(name); v.Exists() {
				there, below = true, objects(below, v)
			}
		}
		switch {
		case !there && len(out) == MaxUnmatched:
			return out
		case !there:
			out = append(out, Unmatched{at + name, near(name, in)})
		default:
			out = m.kids[name].unmatched(out, at+name+".", below)
		}
	}
	if m.any == nil || m.any.leaf() {
		return out
	}
	var below []jsonscan.Value
	for _, o := range in {
		for it := o.Members(); it.Next(); {
			if !slices.Contains(m.names, string(it.KeyText(nil))) {
				below = objects(below, it.Value())
			}
		}
	}
	return m.any.unmatched(out, at+"*.", below)
}

// objects appends the objects that a value is or is a list of, as far as they are looked at.
func objects(out []jsonscan.Value, v jsonscan.Value) []jsonscan.Value {
	switch v.Kind() {
	case jsonscan.Object:
		if len(out) < maxLookedAt {
			out = append(out, v)
		}
	case jsonscan.Array:
		for it := v.Elements(); len(out) < maxLookedAt && it.Next(); {
			out = objects(out, it.Value())
		}
	}
	return out
}

// near is the member of some objects whose name is nearest to one that none of them has.
func near(name string, in []jsonscan.Value) string {
	return nearest.Name(name, func(yield func(string) bool) {
		for _, o := range in {
			for it := o.Members(); it.Next(); {
				if !yield(string(it.KeyText(nil))) {
					return
				}
			}
		}
	})
}

package edge

import (
	"fmt"
	"maps"
	"slices"
)

// Parts lists what a node that was stopped keeps opened, and for how many toolsets.
func (f *Follower) Parts() []string {
	var all []string
	for d, b := range f.loader.bundles {
		all = append(all, fmt.Sprintf("bundle %s for %d", d, b.users))
	}
	for d, m := range f.loader.modules {
		all = append(all, fmt.Sprintf("module %s for %d", d, m.users))
	}
	for d, e := range f.loader.entries {
		all = append(all, fmt.Sprintf("document %s for %d", d, e.users))
	}
	slices.Sort(all)
	return all
}

// Holds lists what a node that was stopped needs in its cache.
func (f *Follower) Holds() []string {
	all := map[string]bool{}
	for _, h := range f.loader.content() {
		for _, s := range h.sums {
			all[string(s.digest())] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

package registry

import (
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// ReleaseParser reads the releases of a group, one after the other. An entry whose
// bytes were in a release before is not read again: of 1,000 toolsets usually one
// changed. It accepts exactly what [ParseRelease] accepts and returns the same. It may
// not be used by several goroutines at a time.
type ReleaseParser struct {
	// known are entries of releases that were accepted, by their bytes: those of the
	// last one, and at most as many others.
	known map[string]ReleaseToolset
}

// Parse is [ParseRelease].
func (p *ReleaseParser) Parse(b []byte) (*Release, error) {
	if r, ok := p.parse(b); ok {
		return r, nil
	}
	r, err := ParseRelease(b) // whatever is wrong, or nothing is known yet
	if err == nil {
		p.learn(b, r)
	}
	return r, err
}

// learn makes the entries of a release that was parsed the known ones.
func (p *ReleaseParser) learn(b []byte, r *Release) {
	p.known = make(map[string]ReleaseToolset, len(r.Toolsets))
	list, _, ok := split(jsonscan.Trusted(b))
	if !ok {
		return
	}
	i := 0
	for it := list.Elements(); it.Next() && i < len(r.Toolsets); i++ {
		p.known[string(it.Value().Raw())] = r.Toolsets[i]
	}
}

// split parts a release whose syntax was checked into the list of its toolsets and
// the document with an open list in its place, at its end.
func split(doc jsonscan.Value) (list jsonscan.Value, rest []byte, ok bool) {
	rest = append(rest, '{')
	for it := doc.Members(); it.Next(); {
		if it.KeyEqual("toolsets") {
			if ok {
				return list, nil, false
			}
			list, ok = it.Value(), true
			continue
		}
		rest = append(append(append(rest, '"'), it.Key()...), '"', ':')
		rest = append(append(rest, it.Value().Raw()...), ',')
	}
	return list, append(rest, `"toolsets":[`...), ok && list.Kind() == jsonscan.Array
}

// parse reads a release most of whose entries are known. It fails on anything that is
// not plainly right, without saying why.
func (p *ReleaseParser) parse(b []byte) (*Release, bool) {
	if len(p.known) == 0 || len(b) > MaxReleaseBytes {
		return nil, false
	}
	doc, err := jsonscan.Parse(b, maxDepth)
	if err != nil {
		return nil, false
	}
	list, small, ok := split(doc)
	if !ok {
		return nil, false
	}
	type entry struct {
		at  int // in all
		raw []byte
	}
	all := make([]ReleaseToolset, 0, len(p.known))
	var fresh []entry
	for it := list.Elements(); it.Next(); {
		raw := it.Value().Raw()
		t, have := p.known[string(raw)]
		if !have {
			if len(fresh) > 0 {
				small = append(small, ',')
			}
			small = append(small, raw...)
			fresh = append(fresh, entry{len(all), raw})
		}
		all = append(all, t)
	}
	// The release with the fresh entries alone is read as any other.
	small = append(small, ']', '}')
	r := new(Release)
	if decode(small, r, MaxReleaseBytes, problem.InvalidRelease, "release") != nil || len(r.Toolsets) != len(fresh) || r.Validate() != nil {
		return nil, false
	}
	for i, f := range fresh {
		all[f.at] = r.Toolsets[i]
	}
	if len(all) > MaxReleaseToolsets || !distinct(all) {
		return nil, false
	}
	for _, f := range fresh {
		p.known[string(f.raw)] = all[f.at]
	}
	r.Toolsets = all
	if len(p.known) > 2*len(all) {
		p.learn(b, r)
	}
	return r, true
}

// distinct reports whether no two toolsets have an identifier or a slug in common.
func distinct(all []ReleaseToolset) bool {
	ids, slugs := make(map[string]struct{}, len(all)), make(map[string]struct{}, len(all))
	for i := range all {
		ids[all[i].ID], slugs[all[i].Slug] = struct{}{}, struct{}{}
	}
	return len(ids) == len(all) && len(slugs) == len(all)
}

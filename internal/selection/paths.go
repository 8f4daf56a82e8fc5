package selection

import (
	"math"
	"net/http"
	"slices"
	"strings"
)

// paths is what the paths of tools say of them. Of an index that was stored before it was kept, all of it is empty.
type paths struct {
	kinds []int8   // of each tool: what the path ends with, -1 without a path
	ends  []uint32 // of each tool's terms
	terms []int32  // distinct terms of the static segments of each path
}

// What a kind is made of.
const (
	kindOne        = 1 // the path ends with a parameter: it is about one thing
	kindAll        = 2 // it is about all of those: another path is this one with a parameter
	kindDeprecated = 4 // the description says that the operation is deprecated
)

// pathNouns returns the static segments of a path template.
func pathNouns(path string) string {
	var b strings.Builder
	for seg := range strings.SplitSeq(path, "/") {
		if !strings.ContainsAny(seg, "{}") {
			b.WriteString(seg)
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// add takes in the path of the next tool.
func (p *paths) add(path string, v *vocabulary, buf []byte) []byte {
	from := len(p.terms)
	buf = eachWord(pathNouns(path), buf, func(w []byte) {
		if id := v.term(w); id >= 0 && !frame(w) && !slices.Contains(p.terms[from:], id) {
			p.terms = append(p.terms, id)
		}
	})
	p.ends = append(p.ends, uint32(len(p.terms)))
	return buf
}

// frame reports a word that paths begin with and that says nothing of what they are about.
func frame(w []byte) bool {
	return string(w) == "api" || string(w) == "rest" || string(w) == "v" || w[0] >= '0' && w[0] <= '9'
}

// of returns the terms of tool d's path.
func (p *paths) of(d int32) []int32 {
	start := uint32(0)
	if d > 0 {
		start = p.ends[d-1]
	}
	return p.terms[start:p.ends[d]]
}

// kindsOf are the kinds of the paths of tools.
func kindsOf(tools []Tool) []int8 {
	collections := map[string]bool{}
	for i := range tools {
		if p, one := collectionOf(tools[i].Path); one && isOperation(&tools[i]) {
			collections[p] = true
		}
	}
	out := make([]int8, len(tools))
	for i := range tools {
		t := &tools[i]
		if !isOperation(t) {
			out[i] = -1
			continue
		}
		if p, one := collectionOf(t.Path); one {
			out[i] |= kindOne
		} else if collections[p] {
			out[i] |= kindAll
		}
		if strings.Contains(strings.ToLower(cut(t.Description, maxDescription)), "deprecated") {
			out[i] |= kindDeprecated
		}
	}
	return out
}

// isOperation reports whether the path of t is that of an operation, and not where the tool of a
// server or of a workflow stands among them.
func isOperation(t *Tool) bool {
	switch t.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return t.Path != ""
	}
	return false
}

// collectionOf is a path without the parameter that it ends with, if it does.
func collectionOf(path string) (collection string, one bool) {
	path = strings.TrimRight(path, "/")
	if at := strings.LastIndexByte(path, '/'); at >= 0 && strings.HasPrefix(path[at:], "/{") && strings.HasSuffix(path, "}") {
		return path[:at], true
	}
	return path, false
}

// isAPI reports whether most of n tools are operations of REST APIs.
func (p *paths) isAPI(n int) bool {
	with := 0
	for _, k := range p.kinds {
		if k >= 0 {
			with++
		}
	}
	return with > n/2
}

// valid reports whether paths that were stored are those of n tools, with so many terms in the index.
func (p *paths) valid(n, terms int) bool {
	return len(p.kinds) == n && rising(p.ends, n, len(p.terms)) && inside(p.terms, 0, terms)
}

// pathFeatures are those of tool d by its path, or by the words of its name where it has none, as
// workflows and tools of servers among operations do not. A question about several things is
// answered by a collection, an order about one thing is not for all of them, and of what a path
// names all should be asked for.
func (s *Searcher) pathFeatures(f *Features, d int32) {
	v, kind := &s.view, s.x.paths.kinds[d]
	if kind < 0 {
		f[FeaturePathAsked], f[FeaturePathUnasked] = s.pathSaid(s.x.nameOf(d))
		return
	}
	var one float32
	switch {
	case kind&kindOne != 0:
		one = 1
	case kind&kindAll != 0:
		one = -1
	}
	switch {
	case v.intent == intentUnknown:
		f[FeatureSomeOne] = one
	case v.intent == intentWrite:
		f[FeatureChangesOne] = one
	case !v.one:
		f[FeatureReadsAll] = -one
	}
	if kind&kindAll != 0 && v.intent != intentRead && s.x.verbs[d] >= verbUpdate {
		f[FeatureChangesAll] = 1
	}
	if kind&kindDeprecated != 0 {
		f[FeatureDeprecated] = 1
	}
	f[FeaturePathAsked], f[FeaturePathUnasked] = s.pathSaid(s.x.paths.of(d))
}

// pathSaid is how much of the information of the terms the request says, and how many of them
// it does not.
func (s *Searcher) pathSaid(terms []int32) (asked, unasked float32) {
	var total float32
	for _, t := range terms {
		near := s.closest(t)
		asked += near * s.x.idf[t]
		total += s.x.idf[t]
		unasked += 1 - near
	}
	return ratio(asked, total), float32(math.Log1p(float64(unasked)))
}

package selection

import (
	"cmp"
	"slices"
	"strings"
)

// Choice is a tool that was chosen for a use case.
type Choice struct {
	Tool   int     // position in the tools of the index
	Score  float32 // of the search that found it; 0 for what another tool needs
	Clause string  // part of the use case that it serves; "" for what another tool needs
	For    int     // the tool that needs what this one gives; -1: it was found itself
	Gives  string  // the parameter of that tool
}

const (
	// perClause is how many tools a part of a use case may bring.
	perClause = 8
	// near is how close to the best of its clause a tool must be, in first-stage
	// score. Closer tools are variants of the best, farther ones share a word with it.
	near = .5
	// maxChosen tools of a use case, before what they need: clients show about 40.
	maxChosen = 32
	// maxNeeded tools that others need.
	maxNeeded = 16
)

// Choose selects the tools for a use case: the best of the whole text and of each
// of its sentences and clauses, best first, and behind them the tools that give
// the identifiers they need (closed over dependencies). The result depends on the
// tools and the text only. tools are those of the index.
func (x *Index) Choose(tools []Tool, useCase string) []Choice {
	s := x.NewSearcher()
	clauses := splitClauses(nil, useCase)
	if len(clauses) == 0 && strings.TrimSpace(useCase) != "" {
		clauses = []string{useCase}
	}
	best := map[int]Choice{}
	for _, clause := range clauses {
		clause = strings.TrimSpace(clause)
		top := float32(0)
		for i, h := range s.Search(clause, perClause) {
			prior := h.Features[FeaturePrior] + exampleWeight*h.Features[FeatureExamples]
			if i == 0 {
				if !s.Fits() {
					break
				}
				top = prior
			}
			if prior < near*top {
				continue
			}
			if c, ok := best[h.Tool]; !ok || h.Score > c.Score {
				best[h.Tool] = Choice{Tool: h.Tool, Score: h.Score, Clause: clause, For: -1}
			}
		}
	}
	chosen := make([]Choice, 0, len(best))
	for _, c := range best {
		chosen = append(chosen, c)
	}
	// By rank inside each clause would favour vague clauses; scores of one reranker
	// are comparable.
	slices.SortFunc(chosen, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Tool, b.Tool))
	})
	chosen = chosen[:min(len(chosen), maxChosen)]
	return Close(tools, chosen)
}

// Close appends to chosen the tools that give the identifiers that chosen tools
// require and that no chosen tool gives.
func Close(tools []Tool, chosen []Choice) []Choice {
	in := make(map[int]bool, len(chosen))
	for _, c := range chosen {
		in[c.Tool] = true
	}
	producers := listers(tools)
	added := 0
	for i := 0; i < len(chosen) && added < maxNeeded; i++ {
		t := &tools[chosen[i].Tool]
		for _, need := range identifiers(t) {
			p := producer(tools, producers, t, need)
			if p < 0 || in[p] {
				continue
			}
			in[p] = true
			chosen = append(chosen, Choice{Tool: p, For: chosen[i].Tool, Gives: need.param})
			if added++; added == maxNeeded {
				break
			}
		}
	}
	return chosen
}

// identifier is a required parameter that names a resource.
type identifier struct {
	param string
	noun  string // the resource, in its normal form
	// collection is the path of the resource's collection: what stands before the
	// parameter. Empty for a parameter that is not in the path.
	collection string
}

// identifiers lists what a tool needs to know of other resources.
func identifiers(t *Tool) []identifier {
	var out []identifier
	rest := t.Path
	seen := map[string]bool{}
	for {
		open := strings.IndexByte(rest, '{')
		end := strings.IndexByte(rest, '}')
		if open < 0 || end < open {
			break
		}
		name := rest[open+1 : end]
		before := strings.TrimSuffix(t.Path[:len(t.Path)-len(rest)+open], "/")
		seen[strings.ToLower(name)] = true
		noun := nounOf(name)
		if segment := lastSegment(before); noun == "" && !strings.Contains(segment, "{") {
			noun = lastNoun(segment)
		}
		out = append(out, identifier{name, noun, before})
		rest = rest[end+1:]
	}
	for _, p := range t.Params {
		if !p.Required || seen[strings.ToLower(p.Name)] {
			continue
		}
		if noun := nounOf(p.Name); noun != "" {
			out = append(out, identifier{param: p.Name, noun: noun})
		}
	}
	return out
}

// suffixes are what names of identifiers end with.
var suffixes = []string{"id", "ids", "key", "slug", "number", "name", "sha", "ref", "uuid", "guid", "code"}

// nounOf is the resource in the name of an identifier: "issue_number" and
// "issueId" are of issue; "" when the name is only "id".
func nounOf(param string) string {
	var parts []string
	eachWord(param, nil, func(w []byte) { parts = append(parts, string(w)) })
	for len(parts) > 0 && slices.Contains(suffixes, parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	if len(parts) == 0 {
		return ""
	}
	return normal(parts[len(parts)-1])
}

func lastSegment(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// lastNoun is the last word of a segment that is no verb of a list.
func lastNoun(segment string) string {
	var last string
	eachWord(segment, nil, func(w []byte) {
		if s := string(w); s != "list" && s != "search" && s != "all" && s != "lookup" {
			last = s
		}
	})
	return normal(last)
}

// listers lists the tools that only read and take no identifier at the end of
// their path, by the noun of what they list.
func listers(tools []Tool) map[string][]int {
	m := map[string][]int{}
	for i := range tools {
		t := &tools[i]
		if !strings.EqualFold(t.Method, "GET") && (t.Method != "" || verbClass(t.Name, "") != 1) {
			continue
		}
		segment := lastSegment(strings.TrimSuffix(t.Path, "/"))
		if strings.Contains(segment, "{") {
			continue
		}
		noun := lastNoun(segment)
		if s, _, found := cutLast(segment, "."); found && isListWord(segment) {
			noun = lastNoun(s) // conversations.list, users:search
		}
		if noun == "" || t.Path == "" {
			noun = lastNoun(t.Name)
		}
		if noun != "" {
			m[noun] = append(m[noun], i)
		}
	}
	return m
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func isListWord(segment string) bool {
	_, last, _ := cutLast(segment, ".")
	return last == "list" || last == "search"
}

// alias are names of identifiers whose resource has another name in the same API
// family.
var alias = map[string]string{"channel": "conversation", "owner": "user", "repo": "repository", "org": "organization"}

// producer finds the tool that gives an identifier: the list of its collection, or
// the one with the fewest needs of its own among those that list the noun.
// -1: there is none.
func producer(tools []Tool, listers map[string][]int, t *Tool, need identifier) int {
	best, cost := -1, 1<<30
	consider := func(noun string) {
		for _, i := range listers[noun] {
			p := &tools[i]
			if p == t || p.Server != t.Server {
				continue
			}
			c := 4 * required(p, t)
			if need.collection != "" && strings.TrimSuffix(p.Path, "/") == need.collection {
				c -= 2
			}
			if c < cost {
				best, cost = i, c
			}
		}
	}
	if need.noun != "" {
		consider(need.noun)
		if a, ok := alias[need.noun]; ok {
			consider(normal(a))
		}
	}
	if best < 0 && need.collection != "" {
		consider(lastNoun(lastSegment(need.collection)))
	}
	return best
}

// required counts what p needs that t does not need anyway.
func required(p, t *Tool) int {
	n := 0
	for _, a := range p.Params {
		if a.Required && !slices.ContainsFunc(t.Params, func(b Param) bool { return b.Name == a.Name && b.Required }) {
			n++
		}
	}
	return n
}

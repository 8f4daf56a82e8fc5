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
	// maxParts of a use case are searched: more than a person lists, and a second of
	// work in the largest catalogue.
	maxParts = 32
	// fewWords is how many words make a part too short to be understood alone.
	fewWords = 2
	// near is how close to the best of its clause a tool must be, in first-stage
	// score. Closer tools are variants of the best, farther ones share a word with it.
	near = .5
	// maxChosen tools of a use case, before what they need: clients show about 40.
	maxChosen = 32
	// maxNeeded tools that others need.
	maxNeeded = 16
)

// Choose selects the tools for a use case: the best of each of its parts, best
// first, and behind them the tools that give the identifiers they need (closed over
// dependencies). When there are too many, each part keeps its best ones. The result
// depends on the tools and the text only. tools are those of the index.
func (x *Index) Choose(tools []Tool, useCase string) []Choice {
	s := x.NewSearcher()
	at := map[int]int{} // in found
	var found []Choice
	var rank []int // of each in the part that found it best
	for _, part := range splitUseCase(useCase) {
		top := float32(0)
		for i, h := range s.Search(part.query, perClause) {
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
			j, ok := at[h.Tool]
			if !ok {
				j = len(found)
				at[h.Tool] = j
				found, rank = append(found, Choice{Tool: h.Tool, For: -1}), append(rank, i)
			}
			if rank[j] = min(rank[j], i); found[j].Clause == "" || h.Score > found[j].Score {
				found[j].Score, found[j].Clause = h.Score, part.text
			}
		}
	}
	// Scores of vague parts are lower: what is cut is what stands last in its part.
	order := make([]int, len(found))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(found[b].Score, found[a].Score), cmp.Compare(found[a].Tool, found[b].Tool))
	})
	chosen := make([]Choice, 0, min(len(found), maxChosen))
	for _, i := range order[:min(len(order), maxChosen)] {
		chosen = append(chosen, found[i])
	}
	slices.SortFunc(chosen, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Tool, b.Tool))
	})
	return Close(tools, chosen)
}

// part is a part of a use case: its text, and what is searched for.
type part struct{ text, query string }

// splitUseCase cuts a use case at sentences, at a colon, and at commas and words
// that list steps. A part of few words is searched together with the beginning of
// its sentence, which says what it is about: "close issues, or label them".
func splitUseCase(text string) []part {
	var out []part
	for sentence := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(".?!;\n", r) }) {
		head := ""
		for rest := sentence; rest != "" && len(out) < maxParts; {
			at, size := len(rest), 0
			for _, sep := range [...]string{": ", ", ", " and ", " or ", " then "} {
				if i := strings.Index(rest, sep); i >= 0 && i < at {
					at, size = i, len(sep)
				}
			}
			p := trimPart(rest[:at])
			rest = rest[at+size:]
			words := 0
			eachWord(p, nil, func(w []byte) {
				if !stop[string(w)] {
					words++
				}
			})
			if words == 0 {
				continue
			}
			query := p
			if words <= fewWords && head != "" {
				query += " " + head
			}
			if head == "" {
				head = p
			}
			out = append(out, part{p, query})
		}
	}
	return out
}

// trimPart takes off what joined a part to the one before.
func trimPart(p string) string {
	for {
		p = strings.TrimSpace(p)
		short := p
		for _, word := range [...]string{"and ", "or ", "then ", "also "} {
			short = strings.TrimPrefix(short, word)
		}
		if short == p {
			return p
		}
		p = short
	}
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
	bare       bool // the name says nothing of an identifier
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
		out = append(out, identifier{param: name, noun: noun, collection: before})
		rest = rest[end+1:]
	}
	for _, p := range t.Params {
		if !p.Required || seen[strings.ToLower(p.Name)] {
			continue
		}
		// Beside a path with identifiers a bare noun is mostly a value: the head of a
		// merge, the event of a review.
		if slices.Contains(values, strings.ToLower(p.Name)) {
			continue
		}
		named := isIdentifier(p.Name)
		if noun := nounOf(p.Name); noun != "" && (named || len(out) == 0 || out[0].collection == "") {
			out = append(out, identifier{param: p.Name, noun: noun, bare: !named})
		}
	}
	return out
}

// values are names of required parameters that never name a resource: a caller has
// them, or makes them up.
var values = []string{"token", "query", "text", "cursor", "page", "limit", "name", "title", "body"}

// suffixes are what names of identifiers end with.
var suffixes = []string{"id", "ids", "key", "slug", "number", "name", "sha", "ref", "uuid", "guid", "code"}

// isIdentifier reports whether the name of a parameter that is not in the path says
// that it is an identifier. "name", "key" and "code" are values as often.
func isIdentifier(param string) bool {
	last := ""
	eachWord(param, nil, func(w []byte) { last = string(w) })
	switch last {
	case "id", "ids", "slug", "number", "sha", "uuid", "guid":
		return true
	}
	return false
}

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

// phrase are the words of a name in their normal form, without those of lists.
func phrase(name string) string {
	var out []byte
	eachWord(name, nil, func(w []byte) {
		switch s := string(w); s {
		case "list", "search", "all", "lookup":
		default:
			out = append(append(out, normal(s)...), ' ')
		}
	})
	return string(out)
}

// lastNoun is the last word of a segment that is not a verb of a list.
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
	const needing = 4096 // what a need of its own costs a producer
	best, cost := -1, 1<<30
	consider := func(noun, words string) {
		for _, i := range listers[noun] {
			p := &tools[i]
			if p == t || p.Server != t.Server || requires(p, need.param) {
				continue
			}
			n := required(p, t)
			if need.bare && (n > 0 || phrase(lastSegment(p.Path)) != words) {
				continue // only a plain list of the resource tells that the noun names one
			}
			c := needing*n + min(len(p.Path), needing/4) // of equals the shortest path: the collection itself
			if need.collection != "" && strings.TrimSuffix(p.Path, "/") == need.collection {
				c -= needing / 2
			}
			if c < cost {
				best, cost = i, c
			}
		}
	}
	if need.noun != "" {
		consider(need.noun, phrase(need.param))
		if a, ok := alias[need.noun]; ok && cost >= needing {
			consider(normal(a), phrase(a))
		}
	}
	if best < 0 && need.collection != "" {
		consider(lastNoun(lastSegment(need.collection)), "")
	}
	return best
}

// requires reports whether p itself needs the parameter.
func requires(p *Tool, param string) bool {
	return strings.Contains(p.Path, "{"+param+"}") || slices.ContainsFunc(p.Params, func(a Param) bool { return a.Required && a.Name == param })
}

// required counts what p needs that t does not need anyway.
func required(p, t *Tool) int {
	n := 0
	for _, a := range p.Params {
		if a.Required && !slices.Contains(values, strings.ToLower(a.Name)) && !slices.ContainsFunc(t.Params, func(b Param) bool { return b.Name == a.Name && b.Required }) {
			n++
		}
	}
	return n
}

package textfilter

import (
	"regexp/syntax"
	"slices"
	"strings"
)

const (
	// mostExact strings are followed through an expression; of more it is known only that one
	// of those so far stands in what matches.
	mostExact = 64
	// mostLetters of a class are followed each for itself.
	mostLetters = 4
)

// prefilter is what stands in every text that an expression matches: all of a list, of which
// each is one of some literals or one of some prefilters. The empty one says nothing. It is
// made of the expression, as RE2's FilteredRE2 does, and read in a fiftieth of the time.
type prefilter []clause

type clause struct {
	literals []string    // one of these, or
	others   []prefilter // one of these
}

// newPrefilter is that of an expression of package regexp.
func newPrefilter(expr string) *prefilter {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		panic(err) // as regexp.MustCompile
	}
	p := matchesOf(tree).prefilter()
	slices.SortStableFunc(p, func(a, b clause) int { return (&a).cost() - (&b).cost() })
	return &p
}

// cost is how many literals are looked for at most.
func (c *clause) cost() int {
	n := len(c.literals)
	for _, p := range c.others {
		for i := range p {
			n += p[i].cost()
		}
	}
	return n
}

func (p prefilter) allows(text string) bool {
	for i := range p {
		if !p[i].met(text) {
			return false
		}
	}
	return true
}

func (c *clause) met(text string) bool {
	for _, s := range c.literals {
		if strings.Contains(text, s) {
			return true
		}
	}
	for _, p := range c.others {
		if p.allows(text) {
			return true
		}
	}
	return false
}

// matches is what is known of the texts that an expression matches: all of them, or what
// stands in each.
type matches struct {
	exact []string // nil: they are not known
	has   prefilter
}

func (m matches) prefilter() prefilter {
	if m.exact == nil {
		return m.has
	}
	shortest := slices.Clone(m.exact)
	slices.SortStableFunc(shortest, func(a, b string) int { return len(a) - len(b) })
	var kept []string
	for _, s := range shortest { // what contains another one says nothing more
		if !slices.ContainsFunc(kept, func(k string) bool { return strings.Contains(s, k) }) {
			kept = append(kept, s)
		}
	}
	if len(kept[0]) < 2 { // stands in nearly every text, or matches nothing
		return nil
	}
	return prefilter{{literals: kept}}
}

func matchesOf(e *syntax.Regexp) matches {
	switch e.Op {
	case syntax.OpLiteral:
		if e.Flags&syntax.FoldCase != 0 {
			return matches{}
		}
		return matches{exact: []string{string(e.Rune)}}
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return matches{exact: []string{""}}
	case syntax.OpCharClass:
		var letters []string
		for i := 0; i < len(e.Rune); i += 2 {
			for r := e.Rune[i]; r <= e.Rune[i+1]; r++ {
				if len(letters) == mostLetters {
					return matches{}
				}
				letters = append(letters, string(r))
			}
		}
		return matches{exact: letters}
	case syntax.OpCapture:
		return matchesOf(e.Sub[0])
	case syntax.OpPlus:
		return matches{has: matchesOf(e.Sub[0]).prefilter()}
	case syntax.OpRepeat:
		if e.Min > 0 {
			return matches{has: matchesOf(e.Sub[0]).prefilter()}
		}
	case syntax.OpQuest:
		if m := matchesOf(e.Sub[0]); m.exact != nil && len(m.exact) < mostExact {
			return matches{exact: append(m.exact, "")}
		}
	case syntax.OpConcat:
		return all(e.Sub)
	case syntax.OpAlternate:
		return either(e.Sub)
	}
	return matches{} // nothing is known
}

// all is what is known where one expression follows the other.
func all(subs []*syntax.Regexp) matches {
	out := matches{exact: []string{""}}
	exact := true // so far
	for _, sub := range subs {
		m := matchesOf(sub)
		if m.exact != nil && len(m.exact)*len(out.exact) <= mostExact {
			var longer []string
			for _, a := range out.exact {
				for _, b := range m.exact {
					longer = append(longer, a+b)
				}
			}
			out.exact = longer
			continue
		}
		exact = false
		out.has = append(out.has, matches{exact: out.exact}.prefilter()...)
		if out.exact = []string{""}; m.exact != nil {
			out.exact = m.exact
		} else {
			out.has = append(out.has, m.has...)
		}
	}
	if exact {
		return out
	}
	return matches{has: append(out.has, matches{exact: out.exact}.prefilter()...)}
}

// either is what is known where one of several expressions matches.
func either(subs []*syntax.Regexp) matches {
	var exact []string
	var c clause
	known, says := true, true
	for _, sub := range subs {
		m := matchesOf(sub)
		known = known && m.exact != nil && len(exact)+len(m.exact) <= mostExact
		exact = append(exact, m.exact...)
		p := m.prefilter()
		says = says && len(p) > 0
		if len(p) == 1 && len(p[0].others) == 0 {
			c.literals = append(c.literals, p[0].literals...)
		} else {
			c.others = append(c.others, p)
		}
	}
	switch {
	case known:
		return matches{exact: exact}
	case says:
		return matches{has: prefilter{c}}
	}
	return matches{}
}

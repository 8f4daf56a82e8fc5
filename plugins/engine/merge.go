package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrMerge is wrapped by the errors of [Merge]: the two programs can only run one
// after the other.
var ErrMerge = errors.New("engine: programs cannot be merged")

// Merge makes one program of two: on valid JSON that is not nested too deeply its
// result is that of second run on the result of first, byte for byte, in a single
// pass. Neither is changed; parts of both are in the result. Of a stream, documents
// need white space or RS between them.
//
// It fails with ErrMerge where one pass cannot do what two do:
//   - second looks at values that first may have changed: a condition on rows
//     behind anything but row rules, the rule for URLs behind a string cap;
//   - both cap the same string or the same numbers, or both drop by value and
//     disagree on a field, or one caps numbers and the other counts rows;
//   - both drop addresses, and one of them keeps pages;
//   - first keeps lone addresses and second drops members beside them, or first
//     drops the addresses that second would keep;
//   - first drops by value what it does not name and second names;
//   - second reads a stream.
func Merge(first, second *Program) (*Program, error) {
	if second.Documents != OneDocument || first.Output != JSON || second.Output != JSON {
		return nil, fmt.Errorf("%w: the second reads a stream", ErrMerge)
	}
	m := merger{made: map[[2]*Node]*Node{}}
	root := m.node(first.Root, second.Root)
	if m.why != "" {
		return nil, fmt.Errorf("%w: %s", ErrMerge, m.why)
	}
	return &Program{Root: root, Documents: first.Documents}, nil
}

type merger struct {
	made map[[2]*Node]*Node
	why  string // the first reason against
}

func (m *merger) refuse(why string) {
	if m.why == "" {
		m.why = why
	}
}

// node returns what a and then b keep. Nodes refer to themselves, so a pair that
// is being made is answered with itself.
func (m *merger) node(a, b *Node) *Node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	key := [2]*Node{a, b}
	if n := m.made[key]; n != nil {
		return n
	}
	n := &Node{}
	m.made[key] = n
	if len(m.made) > 4*MaxNodes {
		m.refuse("too many nodes")
		return n
	}
	m.rows(n, a, b)
	if a.MaxString != 0 && b.MaxString != 0 {
		m.refuse("both cap the same string")
	}
	n.MaxString = max(a.MaxString, b.MaxString)
	if a.MaxNumbers != 0 && (b.MaxNumbers != 0 || b.counts()) || b.MaxNumbers != 0 && a.counts() {
		m.refuse("both shorten the same array of numbers")
	}
	n.MaxNumbers = max(a.MaxNumbers, b.MaxNumbers)
	m.members(n, a.plain(), b.plain())
	return n
}

// plain is n with the shorthand KeyLinks written out.
func (n *Node) plain() *Node {
	if n.Rules&KeyLinks == 0 {
		return n
	}
	p := *n
	p.Rules &^= KeyLinks
	if p.DropRest {
		return &p
	}
	if !slices.ContainsFunc(p.Fields, func(f Field) bool { return f.Name == "_links" }) {
		p.Fields = append(slices.Clip(p.Fields), Field{Name: "_links", Drop: true})
	}
	p.DropSuffixes = append(slices.Clip(p.DropSuffixes), "_url")
	return &p
}

// bare reports whether a node has row rules and nothing else, here and below.
func (n *Node) bare() bool {
	return len(n.Fields) == 0 && !n.DropRest && n.Rest == nil && n.Rules == 0 && len(n.DropSuffixes) == 0 && n.MaxString == 0 && n.MaxNumbers == 0
}

// counts reports whether a node has row rules.
func (n *Node) counts() bool { return n.Where != nil || n.Offset != 0 || n.Limit != 0 }

// rows joins the row rules.
func (m *merger) rows(n, a, b *Node) {
	n.Where, n.Offset, n.Limit = a.Where, a.Offset, a.Limit
	if b.Where != nil {
		switch {
		case !a.bare() || a.Offset != 0 || a.Limit != 0:
			m.refuse("the second has a condition on rows that the first changes or counts")
		case a.Where == nil:
			n.Where = b.Where
		default:
			n.Where = &Predicate{And: []*Predicate{a.Where, b.Where}}
		}
	}
	// Of the rows that a leaves, at most a.Limit, b leaves out b.Offset.
	skip := uint64(a.Offset) + uint64(b.Offset)
	limit := b.Limit
	if a.Limit != 0 {
		if b.Offset >= a.Limit {
			skip = noLimit // none is left
		} else if left := a.Limit - b.Offset; limit == 0 || left < limit {
			limit = left
		}
	}
	n.Offset, n.Limit = uint32(min(skip, noLimit)), limit
}

// members joins what is said of the members of an object.
func (m *merger) members(n, a, b *Node) {
	n.Rules = a.Rules | b.Rules
	if a.Rules&DropEmpty != 0 && b.Rules&DropEmpty == 0 {
		m.refuse("the first drops what is empty before the second empties more")
	}
	if a.Rules&KeepLone != 0 && !b.passes() || b.Rules&KeepLone != 0 && a.Rules&DropURL != 0 {
		m.refuse("one drops what decides which address the other keeps")
	}
	if a.Rules&b.Rules&DropURL != 0 && (a.Rules^b.Rules)&KeepPages != 0 {
		m.refuse("only one of the two keeps pages")
	}
	if n.Rules&DropURL != 0 && !a.keepsPages() && !b.keepsPages() {
		n.Rules &^= KeepPages // of a node that drops no address it meant nothing
	}
	switch named := a.onlyNamed() || b.onlyNamed(); {
	case !named:
		n.Rules &^= OnlyNamed // as above
	case a.Rules&b.Rules&DropURL != 0 && (a.Rules^b.Rules)&OnlyNamed != 0:
		m.refuse("only one of the two looks at names of addresses")
	}
	switch asked := a.keepsAsked() || b.keepsAsked(); {
	case !asked:
		n.Rules &^= KeepAsked // as above
	case a.Rules&b.Rules&DropURL != 0 && (a.Rules^b.Rules)&KeepAsked != 0:
		m.refuse("only one of the two keeps addresses that people ask for")
	}
	n.DropRest = a.DropRest || b.DropRest
	if !n.DropRest {
		n.Rest = m.node(a.Rest, b.Rest)
		m.capped(a.Rest, b, false)
		n.DropSuffixes = slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.DropSuffixes, b.DropSuffixes))))
	}
	add := func(name string) {
		ca, keptA, sparedA := a.member(name)
		cb, keptB, sparedB := b.member(name)
		if !keptA || !keptB {
			if !n.DropRest {
				n.Fields = append(n.Fields, Field{Name: name, Drop: true, Told: !keptA && a.tells(name) || keptA && b.tells(name)})
			}
			return
		}
		f := Field{Name: name, Node: m.node(ca, cb)}
		switch rules := a.Rules&^sparedA | b.Rules&^sparedB; rules & dropBits {
		case n.Rules & dropBits:
		case 0:
			f.Exempt = true
		case n.Rules & dropBits &^ DropURL:
			f.KeepURL = true
		default:
			m.refuse("they disagree on the rules for the field " + name)
		}
		f.NoPages = sparedA&DropURL == 0 && a.noPages(name) || sparedB&DropURL == 0 && b.noPages(name)
		if a.Rules&^sparedA != 0 && !a.Names(name) {
			m.refuse("the first drops by value what the second names")
		}
		m.capped(ca, b, sparedB&DropURL != 0)
		n.Fields = append(n.Fields, f)
	}
	for i := range a.Fields {
		add(a.Fields[i].Name)
	}
	for i := range b.Fields {
		if !a.Names(b.Fields[i].Name) {
			add(b.Fields[i].Name)
		}
	}
}

// capped refuses a string cap of the first in front of the second's rule for URLs.
func (m *merger) capped(child, b *Node, exempt bool) {
	if child != nil && child.MaxString != 0 && b.Rules&DropURL != 0 && !exempt {
		m.refuse("the first caps what the second judges as a URL")
	}
}

// passes reports whether a node keeps every member there is.
func (n *Node) passes() bool {
	return len(n.Fields) == 0 && !n.DropRest && n.Rest == nil && n.Rules == 0 && len(n.DropSuffixes) == 0
}

// Names reports whether one of n's fields is called name.
func (n *Node) Names(name string) bool {
	return n != nil && slices.ContainsFunc(n.Fields, func(f Field) bool { return f.Name == name })
}

// suffixed reports whether a name ends in a suffix that n drops.
func (n *Node) suffixed(name string) bool {
	if n.Rules&KeyLinks != 0 && (name == "_links" || strings.HasSuffix(name, "_url")) {
		return true
	}
	return slices.ContainsFunc(n.DropSuffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}

// keepsPages reports whether a node drops addresses but those of pages.
func (n *Node) keepsPages() bool { return n.Rules&(DropURL|KeepPages) == DropURL|KeepPages }

// onlyNamed reports whether a node does so only under names that say what they are.
func (n *Node) onlyNamed() bool { return n.keepsPages() && n.Rules&OnlyNamed != 0 }

// keepsAsked reports whether of those it keeps the ones that people ask for by name.
func (n *Node) keepsAsked() bool { return n.onlyNamed() && n.Rules&KeepAsked != 0 }

// noPages reports whether a node drops the address of a page in the field called name.
func (n *Node) noPages(name string) bool {
	return slices.ContainsFunc(n.Fields, func(f Field) bool { return f.Name == name && f.NoPages }) && n.keepsPages()
}

// tells reports whether the field called name is counted when it is left out.
func (n *Node) tells(name string) bool {
	return slices.ContainsFunc(n.Fields, func(f Field) bool { return f.Name == name && f.Drop && f.Told })
}

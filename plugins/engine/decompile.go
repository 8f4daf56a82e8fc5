package engine

import (
	"encoding/json"
	"fmt"
)

// Decompile reads a table back into its model. Compiling the result gives a
// program that does the same, and the same bytes when the table came from
// [Compile]. Nodes that are used in several places are shared, and may refer to
// themselves. It fails as [Check] does.
func Decompile(program []byte) (*Program, error) {
	if err := Check(program); err != nil {
		return nil, fmt.Errorf("reading response program: %w", err)
	}
	t := table(program)
	nodes := make([]*Node, t.nodes())
	for i := range nodes {
		nodes[i] = &Node{}
	}
	child := func(i int) *Node {
		if i < 0 {
			return nil
		}
		return nodes[i]
	}
	for i, n := range nodes {
		v := t.node(i)
		n.Rules = v.rules
		n.DropRest = v.rest == childDrop
		n.Rest = child(v.rest)
		for k := range v.fields {
			e := t.entry(&v, k)
			n.Fields = append(n.Fields, Field{
				Name: string(t[e.key:][:e.length]), Drop: e.child == childDrop, Exempt: e.exempt, KeepURL: e.url, NoPages: e.any, Told: e.told, Node: child(e.child),
			})
		}
		if v.ext == 0 {
			continue
		}
		x := t.ext(v.ext)
		n.Offset, n.MaxString, n.MaxNumbers = x.offset, x.maxString, x.numbers
		if x.limit != noLimit {
			n.Limit = x.limit
			if x.limit == 0 { // no row: the model says it so
				n.Offset, n.Limit = noLimit, 0
			}
		}
		for k := range x.suffixes {
			o := x.suffixOff + k*suffixBytes
			n.DropSuffixes = append(n.DropSuffixes, string(t[t.u32(o):][:t.u32(o+4)]))
		}
		if x.where != 0 {
			var err error
			if n.Where, err = t.predicate(x.where - 1); err != nil {
				return nil, err
			}
		}
	}
	p := &Program{Output: t.output(), Documents: t.documents()}
	if t.root() >= 0 {
		p.Root = nodes[t.root()]
	}
	return p, nil
}

// predicate reads the term at index i with its operands.
func (t table) predicate(i int) (*Predicate, error) {
	o := t.op(i)
	p := &Predicate{}
	switch o.op {
	case opAnd, opOr, opNot:
		var list []*Predicate
		for k := i + 1; k < o.next; k = t.op(k).next {
			q, err := t.predicate(k)
			if err != nil {
				return nil, err
			}
			list = append(list, q)
		}
		switch o.op {
		case opAnd:
			p.And = list
		case opOr:
			p.Or = list
		default:
			p.Not = list[0]
		}
		return p, nil
	}
	p.Cmp = Cmp(o.cmp)
	for at := o.path; at < o.path+o.pathLen; {
		n := int(t.u16(at))
		p.Path = append(p.Path, string(t[at+2:][:n]))
		at += 2 + n
	}
	value := string(t[o.value:][:o.valueBytes])
	switch o.kind {
	case kindNull:
		p.Value = "null"
	case kindFalse:
		p.Value = "false"
	case kindTrue:
		p.Value = "true"
	case kindNumber:
		p.Value = value
	case kindString:
		b, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("reading response program: %w", err)
		}
		p.Value = string(b)
	}
	return p, nil
}

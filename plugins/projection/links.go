package projection

import (
	"slices"

	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/operation"
)

// wholeLink keeps the address of a relation, whatever it looks like.
var wholeLink = &engine.Node{
	Rules:  engine.DropNull | engine.DropEmpty | engine.DropURL | engine.KeepPages,
	Fields: []engine.Field{{Name: "href", KeepURL: true}, {Name: "url", KeepURL: true}},
}

// selfLink is of the relation to the thing itself: a page may be the only one that it has.
var selfLink = &engine.Node{
	Rules:    engine.DropNull | engine.DropEmpty | engine.DropURL | engine.KeepPages,
	Fields:   []engine.Field{{Name: "href"}, {Name: "url"}},
	DropRest: true,
}

// followed is where an entry of a list of links stays: it leads to the next page, or people
// open it.
var followed = func() *engine.Predicate {
	test := func(path string, cmp engine.Cmp, v string) *engine.Predicate {
		return &engine.Predicate{Cmp: cmp, Path: []string{path}, Value: v}
	}
	opened := func(address string) *engine.Predicate { // by people
		programs := []*engine.Predicate{test("rel", engine.CmpEq, `"self"`)}
		for _, g := range apiGlobs {
			programs = append(programs, test(address, engine.CmpGlob, `"`+g+`"`))
		}
		return &engine.Predicate{And: []*engine.Predicate{test(address, engine.CmpPrefix, `"http"`), {Not: &engine.Predicate{Or: programs}}}}
	}
	stay := []*engine.Predicate{
		test("rel", engine.CmpEq, `"next"`),
		{Not: test("rel", engine.CmpExists, "")},
		{Not: &engine.Predicate{Or: []*engine.Predicate{test("href", engine.CmpExists, ""), test("url", engine.CmpExists, ""), test("uri", engine.CmpExists, "")}}}, // no address: what is beside, by its id
		opened("href"), opened("url"),
		test("type", engine.CmpPrefix, `"text/html"`), test("type", engine.CmpPrefix, `"application/pdf"`),
	}
	for _, n := range pageRels {
		stay = append(stay, test("rel", engine.CmpEq, `"`+n+`"`))
	}
	return &engine.Predicate{Or: stay}
}()

// links is the node of a member that holds hypermedia: of it stay what leads to the
// next page, and the addresses that people open.
func (w *walk) links(next []engine.Field, described bool) *engine.Node {
	dropped := engine.DropNull | engine.DropEmpty | engine.DropURL | engine.KeepPages
	one := &engine.Node{Rules: dropped, Fields: slices.Clone(next)} // links: {pages: {next: …}}
	for _, n := range bookNames {
		one.Fields = append(one.Fields, engine.Field{Name: n, Drop: true})
	}
	node := &engine.Node{Rules: dropped, Rest: one, Where: followed}
	add := func(f engine.Field) {
		if !slices.ContainsFunc(node.Fields, func(o engine.Field) bool { return o.Name == f.Name }) {
			node.Fields = append(node.Fields, f)
		}
	}
	for _, f := range next {
		f.Node = wholeLink
		add(f)
	}
	for _, n := range w.api.addresses() {
		if n != "href" && n != "url" {
			add(engine.Field{Name: n, KeepURL: true})
		}
	}
	for _, n := range wholeLink.Fields {
		add(n)
	}
	add(engine.Field{Name: selfName, Node: selfLink})
	for _, n := range relNames {
		add(engine.Field{Name: n, Drop: true})
	}
	for _, n := range pageRels {
		add(engine.Field{Name: n, KeepURL: true, Node: wholeLink})
	}
	if !described { // of declared ones the words of their names tell
		for _, n := range undescribedRels {
			add(engine.Field{Name: n, KeepURL: true, Node: wholeLink})
		}
	}
	return node
}

// wholeLinks keeps a list of links as it is: of the one thing that was asked for or made it
// costs once, and what each link is for is in its rel. Of what was made, links that may be there
// (some) stay by any name. It tells whether f holds links.
func (w *walk) wholeLinks(f *engine.Field, some bool) bool {
	if f.Node == nil || f.Node.Where == nil || !slices.Contains(linkNames, f.Name) {
		return false
	}
	n := *f.Node
	n.Where = nil
	if some && w.writes { // who made it is told once how to go on with it, by addresses that may hold a key
		n.Rest = wholeLink
		n.Rules &^= engine.DropURL | engine.KeepPages
	}
	f.Node = &n
	return true
}

// keepFile keeps where a file is of the links that it has: they call it self.
func keepFile(f *engine.Field) {
	n := *f.Node
	n.Fields = slices.Clone(n.Fields)
	for i := range n.Fields {
		if n.Fields[i].Name == selfName {
			n.Fields[i] = engine.Field{Name: selfName, KeepURL: true, Node: wholeLink}
		}
	}
	f.Node = &n
}

// keepLinked keeps what a tool takes in a member that holds links; false when there
// is nothing of the kind. beside are the members of the object that it is in: a
// relation to what none of them identifies tells which that is.
func (w *walk) keepLinked(f *engine.Field, s *operation.Schema, beside []operation.Property) bool {
	if s == nil || f.Node == nil {
		return false
	}
	n := *f.Node
	n.Fields = slices.Clone(n.Fields)
	some := false
	for _, m := range s.Properties {
		known := slices.ContainsFunc(n.Fields, func(o engine.Field) bool { return o.Name == m.Name })
		if !known && (page(m.Name) && !named(m.Name, followedWords) || w.tellsWhich(m.Name, beside)) { // a relation that people follow
			n.Fields = append(n.Fields, engine.Field{Name: m.Name, KeepURL: true, Node: wholeLink})
			some = true
			continue
		}
		if !known && w.writes && w.part(m.Name) { // what a tool gives
			n.Fields = append(n.Fields, engine.Field{Name: m.Name, Drop: true})
			some = true
			continue
		}
		if !known && w.identifies(at{resource: Singular(f.Name)}, m.Name, anyType) {
			n.Fields = append(n.Fields, engine.Field{Name: m.Name, KeepURL: true})
			some = true
		}
	}
	if some {
		f.Node = &n
	}
	return some
}

// part tells that a relation is called after a part of the API.
func (w *walk) part(relation string) bool {
	return slices.ContainsFunc(words(relation), func(word string) bool {
		_, is := w.api.parts[Singular(word)]
		return is
	})
}

// tellsWhich tells that a relation is to one of what tools take the id of, and that no
// member beside the links gives it.
func (w *walk) tellsWhich(relation string, beside []operation.Property) bool {
	name := fold(relation)
	return w.api.has(name+"id") && !slices.ContainsFunc(beside, func(p operation.Property) bool {
		f := fold(p.Name)
		return f == name || f == name+"id"
	})
}

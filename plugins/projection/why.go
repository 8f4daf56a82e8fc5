package projection

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/engine"
)

// A Place is where in an answer a reason is asked for.
type Place struct {
	p    *Projection
	node *engine.Node
}

// Root is the place of the whole answer.
func (p *Projection) Root() Place { return Place{p, p.Program.Root} }

// Member is the place of a member; arrays are transparent.
func (a Place) Member(name string) Place {
	if a.node == nil {
		return a
	}
	for _, f := range a.node.Fields {
		if f.Name == name {
			return Place{a.p, f.Node}
		}
	}
	return Place{a.p, a.node.Rest}
}

// Why gives the reason for leaving out the member called name with a value of
// this kind: null, empty, url, or any other word for all else.
func (a Place) Why(name, kind string) string {
	if a.node == nil {
		return ""
	}
	for _, f := range a.node.Fields {
		if f.Name == name && f.Drop {
			if why := a.p.why[a.node][name]; why != "" {
				return why
			}
			for _, r := range rules.names {
				if r.name == name {
					return r.why
				}
			}
		}
	}
	if kind == "url" {
		for _, r := range rules.selves {
			if r.name == name {
				return r.why
			}
		}
		for _, word := range words(name) {
			for _, r := range rules.words {
				if r.word == word {
					return r.why
				}
			}
		}
	}
	bits := map[string]engine.Rules{"null": engine.DropNull, "empty": engine.DropEmpty, "url": addressRule}[kind]
	for _, r := range rules.values {
		if r.bits == bits {
			return r.why
		}
	}
	for _, r := range rules.suffixes {
		if strings.HasSuffix(name, r.suffix) {
			return r.why
		}
	}
	if slices.Contains(linkNames, name) {
		return linksWhy
	}
	return insideWhy
}

// Reasons that belong to no single rule.
const (
	linksWhy  = "hypermedia: addresses of other calls, which an agent makes as tools with ids; the next page and what people open stay"
	insideWhy = "everything inside it was left out"
)

// Left is what a projection leaves out by name, and why.
type Left struct {
	Path string `json:"path"` // members from the answer on, with a dot between; arrays are transparent
	Why  string `json:"why"`
}

// Left lists the members that the response schema declares and the projection
// leaves out, each once, in the order of the schema.
func (p *Projection) Left() []Left {
	var out []Left
	seen := map[*engine.Node]bool{}
	var walk func(n *engine.Node, at string)
	walk = func(n *engine.Node, at string) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		for _, f := range n.Fields {
			if why := p.why[n][f.Name]; f.Drop && why != "" {
				out = append(out, Left{at + f.Name, why})
			}
		}
		for _, f := range n.Fields {
			if p.why[f.Node] != nil {
				walk(f.Node, at+f.Name+".")
			}
		}
		if p.why[n.Rest] != nil {
			walk(n.Rest, at+"*.")
		}
	}
	walk(p.Program.Root, "")
	return out
}

// Kept lists the declared members that stay also where they hold an address of an API:
// identifiers, what a caller sets, pages and files.
func (p *Projection) Kept() []string {
	var out []string
	seen := map[*engine.Node]bool{}
	var walk func(n *engine.Node, at string)
	walk = func(n *engine.Node, at string) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		for _, f := range n.Fields {
			if p.kept[n][f.Name] {
				out = append(out, at+f.Name)
			}
			if p.why[f.Node] != nil {
				walk(f.Node, at+f.Name+".")
			}
		}
	}
	walk(p.Program.Root, "")
	return out
}

// A Rule is one of the rules that hold for every answer.
type Rule struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Rules lists the rules by value and name, which hold for every object of every
// answer.
func Rules() []Rule {
	what := map[engine.Rules]string{engine.DropNull: "null", engine.DropEmpty: `"", [] and {}`, addressRule: "URLs of APIs, templates, pictures of people"}
	var out []Rule
	for _, r := range rules.values {
		out = append(out, Rule{what[r.bits], r.why})
	}
	for _, r := range rules.names {
		out = append(out, Rule{r.name, r.why})
	}
	out = append(out, Rule{secondID + " beside id", secondIDWhy})
	for _, r := range rules.suffixes {
		out = append(out, Rule{"*" + r.suffix, r.why})
	}
	for _, r := range rules.selves {
		out = append(out, Rule{r.name + ", a URL", r.why})
	}
	for _, n := range linkNames {
		out = append(out, Rule{n, linksWhy})
	}
	for _, r := range rules.numbers {
		out = append(out, Rule{r.name, r.why})
	}
	return out
}

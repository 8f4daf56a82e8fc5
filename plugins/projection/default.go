package projection

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/operation"
)

// Bounds of the walk over a response schema, which may be a graph with cycles.
const (
	// maxDepth: objects inside objects that get rules of their own. Answers nest six
	// deep; what is deeper follows the rules by name and value.
	maxDepth = 6
	// maxNodes: a program stays under about 64 KB, so that 1,000 connectors of ten
	// tools stay under a gigabyte in the worst case and 8 KB each in the usual one.
	maxNodes = 400
)

// Index knows which names an API's operations take as path and query parameters.
// The zero Index knows none.
type Index struct{ names map[string]struct{} }

// Add records the parameters of an operation.
func (x *Index) Add(op *operation.Operation) {
	if op.Plan == nil {
		return
	}
	if x.names == nil {
		x.names = map[string]struct{}{}
	}
	for i := range op.Plan.Params {
		if p := &op.Plan.Params[i]; p.Arg != "" && (p.In == operation.InPath || p.In == operation.InQuery) {
			x.names[fold(p.Name)] = struct{}{}
		}
	}
}

func (x Index) has(name string) bool {
	if len(x.names) == 0 {
		return false
	}
	_, ok := x.names[fold(name)]
	return ok
}

// fold makes name, Name, na_me and na-me equal.
func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// Default makes the response program of an operation by the default rules. api
// should know all operations of the API. It never fails: a schema that is too large
// gets the rules by name and value below the bound.
func Default(op *operation.Operation, api Index) *engine.Program {
	w := &walk{api: api, made: map[*operation.Schema]*engine.Node{}, generic: generic(true)}
	if op.Response == nil || isKept(noSchema) && empty(op.Response) {
		return &engine.Program{Root: generic(false)}
	}
	return &engine.Program{Root: w.node(op.Response, 0)}
}

// empty reports a schema that says nothing of what is inside.
func empty(s *operation.Schema) bool {
	return s.Type == 0 && len(s.Properties) == 0 && s.Items == nil && len(s.AnyOf) == 0 && s.Additional == nil
}

func isKept(c keepCase) bool {
	return slices.ContainsFunc(rules.keep, func(k keepRule) bool { return k.when == c })
}

// generic is the node for values of which nothing is known; it applies to all that
// is inside too. addresses says whether members that hold addresses are dropped.
func generic(addresses bool) *engine.Node {
	n := &engine.Node{}
	for _, r := range rules.values {
		n.Rules |= r.bits
	}
	for _, r := range rules.names {
		switch {
		case r.name != "":
			n.Fields = append(n.Fields, engine.Field{Name: r.name, Drop: true})
		case addresses:
			n.DropSuffixes = append(n.DropSuffixes, r.suffix)
		}
	}
	n.Rest = n
	return n
}

type walk struct {
	api     Index
	generic *engine.Node
	made    map[*operation.Schema]*engine.Node // nil while it is being made: a cycle
	count   int
}

// node returns the node for a schema: the generic one where it says nothing more.
func (w *walk) node(s *operation.Schema, depth int) *engine.Node {
	for s != nil && s.Items != nil && len(s.Properties) == 0 {
		s = s.Items // arrays are transparent
		if depth++; depth > 2*maxDepth {
			return w.generic
		}
	}
	if s == nil || depth > maxDepth || w.count >= maxNodes {
		return w.generic
	}
	if n, ok := w.made[s]; ok {
		if n == nil {
			return w.generic
		}
		return n
	}
	w.made[s] = nil
	n := w.object(s, depth)
	w.made[s] = n
	return n
}

func (w *walk) object(s *operation.Schema, depth int) *engine.Node {
	members := w.members(nil, s, 0)
	n := &engine.Node{Fields: slices.Clone(w.generic.Fields), Rest: w.generic, Rules: w.generic.Rules, DropSuffixes: w.generic.DropSuffixes}
	special := false
	if len(members) > 0 && isKept(onlyLinks) && linksOnly(members) {
		n.DropSuffixes, special = nil, true
	}
	for _, m := range members {
		if len(n.Fields) == engine.MaxFields || len(m.Name) > engine.MaxName {
			break
		}
		if slices.ContainsFunc(n.Fields, func(f engine.Field) bool { return f.Name == m.Name }) {
			continue
		}
		f := engine.Field{Name: m.Name}
		switch {
		case isLink(m):
			keep := n.DropSuffixes == nil || isKept(isParameter) && w.api.has(m.Name)
			f.Drop = !keep
		default:
			f.Node = w.node(m.Schema, depth+1)
			if f.Node == w.generic && !linkName(m.Name) {
				continue
			}
		}
		n.Fields = append(n.Fields, f)
		special = true
	}
	if s.Additional != nil && len(members) == 0 {
		if rest := w.node(s.Additional, depth+1); rest != w.generic {
			n.Rest, special = rest, true
		}
	}
	if !special {
		return w.generic
	}
	w.count++
	return n
}

// members collects the properties of a schema and its alternatives.
func (w *walk) members(dst []operation.Property, s *operation.Schema, depth int) []operation.Property {
	dst = append(dst, s.Properties...)
	if depth < maxDepth {
		for _, branch := range s.AnyOf {
			if branch != nil {
				dst = w.members(dst, branch, depth+1)
			}
		}
	}
	return dst
}

// isLink reports whether a member holds an address, by its format or its name.
func isLink(m operation.Property) bool {
	if m.Schema == nil {
		return false
	}
	if t := m.Schema.Type; t != 0 && t&operation.TypeString == 0 {
		return false
	}
	byFormat := slices.ContainsFunc(rules.formats, func(r formatRule) bool { return r.format == m.Schema.Format })
	return byFormat || m.Schema.Type != 0 && linkName(m.Name)
}

// linkName reports a name that a rule drops where the schema does not name it.
func linkName(name string) bool {
	return slices.ContainsFunc(rules.names, func(r nameRule) bool { return r.suffix != "" && strings.HasSuffix(name, r.suffix) })
}

// linksOnly reports whether no plain member is left without the addresses.
func linksOnly(members []operation.Property) bool {
	links := false
	for _, m := range members {
		switch {
		case isLink(m):
			links = true
		default:
			return false
		}
	}
	return links
}

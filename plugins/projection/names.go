package projection

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/operation"
)

// Index knows what an API's operations take: the names of their path and query
// parameters with their types, and the addresses that callers set on resources.
// The zero Index knows none. It must not be added to while it is used.
type Index struct {
	names map[string]operation.Type
	// urls are names, as written, of parameters that may hold a URL.
	urls map[string]struct{}
	// set are the members of resources that hold an address and that a request sets.
	set map[member]struct{}
	// given are names, as written, of members of bodies that may hold a URL.
	given map[string]struct{}
	// resources are what operations are about, in the singular, folded.
	resources map[string]struct{}
	// parts are the words of the fixed segments of all paths, in the singular.
	parts map[string]struct{}
}

// member is a member of a resource, both folded.
type member struct{ resource, name string }

// anyType stands for a parameter whose type the specification does not tell.
const anyType = ^operation.Type(0)

// maxBodyDepth: objects and alternatives inside each other that a request's body is
// searched in.
const maxBodyDepth = 3

// Add records the parameters and the body of an operation.
func (x *Index) Add(op *operation.Operation) {
	if r := fold(ResourceOf(op.Path)); r != "" {
		if x.resources == nil {
			x.resources = map[string]struct{}{}
		}
		x.resources[r] = struct{}{}
	}
	x.addParts(op.Path)
	if op.Plan == nil {
		return
	}
	for i := range op.Plan.Params {
		p := &op.Plan.Params[i]
		if p.In == operation.InHeader && fold(p.Name) == "ifmatch" {
			x.AddName("etag", operation.TypeString) // what such a tool wants to be given
		}
		if p.Arg == "" || p.In != operation.InPath && p.In != operation.InQuery {
			continue
		}
		t := operation.Type(0)
		if p.Schema != nil {
			t = p.Schema.Type
			if t&operation.TypeArray != 0 && p.Schema.Items != nil { // ids=1,2,3
				t |= p.Schema.Items.Type
			}
		}
		x.AddName(p.Name, t)
		if addressOf(p.Name, p.Schema) {
			if x.urls == nil {
				x.urls = map[string]struct{}{}
			}
			x.urls[p.Name] = struct{}{}
		}
	}
	if b := op.Plan.Body; b != nil {
		resource := ResourceOf(op.Path)
		for i := range b.Fields {
			x.addBody(resource, b.Fields[i].Name, b.Fields[i].Schema, 0)
		}
		x.addMembers(resource, b.Schema, 0)
	}
}

// addParts records what a path leads through.
func (x *Index) addParts(path string) {
	if x.parts == nil {
		x.parts = map[string]struct{}{}
	}
	for segment := range strings.SplitSeq(path, "/") {
		if strings.Contains(segment, "{") {
			continue
		}
		for _, w := range words(segment) {
			x.parts[Singular(w)] = struct{}{}
		}
	}
}

func (x *Index) addBody(resource, name string, s *operation.Schema, depth int) {
	for range maxBodyDepth {
		if s == nil || s.Items == nil {
			break
		}
		s = s.Items
	}
	if addressOf(name, s) {
		if x.set == nil {
			x.set = map[member]struct{}{}
		}
		x.set[member{fold(resource), fold(name)}] = struct{}{}
		if x.given == nil {
			x.given = map[string]struct{}{}
		}
		x.given[name] = struct{}{}
	}
	if depth < maxBodyDepth {
		x.addMembers(Singular(name), s, depth+1)
	}
}

// addMembers records what a request sets of a resource, in each of its alternatives.
func (x *Index) addMembers(resource string, s *operation.Schema, depth int) {
	if s == nil {
		return
	}
	for _, p := range s.Properties {
		x.addBody(resource, p.Name, p.Schema, depth)
	}
	if depth < maxBodyDepth {
		for _, branch := range s.AnyOf {
			x.addMembers(resource, branch, depth+1)
		}
	}
}

// sets reports whether a request sets the address that is a member of a resource.
func (x Index) sets(resource, name string) bool {
	if len(x.set) == 0 {
		return false
	}
	_, ok := x.set[member{fold(resource), fold(name)}]
	return ok
}

// addresses are the names of parameters that may hold a URL, in order.
func (x Index) addresses() []string {
	all := slices.Sorted(maps.Keys(x.urls))
	return all[:min(len(all), maxAddresses)]
}

// sent are names of addresses that callers give an API, which answers repeat where no
// schema says so: in order, without those that stay or go by other rules.
func (x Index) sent() []string {
	var out []string
	for _, n := range slices.Sorted(maps.Keys(x.given)) {
		all := words(n)
		if len(all) < 2 || engine.Own(n) || suffixed(n) || !addressed(operation.Property{Name: n}) {
			continue
		}
		if out = append(out, n); len(out) == maxAddresses {
			break
		}
	}
	return out
}

// addressOf reports whether a text called name may be a URL as far as its schema
// and its name tell.
func addressOf(name string, s *operation.Schema) bool {
	if s != nil {
		if s.Format == "uri" || s.Format == "url" || s.Format == "iri" {
			return true
		}
		if s.Type != 0 && s.Type&operation.TypeString == 0 || strings.HasPrefix(s.Format, "date") || len(s.Enum) > 0 {
			return false
		}
	}
	w := words(name)
	if len(w) == 0 {
		return false
	}
	_, ok := addressNames[w[len(w)-1]]
	return ok
}

// AddName records a parameter; t is 0 when its type is not known.
func (x *Index) AddName(name string, t operation.Type) {
	if x.names == nil {
		x.names = map[string]operation.Type{}
	}
	if t == 0 {
		t = anyType
	}
	if t&operation.TypeNumber != 0 {
		t |= operation.TypeInteger
	}
	x.names[fold(name)] |= t
}

// Identifies reports whether a member of a resource's object with a value of type
// t is what some operation takes as a parameter: their names are equal but for the
// case and the resource's name in front of one of them. So "id" of a "repo" is
// repo_id, and "issueNumber" of an "issue" is number. resource is singular and may
// be empty.
func (x Index) Identifies(resource, name string, t operation.Type) bool {
	if len(x.names) == 0 {
		return false
	}
	// Names are folded into memory of this call: it is made for every member of every
	// answer.
	var memory [2 * foldedBytes]byte
	both := appendFolded(memory[:0], resource)
	r := len(both)
	both = appendFolded(both, name)
	n := both[r:]
	switch {
	case x.names[string(n)]&t != 0:
		return true
	case r == 0:
		return false
	case x.names[string(both)]&t != 0:
		return true
	}
	rest, ok := bytes.CutPrefix(n, both[:r])
	return ok && len(rest) > 0 && x.names[string(rest)]&t != 0
}

// foldedBytes of a name need no memory of their own; those of members are shorter.
const foldedBytes = 64

// has reports whether a parameter is called name, whatever its type.
func (x Index) has(name string) bool { return x.names[fold(name)] != 0 }

// fold makes name, Name, na_me and na-me equal.
func fold(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c == '_' || c == '-' || c >= 'A' && c <= 'Z' || c >= 0x80 {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	return string(appendFolded(make([]byte, 0, len(s)), s))
}

// appendFolded appends what fold makes of s.
func appendFolded(dst []byte, s string) []byte {
	from := len(dst)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '_' || c == '-':
		case c >= 0x80:
			return append(dst[:from], strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(s, "_", ""), "-", ""))...)
		case c >= 'A' && c <= 'Z':
			dst = append(dst, c|0x20)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// ResourceOf names the resource that a path is about: its last fixed segment,
// singular.
func ResourceOf(path string) string {
	path, _, _ = strings.Cut(path, "#")
	segments := strings.Split(path, "/")
	for _, s := range slices.Backward(segments) {
		if s != "" && !strings.Contains(s, "{") {
			return Singular(s)
		}
	}
	return ""
}

// Singular undoes the usual English plurals.
func Singular(s string) string {
	switch {
	case strings.HasSuffix(s, "ies") && len(s) > 4:
		return s[:len(s)-3] + "y"
	case strings.HasSuffix(s, "sses"), strings.HasSuffix(s, "xes"), strings.HasSuffix(s, "ches"), strings.HasSuffix(s, "shes"):
		return s[:len(s)-2]
	case strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") && len(s) > 2:
		return s[:len(s)-1]
	}
	return s
}

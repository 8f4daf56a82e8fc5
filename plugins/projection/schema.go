package projection

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// says tells that a schema declares anything of what an answer holds: an object without
// members does not.
func says(s *operation.Schema) bool {
	for range 2 * maxDepth {
		if s == nil || s.Items == nil || len(s.Properties) > 0 {
			break
		}
		s = s.Items
	}
	return s != nil && (len(s.Properties) > 0 || len(s.AnyOf) > 0 || s.Additional != nil)
}

func (w *walk) hasID(s *operation.Schema, resource string) bool {
	return slices.ContainsFunc(s.Properties, func(p operation.Property) bool {
		f := fold(p.Name)
		return f == "id" || f == "uuid" || f == "guid" || f == "uid" || f == "key" || f == fold(resource)+"id"
	})
}

// leaf tells that a schema has no inside.
func leaf(s *operation.Schema) bool {
	return s != nil && s.Type != 0 && s.Type&(operation.TypeArray|operation.TypeObject) == 0
}

// holdsIdentifier tells that inside a member, called name, there is what a tool
// takes.
func (w *walk) holdsIdentifier(s *operation.Schema, name string, depth int) bool {
	for range maxDepth {
		if s == nil || s.Items == nil {
			break
		}
		s = s.Items
	}
	if s == nil || depth > maxIdentifierDepth {
		return depth > maxIdentifierDepth
	}
	if s.Additional != nil && w.holdsIdentifier(s.Additional, "", depth+1) {
		return true
	}
	resource := Singular(name)
	return slices.ContainsFunc(w.members(nil, s, maxDepth-1), func(p operation.Property) bool {
		return w.api.Identifies(resource, p.Name, anyType) || !leaf(p.Schema) && w.holdsIdentifier(p.Schema, p.Name, depth+1)
	})
}

// vectorOf tells that a schema is of lists of numbers that its description calls
// an embedding.
func vectorOf(s *operation.Schema) bool {
	if s == nil {
		return false
	}
	described := false
	for range 3 {
		d := strings.ToLower(s.Description)
		described = described || strings.Contains(d, "embedding") || strings.Contains(d, "vector")
		if s.Items == nil {
			break
		}
		s = s.Items
	}
	return described && s.Type&operation.TypeNumber != 0
}

// members collects the properties of a schema and its alternatives.
func (w *walk) members(dst []operation.Property, s *operation.Schema, depth int) []operation.Property {
	dst = append(dst, s.Properties...)
	if depth < maxDepth {
		for _, branch := range s.AnyOf {
			for range maxDepth { // alternatives may be lists
				if branch == nil || branch.Items == nil || len(branch.Properties) > 0 {
					break
				}
				branch = branch.Items
			}
			if branch != nil {
				dst = w.members(dst, branch, depth+1)
			}
		}
	}
	return dst
}

// pair names two schemas of one member.
type pair struct{ a, b *operation.Schema }

// join makes one of members that alternatives have in common, so that what one of them
// keeps inside such a member stays, whichever comes: endpoints of OIDC and of SAML.
func (w *walk) join(members []operation.Property) []operation.Property {
	at := make(map[string]int, len(members))
	out := members[:0:0]
	for _, m := range members {
		i, again := at[m.Name]
		if !again {
			at[m.Name] = len(out)
			out = append(out, m)
			continue
		}
		switch old := out[i].Schema; {
		case old == m.Schema || m.Schema == nil:
		case old == nil || leaf(old):
			out[i].Schema = m.Schema
		case !leaf(m.Schema):
			p := pair{old, m.Schema}
			if w.joined[p] == nil {
				w.joined[p] = &operation.Schema{Type: old.Type | m.Schema.Type, AnyOf: []*operation.Schema{old, m.Schema}}
			}
			out[i].Schema = w.joined[p]
		}
	}
	return out
}

func suffixed(name string) bool {
	return slices.ContainsFunc(rules.suffixes, func(r suffixRule) bool { return strings.HasSuffix(name, r.suffix) })
}

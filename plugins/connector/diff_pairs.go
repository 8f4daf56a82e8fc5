package connector

import (
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/manifest"
)

// SamePath is a path without the names of its parameters: two operations are the same
// when their methods are equal and their paths are in this form.
func SamePath(path string) string {
	var b strings.Builder
	for {
		start := strings.IndexByte(path, '{')
		end := strings.IndexByte(path[max(start, 0):], '}')
		if start < 0 || end < 0 {
			b.WriteString(path)
			return b.String()
		}
		b.WriteString(path[:start])
		b.WriteString("{}")
		path = path[start+end+1:]
	}
}

// pairsOf gives for tools of newer the tool of older that is the same: with the very
// same path, or with the only one that differs by names of parameters alone.
func pairsOf(older, newer *Connector) (map[int]int, error) {
	type key struct{ method, path string }
	exact, alike := map[key]int{}, map[key][]int{}
	for i := range older.Len() {
		h, err := older.Head(i)
		if err != nil {
			return nil, err
		}
		exact[key{h.Method, h.Path}] = i
	}
	pairs, waiting := make(map[int]int, newer.Len()), map[key][]int{}
	for i := range newer.Len() {
		h, err := newer.Head(i)
		if err != nil {
			return nil, err
		}
		k := key{h.Method, h.Path}
		if j, ok := exact[k]; ok {
			pairs[i] = j
			delete(exact, k)
			continue
		}
		k.path = SamePath(h.Path)
		waiting[k] = append(waiting[k], i)
	}
	for k, j := range exact {
		k.path = SamePath(k.path)
		alike[k] = append(alike[k], j)
	}
	for k, is := range waiting {
		if was := alike[k]; len(is) == 1 && len(was) == 1 {
			pairs[is[0]] = was[0]
		}
	}
	return pairs, nil
}

// servers: a tool that is sent to another scheme, host or port breaks. o and n are its
// own servers, was and is those of the API, which it has without any. What the API's own
// become is told of the connector, not of each tool.
func (d *differ) servers(was, is, o, n []manifest.Server) {
	if len(o) == 0 && len(n) == 0 {
		return
	}
	first := func(own, all []manifest.Server) string {
		if len(own) == 0 {
			own = all
		}
		if len(own) == 0 {
			return ""
		}
		return own[0].URL
	}
	a, b := first(o, was), first(n, is)
	switch {
	case a == b:
	case originOf(a) != originOf(b):
		d.add(ImpactBreaking, "request", "it is sent to another address: %s", orAPI(originOf(b)))
	default:
		d.add(ImpactSafe, "request", "its servers changed")
	}
}

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

func orAPI(origin string) string {
	if origin == "" {
		return "that of the whole API"
	}
	return origin
}

// changedSchemes are the ids of security schemes that are in both and are sent in
// another way: what is configured for the older does not fit the newer.
func changedSchemes(o, n []manifest.Scheme) []string {
	var out []string
	for i := range n {
		j := slices.IndexFunc(o, func(s manifest.Scheme) bool { return s.ID == n[i].ID })
		if j < 0 {
			continue
		}
		a, b := o[j], n[i]
		a.Description, b.Description, a.BearerFormat, b.BearerFormat = "", "", "", ""
		if !reflect.DeepEqual(a, b) && !moreScopes(a, b) {
			out = append(out, b.ID)
		}
	}
	return out
}

// moreScopes reports schemes that differ only in scopes that came on top.
func moreScopes(o, n manifest.Scheme) bool {
	if len(o.Flows) != len(n.Flows) {
		return false
	}
	o.Flows, n.Flows = slices.Clone(o.Flows), slices.Clone(n.Flows)
	for i := range o.Flows {
		if !among(o.Flows[i].Scopes, n.Flows[i].Scopes) {
			return false
		}
		o.Flows[i].Scopes, n.Flows[i].Scopes = nil, nil
	}
	return reflect.DeepEqual(o, n)
}

// among reports that all of list are in of.
func among(list, of []string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(of, s) })
}

// schemes notes the changed schemes that an operation could be called with.
func (d *differ) schemes(requirements [][]string, changed []string) {
	for _, id := range changed {
		if slices.ContainsFunc(requirements, func(r []string) bool { return slices.Contains(r, id) }) {
			d.add(ImpactBreaking, "authentication", "%s is sent in another way", id)
		}
	}
}

// typesOf are the types of a published schema; a number includes integers.
func typesOf(m map[string]any) []string {
	out := names(m["type"])
	if s, ok := m["type"].(string); ok {
		out = []string{s}
	}
	if m["type"] == nil {
		out = []string{"array", "boolean", "integer", "null", "number", "object", "string"}
	}
	if slices.Contains(out, "number") {
		out = append(out, "integer")
	}
	return out
}

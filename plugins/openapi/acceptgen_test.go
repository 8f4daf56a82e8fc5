package openapi

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// member and object are an object with the order of its members.
type member struct {
	name string
	v    any
}

type object []member

func (o object) get(name string) (any, bool) {
	for _, m := range o {
		if m.name == name {
			return m.v, true
		}
	}
	return nil, false
}

func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, mustJSON(m.name)...), ':')
		b = append(b, mustJSON(m.v)...)
	}
	return append(b, '}'), nil
}

// fileValue is the content of a file.
type fileValue string

func (f fileValue) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"text": string(f), "filename": "f.bin", "mediaType": "application/x-test"})
}

func mustJSON(v any) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// generator makes values that the schemas of a document allow.
type generator struct {
	d     *sourceDoc
	r     *rand.Rand
	files bool // binary values are files
	plain bool // texts of letters only
	full  bool // no nulls: a form has none
	stuck string
}

// all is what several schemas that must all hold say together.
type all struct {
	types              []string
	props              map[string][]sourceNode
	order              []string
	required           []string
	enum               [][]any
	items, extra       []sourceNode
	alts               [][]sourceNode
	discs              []sourceNode
	altDisc            []sourceNode
	bounds             map[string]json.Number
	pattern            []string
	format, media      string
	nullable, readOnly bool
	unique, closed     bool
	example            []any
	within             []string // references that are being included
	ref                string   // of the whole, where it is one
	sole               bool     // in an allOf of one
	prefix             []sourceNode
}

func (g *generator) merge(a *all, n sourceNode, depth int) {
	if depth > 24 || g.stuck != "" {
		return
	}
	if no, ok := n.v.(bool); ok && !no {
		g.stuck = "a schema that allows nothing"
		return
	}
	ref := n.get("$ref").str()
	if ref == "" {
		ref = n.get("$dynamicRef").str()
	}
	sole := a.sole
	if ref != "" {
		// Authors of 3.0 write it beside references and mean it.
		a.readOnly = a.readOnly || n.get("readOnly").truth()
		t, ok := g.d.target(n.file, ref)
		if !ok || slices.Contains(a.within, ref) {
			g.stuck = "a reference that leads nowhere or back"
			return
		}
		a.within = append(a.within, ref)
		g.merge(a, t, depth+1)
		if depth == 0 || sole {
			a.ref = ref
		}
		if v := g.d.version(); v < "3.1" {
			return
		}
	}
	switch t := n.get("type").v.(type) {
	case string:
		if a.types == nil {
			a.types = []string{t}
		}
	case []any:
		if a.types == nil {
			for _, x := range t {
				s, _ := x.(string)
				a.nullable = a.nullable || s == "null"
				if s != "null" {
					a.types = append(a.types, s)
				}
			}
		}
	}
	a.nullable = a.nullable || n.get("nullable").truth() || n.get("x-nullable").truth()
	a.readOnly = a.readOnly || n.get("readOnly").truth()
	a.unique = a.unique || n.get("uniqueItems").truth()
	if closed, ok := n.get("additionalProperties").v.(bool); ok && !closed {
		a.closed = true
	}
	props := n.get("properties")
	if r, ok := g.d.resolve(props); ok {
		props = r
	}
	for _, name := range props.keys() {
		if a.props[name] == nil {
			a.order = append(a.order, name)
		}
		a.props[name] = append(a.props[name], props.get(name))
	}
	for _, r := range n.get("required").list() {
		if r.str() != "" && !slices.Contains(a.required, r.str()) {
			a.required = append(a.required, r.str())
		}
	}
	if e, ok := n.get("enum").v.([]any); ok && len(e) > 0 {
		a.enum = append(a.enum, e)
	}
	if m, _ := n.v.(map[string]any); m != nil {
		if c, ok := m["const"]; ok {
			a.enum = append(a.enum, []any{c})
		}
	}
	for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "multipleOf", "minProperties", "maxProperties"} {
		if v, ok := n.get(k).v.(json.Number); ok {
			a.bounds[k] = v
		}
		if on, ok := n.get(k).v.(bool); ok && on {
			a.bounds[k] = "flag"
		}
	}
	if p := n.get("pattern").str(); p != "" {
		a.pattern = append(a.pattern, p)
	}
	if a.format == "" {
		a.format = n.get("format").str()
	}
	if a.media == "" {
		a.media = n.get("contentMediaType").str()
	}
	for _, k := range []string{"example", "default"} {
		if v := n.get(k).v; v != nil {
			a.example = append(a.example, v)
		}
	}
	if it := n.get("items"); it.isObject() {
		a.items = append(a.items, it)
	}
	if x := n.get("additionalProperties"); x.isObject() {
		a.extra = append(a.extra, x)
	}
	parts := n.get("allOf").list()
	a.sole = depth == 0 && len(parts) == 1 && !n.get("properties").exists()
	for _, part := range parts {
		g.merge(a, part, depth+1)
	}
	a.sole = false
	if l := n.get("prefixItems").list(); len(l) > 0 {
		a.prefix = l
	}
	if l := n.get("items").list(); len(l) > 0 {
		a.prefix = l
	}
	some := false
	for _, k := range []string{"oneOf", "anyOf"} {
		if l := n.get(k).list(); len(l) > 0 {
			some = true
			// A base that lists what includes it is done with.
			if !slices.ContainsFunc(l, func(b sourceNode) bool {
				return slices.Contains(a.within, b.get("$ref").str()) && b.get("$ref").str() != ""
			}) {
				a.alts = append(a.alts, l)
				a.altDisc = append(a.altDisc, n.get("discriminator"))
			}
		}
	}
	if disc := n.get("discriminator"); disc.exists() && !some {
		a.discs = append(a.discs, disc)
	}
}

func (g *generator) flat(nodes ...sourceNode) *all {
	a := &all{props: map[string][]sourceNode{}, bounds: map[string]json.Number{}}
	for i, n := range nodes {
		depth := 0
		if i > 0 {
			depth = 1
		}
		g.merge(a, n, depth)
	}
	return a
}

func (d *sourceDoc) version() string {
	root := sourceNode{d.src.Path, d.files[d.src.Path]}
	if v := root.get("openapi").str(); v != "" {
		return v
	}
	return "2.0"
}

// value makes a value of all of the schemas.
func (g *generator) value(depth int, nodes ...sourceNode) any {
	if depth > 9 {
		g.stuck = "required members without end"
	}
	if g.stuck != "" {
		return nil
	}
	for _, n := range nodes {
		if b, ok := n.v.(bool); ok && b {
			return "anything"
		}
	}
	a := g.flat(nodes...)
	fixed := map[string]string{} // values of discriminators
	// What has a discriminator and no alternatives is one of what includes it.
	if len(a.discs) == 1 && a.ref != "" {
		disc := a.discs[0]
		name := disc.get("propertyName").str()
		if name == "" {
			name = disc.str()
		}
		if kids := g.d.extensions(a.ref); len(kids) > 0 && name != "" {
			kid := kids[g.r.IntN(len(kids))]
			fixed[name] = g.discriminator(disc, kid.name, kid.at, name)
			// It may tell what includes it apart by another member.
			if own := kid.at.get("discriminator"); own.exists() {
				other := own.get("propertyName").str()
				if more := g.d.extensions(kid.ref); len(more) > 0 && other != name && other != "" {
					kid = more[g.r.IntN(len(more))]
					fixed[other] = g.discriminator(own, kid.name, kid.at, other)
				}
			}
			a = g.flat(kid.at)
			a.alts, a.altDisc = nil, nil
		}
	}
	for round := 0; len(a.alts) > 0 && round < 6; round++ {
		branches, disc := a.alts[0], a.altDisc[0]
		a.alts, a.altDisc = a.alts[1:], a.altDisc[1:]
		some := slices.DeleteFunc(slices.Clone(branches), func(b sourceNode) bool { t := b.get("type").str(); return t == "null" || !b.isObject() })
		if len(some) == 0 {
			continue
		}
		b := some[g.r.IntN(len(some))]
		if name := disc.get("propertyName").str(); name != "" && b.get("$ref").str() != "" {
			t, _ := g.d.resolve(b)
			fixed[name] = g.discriminator(disc, refName(b.get("$ref").str()), t, name)
		}
		if len(a.types) > 0 && len(nodes) > 0 {
			if own := g.flat(b); len(own.types) > 0 && !slices.Contains(a.types, own.types[0]) {
				a.types = nil
			}
		}
		g.merge(a, b, 1)
	}
	if a.nullable && depth > 1 && !g.full && g.r.IntN(20) == 0 {
		return nil
	}
	if v, ok := g.listed(a); ok {
		return v
	}
	if g.stuck != "" {
		return nil
	}
	var kind string
	switch {
	case len(a.types) > 0:
		kind = a.types[g.r.IntN(len(a.types))]
	case len(a.props) > 0 || len(a.extra) > 0:
		kind = "object"
	case len(a.items) > 0:
		kind = "array"
	case len(a.bounds) > 0 && (a.bounds["minimum"] != "" || a.bounds["maximum"] != ""):
		kind = "number"
	case g.files && a.format == "" && a.media == "":
		kind = "file" // OpenAPI 3.1: a part without a type is octets
	default:
		kind = "string"
	}
	switch kind {
	case "object":
		return g.object(a, fixed, depth)
	case "array":
		return g.array(a, depth)
	case "integer", "number":
		return g.number(a, kind)
	case "boolean":
		return g.r.IntN(2) == 0
	case "string", "file":
		return g.text(a, kind)
	case "null":
		return nil
	}
	g.stuck = "type " + kind
	return nil
}

// discriminator is the value that says that an object is the component.
func (g *generator) discriminator(disc sourceNode, name string, at sourceNode, member string) string {
	for _, k := range disc.get("mapping").keys() {
		if refName(disc.get("mapping", k).str()) == name {
			return k
		}
	}
	a := g.flat(at)
	for _, p := range a.props[member] {
		if own := g.flat(p); len(own.enum) > 0 && len(own.enum[len(own.enum)-1]) == 1 {
			if s, ok := own.enum[len(own.enum)-1][0].(string); ok {
				return s
			}
		}
	}
	if x := at.get("x-ms-discriminator-value").str(); x != "" {
		return x
	}
	return name
}

// listed is a value that every enum has.
func (g *generator) listed(a *all) (any, bool) {
	if len(a.enum) == 0 || len(a.types) > 0 && a.types[0] == "array" {
		return nil, false
	}
	var common []any
	for _, v := range a.enum[0] {
		in := v != nil
		for _, e := range a.enum[1:] {
			in = in && slices.ContainsFunc(e, func(o any) bool { return string(mustJSON(o)) == string(mustJSON(v)) })
		}
		if in && (len(a.types) == 0 || slices.ContainsFunc(a.types, func(t string) bool { return ofType(v, t) })) {
			common = append(common, v)
		}
	}
	if len(common) == 0 {
		g.stuck = "an enum without a value of its type"
		return nil, false
	}
	return common[g.r.IntN(len(common))], true
}

func ofType(v any, t string) bool {
	switch x := v.(type) {
	case string:
		return t == "string"
	case bool:
		return t == "boolean"
	case json.Number:
		_, err := x.Int64()
		return t == "number" || t == "integer" && err == nil
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	}
	return false
}

func (g *generator) object(a *all, fixed map[string]string, depth int) any {
	out := object{}
	for _, name := range a.order {
		need := slices.Contains(a.required, name)
		chance := 2
		if depth > 2 {
			chance = 6
		}
		value, isFixed := fixed[name]
		if !need && !isFixed && (depth > 5 || g.r.IntN(chance) != 0) {
			continue
		}
		own := g.flat(a.props[name]...)
		if own.readOnly {
			continue
		}
		if isFixed && (len(own.types) == 0 || own.types[0] == "string") {
			out = append(out, member{name, value})
			continue
		}
		v := g.value(depth+1, a.props[name]...)
		if g.stuck != "" {
			if need {
				return nil
			}
			g.stuck = ""
			continue
		}
		out = append(out, member{name, v})
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range fixed {
			if !yield(n) {
				return
			}
		}
	}) {
		if _, ok := out.get(name); !ok && a.props[name] == nil {
			out = append(out, member{name, fixed[name]})
		}
	}
	if len(a.extra) > 0 && (len(a.order) == 0 || g.r.IntN(4) == 0) && depth < 6 {
		v := g.value(depth+1, a.extra...)
		if g.stuck == "" {
			out = append(out, member{"extra", v})
		}
		g.stuck = ""
	}
	if n, ok := whole(a.bounds["minProperties"]); ok && len(out) < n {
		g.stuck = "more members than are described"
	}
	if n, ok := whole(a.bounds["maxProperties"]); ok && len(out) > n {
		g.stuck = "fewer members than were made"
	}
	return out
}

func whole(n json.Number) (int, bool) {
	f, err := n.Float64()
	return int(f), err == nil && n != ""
}

func (g *generator) array(a *all, depth int) any {
	n, _ := whole(a.bounds["minItems"])
	if high, ok := whole(a.bounds["maxItems"]); n == 0 && depth < 5 && (!ok || high > 0) {
		n = 1 + g.r.IntN(2)
		if ok {
			n = min(n, high)
		}
	}
	if n > 60 {
		g.stuck = "a long list"
		return nil
	}
	out := []any{}
	for i := range n {
		items := a.items
		if i < len(a.prefix) {
			items = a.prefix[i : i+1]
		}
		if len(items) == 0 {
			items = []sourceNode{{v: map[string]any{"type": "string"}}}
		}
		v := g.value(depth+1, items...)
		if g.stuck != "" {
			if a.bounds["minItems"] == "" || a.bounds["minItems"] == "0" {
				g.stuck = ""
			}
			return out
		}
		if a.unique && slices.ContainsFunc(out, func(o any) bool { return string(mustJSON(o)) == string(mustJSON(v)) }) {
			if low, ok := whole(a.bounds["minItems"]); ok && len(out) < low {
				g.stuck = "too few different items"
			}
			return out
		}
		if v != nil {
			out = append(out, v)
		}
	}
	return out
}

func (g *generator) number(a *all, kind string) any {
	lo, hi := 1.0, 0.0
	hasHi := false
	bound := func(name string) (float64, bool) {
		f, err := a.bounds[name].Float64()
		return f, err == nil
	}
	if f, ok := bound("minimum"); ok {
		lo = f
		if a.bounds["exclusiveMinimum"] == "flag" {
			lo++
		}
	}
	if f, ok := bound("exclusiveMinimum"); ok {
		lo = max(lo, f+1)
	}
	if f, ok := bound("maximum"); ok {
		hi, hasHi = f, true
		if a.bounds["exclusiveMaximum"] == "flag" {
			hi--
		}
	}
	if f, ok := bound("exclusiveMaximum"); ok && (!hasHi || f-1 < hi) {
		hi, hasHi = f-1, true
	}
	if hasHi && hi < lo {
		if _, low := bound("minimum"); low {
			g.stuck = "bounds without a simple number between them"
			return nil
		}
		lo = hi
	}
	v := lo
	if !hasHi || hi-lo >= 3 {
		v = lo + float64(g.r.IntN(3))
	}
	if m, ok := bound("multipleOf"); ok && m > 0 {
		k := float64(int64(v / m))
		if k*m < lo {
			k++
		}
		if m < 1 && k*m != v { // 0.01 and its like: whole numbers are multiples
			k = v / m
		}
		v = k * m
		if hasHi && v > hi {
			g.stuck = "no multiple within the bounds"
			return nil
		}
	}
	if kind == "integer" || v == float64(int64(v)) {
		return json.Number(strconv.FormatInt(int64(v), 10))
	}
	return json.Number(strconv.FormatFloat(v, 'f', -1, 64))
}

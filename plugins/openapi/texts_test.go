package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/operation"
)

// textCount looks at the published texts of a document beside the document itself.
type textCount struct {
	d               *sourceDoc
	declared, shown int
	missing         map[string][]string // by reason
	twice           []string            // two examples in one text
	facts           map[string]*fact    // by kind
}

func newTextCount(d *sourceDoc) *textCount {
	return &textCount{d: d, missing: map[string][]string{}, facts: map[string]*fact{}}
}

// tool looks at the arguments that parameters and members of the body became.
func (c *textCount) tool(op *operation.Operation, item, at sourceNode) {
	var input map[string]any
	if json.Unmarshal(op.InputSchema, &input) != nil {
		return
	}
	props, _ := input["properties"].(map[string]any)
	where := op.Method + " " + op.Path
	for _, source := range []sourceNode{item.get("parameters"), at.get("parameters")} {
		for _, p := range source.list() {
			q, ok := c.d.resolve(p)
			if !ok {
				continue
			}
			name, in := q.get("name").str(), q.get("in").str()
			i := slices.IndexFunc(op.Plan.Params, func(o operation.Param) bool { return o.Name == name && string(o.In) == in })
			if i < 0 || op.Plan.Params[i].Arg == "" {
				continue
			}
			pub, _ := props[op.Plan.Params[i].Arg].(map[string]any)
			schema, _ := c.d.resolve(q.get("schema"))
			if c.d.version() == "2.0" {
				schema = q
			}
			c.value(where+" "+name, q, schema, pub)
			c.members(where+" "+name, schema, pub, 0)
		}
	}
	b := op.Plan.Body
	rb, ok := c.d.resolve(at.get("requestBody"))
	if b == nil || !ok {
		return
	}
	mt, _ := c.d.resolve(rb.get("content", b.MediaType))
	schema, _ := c.d.resolve(mt.get("schema"))
	if b.Arg != "" {
		pub, _ := props[b.Arg].(map[string]any)
		c.members(where, schema, pub, 0)
		return
	}
	renamed := map[string]any{}
	for _, f := range b.Fields {
		if p, ok := props[f.Arg]; ok && f.Arg != "" {
			renamed[f.Name] = p
		}
	}
	c.members(where, schema, map[string]any{"properties": renamed}, 0)
}

// members looks at what both the source and the published schema describe.
func (c *textCount) members(where string, schema sourceNode, pub map[string]any, depth int) {
	schema, ok := c.d.resolve(schema)
	if !ok || pub == nil || depth > 8 {
		return
	}
	for _, part := range schema.get("allOf").list() {
		c.members(where, part, pub, depth+1)
	}
	if items, ok := pub["items"].(map[string]any); ok {
		c.members(where, schema.get("items"), items, depth+1)
	}
	props, _ := pub["properties"].(map[string]any)
	list := schema.get("properties")
	for _, name := range list.keys() {
		p, _ := props[name].(map[string]any)
		s, ok := c.d.resolve(list.get(name))
		if p == nil || !ok {
			continue
		}
		c.value(where+" "+name, list.get(name), s, p)
		c.members(where+"."+name, s, p, depth+1)
	}
}

// example is the example that a parameter or schema declares, as text.
func (c *textCount) example(n sourceNode) string {
	for _, e := range []sourceNode{n.get("example"), n.get("x-example")} {
		if e.exists() {
			return exampleWords(e.v)
		}
	}
	examples := n.get("examples")
	if l := examples.list(); len(l) > 0 {
		return exampleWords(l[0].v)
	}
	for _, k := range examples.keys() {
		e, _ := c.d.resolve(examples.get(k))
		return exampleWords(e.get("value").v)
	}
	return ""
}

// exampleWords is a scalar or the first element of a list; "" for anything else.
func exampleWords(v any) string {
	switch x := v.(type) {
	case string:
		return strings.Join(strings.Fields(x), " ")
	case json.Number:
		return x.String()
	case []any:
		if len(x) > 0 {
			if _, nested := x[0].([]any); !nested {
				return exampleWords(x[0])
			}
		}
	}
	return ""
}

// value looks at one argument or member. Booleans and closed lists need no example.
func (c *textCount) value(where string, outer, schema sourceNode, pub map[string]any) {
	text, _ := pub["description"].(string)
	said := plain(outer.get("description").str()) + plain(schema.get("description").str())
	if n := strings.LastIndex(text, "e.g. "); n > 0 && !strings.Contains(said, text[n:]) && strings.Contains(text[:n], "e.g.") {
		c.twice = append(c.twice, where+": "+text)
	}
	c.typed(where, schema, pub)
	if len(pub) > 0 {
		c.tell(where, said, schema, pub)
	}
	want := c.example(outer)
	if want == "" {
		want = c.example(schema)
	}
	if want == "" || pub["type"] == "boolean" || pub["enum"] != nil {
		return
	}
	if items, _ := pub["items"].(map[string]any); items["enum"] != nil {
		return
	}
	c.declared++
	all, err := json.Marshal(pub)
	if err != nil {
		return
	}
	quoted, _ := json.Marshal(want)
	if strings.Contains(string(all), strings.Trim(string(quoted), `"`)) || strings.Contains(text, "e.g.") || strings.Contains(strings.ToLower(text), "example") {
		c.shown++
		return
	}
	reason := "other"
	if len(want) > maxExample {
		reason = "long"
	}
	c.missing[reason] = append(c.missing[reason], where+": "+want+" | "+text)
}

// TestExamplesOfCorpus: of the examples that real specifications declare for
// parameters and members, at least 90 % are shown, each once; of their formats, allowed
// values, bounds, defaults and units at least 90 % are told. No two tools of an API have
// one description.
func TestExamplesOfCorpus(t *testing.T) {
	dir := corpusDir(t)
	all := newTextCount(nil)
	for _, s := range corpusSpecs(t, dir) {
		src := corpusSource(t, dir, s)
		d, err := readSource(src)
		if err != nil {
			continue
		}
		_, ops := compileAll(t, src, Options{})
		for _, fault := range siblings(ops) {
			t.Errorf("%s: %s", s.id, fault)
		}
		c := newTextCount(d)
		root := sourceNode{src.Path, d.files[src.Path]}
		for _, op := range ops {
			item, ok := d.resolve(root.get("paths", op.Path))
			if !ok {
				continue
			}
			c.tool(op, item, item.get(strings.ToLower(op.Method)))
		}
		if c.declared > 0 && c.shown*10 < c.declared*9 {
			t.Logf("%s: %d of %d", s.id, c.shown, c.declared)
		}
		for k, f := range c.facts {
			all.fact(k).add(s.id, f)
		}
		all.declared, all.shown = all.declared+c.declared, all.shown+c.shown
		all.twice = append(all.twice, c.twice...)
		for k, v := range c.missing {
			for _, m := range v {
				all.missing[k] = append(all.missing[k], s.id+" "+m)
			}
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(all.missing)) {
		list := all.missing[reason]
		t.Logf("%s: %d", reason, len(list))
		for i := 0; i < len(list); i += max(1, len(list)/40) {
			t.Logf("    %.400s", list[i])
		}
	}
	for _, two := range all.twice[:min(len(all.twice), 40)] {
		t.Logf("twice: %s", two)
	}
	t.Logf("%d of %d declared examples are shown (%.1f %%), %d twice", all.shown, all.declared, 100*float64(all.shown)/float64(max(all.declared, 1)), len(all.twice))
	for _, k := range slices.Sorted(maps.Keys(all.facts)) {
		f := all.facts[k]
		t.Logf("%s: %d of %d are told (%.1f %%)", k, f.told, f.declared, 100*float64(f.told)/float64(f.declared))
		for i := 0; i < len(f.missing); i += max(1, len(f.missing)/20) {
			t.Logf("    %.400s", f.missing[i])
		}
		if f.told*10 < f.declared*9 {
			t.Errorf("%s: %d of %d are told, want 90 %%", k, f.told, f.declared)
		}
	}
	if all.declared < 3000 || all.shown*10 < all.declared*9 {
		t.Errorf("%d of %d declared examples are shown, want 90 %%", all.shown, all.declared)
	}
	if len(all.twice) > 0 {
		t.Errorf("%d descriptions have two examples", len(all.twice))
	}
}

// TestPointersToDocumentation: a sentence that only says where to read on is left out;
// what stands beside it is not.
func TestPointersToDocumentation(t *testing.T) {
	for _, c := range [][2]string{
		{`Results per page (max 100). For more information, see "Using pagination in the REST API."`, "Results per page (max 100)."},
		{`Gets it. For more information, see "Media types." - raw: Returns the source.`, "Gets it. - raw: Returns the source."},
		{"Applies a hold. For more information, see [Locking](https://a.example). This is not supported on X.", "Applies a hold. This is not supported on X."},
		{"On call. For more information see the Concepts Document Scoped OAuth requires: users.read", "On call. For more information see the Concepts Document Scoped OAuth requires: users.read"},
		{"Learn more about topics.", "Learn more about topics."},
		{"One. Two. Read more here", "One. Two."},
		{"", ""},
	} {
		if got := plain(c[0]); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

// TestLostMeasure: what a description says of units and standards beyond its room is told
// in a word.
func TestLostMeasure(t *testing.T) {
	for _, c := range []struct {
		kept, rest string
		numeric    bool
		want       string
	}{
		{"How long it lasts.", " Given in seconds from now.", true, "In seconds."},
		{"How many seconds it lasts.", " Given in seconds.", true, ""},
		{"How long it lasts.", " Tokens expire after 15 minutes.", true, ""},
		{"The region.", " An ISO 639-1 code and an ISO 3166-1 code.", false, "By ISO 639-1, ISO 3166-1."},
		{"The region as ISO 3166-1.", " An ISO 3166-1 code.", false, ""},
		{"A number.", " In E.164, see RFC-3966. ISOLATED.", false, "By RFC-3966, E.164."},
		{"A number.", " As RFC says.", false, ""},
		{"A key.", " Base64 of it", false, "By Base64."},
	} {
		if got := lostMeasure(c.kept, c.rest, c.numeric); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.kept, c.rest, got, c.want)
		}
	}
}

package connector

import (
	"slices"
	"strings"
	"testing"
)

// TestShow: what is named and what is required stays, also in alternatives and in the
// members of an argument.
func TestShow(t *testing.T) {
	const schema = `{"type":"object","properties":{"id":{"type":"integer"},"q":{"type":"string"},"a.b":{"type":"string"},` +
		`"body":{"type":"object","properties":{"name":{"type":"string"},"kind":{"type":"string"},"note":{"type":"string"}},"required":["kind"]},` +
		`"one":{},"two":{}},"required":["id"],"anyOf":[{"required":["one"]},{"properties":{"two":{"type":"string"},"three":{}},"required":["two"]}],"additionalProperties":false}`
	f := func(want string, names ...string) {
		t.Helper()
		h := &Head{InputSchema: []byte(schema)}
		got := h.Show(names)
		if string(got.InputSchema) != want {
			t.Errorf("%q:\n%s\nwant\n%s", names, got.InputSchema, want)
		}
		if string(h.InputSchema) != schema {
			t.Error("the head was changed")
		}
	}
	const rest = `"one":{},"two":{}},"required":["id"],"anyOf":[{"required":["one"]},{"properties":{"two":{"type":"string"}},"required":["two"]}],"additionalProperties":false}`
	const id = `{"type":"object","properties":{"id":{"type":"integer"},`
	f(schema)
	f(id+rest, "id")
	f(id+`"q":{"type":"string"},`+rest, "q")
	f(id+`"a.b":{"type":"string"},`+rest, "a.b")
	f(id+`"body":{"type":"object","properties":{"name":{"type":"string"},"kind":{"type":"string"}},"required":["kind"]},`+rest, "body.name")
	f(id+`"body":{"type":"object","properties":{"name":{"type":"string"},"kind":{"type":"string"},"note":{"type":"string"}},"required":["kind"]},`+rest, "body.name", "body")
	f(id+rest, "unknown", "body2.x")
	h := (&Head{InputSchema: []byte(`{"type":"object","properties":{"body":{"type":"object","properties":{"a":{},"b":{}}}},"required":["body"]}`)}).Show([]string{"other"})
	if got, want := string(h.InputSchema), `{"type":"object","properties":{"body":{"type":"object","properties":{"a":{},"b":{}}}},"required":["body"]}`; got != want {
		t.Errorf("a required object of which no member is named: %s", got)
	}
}

// TestShowDeep: of objects in objects and in lists the members that are named stay, with
// those that are required; a name with dots is a property of that name where there is one.
func TestShowDeep(t *testing.T) {
	const schema = `{"type":"object","properties":{"body":{"type":"object","properties":{"filter":{"type":"object","properties":{"a":{},"b":{},"c":{}},"required":["c"]},"sort":{}}},` +
		`"searches":{"type":"array","items":{"type":"object","properties":{"q":{"type":"string"},"x":{},"deep":{"type":"array","items":{"properties":{"m":{},"n":{}}}}}},"minItems":1},"body.filter":{}}}`
	f := func(want string, names ...string) {
		t.Helper()
		h := &Head{InputSchema: []byte(schema)}
		got := h.Show(names)
		if string(got.InputSchema) != want {
			t.Errorf("%q:\n%s\nwant\n%s", names, got.InputSchema, want)
		}
		for _, n := range names {
			if !h.Lists(n) {
				t.Errorf("%s is not found", n)
			}
		}
	}
	f(`{"type":"object","properties":{"body":{"type":"object","properties":{"filter":{"type":"object","properties":{"a":{},"c":{}},"required":["c"]}}}}}`, "body.filter.a")
	f(`{"type":"object","properties":{"searches":{"type":"array","items":{"type":"object","properties":{"q":{"type":"string"},"deep":{"type":"array","items":{"properties":{"n":{}}}}}},"minItems":1}}}`, "searches.q", "searches.deep.n")
	f(`{"type":"object","properties":{"body.filter":{}}}`, "body.filter")
	h := &Head{InputSchema: []byte(schema)}
	for _, name := range []string{"", ".", "body.", "body.filter.d", "searches.q.x", "searches.deep.o", "other"} {
		if h.Lists(name) {
			t.Errorf("%q is found", name)
		}
	}
}

// TestDescribe: arguments, their members and those of lists and alternatives get the descriptions
// that are given, and the rest of the schema stays as it is.
func TestDescribe(t *testing.T) {
	const schema = `{"type":"object","properties":{"id":{"description":"The long text.","type":"integer"},"q":{"type":"string"},"any":true,` +
		`"body":{"type":"object","properties":{"note":{"type":"string","description":"A note."}},"description":"A body."},` +
		`"rows":{"type":"array","items":{"type":"object","properties":{"description":{"type":"string","description":"Of a row."}}}},"maybe":{"anyOf":[{"type":"null"},{"type":"array","items":{"properties":{"deep":{"description":"Deep."}}}}]},"a.b":{}},"required":["id"],` +
		`"anyOf":[{"properties":{"two":{"description":"Two."}}},{"required":["q"]}]}`
	f := func(texts map[string]string, old, changed string) {
		t.Helper()
		h := Head{InputSchema: []byte(schema)}
		got := string(h.Describe(texts).InputSchema)
		if want := strings.Replace(schema, old, changed, 1); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", texts, got, want)
		}
		if string(h.InputSchema) != schema {
			t.Error("the head was changed")
		}
	}
	f(nil, "", "")
	f(map[string]string{"unknown": "x", "any": "x", "body.unknown": "x", "q.x": "x", "rows.unknown.x": ""}, "", "")
	f(map[string]string{"id": ""}, `"description":"The long text.",`, "")
	f(map[string]string{"id": "number \"1\""}, `{"description":"The long text.","type":"integer"}`, `{"type":"integer","description":"number \"1\""}`)
	f(map[string]string{"q": "words"}, `"q":{"type":"string"}`, `"q":{"type":"string","description":"words"}`)
	f(map[string]string{"body.note": ""}, `,"description":"A note."`, "")
	f(map[string]string{"body": ""}, `,"description":"A body."`, "")
	f(map[string]string{"rows.description": "of it"}, "Of a row.", "of it")
	f(map[string]string{"a.b": "both"}, `"a.b":{}`, `"a.b":{"description":"both"}`)
	f(map[string]string{"two": "2"}, "Two.", "2")
	f(map[string]string{"maybe.deep": "d"}, "Deep.", "d")
}

// TestArgumentNames: the names are those that can be listed and described.
func TestArgumentNames(t *testing.T) {
	h := Head{InputSchema: []byte(`{"type":"object","properties":{"id":{},"any":true,"a\u002eb":{},"body":{"properties":{"rows":{"type":"array","items":{"properties":{"n":{}}}}}}},` +
		`"anyOf":[{"properties":{"two":{"anyOf":[{"type":"null"},{"items":{"properties":{"deep":{}}}}]}}},true]}`)}
	got := slices.Collect(h.ArgumentNames())
	if want := []string{"id", "any", "a.b", "body", "body.rows", "body.rows.n", "two", "two.deep"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, name := range got {
		if !h.Lists(name) {
			t.Errorf("%s is not listed", name)
		}
	}
	for first := range h.ArgumentNames() {
		if first != "id" {
			t.Errorf("%s is the first", first)
		}
		break
	}
}

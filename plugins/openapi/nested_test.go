package openapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/operation"
)

// TestNestedAlternatives: what has no room for its alternatives is published with their types,
// and is called an object only where it may be one.
func TestNestedAlternatives(t *testing.T) {
	for _, c := range []struct{ alternatives, want string }{
		{`[{"type": "integer"}, {"type": "string"}]`, `{"anyOf":[{"type":"string"},{"type":"integer"}],"description":"The id"}`},
		{`[{"type": "integer"}, {"type": "number"}]`, `{"type":"number","description":"The id"}`},
		{`[{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"type": "string", "enum": [""]}]`, `{"anyOf":[{"type":"string"},{"type":"object"}],"description":"The id (nested, any object)"}`},
		{`[{"type": "array", "items": {"type": "string"}}, {"type": "boolean"}]`, `{"anyOf":[{"type":"boolean"},{"type":"array","items":{"type":"object"}}],"description":"The id (nested, any object)"}`},
		{`[{"properties": {"a": {}}}, {"properties": {"b": {}}}]`, `{"type":"object","description":"The id (nested, any object)"}`},
	} {
		deep := `{"description": "The id", "anyOf": ` + c.alternatives + `}`
		for i := range maxPublishedDepth + 1 {
			deep = fmt.Sprintf(`{"type": "object", "properties": {"l%d": %s, "m%d": {"type": "string", "description": %q}}}`, i, deep, i, strings.Repeat("long ", 30))
		}
		doc := `{"openapi": "3.1.0", "info": {"title": "Deep", "version": "1"}, "paths": {"/a": {"post": {"operationId": "a", "requestBody": {"content": {"application/json": {"schema": ` + deep + `}}}, "responses": {"204": {"description": "-"}}}}}}`
		_, ops := compileAll(t, Source{Name: "deep.json", Data: []byte(doc)}, Options{})
		_, got, _ := strings.Cut(string(ops[0].InputSchema), `"l0":`)
		if got, _, _ = strings.Cut(got, `,"m0"`); got != c.want {
			t.Errorf("%s is %s, want %s", c.alternatives, got, c.want)
		}
	}
}

// TestKindsAreBounded: alternatives are searched for types up to a number of schemas.
func TestKindsAreBounded(t *testing.T) {
	for n, want := range map[int]int{maxKinds - 1: 2, maxKinds: 1} { // and the schema that they are of
		branches := make([]child, n)
		for i := range branches {
			branches[i].s = &schema{types: operation.TypeBoolean}
		}
		branches[n-1].s = &schema{types: operation.TypeString}
		p := &publisher{c: &compiler{}}
		if got := p.kinds(&schema{alts: []alternatives{{branches: branches}}}); len(got) != want {
			t.Errorf("%d alternatives: %d types, want %d", n, len(got), want)
		}
	}
}

// TestUnevaluatedProperties: where nothing of a schema holds only sometimes, it says what
// additionalProperties: false does.
func TestUnevaluatedProperties(t *testing.T) {
	for _, c := range []struct {
		body string
		ok   bool
	}{
		{`"properties": {"a": {"type": "string"}}, "unevaluatedProperties": false`, false},
		{`"allOf": [{"properties": {"a": {"type": "string"}}}], "unevaluatedProperties": false`, false},
		{`"allOf": [{"properties": {"a": {"type": "string"}}, "unevaluatedProperties": false}]`, true},
		{`"properties": {"a": {"type": "string"}}, "unevaluatedProperties": true`, true},
		{`"properties": {"a": {"type": "string"}}, "anyOf": [{"properties": {"b": {}}}, {"properties": {"c": {}}}], "unevaluatedProperties": false`, true},
		{`"properties": {"a": {"type": "string"}}, "if": {"properties": {"a": {"const": "x"}}}, "then": {"properties": {"b": {}}, "required": ["b"]}, "unevaluatedProperties": false`, true},
	} {
		doc := `{"openapi": "3.1.0", "info": {"title": "Closed", "version": "1"}, "paths": {"/a": {"post": {"operationId": "a", "requestBody": {"content": {"application/json": {"schema": {"type": "object", "properties": {"in": {"type": "object", ` + c.body + `}}}}}}, "responses": {"204": {"description": "-"}}}}}}`
		_, ops := compileAll(t, Source{Name: "closed.json", Data: []byte(doc)}, Options{})
		compiled, err := ops[0].Plan.Compile()
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Check(jsonscan.Trusted([]byte(`{"in":{"a":"y","b":1}}`))); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.body, err)
		}
	}
}

package arazzo

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func parsed(t *testing.T, workflows string) *Document {
	t.Helper()
	d, err := Parse("t.yaml", []byte("arazzo: 1.1.0\nsourceDescriptions: [{name: shop, url: x}]\nworkflows:\n"+workflows))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const petSchema = `{"type":"object","properties":{"id":{"type":"integer","minimum":1},"name":{"type":["string","null"],"description":"Of it"},
"kind":{"enum":["a"]},"tags":{"type":"array","items":{"$ref":"#/$defs/tag"}},"owner":{"$ref":"#/$defs/owner"},
"by":{"oneOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"object","properties":{"x":{"type":"integer"}}}]},
"all":{"allOf":[{"type":"object","properties":{"y":{"type":"boolean"}}},{"type":"object"}]}},
"additionalProperties":{"type":"number"},"required":["id"],"$defs":{"tag":{"type":"string"},"owner":{"type":"object","properties":{"pet":{"$ref":"#"}}}}}`

// TestOutputSchema: outputs are typed as far as the schemas of what their steps read say.
func TestOutputSchema(t *testing.T) {
	for _, tt := range []struct{ output, want string }{
		{"$response.body#/id", `{"type":["integer","null"]}`},
		{"$response.body.name", `{"description":"Of it","type":["string","null"]}`},
		{"'$response.body#/tags'", `{"items":{"type":["string","null"]},"type":["array","null"]}`},
		{"'$response.body#/tags/0'", `{"type":["string","null"]}`},
		{"'$response.body#/owner/pet/owner/pet/id'", `{"type":["integer","null"]}`},
		{"'$response.body#/kind'", `{}`},
		{"'$response.body#/by/x'", `{}`},
		{"'$response.body#/all/y'", `{"type":["boolean","null"]}`},
		{"'$response.body#/other'", `{"type":["number","null"]}`},
		{"'$response.body#/id/deeper'", `{}`},
		{"$response.header.X-Page", `{"type":["string","null"]}`},
		{"$statusCode", `{"type":["integer","null"]}`},
		{"$inputs.n", `{"type":["integer","null"]}`},
		{"$inputs.nope", `{}`},
		{"'pet {$statusCode}'", `{"type":["string","null"]}`},
		{"text", `{"type":["string","null"]}`},
		{"{a: 1, b: {c: $statusCode}}", `{"properties":{"a":{"type":["number","null"]},"b":{"properties":{"c":{"type":["integer","null"]}},"type":["object","null"]}},"type":["object","null"]}`},
		{"[1, 2]", `{"type":["array","null"]}`},
		{"{context: $response.body, selector: /tags/0, type: jsonpointer}", `{"type":["string","null"]}`},
		{"{context: $response.body, selector: '$.tags[*]', type: jsonpath}", `{"type":["array","null"]}`},
	} {
		d := parsed(t, "- workflowId: w\n  inputs: {type: object, properties: {n: {type: integer}}}\n  steps: [{stepId: a, operationId: get, outputs: {o: "+tt.output+"}}]\n  outputs: {o: $steps.a.outputs.o}\n")
		want := `{"type":"object","properties":{"o":` + tt.want + `},"required":["o"]}`
		if got := string(d.OutputSchema("w", map[string]json.RawMessage{"get": json.RawMessage(petSchema)})); got != want {
			t.Errorf("%s: %s, want %s", tt.output, got, want)
		}
	}
}

// TestOutputSchemaIsCareful: an answer that is not success is not described by the schema, an
// operation that is not known says nothing, and nested workflows pass their types on.
func TestOutputSchemaIsCareful(t *testing.T) {
	schema := func(workflows string) string {
		return string(parsed(t, workflows).OutputSchema("w", map[string]json.RawMessage{"get": json.RawMessage(petSchema)}))
	}
	const untyped, typed = `{"type":"object","properties":{"o":{}},"required":["o"]}`, `{"type":"object","properties":{"o":{"type":["integer","null"]}},"required":["o"]}`
	step := func(rest string) string {
		return "- workflowId: w\n  steps: [{stepId: a, " + rest + ", outputs: {o: $response.body#/id}}]\n  outputs: {o: $steps.a.outputs.o}\n"
	}
	for doc, want := range map[string]string{
		step("operationId: get, successCriteria: [{condition: $statusCode == 404}]"):                      untyped,
		step("operationId: get, successCriteria: [{condition: $statusCode == 200}]"):                      typed,
		step("operationId: get, successCriteria: [{context: $statusCode, condition: '^4', type: regex}]"): untyped,
		step("operationId: other"): untyped,
		"- workflowId: w\n  steps: [{stepId: a, workflowId: v}]\n  outputs: {o: $steps.a.outputs.o}\n- workflowId: v\n  steps: [{stepId: b, operationId: get, outputs: {o: $response.body#/id}}]\n  outputs: {o: $steps.b.outputs.o}\n":                           typed,
		"- workflowId: w\n  steps: [{stepId: a, workflowId: v, outputs: {p: $outputs.o}}]\n  outputs: {o: $steps.a.outputs.p}\n- workflowId: v\n  steps: [{stepId: b, operationId: get, outputs: {o: $response.body#/id}}]\n  outputs: {o: $steps.b.outputs.o}\n": typed,
		"- workflowId: w\n  steps: [{stepId: a, operationId: get}]\n  outputs: {o: $workflows.v.outputs.o}\n- workflowId: v\n  steps: [{stepId: b, operationId: get, outputs: {o: $response.body#/id}}]\n  outputs: {o: $steps.b.outputs.o}\n":                    typed,
	} {
		if got := schema(doc); got != want {
			t.Errorf("%s%s, want %s", doc, got, want)
		}
	}
}

// TestOutputSchemaBounds tries each bound at the limit and one past it.
func TestOutputSchemaBounds(t *testing.T) {
	d := parsed(t, "- workflowId: w\n  steps: [{stepId: a, operationId: get, outputs: {o: $response.body}}]\n  outputs: {o: $steps.a.outputs.o}\n")
	schema := func(response string) string {
		return string(d.OutputSchema("w", map[string]json.RawMessage{"get": json.RawMessage(response)}))
	}
	described := func(n int) string { return `{"type":"string","description":"` + strings.Repeat("x", n) + `"}` }
	over := len(schema(described(1))) - 1
	if got := schema(described(maxOutputSchema - over)); len(got) != maxOutputSchema {
		t.Errorf("%d bytes at the limit", len(got))
	}
	if got := schema(described(maxOutputSchema - over + 1)); got != `{"type":"object","properties":{"o":{}},"required":["o"]}` {
		t.Errorf("past it: %.100s", got)
	}
	nested := func(n int) string {
		return strings.Repeat(`{"type":"array","items":`, n) + `{"type":"boolean"}` + strings.Repeat("}", n)
	}
	if got := schema(nested(maxTyped)); !strings.Contains(got, "boolean") {
		t.Errorf("as deep as it may be: %s", got)
	}
	if got := schema(nested(maxTyped + 1)); strings.Contains(got, "boolean") {
		t.Errorf("too deep: %s", got)
	}
	refs := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"r%d":{"$ref":"#/r%d"}`, i, i+1)
		}
		return fmt.Sprintf(`{"$ref":"#/r0"%s,"r%d":{"type":"boolean"}}`, b.String(), n)
	}
	if got := schema(refs(maxFollowed - 2)); !strings.Contains(got, "boolean") {
		t.Errorf("as many references as there may be: %s", got)
	}
	if got := schema(refs(maxFollowed + 1)); strings.Contains(got, "boolean") {
		t.Errorf("too many: %s", got)
	}
	if got := schema(`{"$ref":"#"}`); got != `{"type":"object","properties":{"o":{}},"required":["o"]}` {
		t.Errorf("a reference to itself: %s", got)
	}
}

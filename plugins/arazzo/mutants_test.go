package arazzo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/plugins/arazzo"
)

// rich has most constructs of a document.
const rich = `arazzo: 1.1.0
$self: https://shop.test/w.yaml
info: {title: T, version: '1'}
sourceDescriptions: [{name: shop, url: shop.yaml, type: openapi}]
components:
  parameters: {size: {name: size, in: query, value: 3}}
  inputs: {page: {type: object, properties: {n: {type: integer}}}}
  successActions: {done: {name: done, type: end, criteria: [{condition: $statusCode == 200}]}}
  failureActions: {again: {name: again, type: retry, retryAfter: 0.001, retryLimit: 2, criteria: [{context: $statusCode, type: regex, condition: '^5'}]}}
workflows:
- workflowId: w
  summary: S
  inputs: {type: object, properties: {n: {type: integer, default: 2}}}
  parameters: [{name: page, in: query, value: 1}]
  successActions: [{reference: $components.successActions.done}]
  failureActions: [{reference: $components.failureActions.again}]
  steps:
  - stepId: a
    operationId: get
    description: D
    timeout: 500
    parameters: [{name: id, in: path, value: $inputs.n}, {reference: $components.parameters.size, value: 4}]
    requestBody:
      contentType: application/json
      payload: {a: 'x{$inputs.n}', b: [1, $inputs.n]}
      replacements: [{target: /a, value: z}, {target: '$.b[*]', targetSelectorType: jsonpath, value: 7}]
    successCriteria:
    - condition: $statusCode == 200 && $response.body#/name == 'rex'
    - {context: $response.body, type: jsonpath, condition: '$.pets[?@.id==7]'}
    - {context: $response.body#/name, type: {type: regex}, condition: '^{$response.body#/name}$'}
    onSuccess: [{name: next, type: goto, stepId: b, criteria: [{condition: $statusCode == 200}]}]
    onFailure: [{name: out, type: end}]
    outputs: {id: $response.body#/pets/0/id, all: {context: $response.body, selector: '$..id', type: jsonpath}}
  - {stepId: b, operationPath: '{$sourceDescriptions.shop.url}#/paths/~1pets~1{id}/get', dependsOn: [a], outputs: {u: $url}}
  - {stepId: c, workflowId: v, parameters: [{name: k, value: $steps.a.outputs.id}], outputs: {o: $outputs.x}}
  outputs: {id: $steps.a.outputs.id, text: 'n={$inputs.n}', o: $steps.c.outputs.o}
- workflowId: v
  inputs: {type: object, properties: {k: {}}}
  steps: [{stepId: a, operationId: part, outputs: {x: $inputs.k}}]
  outputs: {x: $steps.a.outputs.x}
`

// TestMutants: a document in which one value is another one, or none, is refused or runs to
// an end; whatever it is, nothing panics, which would be the end of a node.
func TestMutants(t *testing.T) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(rich), &root); err != nil {
		t.Fatal(err)
	}
	refused, failed, worked := 0, 0, 0
	try := func(what string) {
		t.Helper()
		text, err := yaml.Marshal(&root)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if v := recover(); v != nil {
				t.Errorf("%s: panic: %v\n%s", what, v, text)
			}
		}()
		d, err := arazzo.Parse("t.yaml", text)
		if err != nil {
			refused++
			return
		}
		operations := map[string]arazzo.Operation{}
		for _, s := range d.Operations() {
			operations[s.Operation] = arazzo.Operation{Tool: "tool", Method: "GET", Path: "/x", ReadOnly: true}
		}
		p, err := d.Plan(operations)
		if err != nil {
			refused++
			return
		}
		for _, w := range d.Workflows {
			if _, err := p.Run(t.Context(), w.ID, map[string]any{}, &shop{}); err != nil {
				failed++
			} else {
				worked++
			}
		}
	}
	try("as it is")
	if worked != 2 {
		t.Fatalf("of the document itself %d were refused, %d failed, %d worked", refused, failed, worked)
	}
	others := []yaml.Node{
		{Kind: yaml.ScalarNode, Tag: "!!str", Value: "", Style: yaml.DoubleQuotedStyle},
		{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"},
		{Kind: yaml.ScalarNode, Tag: "!!int", Value: "-1"},
		{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"},
		{Kind: yaml.ScalarNode, Tag: "!!str", Value: "$", Style: yaml.DoubleQuotedStyle},
		{Kind: yaml.ScalarNode, Tag: "!!str", Value: "{$inputs.n}", Style: yaml.DoubleQuotedStyle},
		{Kind: yaml.ScalarNode, Tag: "!!str", Value: " ", Style: yaml.DoubleQuotedStyle},
		{Kind: yaml.SequenceNode, Tag: "!!seq"},
		{Kind: yaml.MappingNode, Tag: "!!map"},
	}
	var visit func(n *yaml.Node, path string)
	visit = func(n *yaml.Node, path string) {
		for i, c := range n.Content {
			at := path + "/"
			if n.Kind == yaml.MappingNode {
				if i%2 == 0 {
					continue // a name
				}
				at += n.Content[i-1].Value
			}
			for k := range others {
				n.Content[i] = &others[k]
				try(at + " is " + others[k].Tag + " " + others[k].Value)
			}
			n.Content[i] = c
			visit(c, at)
		}
		for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 { // each member is left out
			was := n.Content
			n.Content = append(append([]*yaml.Node{}, was[:i]...), was[i+2:]...)
			try("without " + path + "/" + was[i].Value)
			n.Content = was
		}
	}
	visit(&root, "")
	t.Logf("%d were refused, %d runs failed, %d worked", refused, failed, worked)
	if worked < 100 || refused < 100 {
		t.Error("the mutations are all of one kind")
	}
}

// panics is a caller with a fault.
type panics struct{}

func (panics) Call(context.Context, *arazzo.Call) (*arazzo.Response, error) {
	panic(errors.New("a fault"))
}

// TestPanicIsOfTheCaller: a fault in one of several steps that run at once comes out where the
// run began, with its stack: there is somebody who keeps it from ending the process.
func TestPanicIsOfTheCaller(t *testing.T) {
	p := plan(t, document("steps:\n- {stepId: a, operationId: get}\n- {stepId: b, operationId: part}"))
	defer func() {
		text, ok := recover().(string)
		if !ok || !strings.Contains(text, "a fault, in step ") || !strings.Contains(text, "mutants_test.go") {
			t.Errorf("recovered %v", text)
		}
	}()
	_, err := p.Run(t.Context(), "w", nil, panics{})
	t.Errorf("the run ended with %v", err)
}

package gateway_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/registry"
)

const orderDocument = `arazzo: 1.0.1
info: {title: Orders, version: '1'}
sourceDescriptions: [{name: api, url: api.yaml, type: openapi}]
workflows:
- workflowId: order-item
  summary: Order an item
  description: Look for an item and order it.
  inputs: {type: object, required: [id], properties: {id: {type: integer}}}
  steps:
  - stepId: find
    operationId: getItem
    parameters: [{name: id, in: path, value: $inputs.id}, {name: Authorization, in: header, value: Basic Og==}]
    outputs: {name: $response.body#/name}
  - stepId: list
    operationId: listItems
    outputs: {first: $response.body#/0/id, kind: $response.header.content-type}
  - stepId: order
    operationId: createOrder
    successCriteria: [{condition: $statusCode == 201 && $response.body#/order == 7}]
    outputs: {order: $response.body#/order}
  outputs: {name: $steps.find.outputs.name, first: $steps.list.outputs.first, kind: $steps.list.outputs.kind, order: $steps.order.outputs.order}
- workflowId: order-missing
  steps:
  - {stepId: order, operationId: createOrder}
  - {stepId: find, operationId: getItem, parameters: [{name: id, in: path, value: 404}]}
- workflowId: find-missing
  steps:
  - stepId: find
    operationId: getItem
    parameters: [{name: id, in: path, value: 404}]
    successCriteria: [{condition: $statusCode == 404}]
    outputs: {why: $response.body#/error, url: $url}
  outputs: {why: $steps.find.outputs.why, url: $steps.find.outputs.url}
- workflowId: wait
  steps: [{stepId: s, operationId: slow}]
- workflowId: one-fails
  steps:
  - {stepId: wait, operationId: slow}
  - {stepId: find, operationId: getItem, parameters: [{name: id, in: path, value: 404}]}
- workflowId: limited-again
  steps: [{stepId: s, operationId: limited, onFailure: [{name: r, type: retry, retryAfter: 500}]}]
- workflowId: wrong
  steps: [{stepId: find, operationId: getItem, parameters: [{name: id, in: query, value: 1}]}]
`

// documented binds the workflows of orderDocument as tools.
func documented(names ...string) func(*registry.Toolset) {
	return func(b *registry.Toolset) {
		for _, id := range names {
			b.Workflows = append(b.Workflows, registry.Workflow{Name: strings.ReplaceAll(id, "-", "_"), ID: id, Document: orderDocument, Calls: []registry.CalledTool{
				{Name: "getItem", Connector: "api", Method: "GET", Path: "/items/{id}"},
				{Name: "listItems", Connector: "api", Method: "GET", Path: "/items"},
				{Name: "createOrder", Connector: "api", Method: "POST", Path: "/orders"},
				{Name: "slow", Connector: "api", Method: "GET", Path: "/slow"},
				{Name: "limited", Connector: "api", Method: "GET", Path: "/limited"},
			}})
		}
	}
}

// TestDocumentWorkflow calls workflows of a document with a client that is not ours.
func TestDocumentWorkflow(t *testing.T) {
	s, up := serveBatch(t, nil, documented("order-item", "order-missing", "find-missing", "limited-again", "wrong"))
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		c := connect(t, s, version)
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list.Tools, func(x *mcp.Tool) bool { return x.Name == "order_item" })
		if i < 0 {
			t.Fatal("the workflow is not listed")
		}
		tool := list.Tools[i]
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil || tool.Description != "Look for an item and order it." || !strings.Contains(string(schema), `"id":{"type":"integer"}`) || tool.Annotations.ReadOnlyHint {
			t.Errorf("%+v %s", tool, schema)
		}
		for _, test := range []struct {
			name, tool string
			given      obj
			want       []string
			fails      bool
		}{
			{"three steps", "order_item", obj{"id": 3}, []string{"item 3", "application/json", "7"}, false},
			{"arguments", "order_item", obj{"id": "x"}, []string{"the arguments of order_item are not valid", "/id"}, true},
			{"a step fails", "order_missing", obj{}, []string{"step find of workflow order-missing failed: HTTP 404", "no such item", "2 calls ended: create_order (changed data: do not repeat it blindly), get_item (failed)"}, true},
			{"an error that is expected", "find_missing", obj{}, []string{"no such item", up.URL + "/items/404"}, false},
			{"Retry-After is before retryAfter", "limited_again", obj{}, []string{"{}"}, false},
			{"a parameter that is not there", "wrong", obj{}, []string{`GET /items/{id} has no query parameter "id"`}, true},
		} {
			text, failed := callBatch(t, c, test.tool, test.given)
			for _, want := range test.want {
				if failed != test.fails || !strings.Contains(text, want) {
					t.Errorf("%s, %s: failed %t: %s\nwant %q", version, test.name, failed, text, want)
				}
			}
		}
	}
	writes := 0
	for _, r := range up.Requests() {
		if r.Method == http.MethodPost {
			writes++
		}
	}
	if writes != 4 {
		t.Errorf("%d orders by 2 × 2 calls", writes)
	}
}

// TestDocumentWaits: a workflow of which an operation is gone is not listed.
func TestDocumentWaits(t *testing.T) {
	s, _ := serveBatch(t, nil, func(b *registry.Toolset) {
		documented("order-item")(b)
		b.Workflows[0].Calls[0].Path = "/gone/{id}"
	})
	list, err := connect(t, s, "2026-07-28").ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(list.Tools, func(x *mcp.Tool) bool { return x.Name == "order_item" }) {
		t.Error("a workflow is listed of which an operation is gone")
	}
}

// TestDocumentCutsOff: a step that only reads ends when one beside it failed.
func TestDocumentCutsOff(t *testing.T) {
	s, _ := serveBatch(t, nil, func(b *registry.Toolset) {
		documented("one-fails")(b)
		anHour(b)
	})
	text, failed := callBatch(t, connect(t, s, "2025-11-25"), "one_fails", obj{})
	if !failed || !strings.Contains(text, "step find of workflow one-fails failed: HTTP 404") {
		t.Errorf("failed %t: %s", failed, text)
	}
}

// TestDocumentEnds: the time limit of the toolset ends a run, and says what was called.
func TestDocumentEnds(t *testing.T) {
	s, _ := serveBatch(t, nil, func(b *registry.Toolset) {
		documented("wait")(b)
		b.Answers = &registry.Answers{TimeoutMilliseconds: 200}
	})
	text, failed := callBatch(t, connect(t, s, "2026-07-28"), "wait", obj{})
	if !failed || !strings.Contains(text, "did not end within the 200ms") || !strings.Contains(text, "slow (failed)") {
		t.Errorf("failed %t: %s", failed, text)
	}
}

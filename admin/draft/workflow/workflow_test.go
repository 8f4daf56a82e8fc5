package workflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

var shop = []Operation{
	{registry.SelectedTool{Connector: "shop", Method: "GET", Path: "/pets/{id}"}, "getPet", "get_pet", true, operation.Annotations{ReadOnly: true}, nil},
	{registry.SelectedTool{Connector: "shop", Method: "POST", Path: "/orders"}, "order", "create_order", true, operation.Annotations{}, nil},
	{registry.SelectedTool{Connector: "bank", Method: "POST", Path: "/orders"}, "order", "bank_order", true, operation.Annotations{}, nil},
	{registry.SelectedTool{Connector: "shop", Method: "GET", Path: "/two"}, "getTwo", "get_two", true, operation.Annotations{ReadOnly: true}, nil},
	{registry.SelectedTool{Connector: "shop", Method: "PUT", Path: "/two"}, "putTwo", "put_two", true, operation.Annotations{}, nil},
	{registry.SelectedTool{Connector: "bank", Method: "GET", Path: "/off"}, "off", "off", false, operation.Annotations{}, nil},
}

func document(id, step string) string {
	return "arazzo: 1.0.1\nsourceDescriptions: [{name: shop, url: x}, {name: other, url: y}]\nworkflows:\n- workflowId: " + id + "\n  summary: Buy\n  steps: [{stepId: a, " + step + "}]\n"
}

// faults are the texts of an error and its parts.
func faults(err error) string {
	text := fmt.Sprint(err)
	if p := problem.As(err); p != nil {
		for _, part := range p.Parts {
			text += "\n" + part.Error()
		}
	}
	return text
}

func TestResolve(t *testing.T) {
	for _, tt := range []struct{ step, want, fault string }{
		{"operationId: getPet", "shop GET /pets/{id}", ""},
		{"operationId: $sourceDescriptions.shop.order", "shop POST /orders", ""},
		{"operationId: shop.order", "shop POST /orders", ""},
		{"operationId: order", "", "is an operation of the connectors shop and bank"},
		{"operationId: other.getPet", "shop GET /pets/{id}", ""},
		{"operationId: getPat", "", "f.yaml, line 6, /workflows/0/steps/0: step a: the toolset has no operation \"getPat\" (did you mean getPet?)"},
		{"operationPath: '{$sourceDescriptions.shop.url}#/paths/~1pets~1{id}/get'", "shop GET /pets/{id}", ""},
		{"operationPath: '{$sourceDescriptions.shop.url}#/paths/~1orders/post'", "shop POST /orders", ""},
		{"operationPath: '{$sourceDescriptions.other.url}#/paths/~1orders/post'", "", "is an operation of the connectors"},
		{"operationPath: '{$sourceDescriptions.shop.url}#/paths/~1pets/get'", "", "has no operation"},
		{"operationPath: nonsense", "", "has no operation"},
		{"operationPath: '{$sourceDescriptions.shop.url}#/paths/~1pets~1{id}'", "shop GET /pets/{id}", ""},
		{"operationPath: '{$sourceDescriptions.shop.url}#/paths/~1pets~1%7Bid%7D/get'", "shop GET /pets/{id}", ""},
		{"operationPath: '{$sourceDescriptions.shop.url}#/paths/~1two'", "", "has the operations GET and PUT (write {$sourceDescriptions.shop.url}#/paths/~1two/get)"},
		{"operationPath: '{$sourceDescriptions.shop.url}#/paths/~1two/put'", "shop PUT /two", ""},
		{"operationPath: '{$sourceDescriptions.shop.url}#/paths/'", "", "has no operation"},
	} {
		got, err := Add(nil, "f.yaml", document("buy", tt.step), nil, shop)
		if tt.fault != "" {
			if !strings.Contains(faults(err), tt.fault) {
				t.Errorf("%s: %s, want %s", tt.step, faults(err), tt.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %s", tt.step, faults(err))
			continue
		}
		if c := got[0].Calls[0]; c.Connector+" "+c.Method+" "+c.Path != tt.want {
			t.Errorf("%s: %+v, want %s", tt.step, c, tt.want)
		}
	}
}

func TestAdd(t *testing.T) {
	one, err := Add(nil, "f.yaml", document("buy it!", "operationId: getPet"), nil, shop)
	if err != nil || len(one) != 1 || one[0].Name != "buy_it_" {
		t.Fatal(one, err)
	}
	again, err := Add(one, "f.yaml", document("buy it!", "operationId: shop.order"), nil, shop)
	if err != nil || len(again) != 1 || again[0].Calls[0].Path != "/orders" || one[0].Calls[0].Path != "/pets/{id}" {
		t.Error("the workflow of the same name is not replaced, or what there was is changed", again, err)
	}
	for _, other := range []string{"Buy", "buy.it"} { // workflowIds are case-sensitive, names of tools are not
		two := document("buy", "operationId: getPet") + strings.SplitAfter(document(other, "operationId: getPet"), "workflows:\n")[1]
		if other == "buy.it" {
			two = strings.Replace(two, "workflowId: buy\n", "workflowId: buy_it\n", 1)
		}
		if _, err := Add(nil, "f.yaml", two, nil, shop); !problem.Is(err, problem.Conflict) || !strings.Contains(faults(err), "--only "+other) {
			t.Errorf("two workflows of one name: %v", err)
		}
		if got, err := Add(nil, "f.yaml", two, []string{other}, shop); err != nil || len(got) != 1 || got[0].ID != other {
			t.Errorf("one of them: %v %v", got, err)
		}
	}
	if _, err := Add(nil, "f.yaml", document("buy", "operationId: getPet"), []string{"sell"}, shop); err == nil {
		t.Error("a workflow that the document does not have is accepted")
	}
	if _, err := Add(nil, "f.yaml", document("get_pet", "operationId: getPet"), nil, shop); !problem.Is(err, problem.Conflict) {
		t.Errorf("the name of another tool: %v", err)
	}
	for n, want := range map[int]int{maxToolName: maxToolName, maxToolName + 1: maxToolName} {
		list, err := Add(nil, "f.yaml", document(strings.Repeat("n", n), "operationId: getPet"), nil, shop)
		if err != nil || len(list[0].Name) != want {
			t.Errorf("an id of %d bytes: %v %v", n, list, err)
		}
	}
}

// TestWaits: a workflow whose operation is gone or disabled is not in a release, and says
// what it waits for.
func TestWaits(t *testing.T) {
	list, err := Add(nil, "f.yaml", document("buy", "operationId: getPet"), nil, shop)
	if err != nil {
		t.Fatal(err)
	}
	if got := Servable(list, []bool{false}, shop); len(got) != 1 {
		t.Errorf("%d are served", len(got))
	}
	if got := Servable(list, []bool{true}, shop); len(got) != 0 {
		t.Errorf("disabled: %d are served", len(got))
	}
	for name, operations := range map[string][]Operation{"gone": shop[1:], "disabled": {{shop[0].SelectedTool, "getPet", "get_pet", false, operation.Annotations{}, nil}}} {
		if got := Servable(list, []bool{false}, operations); len(got) != 0 {
			t.Errorf("%s: %d are served", name, len(got))
		}
		w, err := Show(&list[0], operations, false)
		if err != nil || w.State != Waiting || len(w.Missing) != 1 || w.Missing[0] != "GET /pets/{id} of shop" || !strings.Contains(w.Plan, "getPet, which the toolset does not have") {
			t.Errorf("%s: %+v %v", name, w, err)
		}
	}
	w, err := Show(&list[0], shop, true)
	if err != nil || w.State != Ready || w.Document == "" || w.Description != "Buy" || !strings.Contains(w.Plan, "get_pet, GET /pets/{id}") {
		t.Errorf("%+v %v", w, err)
	}
}

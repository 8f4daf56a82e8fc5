package workflow

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/registry"
)

// TestSave: a script becomes a tool that calls what its text, its run and its author name,
// with arguments in the place of values.
func TestSave(t *testing.T) {
	const code = `const pet = await tools.shop.get_pet({id: 7}); return {name: pet.name, kind: "dog"}`
	run := &registry.ScriptRun{Code: code, Calls: []registry.CalledTool{{Name: "shop.get_pet", Connector: "shop", Method: "GET", Path: "/pets/{id}"}}, Shape: json.RawMessage(`{"type":"array"}`)}
	list, err := Save(nil, &NewScript{
		Name: "pet_of", Description: "Reads a pet.", Code: code, Run: run,
		Parameters: []Parameter{{Name: "id", Value: json.RawMessage("7"), Description: "Of the pet"}, {Name: "kind", Value: json.RawMessage(`"dog"`)}},
	}, shop)
	if err != nil {
		t.Fatal(err)
	}
	s := list[0].Script
	if want := `const pet = await tools.shop.get_pet({id: args.id}); return {name: pet.name, kind: args.kind}`; s.Code != want {
		t.Errorf("code %s", s.Code)
	}
	for got, want := range map[string]string{
		string(s.InputSchema):     `{"additionalProperties":false,"properties":{"id":{"default":7,"description":"Of the pet","type":"number"},"kind":{"default":"dog","type":"string"}},"type":"object"}`,
		string(s.OutputSchema):    `{"type":"object","properties":{"result":{"type":"array"}}}`,
		string(s.Example):         `{"id":7,"kind":"dog"}`,
		fmt.Sprint(list[0].Calls): `[{shop.get_pet shop GET /pets/{id}}]`,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if shown := ShowScript(&list[0], shop, true); shown.State != Ready || shown.Calls[0].Tool != "get_pet" || shown.Hash != string(s.Hash()) || shown.Code == "" {
		t.Errorf("%+v", shown)
	}
	if shown := ShowScript(&list[0], shop[1:], false); shown.State != Waiting || len(shown.Missing) != 1 || shown.Code != "" {
		t.Errorf("%+v", shown)
	}
	again, err := Save(list, &NewScript{Name: "Pet_Of", Description: "x", Code: `return tools.shop.get_pet({id: args.id})`}, shop)
	if err != nil || len(again) != 1 || string(again[0].Script.InputSchema) != `{"additionalProperties":false,"properties":{"id":{}},"required":["id"],"type":"object"}` {
		t.Errorf("%+v %v", again, err)
	}
}

// TestSaveAsModelsWrite: what run_code runs can be saved, in a code block and with export.
func TestSaveAsModelsWrite(t *testing.T) {
	for code, want := range map[string]string{
		"```js\nreturn tools.shop.get_pet({id: args.id})\n```\n":  "\nreturn tools.shop.get_pet({id: args.id})\n",
		"export default async ({id}) => tools.shop.get_pet({id})": "export default async ({id}) => tools.shop.get_pet({id})",
	} {
		list, err := Save(nil, &NewScript{Name: "pet_of", Description: "x", Code: code}, shop)
		if err != nil || list[0].Script.Code != want || len(list[0].Calls) != 1 || !strings.Contains(string(list[0].Script.InputSchema), `"required":["id"]`) {
			t.Errorf("%q: %+v %v", code, list, err)
		}
	}
}

func TestSaveRefuses(t *testing.T) {
	documents, err := Add(nil, "f.yaml", document("buy", "operationId: getPet"), nil, shop)
	if err != nil {
		t.Fatal(err)
	}
	many := func(n int) (out []Parameter) {
		for i := range n {
			out = append(out, Parameter{Name: fmt.Sprintf("p%d", i), Value: json.RawMessage("7")})
		}
		return out
	}
	const good = `return tools.shop.get_pet({id: 7})`
	for _, tt := range []struct {
		name string
		in   NewScript
		want string
	}{
		{"a name that is none", NewScript{Name: "a b", Description: "x", Code: good}, `the name "a b" must start with a letter`},
		{"the name of a tool", NewScript{Name: "get_pet", Description: "x", Code: good}, "a tool of the same name as GET /pets/{id}"},
		{"the name of a document", NewScript{Name: "buy", Description: "x", Code: good}, "is a workflow of a document"},
		{"no description", NewScript{Name: "a", Code: good}, "the tool needs a description"},
		{"no tool", NewScript{Name: "a", Description: "x", Code: "return 1"}, "the script calls no tool"},
		{"a tool that is not there", NewScript{Name: "a", Description: "x", Code: "\n tools.shop.get_pt({})"}, "line 2, column 2, /code: the toolset has no tool \"shop.get_pt\" (did you mean tools.shop.get_pet?)"},
		{"a tool of another connector", NewScript{Name: "a", Description: "x", Code: "tools.bank.get_pet({})"}, "has no tool \"bank.get_pet\""},
		{"a disabled tool", NewScript{Name: "a", Description: "x", Code: "tools.bank.off({})"}, "the tool off is disabled"},
		{"a workflow", NewScript{Name: "a", Description: "x", Code: "tools.workflow.buy({})"}, "is a workflow: a tool of a script calls only operations"},
		{"a run that called another", NewScript{Name: "a", Description: "x", Code: good, Run: &registry.ScriptRun{Other: "buy"}}, "the script calls buy, which is not an operation"},
		{"tools found at run time", NewScript{Name: "a", Description: "x", Code: "const s = tools.shop; s.get_pet({})"}, "what it calls cannot be seen (write tools.GROUP.NAME, or say what it calls"},
		{"tools of its own", NewScript{Name: "a", Description: "x", Code: "const tools = {}; tools.shop.get_pet({})"}, "something of its own that is named tools"},
		{"a value that is not there", NewScript{Name: "a", Description: "x", Code: good, Parameters: []Parameter{{Name: "id", Value: json.RawMessage("8")}}}, "the script has no value 8"},
		{"a value that is not a scalar", NewScript{Name: "a", Description: "x", Code: good, Parameters: []Parameter{{Name: "id", Value: json.RawMessage("[7]")}}}, "is a text, a number, true or false"},
		{"a parameter twice", NewScript{Name: "a", Description: "x", Code: "tools.shop.get_pet({id: 7, x: 8})", Parameters: []Parameter{{Name: "id", Value: json.RawMessage("7")}, {Name: "id", Value: json.RawMessage("8")}}}, "is there twice"},
		{"too many parameters", NewScript{Name: "a", Description: "x", Code: good, Parameters: many(maxParameters + 1)}, "33 parameters, at most 32"},
		{"as many parameters as there may be", NewScript{Name: "a", Description: "x", Code: "tools.shop.get_pet({id: [" + strings.Repeat("7, ", 3) + "]})", Parameters: many(maxParameters)}, "the script has no value 7"},
		{"a schema of no object", NewScript{Name: "a", Description: "x", Code: good, Inputs: json.RawMessage(`{"type":"array"}`)}, "expected a JSON Schema of type object"},
		{"both schema and parameters", NewScript{Name: "a", Description: "x", Code: good, Inputs: json.RawMessage(`{"type":"object"}`), Parameters: []Parameter{{Name: "id", Value: json.RawMessage("7")}}}, "give one or the other"},
		{"nothing", NewScript{Name: "a", Description: "x", Calls: []string{"shop.get_pet"}}, "the script has 0 bytes"},
	} {
		if _, err := Save(documents, &tt.in, shop); err == nil || !strings.Contains(faults(err), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	if list, err := Save(nil, &NewScript{Name: "a", Description: "x", Code: "const s = tools.shop; return s.get_pet({})", Calls: []string{"shop.get_pet"}}, shop); err != nil || len(list[0].Calls) != 1 {
		t.Errorf("calls that are named: %v %v", list, err)
	}
}

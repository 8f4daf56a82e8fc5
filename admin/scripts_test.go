package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/registry"
)

// postRun reports a run of run_code, as a gateway does.
func (w *world) postRun(seq uint64, toolsetID, outcome string, run *registry.ScriptRun, at time.Time) {
	w.t.Helper()
	c := registry.UsageCall{
		Workspace: "default", Toolset: toolsetID, Tool: "run_code", At: at, Outcome: outcome, Credential: "none", CallerKind: "anonymous", Script: string(registry.DigestOf([]byte("x"))),
	}
	if run != nil {
		c.Captured = true
		c.Run, _ = json.Marshal(run)
	}
	r := &registry.UsageReport{Epoch: "01JC0000000000000000000000", Sequence: seq, Oldest: 1, Minute: time.Now().Unix() / 60 * 60, Posted: time.Now(), Calls: []registry.UsageCall{c}}
	if _, err := w.srv.Usage().PostUsage(w.t.Context(), r); err != nil {
		w.t.Fatal(err)
	}
}

// TestScripts: a run that was kept becomes a tool, which is listed, read, found, renamed,
// disabled, exported, imported and removed as any other; what was not kept says why.
func TestScripts(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	at := "/v1/toolsets/" + ts.ID
	const code = `const p = await tools.pets.get_pet({petId: 7}); return [p]`
	group := strings.ReplaceAll(ts.Connectors[0].Name, "-", "_")
	script := strings.ReplaceAll(code, "tools.pets.", "tools."+group+".")
	tool := want[toolset.Tool](w, w.do("GET", at+"/tools/get_pet", nil), 200)
	run := &registry.ScriptRun{
		Code: script, Shape: json.RawMessage(`{"type":"array"}`),
		Calls: []registry.CalledTool{{Name: group + ".get_pet", Connector: tool.Operation.Connector, Method: tool.Operation.Method, Path: tool.Operation.Path}},
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	w.postRun(1, ts.ID, "ok", run, now)
	w.postRun(2, ts.ID, "ok", nil, now)
	w.postRun(3, ts.ID, "tool_error", nil, now)
	w.postRun(4, ts.ID, "ok", &registry.ScriptRun{Withheld: registry.WithheldPersonal}, now)
	w.postRun(5, ts.ID, "ok", &registry.ScriptRun{Withheld: registry.WithheldRoom}, now)
	w.postRun(6, ts.ID, "ok", run, now.Add(-8*24*time.Hour))
	for id, says := range map[string]string{
		"call_2": "was not kept: calls of pets are not all captured", "call_3": "only one that succeeded", "call_4": "looks like a secret",
		"call_5": "captured too much", "call_6": "older than 7 days", "call_99": "no call",
	} {
		a := w.do("POST", at+"/scripts", map[string]any{"name": "a_pet", "run": id, "description": "Reads a pet."})
		if a.StatusCode/100 != 4 || !strings.Contains(a.body, says) {
			t.Errorf("%s: %d %s, want %s", id, a.StatusCode, a.body, says)
		}
	}
	body := map[string]any{"name": "a_pet", "run": "call_1", "description": "Reads a pet.", "parameters": []any{map[string]any{"name": "pet", "value": 7}}, "dryRun": true}
	dry := want[workflow.ToolsetScript](w, w.do("POST", at+"/scripts", body), 200)
	if list := want[admin.List[workflow.ToolsetScript]](w, w.do("GET", at+"/scripts", nil), 200).Items; len(list) != 0 {
		t.Errorf("a dry run left %+v", list)
	}
	delete(body, "dryRun")
	saved := want[workflow.ToolsetScript](w, w.do("POST", at+"/scripts", body), 200)
	if saved.Code != dry.Code || !strings.Contains(saved.Code, "petId: args.pet") || saved.State != "ready" || saved.Calls[0].Tool != "get_pet" || !strings.Contains(string(saved.Outputs), `"result":{"type":"array"}`) || string(saved.Example) != `{"pet":7}` {
		t.Errorf("saved %+v", saved)
	}
	if list := want[admin.List[workflow.ToolsetWorkflow]](w, w.do("GET", at+"/workflows", nil), 200).Items; len(list) != 0 {
		t.Errorf("a script is among the documents: %+v", list)
	}
	shown := want[toolset.Tool](w, w.do("GET", at+"/tools/a_pet", nil), 200)
	if !shown.Annotations.ReadOnly || shown.Operation.Path != "/workflows/a_pet" || !strings.Contains(string(shown.InputSchema), `"default":7`) {
		t.Errorf("the tool %+v", shown)
	}
	found := func() (names []string) {
		for _, r := range want[advice.SearchAnswer](w, w.do("GET", at+"/search?k=9&q=reads+a+pet", nil), 200).Results {
			names = append(names, r.Name)
		}
		return names
	}
	if !slices.Contains(found(), "a_pet") {
		t.Errorf("found %v", found())
	}
	renamed := want[toolset.Tool](w, w.do("PATCH", at+"/tools/a_pet", map[string]any{"name": "read_one_pet", "description": "Reads one pet."}), 200)
	if renamed.Name != "read_one_pet" || renamed.OriginalName != "a_pet" || renamed.Description != "Reads one pet." {
		t.Errorf("renamed %+v", renamed)
	}
	if e := want[front.Problem](w, w.do("PATCH", at+"/tools/read_one_pet", map[string]any{"name": "get_pet"}), 409); !strings.Contains(e.Detail, "another tool is named") {
		t.Errorf("a name that is taken: %+v", e)
	}
	doc, _ := w.export("")
	if plan := w.importing("?dryRun=true", doc); plan.Changes != 0 {
		t.Errorf("an export changes %+v", plan.Toolsets)
	}
	i := slices.IndexFunc(doc.Toolsets[0].Workflows, func(x registry.Workflow) bool { return x.Script != nil })
	if i < 0 || doc.Toolsets[0].Workflows[i].Tool != nil {
		t.Fatalf("exported %+v", doc.Toolsets[0].Workflows)
	}
	if disabled := want[toolset.Tool](w, w.do("PATCH", at+"/tools/read_one_pet", map[string]any{"enabled": false}), 200); disabled.Enabled {
		t.Errorf("disabled %+v", disabled)
	}
	if slices.Contains(found(), "read_one_pet") {
		t.Errorf("found %v", found())
	}
	if w.importing("", doc).Changes != 1 || !want[toolset.Tool](w, w.do("GET", at+"/tools/read_one_pet", nil), 200).Enabled {
		t.Error("an import did not bring it back")
	}
	if e := want[front.Problem](w, w.do("POST", at+"/scripts", map[string]any{"name": "x", "run": "call_1", "code": "1", "description": "x"}), 400); !strings.Contains(e.Detail, "one of the two") {
		t.Errorf("%+v", e)
	}
	want[admin.List[workflow.ToolsetScript]](w, w.do("DELETE", at+"/scripts/a_pet", nil), http.StatusOK)
	if a := w.do("GET", at+"/tools/read_one_pet", nil); a.StatusCode != http.StatusNotFound {
		t.Errorf("after it was removed: %d %s", a.StatusCode, a.body)
	}
	again := want[workflow.ToolsetScript](w, w.do("POST", at+"/scripts", body), 200)
	if tool := want[toolset.Tool](w, w.do("GET", at+"/tools/a_pet", nil), 200); tool.Name != "a_pet" || again.Name != "a_pet" {
		t.Errorf("saved again it has the old edits: %+v", tool)
	}
}

// TestScriptSavedAgain: a script that is saved again with the same text gets the texts and
// schemas of the second time.
func TestScriptSavedAgain(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	at := "/v1/toolsets/" + ts.ID
	group := strings.ReplaceAll(ts.Connectors[0].Name, "-", "_")
	body := map[string]any{"name": "a_pet", "code": "return tools." + group + ".get_pet({petId: args.pet})"}
	for _, change := range []struct {
		member string
		value  any
	}{
		{"description", "Reads a pet."},
		{"description", "Reads one pet of the shop."},
		{"title", "A pet"},
		{"inputSchema", map[string]any{"type": "object", "properties": map[string]any{"pet": map[string]any{"type": "integer"}}}},
		{"outputSchema", map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}},
	} {
		body[change.member] = change.value
		w.do("POST", at+"/scripts", body)
		stored := map[string]any{}
		a := w.do("GET", at+"/scripts/a_pet", nil)
		if err := json.Unmarshal([]byte(a.body), &stored); err != nil || !reflect.DeepEqual(stored[change.member], change.value) {
			t.Errorf("%s: %d %v, want %v (%v)", change.member, a.StatusCode, stored[change.member], change.value, err)
		}
	}
}

// TestScriptThatDoesNotCompile: it makes no tool, and where it is wrong is told.
func TestScriptThatDoesNotCompile(t *testing.T) {
	w := newWorld(t)
	at := "/v1/toolsets/" + w.create("Pets", "pets.yaml").ID + "/scripts"
	a := w.do("POST", at, map[string]any{"name": "a_pet", "code": "does not compile", "description": "Reads a pet."})
	if a.StatusCode != http.StatusUnprocessableEntity && a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, `"line":2,"column":7`) {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if l := w.do("GET", at, nil); strings.Contains(l.body, "a_pet") {
		t.Errorf("it was saved: %s", l.body)
	}
}

// TestScriptInputs: a script without an input schema gets one of what it reads.
func TestScriptInputs(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	at := "/v1/toolsets/" + ts.ID
	get := "tools." + strings.ReplaceAll(ts.Connectors[0].Name, "-", "_") + ".get_pet"
	for i, tt := range []struct{ code, want string }{
		{"return " + get + "({petId: args.pet ?? 1, x: args.owner})", `{"additionalProperties":false,"properties":{"owner":{},"pet":{}},"required":["owner"],"type":"object"}`},
		{"async ({pet, n = 2}) => " + get + "({petId: pet + n})", `{"additionalProperties":false,"properties":{"n":{},"pet":{}},"required":["pet"],"type":"object"}`},
		{"return " + get + "(args)", `{"additionalProperties":true,"properties":{},"type":"object"}`},
	} {
		body := map[string]any{"name": fmt.Sprintf("a_pet_%d", i), "code": tt.code, "description": "Reads a pet.", "dryRun": true}
		if saved := want[workflow.ToolsetScript](w, w.do("POST", at+"/scripts", body), 200); string(saved.Inputs) != tt.want {
			t.Errorf("%s: %s, want %s", tt.code, saved.Inputs, tt.want)
		}
	}
}

// TestDocumentTools: the tool of a document is renamed, described and disabled as any other,
// and its plan is drawn without a call.
func TestDocumentTools(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	at := "/v1/toolsets/" + ts.ID
	const document = "arazzo: 1.0.1\nworkflows:\n- workflowId: read\n  summary: Read a pet.\n  inputs: {type: object, required: [id], properties: {id: {type: integer}}}\n  steps:\n  - stepId: a\n" +
		"    operationId: getPet\n    parameters: [{name: id, in: path, value: $inputs.id}]\n    outputs: {name: $response.body#/name, status: $statusCode}\n  outputs: {name: $steps.a.outputs.name, status: $steps.a.outputs.status}\n"
	a := w.do("POST", at+"/workflows", map[string]any{"document": document})
	if a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	whole := want[workflow.ToolsetWorkflow](w, w.do("GET", at+"/workflows/read", nil), 200)
	if !strings.Contains(string(whole.Outputs), `"status":{"type":["integer","null"]}`) || !strings.Contains(string(whole.Outputs), `"name":{`) {
		t.Errorf("outputs %s", whole.Outputs)
	}
	renamed := want[toolset.Tool](w, w.do("PATCH", at+"/tools/read", map[string]any{"name": "read_it", "title": "Read it"}), 200)
	if renamed.Name != "read_it" || renamed.Title != "Read it" {
		t.Errorf("%+v", renamed)
	}
	if e := want[front.Problem](w, w.do("PATCH", at+"/tools/read_it", map[string]any{"answers": map[string]any{"format": "json"}}), 400); !strings.Contains(e.Detail, "the tool of a workflow") {
		t.Errorf("%+v", e)
	}
	dry := want[rollout.WorkflowRun](w, w.do("POST", at+"/workflows/read/run", map[string]any{"arguments": map[string]any{"id": 1}, "dryRun": true}), 200)
	if dry.Ran || !strings.Contains(dry.Plan, "get_pet, GET /pets/{id}") {
		t.Errorf("%+v", dry)
	}
	if e := want[front.Problem](w, w.do("POST", at+"/workflows/read/run", map[string]any{"arguments": map[string]any{"id": "x y"}}), 400); !strings.Contains(e.Detail, "not valid") {
		t.Errorf("%+v", e)
	}
	want[toolset.Tool](w, w.do("PATCH", at+"/tools/read_it", map[string]any{"enabled": false}), 200)
	if e := want[front.Problem](w, w.do("POST", at+"/workflows/read/run", map[string]any{"arguments": map[string]any{"id": 1}}), 409); !strings.Contains(e.Detail, "is disabled") {
		t.Errorf("%+v", e)
	}
}

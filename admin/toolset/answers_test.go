package toolset

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/registry"
)

// TestPatchAnswers: settings are changed field by field, checked, and the list
// that conditions are about is found in the output schema.
func TestPatchAnswers(t *testing.T) {
	const wrapped = `{"type":"object","properties":{"items":{"type":["array","null"],"items":{"type":"object","properties":{"id":{}}}},"total":{}}}`
	const bare = `{"type":"object","properties":{"result":{"type":["array","null"],"items":{"type":"object","properties":{"id":{}}}}}}`
	const two = `{"type":"object","properties":{"a":{"items":{"properties":{"id":{}}}},"b":{"items":{"properties":{"id":{}}}}}}`
	f := func(record, patch string, of registry.AnswersOf, output, want, fault string) {
		t.Helper()
		var p PatchAnswers
		if err := json.Unmarshal([]byte(patch), &p); err != nil {
			t.Fatal(err)
		}
		got, err := ChangeAnswers(record, &p, "/answers", of, json.RawMessage(output))
		if fault != "" {
			if err == nil || !strings.Contains(err.Error(), fault) {
				t.Fatalf("%s: %v; want %s", patch, err, fault)
			}
			return
		}
		if err != nil || got != want {
			t.Fatalf("%s + %s: %s, %v; want %s", record, patch, got, err, want)
		}
	}
	f("", `{}`, registry.OfToolset, "", "", "")
	f("", `{"fields":"-items.owner"}`, registry.OfToolset, "", `{"fields":"-items.owner"}`, "")
	f(`{"fields":"-items.owner"}`, `{"tokenBudget":500,"format":"auto"}`, registry.OfToolset, "", `{"fields":"-items.owner","tokenBudget":500}`, "")
	f(`{"fields":"-items.owner"}`, `{"fields":""}`, registry.OfToolset, "", "", "")
	f("", `{"where":"id > 1"}`, registry.OfTool, wrapped, `{"rows":"items","where":"id \u003e 1"}`, "")
	f("", `{"where":"id == 1"}`, registry.OfTool, bare, `{"where":"id == 1"}`, "")
	f("", `{"limit":3}`, registry.OfTool, "", `{"limit":3}`, "")
	f(`{"rows":"items","limit":3}`, `{"limit":0}`, registry.OfTool, wrapped, "", "")
	f("", `{"limit":3}`, registry.OfTool, two, "", "several lists")
	f("", `{"limit":3,"rows":"b"}`, registry.OfTool, two, `{"rows":"b","limit":3}`, "")
	f("", `{"where":"id == 1"}`, registry.OfToolset, "", "", "belong to one tool")
	f("", `{"profile":"off"}`, registry.OfToolset, "", "", "its own field")
	f("", `{"profile":"off","structured":true,"fields":"-a"}`, registry.OfConnector, "", `{"profile":"off","fields":"-a","structured":true}`, "")
	f("", `{"where":"id == 1"}`, registry.OfConnector, "", "", "belong to one tool")
	f("", `{"structured":true}`, registry.OfTool, "", "", "for a toolset")
	f("", `{"fields":"a("}`, registry.OfTool, "", "", "field mask")
	f("", `{"jq":".["}`, registry.OfTool, "", "", "jq expression")
	f("", `{"tokenBudget":5}`, registry.OfTool, "", "", "tokenBudget")
}

package admin

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestPatchAnswers: settings are changed field by field, checked, and the list
// that conditions are about is found in the output schema.
func TestPatchAnswers(t *testing.T) {
	const wrapped = `{"type":"object","properties":{"items":{"type":["array","null"],"items":{"type":"object","properties":{"id":{}}}},"total":{}}}`
	const bare = `{"type":"object","properties":{"result":{"type":["array","null"],"items":{"type":"object","properties":{"id":{}}}}}}`
	const two = `{"type":"object","properties":{"a":{"items":{"properties":{"id":{}}}},"b":{"items":{"properties":{"id":{}}}}}}`
	f := func(record, patch string, tool bool, output, want, fault string) {
		t.Helper()
		var p PatchAnswers
		if err := json.Unmarshal([]byte(patch), &p); err != nil {
			t.Fatal(err)
		}
		got, err := patchAnswers(record, &p, "/answers", tool, json.RawMessage(output))
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
	f("", `{}`, false, "", "", "")
	f("", `{"fields":"-items.owner"}`, false, "", `{"fields":"-items.owner"}`, "")
	f(`{"fields":"-items.owner"}`, `{"tokenBudget":500,"format":"auto"}`, false, "", `{"fields":"-items.owner","tokenBudget":500}`, "")
	f(`{"fields":"-items.owner"}`, `{"fields":""}`, false, "", "", "")
	f("", `{"where":"id > 1"}`, true, wrapped, `{"rows":"items","where":"id \u003e 1"}`, "")
	f("", `{"where":"id == 1"}`, true, bare, `{"where":"id == 1"}`, "")
	f("", `{"limit":3}`, true, "", `{"limit":3}`, "")
	f(`{"rows":"items","limit":3}`, `{"limit":0}`, true, wrapped, "", "")
	f("", `{"limit":3}`, true, two, "", "several lists")
	f("", `{"limit":3,"rows":"b"}`, true, two, `{"rows":"b","limit":3}`, "")
	f("", `{"where":"id == 1"}`, false, "", "", "belong to one tool")
	f("", `{"profile":"off"}`, false, "", "", "its own field")
	f("", `{"structured":true}`, true, "", "", "for a toolset")
	f("", `{"fields":"a("}`, true, "", "", "field mask")
	f("", `{"jq":".["}`, true, "", "", "jq expression")
	f("", `{"tokenBudget":5}`, true, "", "", "tokenBudget")
}

package answer

import (
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
)

// TestProjectSchema rewrites output schemas as programs rewrite answers.
func TestProjectSchema(t *testing.T) {
	f := func(root *engine.Node, schema, want string) {
		t.Helper()
		table, err := engine.Compile(&engine.Program{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(projectSchema([]byte(schema), [][]byte{table})); got != want {
			t.Errorf("%s\n got %s\nwant %s", schema, got, want)
		}
	}
	const numbers = `{"type":["array","null"],"items":{"type":["number","null"]}}`
	const cut = `{"type":["array","null"],"items":{"type":["number","string","null"]}}`
	f(&engine.Node{DropRest: true, Fields: []engine.Field{{Name: "a"}}}, `{"type":"object","properties":{"a":{"type":["string","null"]},"b":{}}}`, `{"type":"object","properties":{"a":{"type":["string","null"]}}}`)
	f(&engine.Node{DropRest: true, Fields: []engine.Field{{Name: "a"}}}, `{"type":"object","properties":{"result":{"type":["array","null"],"items":{"type":["object","null"],"properties":{"a":{},"b":{}}}}}}`,
		`{"type":"object","properties":{"result":{"type":["array","null"],"items":{"type":["object","null"],"properties":{"a":{}}}}}}`)
	// What cuts an array of numbers ends it in a text.
	all := &engine.Node{MaxNumbers: 3}
	all.Rest = all
	f(all, `{"type":"object","properties":{"e":`+numbers+`,"s":{"type":["array","null"],"items":{"type":["string","null"]}}}}`,
		`{"type":"object","properties":{"e":`+cut+`,"s":{"type":["array","null"],"items":{"type":["string","null"]}}}}`)
	f(all, `{"type":"object","properties":{"e":{"type":["array","null"],"items":`+numbers+`}}}`, `{"type":"object","properties":{"e":{"type":["array","null"],"items":`+cut+`}}}`)
	f(&engine.Node{Fields: []engine.Field{{Name: "e", Node: all}}}, `{"type":"object","properties":{"e":`+numbers+`,"f":`+numbers+`}}`, `{"type":"object","properties":{"e":`+cut+`,"f":`+numbers+`}}`)
}

package mcp

import (
	"strings"
	"testing"
)

// TestHints: what a client takes for granted of a missing hint (MCP, ToolAnnotations)
// is what the tool has.
func TestHints(t *testing.T) {
	for want, tool := range map[string]ToolInfo{
		`{"readOnlyHint":true,"destructiveHint":false}`:                         {ReadOnly: true, Idempotent: true, OpenWorld: true},
		`{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false}`:   {ReadOnly: true},
		`{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true}`:   {ReadOnly: true, Idempotent: true, OpenWorld: true, Given: true},
		`{"destructiveHint":true}`:                                              {Destructive: true, OpenWorld: true},
		`{"destructiveHint":true,"idempotentHint":true}`:                        {Destructive: true, Idempotent: true, OpenWorld: true},
		`{"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`: {Idempotent: true},
		`{"destructiveHint":false}`:                                             {OpenWorld: true},
	} {
		if got := string(AppendTool(nil, &tool)); !strings.HasSuffix(got, `,"annotations":`+want+`}`) {
			t.Errorf("%+v: %s, want %s", tool, got, want)
		}
	}
}

package call

import (
	"testing"

	"github.com/sluicegate/sluice/gateway/mcp"
)

// TestDeclared: what a client declares makes no session large.
func TestDeclared(t *testing.T) {
	x := &exchange{input: input{request: &mcp.CallParams{Version: mcp.V20260728}}}
	for size, kept := range map[int]bool{2: false, 3: true, maxDeclared: true, maxDeclared + 1: false} {
		x.call.Capabilities = make([]byte, size)
		if got := x.declared(); (got != nil) != kept {
			t.Errorf("%d bytes are declared: %v", size, got != nil)
		}
	}
}

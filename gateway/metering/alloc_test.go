//go:build !race

package metering

import (
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/mcp"
)

func TestCountingAllocates(t *testing.T) {
	m := New()
	tool, c := m.Tool(ToolID{Workspace: "w", Toolset: "ts_1", Slug: "a", Tool: "b"}), m.Connector("a", "c")
	answer := []byte(`{"a":1,"b":"text"}`)
	f := func() {
		tool.Call(&Call{
			Credential: Accepted, Version: mcp.V20260728, Duration: 100 * time.Millisecond, Asked: true, Upstream: 50 * time.Millisecond,
			Plugins: time.Microsecond, Before: answer, After: answer[:3], Text: true,
		})
		c.Begin()
		c.Exchange(200, 0.05)
		m.Operation(mcp.MethodPing, mcp.V20251125, 0.1)
	}
	f()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Fatalf("%v allocations, want 0", n)
	}
}

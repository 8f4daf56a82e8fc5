//go:build !race

package metering

import (
	"testing"

	"github.com/sluicegate/sluice/gateway/mcp"
)

func TestCountingAllocates(t *testing.T) {
	m := New()
	tool, c := m.Tool("a", "b"), m.Connector("a", "c")
	answer := []byte(`{"a":1,"b":"text"}`)
	f := func() {
		tool.Call(OK, mcp.V20260728, 0.1, 0.05)
		tool.Answer(answer, answer[:3])
		c.Begin()
		c.Exchange(200, 0.05)
		m.Operation(mcp.MethodPing, mcp.V20251125, 0.1)
	}
	f()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Fatalf("%v allocations, want 0", n)
	}
}

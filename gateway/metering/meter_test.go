package metering

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/internal/tokens"
)

func text(m *Meter) string {
	var b strings.Builder
	m.WritePrometheus(&b)
	return b.String()
}

func TestSeries(t *testing.T) {
	m := New()
	tool := m.Tool(ToolID{Slug: "acme", Tool: `od"d`})
	before, after := []byte(`{"a": 1, "b": [true, false]}`), []byte(`{"a":1}`)
	for range sampleEvery + 1 {
		tool.Call(&Call{Version: mcp.V20260728, Duration: 20 * time.Millisecond, Upstream: 15 * time.Millisecond, Text: true, Before: before, After: after})
	}
	tool.Call(&Call{Outcome: ToolError, Version: mcp.V20251125, Duration: time.Millisecond, Text: true, Before: before, After: after})
	if got := text(m); strings.Contains(got, "healed") {
		t.Errorf("nothing was healed, and it is counted:\n%s", got)
	}
	tool.Call(&Call{Version: mcp.V20260728, Duration: 20 * time.Millisecond, Healed: 2})
	tool.Call(&Call{Version: mcp.V20260728, Outcome: Timeout, Healed: 1})
	c := m.Connector("acme", "github")
	c.Begin()
	c.Exchange(200, 0.015)
	c.Begin()
	c.Exchange(401, 0.015)
	c.Begin()
	c.Exchange(0, 1)
	m.Connector("other", "github").Begin()
	m.Operation(mcp.MethodToolsList, mcp.V20260728, 0.0001)
	m.Program("fuel")
	m.Gauge("sluice_tools", func() float64 { return 7 })
	got := text(m)
	for _, want := range []string{
		`sluice_tool_calls_total{toolset="acme",tool="od\"d",outcome="ok"} 66`,
		`sluice_tool_arguments_healed_total{toolset="acme",tool="od\"d"} 3`,
		`sluice_tool_calls_total{toolset="acme",tool="od\"d",outcome="tool_error"} 1`,
		`mcp_server_operation_duration_seconds_bucket{mcp_method_name="tools/call",toolset="acme",gen_ai_tool_name="od\"d",error_type="",mcp_protocol_version="2026-07-28",le="0.025"} 66`,
		`mcp_server_operation_duration_seconds_bucket{mcp_method_name="tools/call",toolset="acme",gen_ai_tool_name="od\"d",error_type="",mcp_protocol_version="2026-07-28",le="0.01"} 0`,
		`error_type="tool_error",mcp_protocol_version="2025-11-25",le="0.001"} 1`,
		`sluice_tool_tokens_total{toolset="acme",tool="od\"d",stage="before"} ` + fmt.Sprint((sampleEvery+1)*tokens.Estimate(before)),
		`sluice_tool_tokens_total{toolset="acme",tool="od\"d",stage="after"} ` + fmt.Sprint((sampleEvery+1)*tokens.Estimate(after)),
		`sluice_tool_response_bytes_total{toolset="acme",tool="od\"d",stage="after"} 455`,
		`sluice_upstream_requests_total{connector="github",status_class="2xx"} 1`,
		`sluice_upstream_requests_total{connector="github",status_class="error"} 1`,
		`sluice_upstream_auth_failures_total{toolset="acme"} 1`,
		`sluice_upstream_request_duration_seconds_count{connector="github",status_class="4xx"} 1`,
		`sluice_gateway_overhead_seconds_count 68`,
		`mcp_server_operation_duration_seconds_count{mcp_method_name="tools/list",mcp_protocol_version="2026-07-28"} 1`,
		`sluice_plugin_failures_total{plugin="response-program",cause="fuel"} 1`,
		`sluice_tools 7`, `sluice_upstream_in_flight{connector="github"} 1`, `# TYPE sluice_tool_calls_total counter`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestMaxTools(t *testing.T) {
	m := New()
	for i := range MaxTools {
		m.Tool(ToolID{Slug: "s", Tool: fmt.Sprint(i)}).Call(&Call{})
	}
	if got := text(m); strings.Contains(got, "_other") || strings.Count(got, "sluice_tool_calls_total{") != MaxTools {
		t.Fatal("the limit itself must have series of its own")
	}
	m.Tool(ToolID{Slug: "s", Tool: "one too many"}).Call(&Call{})
	m.Tool(ToolID{Slug: "s", Tool: "two too many"}).Call(&Call{})
	if got := text(m); !strings.Contains(got, `sluice_tool_calls_total{toolset="_other",tool="_other",outcome="ok"} 2`) || strings.Contains(got, "too many") {
		t.Fatal("what is beyond the limit must be counted together")
	}
	if first := m.Tool(ToolID{Slug: "s", Tool: "5"}); first != m.Tool(ToolID{Slug: "s", Tool: "5"}) {
		t.Fatal("a tool was made twice")
	}
}

// TestNil: a gateway without metrics counts nothing and does not fail.
func TestNil(t *testing.T) {
	var m *Meter
	m.Tool(ToolID{}).Call(&Call{})
	m.Drain()
	m.Connector("a", "b").Begin()
	m.Connector("a", "b").Exchange(200, 1)
	m.Operation(mcp.MethodPing, mcp.V20251125, 1)
	m.Program("x")
	m.Gauge("x", nil)
	var page bytes.Buffer
	if m.WritePrometheus(&page); page.Len() > 0 {
		t.Errorf("it has %q", page.String())
	}
}

package e2e

import (
	"testing"

	"github.com/sluicegate/sluice/internal/http1/http1test"
)

// TestSmuggling sends every request that servers disagree about to the three
// listeners of a control plane's node and of an edge's.
func TestSmuggling(t *testing.T) {
	t.Run("listener=admin", func(t *testing.T) {
		n := startSluice(t, "--demo")
		http1test.Check(t, http1test.Target{Addr: n.admin, Host: "localhost", Path: "/v1/toolsets", Next: "/livez", Head: "Content-Type: application/json\r\n"})
		t.Run("listener=gateway", func(t *testing.T) {
			http1test.Check(t, http1test.Target{Addr: n.gateway, Host: "localhost", Path: "/t/demo", Next: "/livez", Head: "Content-Type: application/json\r\n"})
		})
	})
	t.Run("listener=operations", func(t *testing.T) {
		p := startPlane(t)
		e := p.edge("one", p.join)
		http1test.Check(t, http1test.Target{Addr: e.ops, Host: "localhost", Path: "/metrics", Next: "/livez"})
	})
}

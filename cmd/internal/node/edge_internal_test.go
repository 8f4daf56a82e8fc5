package node

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluicegate/sluice/internal/secrets"
)

// TestFaultsOfEdgeNames: what is wrong with an edge names toolsets, so on a listener that others reach it is for
// whoever has the token of /metrics.
func TestFaultsOfEdgeNames(t *testing.T) {
	fails := errors.New("load toolset payroll: it is damaged")
	for _, tt := range []struct {
		listen, token, sent string
		named               bool
	}{
		{"127.0.0.1:0", "", "", true},
		{"0.0.0.0:0", "", "", false},
		{"0.0.0.0:0", "scrape", "", false},
		{"0.0.0.0:0", "scrape", "Bearer other", false},
		{"0.0.0.0:0", "scrape", "Bearer scrape", true},
	} {
		ln, err := net.Listen("tcp", tt.listen)
		if err != nil {
			t.Fatal(err)
		}
		n := &edgeNode{Node: new(Node), ln: ln}
		n.o.Edge.MetricsToken = secrets.New(tt.token)
		r := httptest.NewRequest(http.MethodGet, "/readyz?verbose", http.NoBody)
		r.Header.Set("Authorization", tt.sent)
		if got := fault(fails, n.mayReadMetrics(r)); (got == fails.Error()) != tt.named {
			t.Errorf("%s, token %q, sent %q: %s", tt.listen, tt.token, tt.sent, got)
		}
		_ = ln.Close()
	}
}

package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/registry"
)

// TestLongAnswerIsNoStream only for what the gateway itself says of the call: some clients
// take events of a megabyte and no longer ones.
func TestLongAnswerIsNoStream(t *testing.T) {
	for size, kind := range map[int]string{100: "text/event-stream", 3 << 20: "application/json"} {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			id, _, _ := strings.Cut(strings.TrimPrefix(string(b), `{"jsonrpc":"2.0","id":`), ",")
			w.Header().Set("Content-Type", "application/json")
			if r.Header.Get("Mcp-Method") == "server/discover" {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x","version":"1"}}}}`, id)
				return
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[{"type":"image","mimeType":"image/png","data":"%s"}]}}`, id, strings.Repeat("A", size))
		}))
		t.Cleanup(up.Close)
		c, err := gatewaytest.MCPConnector("acme", up.URL+"/", `{"name":"x","inputSchema":{"type":"object"}}`)
		if err != nil {
			t.Fatal(err)
		}
		s, err := gatewaytest.New(gatewaytest.Options{Drain: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Stop() })
		if err := s.Serve(gatewaytest.Toolset("acme", 1, c, func(t *registry.Toolset) { t.Profile = registry.ProfileOff })); err != nil {
			t.Fatal(err)
		}
		const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"debug"}}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Gateway.Addr().String()+"/t/acme", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "x"} {
			req.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || !strings.HasPrefix(res.Header.Get("Content-Type"), kind) || len(got) < size {
			t.Errorf("an answer of %d bytes came as %s, %d bytes, %v: %.300s", size, res.Header.Get("Content-Type"), len(got), err, got)
		}
	}
}

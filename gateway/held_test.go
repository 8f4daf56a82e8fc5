package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
)

// TestProgressWhileAsked: what a server of an older revision reports while a client of
// 2026-07-28 answers its question reaches that client with its next request.
func TestProgressWhileAsked(t *testing.T) {
	reported := make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "form", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		report := func(n float64) {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: n, Total: 4, Message: "working"})
		}
		report(1)
		asked := make(chan error, 1)
		go func() {
			_, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
			asked <- err
		}()
		<-reported
		report(2)
		report(3)
		err := <-asked
		report(4)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, err
	})
	up := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	endWith(t, up)
	s := start(t, gatewaytest.Options{})
	serveAskerTo(t, s, up.URL, tokens(tokenGrant("ada")))
	call := func(token, params string) string {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"form","arguments":{}` + params + `,"_meta":{"progressToken":"` + token + `","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
		return bodyOf(t, request(t, http.MethodPost, s.URL("acme"), body, "Authorization", tokenOf("ada"), "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "form"))
	}
	first := call("a", "")
	_, state, ok := strings.Cut(first, `"requestState":"`)
	if !ok || !strings.Contains(first, `"progress":1`) {
		t.Fatalf("asked: %s", first)
	}
	state, _, _ = strings.Cut(state, `"`)
	close(reported)
	second := call("b", `,"requestState":"`+state+`","inputResponses":{}`) // answers nothing: it is asked again
	for !strings.Contains(second, `"progress":3`) {
		if !strings.Contains(second, "input_required") {
			t.Fatalf("asked again: %s", second)
		}
		_, state, _ = strings.Cut(second, `"requestState":"`)
		state, _, _ = strings.Cut(state, `"`)
		second += call("b", `,"requestState":"`+state+`","inputResponses":{}`)
	}
	if !strings.Contains(second, `"progress":2`) {
		t.Errorf("the second request is told %s", second)
	}
	third := call("c", `,"requestState":"`+state+`","inputResponses":{"request-1":{"action":"accept","content":{}}}`)
	if !strings.Contains(third, `"text":"done"`) || !strings.Contains(third, `"progress":4`) || strings.Contains(third, `"progress":3`) {
		t.Errorf("the third request is told %s", third)
	}
}

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/compress"
)

// eras are the protocol versions that the SDK's client is made to speak.
var eras = []string{"2025-11-25", "2026-07-28"}

// connect opens a session of the SDK's client in the era of version.
func connect(t *testing.T, url, version string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect to %s with %s: %v", url, version, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if got := s.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the server speaks %s, want %s", got, version)
	}
	return s
}

// tools lists all tools of the session, page by page.
func tools(ctx context.Context, t *testing.T, s *mcp.ClientSession) []*mcp.Tool {
	t.Helper()
	var all []*mcp.Tool
	for tool, err := range s.Tools(ctx, nil) {
		if err != nil {
			t.Fatalf("tools/list: %v", err)
		}
		all = append(all, tool)
	}
	return all
}

// text returns the text content of a result.
func text(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if tc, ok := c.(*mcp.TextContent); ok {
			b.WriteString(tc.Text)
		}
	}
	return b.String()
}

// answer is the JSON of what an agent reads: the text itself, or what table text
// stands for, without a last line about further pages.
func answer(t *testing.T, r *mcp.CallToolResult) []byte {
	t.Helper()
	got := text(r)
	for _, note := range []string{"next page: ", "headers: ", "left out: "} { // lines behind the answer
		if i := strings.LastIndex(got, "\n["+note); i >= 0 {
			got = got[:i]
		}
	}
	if json.Valid([]byte(got)) {
		return []byte(got)
	}
	doc, err := compress.DecodeTable(nil, []byte(got))
	if err != nil {
		t.Fatalf("neither JSON nor table text: %v\n%s", err, last(got, 2000))
	}
	return doc
}

package callcmd

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/streamable"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestMaxRounds: a tool may ask so often before it answers; one that asks on is given up.
func TestMaxRounds(t *testing.T) {
	for n, ok := range map[int]bool{maxRounds - 1: true, maxRounds: false} { // questions before the answer
		asked := 0
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := new(strings.Builder)
			buf := make([]byte, 4096)
			for {
				k, err := r.Body.Read(buf)
				body.Write(buf[:k])
				if err != nil {
					break
				}
			}
			_, rest, _ := strings.Cut(body.String(), `"id":`)
			id := rest[:max(0, strings.IndexAny(rest, ",}"))]
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.Contains(body.String(), `"server/discover"`):
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"},"ttlMs":0,"cacheScope":"private"}}`, id)
			case strings.Contains(body.String(), `"tools/call"`):
				if asked++; asked > n {
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[]}}`, id)
					return
				}
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{},"requestState":"s"}}`, id)
			default:
				w.WriteHeader(http.StatusAccepted)
			}
		}))
		c, err := streamable.Connect(t.Context(), streamable.Options{URL: srv.URL, Name: "the server", HTTP: &http.Client{Transport: http.DefaultTransport}, Version: "test", Protocol: "2026-07-28"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = calls{&command.Session{}}.callTool(context.Background(), c, &mcp.CallToolParams{Name: "ask"}, "")
		if (err == nil) != ok || !ok && (!problem.Is(err, problem.Unavailable) || asked != maxRounds) {
			t.Errorf("%d questions: %v after %d calls", n, err, asked)
		}
		c.Close()
		srv.Close()
	}
}

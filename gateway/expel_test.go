package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/registry"
)

// TestCallEndsWithItsAccess: a call that runs ends when its caller loses access, whatever
// ends it, and gives no answer; the server is told. Another caller's goes on.
func TestCallEndsWithItsAccess(t *testing.T) {
	for _, end := range []struct {
		name string
		doc  func() *registry.AccessDocument // one for each gateway, which completes it; nil: the toolset is gone
	}{
		{"revoked", func() *registry.AccessDocument { return tokens(tokenGrant("bob")) }},
		{"other kind of access", func() *registry.AccessDocument { return &registry.AccessDocument{Mode: registry.AccessNone} }},
		{"deleted", nil},
	} {
		for _, way := range []string{"events", "answer", "lost"} {
			t.Run(end.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				s, l := start(t, gatewaytest.Options{}), newLongServer(t)
				serveLong(t, s, l)
				url := s.URL("acme")
				body := func(meta string) string {
					return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"long"` + meta + `}}`
				}
				call := func(token, meta string) *http.Response {
					return request(t, http.MethodPost, url, body(meta), "Authorization", tokenOf(token), "Mcp-Session-Id", openSession(t, url, token), "MCP-Protocol-Version", "2025-11-25")
				}
				const progress = `,"_meta":{"progressToken":1}`
				answer := make(chan string, 1)
				switch way {
				case "answer":
					go func() {
						b, _ := io.ReadAll(call("ada", "").Body)
						answer <- string(b)
					}()
					<-l.begun
				default:
					resp := call("ada", progress)
					if _, err := io.ReadFull(resp.Body, make([]byte, 20)); err != nil {
						t.Fatal(err)
					}
					if way == "lost" { // its client may come back for the rest
						_ = resp.Body.Close()
						answer <- "access to this toolset ended"
						break
					}
					go func() {
						b, _ := io.ReadAll(resp.Body)
						answer <- string(b)
					}()
				}
				other := call("bob", progress)
				if _, err := io.ReadFull(other.Body, make([]byte, 20)); err != nil {
					t.Fatal(err)
				}
				if end.doc == nil {
					if err := s.Serve([]snapshot.ToolsetInput{}...); err != nil {
						t.Fatal(err)
					}
				} else {
					serveLongFor(t, s, l, 1, end.doc(), nil)
				}
				calls := 2 // the other caller's, too
				if end.name == "revoked" {
					calls = 1
				}
				for range calls {
					select {
					case <-l.cancelled:
					case <-time.After(20 * time.Second):
						t.Fatal("the server was not told")
					}
				}
				if got := <-answer; !strings.Contains(got, "access to this toolset ended") || strings.Contains(got, "done, call") {
					t.Errorf("answered with %s", got)
				}
				if end.name != "revoked" {
					return
				}
				l.goOn <- struct{}{}
				if b, err := io.ReadAll(other.Body); err != nil || !strings.Contains(string(b), "done, call 2") {
					t.Errorf("the other caller reads %s, %v", b, err)
				}
			})
		}
	}
}

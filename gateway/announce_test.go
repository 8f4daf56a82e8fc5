package gateway_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// TestListsAreAnnounced: clients of both eras are told which list changed, and of no
// other.
func TestListsAreAnnounced(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			s := start(t, gatewaytest.Options{})
			serve := func(revision uint64, prompts, resources, templates string) {
				t.Helper()
				server := &connector.MCPServer{
					URL: "http://127.0.0.1:1/mcp", Transport: manifest.TransportStreamable, Protocol: "2026-07-28", Name: "up", Version: "1",
					Tools: []json.RawMessage{json.RawMessage(`{"name":"a","inputSchema":{"type":"object"}}`)},
				}
				for kind, text := range []string{prompts, resources, templates} {
					if text != "" {
						server.Items[kind] = []json.RawMessage{json.RawMessage(text)}
					}
				}
				c, err := gatewaytest.ServerConnector("up", server)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Serve(gatewaytest.Toolset("acme", revision, c, nil)); err != nil {
					t.Fatal(err)
				}
			}
			const prompt, resource, template = `{"name":"p"}`, `{"name":"r","uri":"test://r"}`, `{"name":"t","uriTemplate":"test://t/{x}"}`
			serve(1, prompt, resource, template)
			told := make(chan string, 16)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				Capabilities:               &mcp.ClientCapabilities{},
				ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { told <- "tools" },
				PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { told <- "prompts" },
				ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { told <- "resources" },
			})
			c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL("acme")}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			caps := c.InitializeResult().Capabilities
			if !caps.Tools.ListChanged || !caps.Prompts.ListChanged || !caps.Resources.ListChanged {
				t.Errorf("declared are %+v %+v %+v", caps.Tools, caps.Prompts, caps.Resources)
			}
			deadline := time.After(20 * time.Second)
			revision := uint64(1)
			next := func(prompts, resources, templates string, want ...string) {
				t.Helper()
				revision++
				serve(revision, prompts, resources, templates)
				missing := slices.Clone(want)
				for len(missing) > 0 {
					select {
					case one := <-told:
						missing = slices.DeleteFunc(missing, func(m string) bool { return m == one })
						if !slices.Contains(want, one) {
							t.Errorf("told was %s, want %v", one, want)
						}
					case <-deadline:
						t.Fatalf("not told were %v of %v", missing, want)
					}
				}
			}
			for listening := false; !listening; { // the client opens its stream when it pleases
				revision++
				serve(revision, prompt, resource, template)
				select {
				case <-told:
					listening = true
				case <-time.After(50 * time.Millisecond):
				case <-deadline:
					t.Fatal("the client was not told")
				}
			}
			next(prompt, resource, template, "tools")
			next(`{"name":"p","title":"another"}`, resource, template, "prompts", "tools")
			next(`{"name":"p","title":"another"}`, resource, `{"name":"t","uriTemplate":"test://t/{y}"}`, "resources", "tools")
			next(prompt, `{"name":"r2","uri":"test://r"}`, "", "prompts", "resources", "tools")
		})
	}
}

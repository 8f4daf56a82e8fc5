package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// TestToolsThatNeedCapabilities: a client lists the tools that the server would list to it,
// whatever the era, behind any selection of its token.
//
//nolint:staticcheck // sampling and roots are deprecated and still served
func TestToolsThatNeedCapabilities(t *testing.T) {
	s := start(t, gatewaytest.Options{})
	server := &connector.MCPServer{URL: "http://127.0.0.1:1/mcp", Transport: manifest.TransportStreamable, Protocol: "2026-07-28", Name: "up", Version: "1"}
	server.Needs = map[string][]string{
		"form": {"elicitation"}, "url": {"elicitation.url"}, "sampling": {"sampling"}, "roots": {"roots"}, "all": manifest.ClientCapabilities[:4], "tasks": {"tasks.sampling"},
	}
	for _, name := range []string{"any", "form", "url", "sampling", "roots", "all", "tasks"} {
		server.Tools = append(server.Tools, json.RawMessage(`{"name":"`+name+`","inputSchema":{"type":"object"}}`))
	}
	stored, err := connector.ParseMCPServer(server.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	c, err := gatewaytest.ServerConnector("up", stored)
	if err != nil {
		t.Fatal(err)
	}
	in := gatewaytest.Toolset("acme", 1, c, func(ts *registry.Toolset) { ts.Access.Mode, ts.Profile = registry.AccessToken, registry.ProfileOff })
	in.Access = tokens(tokenGrant("ada", "*"), tokenGrant("bob", "any", "form"))
	in.Access.Workspace, in.Access.Toolset = "test", in.ID
	in.AccessDigest = registry.DigestOf([]byte("1"))
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, c := range []struct {
			name, caller, want string
			declared           mcp.ClientCapabilities
		}{
			{"nothing", "ada", "any", mcp.ClientCapabilities{}},
			{"elicitation", "ada", "any form", mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}}},
			{"form", "ada", "any form", mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}}},
			{"url", "ada", "any url", mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}}},
			{"roots", "ada", "any roots", mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}}},
			{"all", "ada", "any form url sampling roots all", mcp.ClientCapabilities{
				Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
				Sampling:    &mcp.SamplingCapabilities{}, RootsV2: &mcp.RootCapabilities{},
			}},
			{"a selection", "bob", "any form", mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}, Sampling: &mcp.SamplingCapabilities{}}},
			{"a selection, nothing", "bob", "any", mcp.ClientCapabilities{}},
		} {
			t.Run(version+"/"+c.name, func(t *testing.T) {
				client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
					Capabilities: &c.declared,
					CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
						return nil, context.Canceled
					},
				})
				if c.declared.Sampling == nil {
					client = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &c.declared})
				}
				session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL("acme"), HTTPClient: &http.Client{Transport: bearer("slt_" + c.caller)}, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				l, err := session.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, tool := range l.Tools {
					if tool.Name != "fetch_result" {
						got = append(got, tool.Name)
					}
				}
				if want := strings.Fields(c.want); !slices.Equal(got, want) {
					t.Errorf("it lists %v, not %v", got, want)
				}
			})
		}
	}
}

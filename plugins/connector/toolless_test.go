package connector

import (
	"encoding/json"
	"testing"

	"github.com/sluicegate/sluice/plugins/manifest"
)

// TestBuildMCPWithoutTools: a server that has something besides tools needs none; one that
// has nothing is not a connector.
func TestBuildMCPWithoutTools(t *testing.T) {
	for kind, definition := range map[manifest.ItemKind]string{
		manifest.Prompts: `{"name":"p"}`, manifest.Resources: `{"name":"r","uri":"note:1"}`, manifest.Templates: `{"name":"t","uriTemplate":"note:{id}"}`,
	} {
		s := &MCPServer{URL: "https://x.example/mcp", Transport: manifest.TransportStreamable, Protocol: "2025-11-25", Name: "x"}
		if _, _, err := BuildMCP("x", s); err == nil {
			t.Fatal("a server that has nothing is a connector")
		}
		s.Items[kind] = []json.RawMessage{[]byte(definition)}
		a, refused, err := BuildMCP("x", s)
		if err != nil || len(refused) > 0 {
			t.Fatalf("with a %v: %v %v", kind, refused, err)
		}
		c, err := Open(a.Module)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Load(); err != nil || c.Len() != 0 || len(c.Items(kind)) != 1 {
			t.Errorf("with a %v: %d tools, %d items, %v", kind, c.Len(), len(c.Items(kind)), err)
		}
	}
}

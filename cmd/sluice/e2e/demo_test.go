package e2e

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestDemoWithSDK does what make run promises, with the official Go SDK as the
// client and in both eras of the protocol: the printed toolset URL answers, its
// tools are listed, and one that needs no arguments answers with JSON.
func TestDemoWithSDK(t *testing.T) {
	n := startSluice(t, "--demo")
	base := "http://" + n.gateway + "/t/"
	_, rest, ok := strings.Cut(n.out.String(), base)
	if !ok {
		t.Fatalf("no toolset URL %s… was printed", base)
	}
	slug := rest[:strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r) })]

	var before []string
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := connect(t, base+slug, era)
			if era == eras[0] { // the newer era has no ping
				if err := s.Ping(t.Context(), nil); err != nil {
					t.Errorf("ping: %v", err)
				}
			}
			var names []string
			called := 0
			for _, tool := range tools(t.Context(), t, s) {
				names = append(names, tool.Name)
				schema, _ := tool.InputSchema.(map[string]any)
				required, _ := schema["required"].([]any)
				if len(required) > 0 || tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
					continue
				}
				called++
				res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name})
				if err != nil {
					t.Fatalf("tools/call %s: %v", tool.Name, err)
				}
				if res.IsError {
					t.Errorf("%s: %s", tool.Name, text(res))
				} else {
					answer(t, res)
				}
			}
			if called == 0 {
				t.Errorf("none of the tools %q is safe and free of required arguments", names)
			}
			if before == nil {
				before = names
			}
			if strings.Join(names, " ") != strings.Join(before, " ") {
				t.Errorf("tools of this era are %q, of the other %q", names, before)
			}
			if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"}); err == nil {
				t.Error("a tool that does not exist was called")
			}
		})
	}
}

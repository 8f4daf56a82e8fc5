package openapi

import (
	"os"
	"regexp"
	"testing"
)

// TestCodesAreDocumented compares the codes with docs/diagnostics.md.
func TestCodesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/diagnostics.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	// Those of this package, of the words of MCP servers, and of what cannot be packed.
	for _, file := range []string{"diagnostics.go", "../connector/accept.go", "../../admin/change/compile/compile.go", "../../admin/change/connection.go", "../../cmd/sluice/connector.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?:\t[cC]ode\w+ += |\bCode: +)"(\w+)"`).FindAllSubmatch(source, -1)
		if len(found) == 0 {
			t.Errorf("%s has no codes: where are they now?", file)
		}
		for _, m := range found {
			codes[string(m[1])] = false
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllSubmatch(page, -1) {
		if _, ok := codes[string(m[1])]; !ok {
			t.Errorf("%s is documented but not used", m[1])
		}
		codes[string(m[1])] = true
	}
	for code, documented := range codes {
		if !documented {
			t.Errorf("%s is not documented", code)
		}
	}
	if len(codes) < 40 {
		t.Errorf("only %d codes found", len(codes))
	}
}

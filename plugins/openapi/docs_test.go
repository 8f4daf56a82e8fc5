package openapi

import (
	"os"
	"regexp"
	"testing"
)

// TestCodesAreDocumented compares the codes with docs/diagnostics.md.
func TestCodesAreDocumented(t *testing.T) {
	source, err := os.ReadFile("diagnostics.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/diagnostics.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, m := range regexp.MustCompile(`\tcode\w+ += "(\w+)"`).FindAllSubmatch(source, -1) {
		codes[string(m[1])] = false
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

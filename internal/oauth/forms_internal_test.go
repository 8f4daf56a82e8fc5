package oauth

import (
	"strings"
	"testing"
)

// TestCovers: a resource is its address or something above it, of one origin.
func TestCovers(t *testing.T) {
	const address = "https://mcp.example/a/b"
	f := func(claimed string, want bool) {
		t.Helper()
		if got := covers(claimed, address); got != want {
			t.Errorf("covers(%q, %q) = %v", claimed, address, got)
		}
	}
	f("https://mcp.example/a/b", true)
	f("https://mcp.example/a/b/", true)
	f("https://mcp.example/a", true)
	f("https://mcp.example/", true)
	f("https://mcp.example", true)
	f("https://MCP.example:443/a", true)
	f("https://other.example/a/b", false)
	f("https://mcp.example.other/a/b", false)
	f("http://mcp.example/a/b", false)
	f("https://mcp.example:8443/a/b", false)
	f("https://mcp.example/a/bc", false)
	f("https://mcp.example/a/b/c", false)
	f("https://mcp.example/aa", false)
	f("https://u@mcp.example/a", false)
	f("https://mcp.example/a#x", false)
	f("https://mcp.example/a?x", false)
	f("/a/b", false)
	f("https://%zz/", false)
	if covers("https://mcp.example/a", "https://%zz/") || !covers(address+"?x", address+"?x") {
		t.Error("an address that is none is covered, or one with its own query is not")
	}
}

// TestCutToken: each character of a token, and those beside them.
func TestCutToken(t *testing.T) {
	for c := range 256 {
		b := string([]byte{byte(c)})
		want := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.Contains("!#$%&'*+-.^_`|~:/", b)
		if token, rest := cutToken(b + "="); (token == b) != want || token+rest != b+"=" {
			t.Errorf("cutToken(%q) = %q, %q", b, token, rest)
		}
	}
	if token, rest := cutToken(""); token != "" || rest != "" {
		t.Errorf("%q, %q", token, rest)
	}
}

// TestValidScope: one character each, and the longest.
func TestValidScope(t *testing.T) {
	for c := range 128 {
		want := c > ' ' && c <= '~' && c != '"' && c != '\\'
		if got := ValidScope("a" + string(rune(c))); got != want {
			t.Errorf("a scope with %q: %v", rune(c), got)
		}
	}
	for n, want := range map[int]bool{0: false, 1: true, 256: true, 257: false} {
		if ValidScope(strings.Repeat("s", n)) != want {
			t.Errorf("a scope of %d bytes: want %v", n, want)
		}
	}
	if ValidScope("é") {
		t.Error("a letter beyond ASCII is valid")
	}
}

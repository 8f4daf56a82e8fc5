package installpage

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/registry"
)

// TestHTMLIsEscaped: no text of a toolset becomes markup, wherever it stands.
func TestHTMLIsEscaped(t *testing.T) {
	const evil = `"><script>alert(1)</script><a href='javascript:x'>`
	got := HTML(&Page{
		URL: "https://h/t/" + evil, Slug: evil, Name: evil, Description: evil, Mode: registry.AccessNone, All: 1,
		Tools: []snapshot.Summary{{Name: evil, Title: evil, Description: evil}},
	})
	if strings.Contains(got, "<script") || strings.Contains(got, "href='") || !strings.Contains(got, "&lt;script&gt;") {
		t.Errorf("markup got through:\n%s", got)
	}
}

// TestPolicy: the style of the page is the one that its policy permits, and there is no other.
func TestPolicy(t *testing.T) {
	got := HTML(&Page{URL: "http://h/t/x", Slug: "x"})
	_, rest, _ := strings.Cut(got, "<style>")
	css, rest, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(css))
	if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(Policy, want) {
		t.Errorf("the policy %q lacks %q", Policy, want)
	}
	if strings.Contains(rest, "style") {
		t.Error("there is style that the policy does not permit")
	}
}

// TestModes: a page tells what is needed to get in, refers to a token where there is one, and
// lists tools only to everybody.
func TestModes(t *testing.T) {
	tools := []snapshot.Summary{{Name: "drop_all", Title: "Drop all", Destructive: true}, {Name: "put_one", Description: "Puts one."}, {Name: "get_one", Title: "Get one", ReadOnly: true}}
	for _, c := range []struct {
		mode       string
		has, lacks []string
	}{
		{registry.AccessNone, []string{
			"<h1>Fine things</h1>", "Tools (300)", "drop_all</code> · may delete or overwrite", "put_one</code> · makes changes", "get_one</code></dt><dd>Get one", "and 297 more",
			"claude mcp add --transport http things http://h/t/things<", `<a href="cursor://`, "~/.cursor/mcp.json",
		}, []string{"SLUICE_THINGS_TOKEN", "Bearer", "FILE"}},
		{registry.AccessToken, []string{
			"SLUICE_THINGS_TOKEN</code>", "They are listed to those who may call them.", "Bearer ${SLUICE_THINGS_TOKEN}", "FILE has the line",
		}, []string{"drop_all", "The login is started by"}},
		{registry.AccessJWT, []string{"It is opened by a login", "The login is started by: codex mcp login things"}, []string{"drop_all", "SLUICE_THINGS_TOKEN"}},
	} {
		got := HTML(&Page{URL: "http://h/t/things", Slug: "things", Name: "Fine things", Mode: c.mode, Tools: tools, All: 300})
		for _, text := range c.has {
			if !strings.Contains(got, text) {
				t.Errorf("%s: the page lacks %q", c.mode, text)
			}
		}
		for _, text := range c.lacks {
			if strings.Contains(got, text) {
				t.Errorf("%s: the page has %q", c.mode, text)
			}
		}
	}
}

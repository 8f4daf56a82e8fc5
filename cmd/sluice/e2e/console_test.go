package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// consoleDir has the sources of the console and, once make console-sources ran, Playwright.
const consoleDir = "../../../admin/console"

var loginLink = regexp.MustCompile(`http://\S+/#login=\w+`)

// TestConsole opens every page of the console in Chromium, from the login link that a
// node prints at its first start: the tests are in admin/console/e2e.
func TestConsole(t *testing.T) {
	dir, err := filepath.Abs(consoleDir)
	if err != nil {
		t.Fatal(err)
	}
	playwright := filepath.Join(dir, "node_modules", "@playwright", "test", "cli.js")
	if _, err := os.Stat(playwright); err != nil {
		t.Skip("Playwright is not installed: make console-sources installs it with npm")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no Node on this machine")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no Chromium on this machine")
	}

	n := startSluice(t, "--demo")
	link := loginLink.FindString(n.out.String())
	if link == "" {
		t.Fatal("no login link was printed")
	}
	cmd := exec.CommandContext(t.Context(), node, playwright, "test")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SLUICE_URL=http://"+n.admin, "SLUICE_LOGIN="+link, "CHROMIUM="+chromium, "SLUICE_E2E_OUTPUT="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, last(string(out), 20<<10))
	}
}

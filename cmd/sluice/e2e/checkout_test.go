package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// topLevel are the names that a checkout has at its top, but for those that begin with a
// dot. A new one is a decision about the layout (docs/adr/0001).
var topLevel = []string{
	"CHANGELOG.md", "CONTRIBUTING.md", "Dockerfile", "LICENSE", "Makefile", "README.md", "SECURITY.md",
	"admin", "cmd", "deploy", "docs", "gateway", "go.mod", "go.sum", "internal", "plugins", "registry", "sdk", "testdata",
}

// TestMakeRun does what the README begins with, in a checkout of what is staged: make run
// serves, and leaves bin/ behind and nothing else.
func TestMakeRun(t *testing.T) {
	root := strings.TrimSpace(command(t, "git", "rev-parse", "--show-toplevel"))
	dir := t.TempDir()
	command(t, "git", "-C", root, "checkout-index", "--all", "--prefix="+dir+"/")
	names := func() []string {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") {
				out = append(out, e.Name())
			}
		}
		return out
	}
	if got := names(); !slices.Equal(got, topLevel) {
		t.Fatalf("the top level has\n%q, want\n%q", got, topLevel)
	}
	n := &node{gateway: freePort(t), admin: freePort(t), data: filepath.Join(t.TempDir(), "data")}
	flags := "--no-input --listen " + n.gateway + " --admin-listen " + n.admin + " --data " + n.data
	n.process = start(t, func() bool { return answers("http://" + n.gateway + "/readyz") }, "make", "--no-print-directory", "-C", dir, "run", "RUNFLAGS="+flags)
	n.stop(t)
	want := append(slices.Clone(topLevel), "bin")
	slices.Sort(want)
	if got := names(); !slices.Equal(got, want) {
		t.Fatalf("after make run the top level has\n%q, want\n%q", got, want)
	}
}

// command runs a program and returns what it wrote.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	c := exec.CommandContext(t.Context(), name, args...)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, stderr.String())
	}
	return string(out)
}

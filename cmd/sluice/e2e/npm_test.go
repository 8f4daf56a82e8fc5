package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// npmDir is where make puts what package-lock.json names.
const npmDir = "../../../bin/e2e"

// minNode is the oldest Node that the packages of the lock file are used with.
const minNode = 22

// npm returns the paths of Node and of a file of the npm project. It skips the
// test where they are not there.
func npm(t *testing.T, file string) (node, path string) {
	t.Helper()
	dir, err := filepath.Abs(npmDir)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "node_modules", filepath.FromSlash(file))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not installed: make interop installs it with npm", file)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "node_modules", "node-linux-*", "bin", "node")); len(found) > 0 {
		return found[0], path
	}
	node, err = exec.LookPath("node") // the lock file has Node for Linux only
	if err != nil {
		t.Skip("no Node on this machine")
	}
	out, err := exec.Command(node, "--version").Output()
	if err != nil {
		t.Fatalf("%s --version: %v", node, err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < minNode {
		t.Skipf("Node %s is older than %d", strings.TrimSpace(string(out)), minNode)
	}
	return node, path
}

//go:build interop

package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pythonPackage is the official Python SDK, at the version that is tested with.
const pythonPackage = "mcp==2.3.0"

// TestPythonClient uses a toolset of an HTTP API, and one of an MCP server, with the
// official Python package. It installs the package with pip into a virtual
// environment of its own.
func TestPythonClient(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("make interop needs python3")
	}
	venv := filepath.Join(t.TempDir(), "venv")
	for _, args := range [][]string{
		{python, "-m", "venv", venv},
		{filepath.Join(venv, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", pythonPackage},
	} {
		if out, err := runTool(t, args[0], args[1:]...); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	script, err := filepath.Abs("testdata/client.py")
	if err != nil {
		t.Fatal(err)
	}
	for name, url := range map[string]string{"openapi": conformanceToolset(t), "mcp": proxiedToolset(t, everythingServer(t))} {
		out, err := runTool(t, filepath.Join(venv, "bin", "python"), script, name, url)
		if err != nil || !strings.HasSuffix(strings.TrimSpace(out), "done") {
			t.Errorf("%s: %v:\n%s", name, err, last(out, 4000))
		}
	}
}

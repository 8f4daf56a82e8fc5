package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestConformance runs the official conformance suite against a toolset made from
// an OpenAPI document, for both eras. What such a toolset cannot do is listed in
// testdata/conformance: a failure that is not listed, and an entry that passes,
// fail the test.
func TestConformance(t *testing.T) {
	node, suite := npm(t, "@modelcontextprotocol/conformance/dist/index.js")
	url := conformanceToolset(t)
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			baseline, err := filepath.Abs("testdata/conformance/" + revision + ".yml")
			if err != nil {
				t.Fatal(err)
			}
			out, err := runTool(t, node, suite, "server", "--url", url, "--requirements", revision,
				"--expected-failures", baseline, "-o", t.TempDir())
			_, summary, found := strings.Cut(out, "=== SUMMARY ===")
			if err != nil || !found {
				t.Fatalf("the suite ended with %v:\n%s", err, last(out, 8000))
			}
			t.Log(summary)
		})
	}
}

// TestInspectorStrict lets the MCP Inspector look for schemas that clients and
// model APIs refuse.
func TestInspectorStrict(t *testing.T) {
	node, inspector := npm(t, "@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	for name, url := range map[string]string{"conformance": conformanceToolset(t), "demo": demoToolset(t)} {
		for _, era := range []string{"legacy", "modern"} {
			out, err := runTool(t, node, inspector, "--cli", url, "--transport", "http", "--protocol-era", era, "--method", "tools/list", "--strict")
			if err != nil || !strings.Contains(out, `"inputSchema"`) {
				t.Errorf("%s, %s: the inspector ended with %v:\n%s", name, era, err, last(out, 4000))
			}
		}
	}
}

// TestTypeScriptClients uses a toolset with the official TypeScript clients of
// both eras: list, call, tool error, progress, cancellation and
// reconnecting.
func TestTypeScriptClients(t *testing.T) {
	node, _ := npm(t, "@modelcontextprotocol/client/package.json")
	script, err := filepath.Abs("testdata/client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(npmDir)
	if err != nil {
		t.Fatal(err)
	}
	api := conformanceAPI(t)
	n := startSluice(t, "--allow-private-upstreams=127.0.0.0/8", api.URL+"/openapi.json")
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			if out, err := runTool(t, node, script, root, era, "http://"+n.gateway+"/t/conformance"); err != nil || !strings.HasSuffix(strings.TrimSpace(out), "done") {
				t.Fatalf("%v:\n%s", err, out)
			}
		})
	}
}

// conformanceToolset serves the conformance API as a toolset and returns its URL.
func conformanceToolset(t *testing.T) string {
	t.Helper()
	api := conformanceAPI(t)
	n := startSluice(t, "--allow-private-upstreams=127.0.0.0/8", api.URL+"/openapi.json")
	return "http://" + n.gateway + "/t/conformance"
}

func demoToolset(t *testing.T) string {
	t.Helper()
	n := startSluice(t, "--demo")
	return "http://" + n.gateway + "/t/demo"
}

// runTool runs a program to its end and returns what it wrote.
func runTool(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = t.TempDir()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

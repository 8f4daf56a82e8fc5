package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// everythingServer builds and starts the reference server of the official Go SDK,
// which offers what the conformance suite asks for, and returns its URL.
func everythingServer(t *testing.T, args ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "everything-server")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // with what the binary under test is made of
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the everything-server: %v\n%s", err, out)
	}
	addr := freePort(t)
	start(t, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, program, append([]string{"-http", addr}, args...)...)
	return "http://" + addr + "/"
}

// proxiedToolset serves an MCP server with the settings that a toolset has by default and
// returns the toolset's URL.
func proxiedToolset(t *testing.T, server string) string {
	t.Helper()
	n := startSluice(t)
	n.cli(t, "add", server, "--mcp", "--slug", "proxied")
	return "http://" + n.gateway + "/t/proxied"
}

// TestConformanceProxied runs the official suite against a toolset that proxies the
// reference server in each of its modes. What a gateway of tools cannot do is listed in
// testdata/conformance/proxied-*.yml.
func TestConformanceProxied(t *testing.T) {
	node, suite := npm(t, "@modelcontextprotocol/conformance/dist/index.js")
	for _, mode := range []struct{ name, flag string }{{"stateless", "-stateless=true"}, {"stateful", "-stateless=false"}} {
		t.Run(mode.name, func(t *testing.T) {
			url := proxiedToolset(t, everythingServer(t, mode.flag))
			for _, revision := range []string{"2026-07-28", "2025-11-25"} {
				baseline, err := filepath.Abs("testdata/conformance/proxied-" + mode.name + "-" + revision + ".yml")
				if err != nil {
					t.Fatal(err)
				}
				out, err := runTool(t, node, suite, "server", "--url", url, "--requirements", revision, "--expected-failures", baseline, "-o", t.TempDir())
				_, summary, found := strings.Cut(out, "=== SUMMARY ===")
				if err != nil || !found {
					t.Errorf("%s: the suite ended with %v:\n%s", revision, err, last(out, 8000))
				}
				t.Log(summary)
			}
		})
	}
}

package node_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/internal/promtext"
)

const root = "../../.."

var metricName = regexp.MustCompile(`\b(?:sluice|mcp)_[a-z_]+`)

// family is the name of the metric that a series belongs to.
func family(series string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, ok := strings.CutSuffix(series, suffix); ok && promtext.Help[name] != "" {
			return name
		}
	}
	return series
}

// TestMetricsOfRoles: each role of a node writes a page that Prometheus takes, with HELP
// and TYPE for every series of ours, under names that have a help text.
func TestMetricsOfRoles(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: Debian's package prometheus has it")
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":1}`)
	}))
	t.Cleanup(upstream.Close)
	spec := fmt.Sprintf(`{"openapi":"3.1.0","info":{"title":"T","version":"1"},"servers":[{"url":%q}],"paths":{"/a":{"get":{"operationId":"getA","responses":{"200":{"description":"d"}}}}}}`, upstream.URL)
	seen := map[string]bool{}
	scrape := func(url string, token string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		status, page := do(t, r)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", url, status, page)
		}
		typed := map[string]int{}
		for line := range bytes.Lines(page) {
			name := metricName.Find(line)
			if name == nil {
				continue
			}
			seen[family(string(name))] = true
			if bytes.HasPrefix(line, []byte("# TYPE ")) {
				if typed[string(name)]++; typed[string(name)] > 1 {
					t.Errorf("%s has its type twice", name)
				}
			}
		}
		cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		cmd.Stdin = bytes.NewReader(page)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool check metrics: %v\n%s\n%s", err, out, page)
		}
		return string(page)
	}
	all, stop := start(t, node.Options{Data: t.TempDir(), Role: node.RoleAll})
	var made struct {
		Toolset struct{ ID string }
	}
	api(t, all, http.MethodPost, "/v1/toolsets", map[string]any{"name": "t", "source": map[string]any{"openapi": map[string]any{"document": spec}}, "deploy": map[string]any{"untestedReason": "metrics"}}, &made)
	page := scrape(all.AdminURL(), all.Token().Reveal())
	for _, want := range []string{
		`sluice_admin_requests_total{route="POST /v1/toolsets",code="`, `sluice_admin_request_duration_seconds_bucket{route="POST /v1/toolsets",le="`,
		"sluice_store_up 1\n", "sluice_publish_stopped 0\n", `sluice_edges{state="connected"} 0` + "\n", "\nsluice_tools ", "# TYPE sluice_edges gauge\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of the role all lacks %q:\n%s", want, page)
		}
	}
	stop()
	control, stop := start(t, node.Options{Data: t.TempDir(), Role: node.RoleControl})
	if page = scrape(control.AdminURL(), control.Token().Reveal()); !strings.Contains(page, "sluice_build_info{") || !strings.Contains(page, "process_resident_memory_bytes ") {
		t.Errorf("the page of the role control:\n%s", page)
	}
	stop()
	for name := range seen {
		if promtext.Help[name] == "" {
			t.Errorf("%s has no help text", name)
		}
	}
}

// TestRulesAndDashboards: Prometheus takes the alerting rules, and they and the dashboard
// name only metrics that are exported.
func TestRulesAndDashboards(t *testing.T) {
	var exported []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "promtext" || d.Name() == "node_modules") {
			return leaveOut(err)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		exported = append(exported, metricName.FindAllString(string(b), -1)...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range promtext.Help {
		if !slices.Contains(exported, name) {
			t.Errorf("%s has a help text, and no source writes it", name)
		}
	}
	docs, err := os.ReadFile(filepath.Join(root, "docs", "gateway.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"deploy/prometheus/alerts.yaml", "deploy/grafana/sluice.json"} {
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		names := metricName.FindAllString(string(b), -1)
		if len(names) < 15 {
			t.Errorf("%s names only %d metrics", file, len(names))
		}
		for _, name := range names {
			if promtext.Help[family(name)] == "" && name != "mcp_method_name" {
				t.Errorf("%s names %s, which nothing exports", file, name)
			}
		}
	}
	for name := range promtext.Help {
		if !strings.Contains(string(docs), "`"+name+"`") {
			t.Errorf("docs/gateway.md does not name %s", name)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: Debian's package prometheus has it")
	}
	cmd := exec.CommandContext(t.Context(), promtool, "check", "rules", filepath.Join(root, "deploy", "prometheus", "alerts.yaml"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, out)
	}
}

// leaveOut leaves a folder out unless it could not be read.
func leaveOut(err error) error {
	if err != nil {
		return err
	}
	return filepath.SkipDir
}

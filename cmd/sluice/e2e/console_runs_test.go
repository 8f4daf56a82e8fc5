package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// keyOfRuns is what the stand-ins of the runs want, as long as a token of GitHub.
const keyOfRuns = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"

// beginning is what a run of the console begins with: an empty node, and a specification.
type beginning struct {
	Link string `json:"link"`
	File string `json:"file"`
	API  string `json:"api"`
}

// TestConsoleRuns goes the ways of a product owner through the console at the speed of one: a
// second for each input, five characters a second. It prints what each takes, which stands in
// docs/console.md, and fails beyond what is promised. SLUICE_RUNS_GITHUB is GitHub's
// specification.
func TestConsoleRuns(t *testing.T) {
	if os.Getenv("SLUICE_RUNS") == "" {
		t.Skip("takes two minutes, most of them waiting: make console-runs runs it")
	}
	dir, err := filepath.Abs(consoleDir)
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]string{"node": "", "chromium": ""}
	for name := range tools {
		if tools[name], err = exec.LookPath(name); err != nil {
			t.Fatal(err)
		}
	}
	runs := map[string]beginning{"small": smallRun(t), "permalink": permalinkRun(t)}
	if file := os.Getenv("SLUICE_RUNS_GITHUB"); file != "" {
		if file, err = filepath.Abs(file); err != nil {
			t.Fatal(err)
		}
		runs["github"] = githubRun(t, file)
	}
	text, err := json.Marshal(runs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tools["node"], filepath.Join(dir, "node_modules", "@playwright", "test", "cli.js"), "test", "-c", "playwright.runs.config.ts")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SLUICE_RUNS="+string(text), "CHROMIUM="+tools["chromium"], "SLUICE_E2E_OUTPUT="+t.TempDir())
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// linkOf is the login link that a node printed.
func linkOf(t *testing.T, n *node) string {
	t.Helper()
	link := loginLink.FindString(n.out.String())
	if link == "" {
		t.Fatal("no login link was printed")
	}
	return link
}

// withKey answers every GET that has the key in a header.
func withKey(header, value string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get(header) != value {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"message":"wrong key"}`)
			return
		}
		_, _ = io.WriteString(w, `[{"id":1,"name":"a small thing"}]`)
	})
}

func smallRun(t *testing.T) beginning {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("testdata", "things.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(withKey("X-Key", keyOfRuns))
	t.Cleanup(api.Close)
	file := filepath.Join(t.TempDir(), "things.yaml")
	keyed := strings.NewReplacer("http://127.0.0.1:1", api.URL, "components:\n", "security: [{key: []}]\ncomponents:\n  securitySchemes:\n    key: {type: apiKey, in: header, name: X-Key}\n").Replace(string(document))
	if err := os.WriteFile(file, []byte(keyed), 0o600); err != nil {
		t.Fatal(err)
	}
	return beginning{linkOf(t, startSluice(t)), file, api.URL}
}

// githubRun has an API that its operator allowed, as the real one is public.
func githubRun(t *testing.T, file string) beginning {
	t.Helper()
	api := serveAllowed(t, withKey("Authorization", "Bearer "+keyOfRuns))
	return beginning{linkOf(t, startSluice(t, "--allow-private-upstreams=127.0.0.2/32")), file, api}
}

// permalinkRun has a live toolset whose answers lack the address of an article.
func permalinkRun(t *testing.T) beginning {
	t.Helper()
	n := startSluice(t, "--allow-private-upstreams=127.0.0.2/32")
	articles(t, n)
	return beginning{Link: linkOf(t, n)}
}

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pythonDir is the virtual environment into which make installs requirements.txt.
const pythonDir = "../../../bin/e2e-python"

// python returns the path of a program of the virtual environment. It skips the test
// where the environment is not there.
func python(t *testing.T, program string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(pythonDir, "bin", program))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not installed: make bin/e2e-python/.ready installs it with pip", program)
	}
	return path
}

// clientKey is what the API of TestGeneratedClients wants in X-Key.
const clientKey = "notes-key-4711"

// notesAPI answers who shows the key, and returns the file of its specification.
func notesAPI(t *testing.T) (file string) {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Header.Get("X-Key") != clientKey:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"message":"wrong key"}`)
		case r.Method == http.MethodGet && r.URL.Path == "/notes":
			_ = json.NewEncoder(w).Encode([]any{map[string]any{"id": 1, "text": "first note"}, map[string]any{"id": 2, "text": "second note"}})
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(api.Close)
	document, err := os.ReadFile("testdata/generated/notes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "notes.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(string(document), "http://127.0.0.1:1", api.URL, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestGeneratedClients generates a Python and a TypeScript client from the document that
// a node serves. No generator may warn or leave an operation out, and each client does
// the main path: it creates a toolset from a specification, sets its authentication,
// tests, deploys, lists, patches, calls over MCP, reads usage and calls, and deletes.
func TestGeneratedClients(t *testing.T) {
	t.Parallel()
	specification := notesAPI(t)
	n := startSluice(t, "--allow-private-upstreams=127.0.0.0/8")
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		} `json:"paths"`
	}
	n.api(t, "/v1/openapi.json", &document)
	token, err := os.ReadFile(filepath.Join(n.data, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	arguments := []string{"http://" + n.admin, strings.TrimSpace(string(token)), specification, clientKey}

	t.Run("python", func(t *testing.T) {
		t.Parallel()
		generator, interpreter := python(t, "openapi-python-client"), python(t, "python")
		dir := filepath.Join(t.TempDir(), "client")
		copied := copyTo(t, dir, "main_path.py")
		config := filepath.Join(t.TempDir(), "config.yaml") // no formatter afterwards
		if err := os.WriteFile(config, []byte("post_hooks: []\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		// Its exit status is 1 for a warning.
		out, err := runTool(t, generator, "generate", "--url", "http://"+n.admin+"/v1/openapi.json", "--meta", "none", "--fail-on-warning",
			"--config", config, "--output-path", filepath.Join(dir, "sluice_admin_api_client"))
		if err != nil || strings.Contains(strings.ToLower(out), "warning") {
			t.Fatalf("openapi-python-client: %v\n%s", err, last(out, 8000))
		}
		modules, err := filepath.Glob(filepath.Join(dir, "sluice_admin_api_client", "api", "*", "*.py"))
		if err != nil {
			t.Fatal(err)
		}
		made := map[string]bool{}
		for _, m := range modules {
			made[strings.TrimSuffix(filepath.Base(m), ".py")] = true
		}
		for path, operations := range document.Paths {
			for method, o := range operations {
				if o.OperationID != "" && !made[strings.ReplaceAll(o.OperationID, "-", "_")] {
					t.Errorf("the Python client lacks %s of %s %s", o.OperationID, strings.ToUpper(method), path)
				}
			}
		}
		runDone(t, interpreter, append([]string{copied}, arguments...)...)
	})
	t.Run("typescript", func(t *testing.T) {
		t.Parallel()
		node, generator := npm(t, "openapi-typescript/bin/cli.js")
		_, compiler := npm(t, "typescript/bin/tsc")
		dir := t.TempDir()
		copied := copyTo(t, dir, "main-path.ts")
		modules, err := filepath.Abs(filepath.Join(npmDir, "node_modules"))
		if err == nil {
			err = os.Symlink(modules, filepath.Join(dir, "node_modules"))
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type":"module"}`), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := runTool(t, node, generator, "http://"+n.admin+"/v1/openapi.json", "--output", filepath.Join(dir, "admin.ts"))
		if err != nil || strings.Contains(strings.ToLower(out), "warn") {
			t.Fatalf("openapi-typescript: %v\n%s", err, last(out, 8000))
		}
		out, err = runTool(t, node, compiler, "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--target", "es2022",
			"--module", "nodenext", "--skipLibCheck", "--types", "node", "--typeRoots", filepath.Join(modules, "@types"), copied)
		if err != nil {
			t.Fatalf("tsc: %v\n%s", err, last(out, 8000))
		}
		runDone(t, node, append([]string{strings.TrimSuffix(copied, ".ts") + ".js"}, arguments...)...)
	})
}

// copyTo copies a file of testdata/generated into dir, which it makes.
func copyTo(t *testing.T, dir, name string) (file string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "generated", name))
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	file = filepath.Join(dir, name)
	if err == nil {
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// runDone runs a program that must end with the line "done".
func runDone(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := runTool(t, name, args...); err != nil || !strings.HasSuffix(strings.TrimSpace(out), "done") {
		t.Fatalf("%s: %v\n%s", filepath.Base(args[0]), err, last(out, 8000))
	}
}

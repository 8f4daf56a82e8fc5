package scaffold

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "copy the guest packages into the templates")

// TestGuestPackages: projects get the guest packages as they are in sdk/.
func TestGuestPackages(t *testing.T) {
	for from, to := range map[string]string{
		"../go/sluice.go": "go/sluice/sluice.go.tmpl", "../go/abi_wasip1.go": "go/sluice/abi_wasip1.go.tmpl", "../go/abi_other.go": "go/sluice/abi_other.go.tmpl",
		"../go/auth.go": "go/sluice/auth.go.tmpl", "../go/workflow.go": "go/sluice/workflow.go.tmpl",
		"../c/sluice.h": "c/sluice.h.tmpl", "../as/sluice.ts": "assemblyscript/sluice.ts.tmpl", "../zig/sluice.zig": "zig/sluice.zig.tmpl", "../js/sluice.d.ts": "javascript/sluice.d.ts.tmpl", "../rust/src/lib.rs": "rust/sluice/src/lib.rs.tmpl", "../rust/src/auth.rs": "rust/sluice/src/auth.rs.tmpl", "../rust/Cargo.toml": "rust/sluice/Cargo.toml.tmpl",
	} {
		want, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("templates", filepath.FromSlash(to))
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not %s (%v): run go test ./sdk/scaffold -update", to, from, err)
		}
	}
}

// TestInputTypes: a project says what it reads. What redacts reads text, too, or text
// answers would be withheld; what does not says so, or the gateway takes it for one.
func TestInputTypes(t *testing.T) {
	for _, l := range Languages() {
		files, err := Files(l, Data{Name: "my-plugin", Kind: "filter"})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(files, func(f File) bool { return f.Path == "plugin.json" })
		var m struct {
			Input  struct{ Types []string }
			Output struct{ Redacts *bool }
		}
		if err := json.Unmarshal(files[i].Content, &m); err != nil {
			t.Fatal(err)
		}
		redacts := m.Output.Redacts == nil || *m.Output.Redacts
		if !slices.Contains(m.Input.Types, "application/json") || redacts != slices.Contains(m.Input.Types, "text/*") {
			t.Errorf("%s: %s", l, files[i].Content)
		}
	}
}

// TestFiles: every project has a manifest, a golden case and no placeholder left.
func TestFiles(t *testing.T) {
	for _, l := range Languages() {
		files, err := Files(l, Data{Name: "my-plugin", Kind: "filter"})
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, f := range files {
			names[f.Path] = true
			if bytes.Contains(f.Content, []byte("{{")) {
				t.Errorf("%s: %s has a placeholder", l, f.Path)
			}
		}
		if !names["plugin.json"] || !names["testdata/example.json"] {
			t.Errorf("%s: %v", l, names)
		}
	}
	for _, l := range Languages() {
		files, err := Files(l, Data{Name: "my-plugin", Kind: "workflow"})
		if err != nil {
			t.Fatal(err)
		}
		seen, calls := map[string]bool{}, false
		for _, f := range files {
			if seen[f.Path] || bytes.Contains(f.Content, []byte("{{")) {
				t.Errorf("%s: %s is there twice, or has a placeholder", l, f.Path)
			}
			seen[f.Path] = true
			calls = calls || f.Path == "plugin.json" && bytes.Contains(f.Content, []byte(`"kind": "workflow"`))
		}
		if !calls || !seen["testdata/example.json"] {
			t.Errorf("%s: %v", l, seen)
		}
	}
	if _, err := Files("cobol", Data{}); err == nil {
		t.Error("a project in Cobol")
	}
}

// TestGoProjects: the project of an auth plugin signs what AWS's test suite has, with
// its signatures, and that of a workflow passes its test.
func TestGoProjects(t *testing.T) {
	goProject(t, "auth", "PASS: TestVectors")
	goProject(t, "workflow", "PASS: TestDiscussions")
	for _, l := range Languages() {
		files, err := Files(l, Data{Name: "aws", Kind: "auth"})
		if err != nil {
			t.Errorf("an auth project in %s: %v", l, err)
		} else if !slices.ContainsFunc(files, func(f File) bool {
			return f.Path == "plugin.json" && bytes.Contains(f.Content, []byte(`"kind": "auth"`))
		}) {
			t.Errorf("%s: %v", l, files)
		}
	}
}

func goProject(t *testing.T, kind, want string) {
	t.Helper()
	dir := t.TempDir()
	files, err := Files("go", Data{Name: "aws", Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-v", ".")
	c.Dir, c.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := c.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(want)) {
		t.Errorf("%s: %v\n%s", kind, err, out)
	}
}

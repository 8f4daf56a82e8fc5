//go:build interop

package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// TestPluginProjects: a new project of each language builds and passes its golden
// case with the two commands that "plugin new" prints, and its own tests.
func TestPluginProjects(t *testing.T) {
	own := map[string][]string{"go": {"go", "test", "."}, "rust": {"cargo", "test", "--quiet"}}
	for _, project := range []struct{ language, kind, passed string }{
		{"go", "filter", "1 passed, 0 failed"},
		{"rust", "filter", "1 passed, 0 failed"},
		{"c", "filter", "1 passed, 0 failed"},
		{"cpp", "filter", "1 passed, 0 failed"},
		{"assemblyscript", "filter", "1 passed, 0 failed"},
		{"zig", "filter", "1 passed, 0 failed"},
		{"rust", "workflow", "2 passed, 0 failed"},
		{"c", "workflow", "2 passed, 0 failed"},
		{"cpp", "workflow", "2 passed, 0 failed"},
		{"assemblyscript", "workflow", "2 passed, 0 failed"},
		{"zig", "workflow", "2 passed, 0 failed"},
		{"javascript", "filter", "1 passed, 0 failed"},
		{"javascript", "workflow", "2 passed, 0 failed"},
		{"rust", "auth", "4 passed, 0 failed"},
		{"c", "auth", "4 passed, 0 failed"},
		{"cpp", "auth", "4 passed, 0 failed"},
		{"zig", "auth", "4 passed, 0 failed"},
		{"go", "auth", "8 passed, 0 failed"}, // requests of AWS's Signature Version 4 test suite
	} {
		language := project.language
		t.Run(language+"-"+project.kind, func(t *testing.T) {
			if language == "zig" && !installed("zig", "python-zig") {
				t.Skip("Zig is not installed: pip install ziglang")
			}
			dir := t.TempDir()
			run := func(in string, command ...string) string {
				t.Helper()
				c := exec.Command(command[0], command[1:]...)
				c.Dir = in
				out, err := c.Output()
				if err != nil {
					t.Fatalf("%v: %v\n%s", command, err, out)
				}
				return string(out)
			}
			printed := run(dir, binary, "plugin", "new", "my-plugin", "--lang", language, "--kind", project.kind)
			for line := range strings.Lines(printed) {
				words := strings.Fields(line)
				run(dir, append([]string{binary}, words[1:]...)...)
			}
			if out := run(dir, binary, "plugin", "test", "my-plugin"); !strings.Contains(out, project.passed) {
				t.Error(out)
			}
			if command := own[language]; command != nil && (project.kind == "filter" || language == "rust") {
				run(dir+"/my-plugin", command...)
			}
		})
	}
}

// installed reports whether one of these programs is there.
func installed(names ...string) bool {
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			return true
		}
	}
	return false
}

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
	for _, language := range []string{"go", "rust", "c"} {
		t.Run(language, func(t *testing.T) {
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
			printed := run(dir, binary, "plugin", "new", "my-plugin", "--lang", language)
			for line := range strings.Lines(printed) {
				words := strings.Fields(line)
				run(dir, append([]string{binary}, words[1:]...)...)
			}
			if out := run(dir, binary, "plugin", "test", "my-plugin"); !strings.Contains(out, "1 passed, 0 failed") {
				t.Error(out)
			}
			if command := own[language]; command != nil {
				run(dir+"/my-plugin", command...)
			}
		})
	}
}

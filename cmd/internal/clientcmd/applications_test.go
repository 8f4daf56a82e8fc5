package clientcmd

import (
	"path/filepath"
	"testing"

	"github.com/sluicegate/sluice/cmd/internal/config"
)

// TestWithoutHome: on a machine that names no home directory, the configuration of an
// application has no place, instead of one in the current directory.
func TestWithoutHome(t *testing.T) {
	here := map[string]bool{"claude-code": true, "vscode": true, "opencode": true} // of a project
	without := config.Environment{Getenv: func(string) string { return "" }}
	with := config.Environment{Home: "/home/ann", XDG: "/home/ann/.config", AppData: "/home/ann/AppData", Getenv: without.Getenv}
	for _, a := range applications() {
		if a.file == nil || here[a.Name] {
			continue
		}
		if path := a.file(without); path != "" {
			t.Errorf("%s: %s", a.Name, path)
		}
		if path := a.file(with); !filepath.IsAbs(path) {
			t.Errorf("%s with a home directory: %q", a.Name, path)
		}
	}
}

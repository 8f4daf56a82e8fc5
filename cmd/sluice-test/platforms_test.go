//go:build !race

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlatforms(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":              "module m\n\ngo 1.26\n",
		"p/p.go":              "package p\n\nimport \"os\"\n\nfunc F() error { return os.Remove(name()) }\n",
		"p/p_linux.go":        "package p\n\nfunc name() string { return \"a\" }\n",
		"p/p_windows.go":      "package p\n\nimport \"syscall\"\n\nfunc name() string { return syscall.Getwd }\n",
		"p/p_darwin_arm64.go": "package p\n\nfunc name() string { var unused int; return \"a\" }\n",
		"p/p_darwin_amd64.go": "package p\n\nfunc name() string { return \"a\" }\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	f := func(platform string, wants ...string) {
		t.Helper()
		var out bytes.Buffer
		err := checkPlatforms(t.Context(), dir, strings.Fields(platform), []string{"./p"}, &out)
		if len(wants) == 0 {
			if err != nil || out.String() != platform+": 1 packages compile\n" {
				t.Errorf("%s: %q, %v", platform, out.String(), err)
			}
			return
		}
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", platform, err, want)
			}
		}
	}
	f("linux/amd64")
	f("linux/arm64")
	f("darwin/amd64")
	f("darwin/arm64", "declared and not used: unused")
	f("windows/amd64 windows/arm64 linux/amd64", "windows/amd64: ", "windows/arm64: ", "cannot use syscall.Getwd")
	f("freebsd/amd64", "undefined: name")
	f("linux", "GOOS/GOARCH")
	f("linux/pdp11", "GOOS/GOARCH")
}

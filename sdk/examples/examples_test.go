package examples

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/golden"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/javascript"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
)

var update = flag.Bool("update", false, "write what the plugins make into their cases")

// TestExamples: every plugin of the gallery builds and passes its golden cases. Those in C need
// clang.
func TestExamples(t *testing.T) {
	h, err := extism.New(extism.Options{Functions: guest.Functions(), Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	documents, err := filepath.Glob("*/plugin.json")
	if err != nil || len(documents) < 10 {
		t.Fatalf("%d plugins: %v", len(documents), err)
	}
	for _, document := range documents {
		dir := filepath.Dir(document)
		t.Run(dir, func(t *testing.T) { testExample(t, h, dir) })
	}
}

func testExample(t *testing.T, h *extism.Host, dir string) {
	raw, err := os.ReadFile(filepath.Join(dir, "plugin.json"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	code, err := module.AppendCustom(nil, build(t, dir, m), manifest.Section, m.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	p, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := golden.Read(filepath.Join(dir, "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		g, err := c.Load(h, p, func(_ int, m string) { t.Log(m) })
		if err != nil {
			t.Fatal(err)
		}
		r := golden.Run(t.Context(), p, g, c)
		g.Close()
		switch {
		case r.Diff == "":
		case *update && (r.Got.Output != nil || r.Got.Text != nil || r.Got.Error != nil):
			c.Want = r.Got
			if err := c.Write(filepath.Join(dir, "testdata")); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s:\n%s", c.Name, r.Diff)
		}
	}
}

// build makes the module of a plugin as "sluice plugin build" does.
func build(t *testing.T, dir string, m *manifest.Manifest) []byte {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(dir, "plugin.js"))
	if errors.Is(err, fs.ErrNotExist) {
		return buildC(t, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	k := javascript.Kind{Entry: "transform_response", Text: m.Output != nil && m.Output.Effect == manifest.EffectText}
	if m.Limits != nil {
		k.Memory = m.Limits.MemoryBytes
	}
	if m.Kind == manifest.Workflow {
		k.Entry = "run_workflow"
	}
	code, err := javascript.Build(t.Context(), source, k)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func buildC(t *testing.T, dir string) []byte {
	t.Helper()
	clang, ld := program("clang", "clang-14"), program("wasm-ld", "wasm-ld-14")
	if clang == "" || ld == "" {
		t.Skip("clang or wasm-ld is not here")
	}
	out := filepath.Join(t.TempDir(), "plugin")
	source, flags := filepath.Join(dir, "plugin.c"), []string{"-std=c11"}
	if _, err := os.Stat(filepath.Join(dir, "plugin.cc")); err == nil {
		source, flags = filepath.Join(dir, "plugin.cc"), []string{"-std=c++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"}
	}
	flags = append(flags, "--target=wasm32", "-O2", "-ffreestanding", "-fno-builtin", "-Wall", "-Wextra", "-Werror", "-I../c", "-c", source, "-o", out+".o")
	for _, c := range []*exec.Cmd{
		exec.CommandContext(t.Context(), clang, flags...),
		exec.CommandContext(t.Context(), ld, "--no-entry", "--stack-first", "--strip-all", "-O2", out+".o", "-o", out),
	} {
		if text, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	code, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func program(names ...string) string {
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path
		}
	}
	return ""
}

package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/extism/reference"
	"github.com/sluicegate/sluice/plugins/golden"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
)

// conforming is one case.
type conforming struct {
	name     string
	workflow bool
	golden   *golden.Case
	log      string
}

func readCases(t *testing.T) []*conforming {
	t.Helper()
	names, err := filepath.Glob("*.txtar")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d cases, %v", len(names), err)
	}
	var out []*conforming
	for _, n := range names {
		a, err := txtar.ParseFile(n)
		if err != nil {
			t.Fatal(err)
		}
		file := map[string]any{"inputText": ""}
		c := &conforming{name: strings.TrimSuffix(n, ".txtar"), workflow: bytes.HasPrefix(a.Comment, []byte("workflow\n"))}
		for _, f := range a.Files {
			text := strings.TrimSuffix(string(f.Data), "\n")
			switch f.Name {
			case "context.json", "config.json", "calls.json":
				file[strings.TrimSuffix(f.Name, ".json")] = json.RawMessage(text)
			case "input":
				file["inputText"] = text
			case "output", "error":
				file[map[string]string{"output": "outputText", "error": "error"}[f.Name]] = text
			case "log":
				c.log = text + "\n"
				file["outputText"] = ""
			default:
				t.Fatalf("%s: what is %s?", n, f.Name)
			}
		}
		b, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		if c.golden, err = golden.Parse(c.name, b); err != nil {
			t.Fatalf("%s: %v", n, err)
		}
		out = append(out, c)
	}
	return out
}

// pack gives a module the manifest of a kind.
func pack(t *testing.T, code []byte, workflow bool) *guest.Package {
	t.Helper()
	m := manifest.Manifest{
		FormatVersion: 1, Kind: manifest.Filter, Name: "conformance", Version: "1.0.0", Config: json.RawMessage(`{"type":"object"}`),
		Limits: &manifest.Limits{MemoryBytes: 32 << 20, DeadlineMS: 5000}, Output: &manifest.Output{Effect: manifest.EffectText},
	}
	if workflow {
		m.Kind, m.Output = manifest.Workflow, nil
		m.Capabilities = &manifest.Capabilities{Tools: []string{"first", "second", "third"}}
		m.Tool = &manifest.OfferedTool{Name: "x", Description: "x", InputSchema: json.RawMessage(`{"type":"object"}`)}
	}
	code, err := module.AppendCustom(nil, code, manifest.Section, m.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	p, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// buildGo builds a plugin in Go: it is too large to keep.
func buildGo(t *testing.T, source string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "go.wasm")
	c := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-buildmode=c-shared", "-o", out, source)
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// outcome is what a plugin made of a case, twice: the second call of an instance has to
// be as the first.
func (c *conforming) outcome(t *testing.T, p *guest.Package, on golden.Transformer) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got string
	for range 2 {
		out, err := on.Transform(ctx, nil, c.golden.Body(), c.golden.Begin(p))
		var said *extism.PluginError
		switch {
		case errors.As(err, &said):
			got = "error: " + said.Message
		case err != nil:
			return err.Error()
		default:
			got = "output: " + string(out)
		}
	}
	return got
}

func (c *conforming) want() string {
	if e := c.golden.Want.Error; e != nil {
		return "error: " + *e
	}
	return "output: " + *c.golden.Want.Text
}

// TestConformance runs every case on the plugin of every language, in the sandbox and
// on the reference host.
func TestConformance(t *testing.T) {
	cases := readCases(t)
	h, err := extism.New(extism.Options{Functions: guest.Functions(), Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	program, err := reference.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"go", "rust", "c", "as", "extism-pdk"} {
		var code []byte
		if language == "go" {
			code = buildGo(t, "./testdata/go")
		} else if code, err = os.ReadFile(language + ".wasm"); err != nil {
			t.Fatal(err)
		}
		for _, workflow := range []bool{false, true} {
			theirs := language == "as" || language == "extism-pdk"
			if workflow && theirs {
				continue
			}
			p := pack(t, code, workflow)
			if !theirs && !workflow { // the module has both entries, and so the import of workflows
				p.Manifest.Capabilities = &manifest.Capabilities{Tools: []string{"first"}}
			}
			load := func(config json.RawMessage, log func(int, string)) *guest.Plugin {
				t.Helper()
				g, err := guest.Load(h, p, guest.Options{Policy: guest.AuthorPolicy(p), Config: config, Log: log})
				if err != nil {
					t.Fatalf("%s: %v", language, err)
				}
				if err := g.Compile(t.Context()); err != nil {
					t.Fatalf("%s: %v", language, err)
				}
				return g
			}
			first := load(nil, nil) // keeps the compiled code
			host, err := reference.Start(t.Context(), program, p, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cases {
				if c.workflow != workflow {
					continue
				}
				var log strings.Builder
				g := load(c.golden.Config, func(level int, line string) {
					fmt.Fprintf(&log, "%s %s\n", []string{"trace", "debug", "info", "warn", "error"}[level], line)
				})
				if got := c.outcome(t, p, g); got != c.want() {
					t.Errorf("%s %s\n got %s\nwant %s", language, c.name, got, c.want())
				}
				g.Close()
				if want := c.log + c.log; log.String() != want {
					t.Errorf("%s %s logs\n%swant\n%s", language, c.name, log.String(), want)
				}
				host.Configure(c.golden.Config)
				if got := c.outcome(t, p, host); got != c.want() {
					t.Errorf("%s %s on extism/go-sdk\n got %s\nwant %s", language, c.name, got, c.want())
				}
			}
			host.Close()
			first.Close()
		}
	}
}

// TestModulesAreOfTheirSources: a committed module is the one that was built from the
// sources that are here (build.sh, which is compared bit for bit where the compiler is).
func TestModulesAreOfTheirSources(t *testing.T) {
	for module, patterns := range map[string][]string{
		"c":          {"c/*", "../c/*.h"},
		"auth":       {"auth/*", "../c/*.h"},
		"rust":       {"rust/Cargo.*", "rust/src/*", "../rust/Cargo.toml", "../rust/src/*"},
		"extism-pdk": {"extism-pdk/Cargo.*", "extism-pdk/src/*"},
		"as":         {"as/index.ts", "as/*.json", "as/.npmrc"},
		"as-auth":    {"as/auth.ts", "../as/*.ts", "as/*.json", "as/.npmrc"},
	} {
		record, err := os.ReadFile(module + ".sha256")
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for line := range strings.Lines(string(record)) {
			if digest, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok {
				want[name] = digest
			}
		}
		files := []string{module + ".wasm"}
		for _, p := range patterns {
			found, err := filepath.Glob(p)
			if err != nil || len(found) == 0 {
				t.Fatalf("%s: no file matches: %v", p, err)
			}
			files = append(files, found...)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != want[name] {
				t.Errorf("%s has changed since %s.wasm was built: run sdk/conformance/build.sh", name, module)
			}
		}
		if len(want) != len(files) {
			t.Errorf("%s.sha256 names %d files, and there are %d", module, len(want), len(files))
		}
	}
}

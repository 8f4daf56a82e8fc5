package guest

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
)

func mask(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("../../testdata/plugins/mask/mask.wasm")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// with returns the plugin of the tests with another manifest.
func with(t testing.TB, change func(*manifest.Manifest)) []byte {
	t.Helper()
	return changed(t, mask(t), change)
}

// relayWith is with for the workflow of the tests.
func relayWith(t testing.TB, change func(*manifest.Manifest)) []byte {
	t.Helper()
	code, err := os.ReadFile("../../testdata/plugins/relay/relay.wasm")
	if err != nil {
		t.Fatal(err)
	}
	return changed(t, code, change)
}

func changed(t testing.TB, code []byte, change func(*manifest.Manifest)) []byte {
	t.Helper()
	p, err := Open(code)
	if err != nil {
		t.Fatal(err)
	}
	m := *p.Manifest
	m.Tool, m.Limits = clone(m.Tool), clone(m.Limits)
	change(&m)
	code, err = module.AppendCustom(nil, p.Code, manifest.Section, m.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func host(t testing.TB) *extism.Host {
	t.Helper()
	h, err := extism.New(extism.Options{Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

// TestOpen: what is not a plugin is refused with what to do.
func TestOpen(t *testing.T) {
	f := func(what, want string, code []byte) {
		t.Helper()
		_, err := Open(code)
		if p := problem.As(err); p == nil || p.Kind != problem.InvalidPlugin || p.Remedy == "" || !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	f("no module", "not WebAssembly", []byte("x"))
	f("no manifest", "no section", []byte("\x00asm\x01\x00\x00\x00"))
	f("two manifests", "more than one", append(mask(t), mask(t)[8:]...))
	f("another kind", "run_workflow is not exported, which a plugin of kind workflow has", with(t, func(m *manifest.Manifest) {
		m.Kind, m.Input, m.Output, m.Capabilities = manifest.Workflow, nil, nil, &manifest.Capabilities{Tools: []string{"a"}}
		m.Tool = &manifest.OfferedTool{Name: "x", Description: "x", InputSchema: json.RawMessage(`{"type":"object"}`)}
	}))
	for schema, want := range map[string]string{`{"type":"array"}`: `type is not "object"`, `{"type":"objekt"}`: "cannot be used", `{"type":"object","$ref":"https://a.example/"}`: "cannot be used"} {
		f(schema, want, relayWith(t, func(m *manifest.Manifest) { m.Tool.InputSchema = json.RawMessage(schema) }))
	}
	bare, err := module.AppendCustom(nil, []byte("\x00asm\x01\x00\x00\x00"), manifest.Section, []byte(`{"formatVersion":1,"kind":"filter","name":"x","version":"1"}`))
	if err != nil {
		t.Fatal(err)
	}
	f("no entry point", "transform_response is not exported", bare)
	f("an entry point with parameters", "transform_response takes parameters, or returns something else than an i32", func() []byte {
		m := manifest.Manifest{FormatVersion: 1, Kind: manifest.Filter, Name: "x", Version: "1.0.0"}
		code, err := module.AppendCustom(nil, []byte("\x00asm\x01\x00\x00\x00\x01\x06\x01\x60\x01\x7f\x01\x7f\x03\x02\x01\x00\x07\x16\x01\x12transform_response\x00\x00\x0a\x06\x01\x04\x00\x41\x00\x0b"), manifest.Section, m.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		return code
	}())
	f("another entry point", "the function mask is not exported", with(t, func(m *manifest.Manifest) { m.Entry = "mask" }))
}

// TestEntry: a module made by another tool is called where its manifest says, after its
// start function.
func TestEntry(t *testing.T) {
	section := func(id byte, payload string) string { return string(module.AppendSection(nil, id, []byte(payload))) }
	// (global (mut i32) 7), (start sets it to 0), (export "greet" returns it)
	code := []byte("\x00asm\x01\x00\x00\x00" + section(1, "\x02\x60\x00\x00\x60\x00\x01\x7f") + section(3, "\x02\x00\x01") +
		section(6, "\x01\x7f\x01\x41\x07\x0b") + section(7, "\x03\x05greet\x00\x01\x05_init\x00\x01\x05setup\x00\x00") + section(8, "\x00") +
		section(10, "\x02\x06\x00\x41\x00\x24\x00\x0b\x04\x00\x23\x00\x0b"))
	open := func(entry string) (*Package, error) {
		m := &manifest.Manifest{FormatVersion: 1, Kind: manifest.Filter, Name: "greet", Version: "1.0.0", Entry: entry}
		whole, err := module.AppendCustom(nil, code, manifest.Section, m.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		return Open(whole)
	}
	if _, err := open(""); err == nil || !strings.Contains(problem.As(err).Remedy, `set "entry" to one of those it exports: "greet", "setup"`) {
		t.Errorf("without entry: %v", err)
	}
	p, err := open("greet")
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := Load(host(t), p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer plugin.Close()
	if out, err := plugin.Transform(t.Context(), nil, []byte("{}"), &Context{}); err != nil || len(out) != 0 {
		t.Errorf("%q, %v", out, err)
	}
}

// TestPolicy: what is not granted is named, all of it.
func TestPolicy(t *testing.T) {
	h := host(t)
	asks := with(t, func(m *manifest.Manifest) {
		m.Capabilities = &manifest.Capabilities{Clock: true, Random: true, Hosts: []string{"a.example"}}
		m.Limits = &manifest.Limits{MemoryBytes: 32 << 20, DeadlineMS: 101}
	})
	p, err := Open(asks)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Load(h, p, Options{Policy: Policy{Hosts: []string{"b.example"}}})
	if problem.As(err) == nil || problem.As(err).Kind != problem.Forbidden {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"clock", "random", "a.example", "memory", "time"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	g, err := Load(h, p, Options{Policy: Policy{Clock: true, Random: true, Hosts: []string{"a.example"}, Memory: 32 << 20, Deadline: 101 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
}

// TestTransform: configuration reaches the plugin, and a wrong one is refused.
func TestTransform(t *testing.T) {
	h := host(t)
	p, err := Open(mask(t))
	if err != nil {
		t.Fatal(err)
	}
	f := func(config, want string) {
		t.Helper()
		g, err := Load(h, p, Options{Config: json.RawMessage(config)})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		for range 2 {
			out, err := g.Transform(t.Context(), []byte("before "), []byte(`["a@b.example"]`), &Context{})
			if err != nil || string(out) != "before "+want {
				t.Errorf("%s: %s %v", config, out, err)
			}
		}
	}
	f(``, `["***@b.example"]`)
	f(`{"mask":"-"}`, `["-@b.example"]`)
	for _, bad := range []string{`[]`, `{"mask":1}`, `{"other":"x"}`, `{"mask":"12345678901234567"}`} {
		if _, err := Load(h, p, Options{Config: json.RawMessage(bad)}); problem.As(err) == nil || problem.As(err).Kind != problem.InvalidArgument {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestContext: each key of the contract, and nothing else.
func TestContext(t *testing.T) {
	c := &Context{Tool: "t", Operation: "GET /", Status: 201, ContentType: "c", Arguments: []byte("{}")}
	for key, want := range map[string]string{
		"sluice.tool": "t", "sluice.operation": "GET /", "sluice.status": "201", "sluice.content_type": "c", "sluice.arguments": "{}",
	} {
		if got, ok := c.value(key); !ok || got != want {
			t.Errorf("%s = %q %v", key, got, ok)
		}
	}
	if _, ok := c.value("tool"); ok {
		t.Error("a key that is not the contract's")
	}
}

package connector

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
)

var update = flag.Bool("update", false, "rewrite golden files")

func sampleAPI() *operation.API {
	return &operation.API{
		Name: "pets", Title: "Pets \"R\" us", Version: "1.0+beta/β", Description: "All about pets.",
		Servers: []operation.Server{{URL: "https://{r}.example.com", Variables: []operation.ServerVariable{{Name: "r", Default: "eu", Enum: []string{"eu"}}}}},
		Schemes: []operation.SecurityScheme{
			{ID: "k", Type: "apiKey", In: "header", Name: "X-Key"},
			{ID: "o", Type: "oauth2", Flows: []operation.Flow{{Grant: "clientCredentials", TokenURL: "https://t", Scopes: []string{"r"}}}},
		},
		Security: []operation.Requirement{{"k"}, {}},
	}
}

// sampleOp is operation i of the sample API.
func sampleOp(i int) *operation.Operation {
	str := &operation.Schema{Type: operation.TypeString}
	uri := &operation.Schema{Type: operation.TypeString, Format: "uri"}
	response := &operation.Schema{Type: operation.TypeObject, Properties: []operation.Property{
		{Name: "id", Schema: str}, {Name: "link", Schema: uri}, {Name: fmt.Sprint("link", i%7), Schema: uri},
	}}
	op := &operation.Operation{
		Name: fmt.Sprintf("get_pet_%d", i), Title: "Get a pet", Description: strings.Repeat("Returns a pet. ", 10), ID: fmt.Sprint("pets/get-", i),
		Method: "GET", Path: fmt.Sprintf("/pets%d/{petId}", i), Pointer: fmt.Sprintf("/paths/~1pets%d~1{petId}/get", i), Tags: []string{"pets"},
		Annotations:  operation.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true},
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"petId":{"type":"string","description":"The pet's identifier."},"limit":{"type":"integer","minimum":1,"maximum":100},"state":{"type":"string","enum":["open","closed","all"]}},"required":["petId"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}}}`),
		Plan: &operation.Plan{
			Version: 1, Method: "GET", Path: fmt.Sprintf("/pets%d/{petId}", i), Accept: "application/json",
			Params: []operation.Param{
				{Arg: "petId", Name: "petId", In: operation.InPath, Required: true, Schema: str},
				{Arg: "limit", Name: "limit", In: operation.InQuery, Schema: &operation.Schema{Type: operation.TypeInteger, Min: "1", Max: "100"}},
				{Arg: "state", Name: "state", In: operation.InQuery, Schema: &operation.Schema{Type: operation.TypeString, Enum: []string{`"open"`, `"closed"`, `"all"`}}},
			},
		},
		Response: response,
	}
	if i == 1 {
		op.Security, op.Servers = []operation.Requirement{}, []operation.Server{{URL: "https://other.example.com"}}
	}
	return op
}

func build(t testing.TB, tools int) Artifact {
	t.Helper()
	b := NewBuilder(sampleAPI())
	for i := range tools {
		if err := b.Add(sampleOp(i)); err != nil {
			t.Fatal(err)
		}
	}
	a, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestRoundTrip(t *testing.T) {
	a := build(t, 10)
	c, err := Open(a.Module)
	if err != nil {
		t.Fatal(err)
	}
	api := sampleAPI()
	if c.Name() != api.Name || c.Version() != api.Version || c.Title() != api.Title || c.Description() != api.Description ||
		c.Len() != 10 || a.Tools != 10 {
		t.Errorf("head of %s %s %d tools differs", c.Name(), c.Version(), c.Len())
	}
	if !reflect.DeepEqual(c.Servers(), api.Servers) || !reflect.DeepEqual(c.Schemes(), api.Schemes) {
		t.Errorf("servers %v, schemes %v", c.Servers(), c.Schemes())
	}
	if s := c.Security(); len(s) != 2 || len(s[0]) != 1 || s[0][0] != "k" || len(s[1]) != 0 {
		t.Errorf("security %v", s)
	}
	for i := range 10 {
		op := sampleOp(i)
		tool, err := c.Tool(i)
		if err != nil {
			t.Fatal(err)
		}
		head, err := c.Head(i)
		if err != nil || !reflect.DeepEqual(head, tool.Head) {
			t.Fatalf("head %d: %v", i, err)
		}
		if head.Name != op.Name || head.Title != op.Title || head.Description != op.Description || head.Method != op.Method || head.Path != op.Path ||
			head.Annotations != op.Annotations || !bytes.Equal(head.InputSchema, op.InputSchema) || !bytes.Equal(head.OutputSchema, op.OutputSchema) ||
			tool.OperationID != op.ID || tool.Pointer != op.Pointer || tool.Accept != "application/json" {
			t.Errorf("tool %d: %+v", i, tool)
		}
		if (tool.Security == nil) != (op.Security == nil) || len(tool.Servers) != len(op.Servers) {
			t.Errorf("tool %d: security %v, servers %v", i, tool.Security, tool.Servers)
		}
		var r operation.Request
		args := jsonscan.Trusted([]byte(`{"petId":"a/b","limit":"5"}`))
		if err := tool.Plan.Check(args); err != nil {
			t.Fatal(err)
		}
		if err := tool.Plan.Build(&r, args); err != nil || string(r.Target) != fmt.Sprintf("/pets%d/a%%2Fb?limit=5", i) {
			t.Errorf("tool %d: %s, %v", i, r.Target, err)
		}
		got, _, err := engine.Reference(nil, c.Program(i), fmt.Appendf(nil, `{"id":1,"href":"https://api.x/1","hrefs%d_self":"https://api.x/2","a":null}`, i%7), engine.Limits{})
		if err != nil || string(got) != `{"id":1}` {
			t.Errorf("tool %d: program gives %s, %v", i, got, err)
		}
	}
}

// TestSameBytes: one API, one module, on every machine. The digest changes when the
// engine, the formats or the default rules do: look at what changed, then -update.
func TestSameBytes(t *testing.T) {
	golden := filepath.Join("testdata", "digest.golden")
	a := build(t, 20)
	if b := build(t, 20); !bytes.Equal(a.Module, b.Module) || a.Digest != b.Digest {
		t.Fatal("two builds differ")
	}
	// The module without the engine's code, so that a rebuilt engine does not hide a
	// change of the formats.
	linked, err := engine.Open(a.Module, manifest.Section)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("manifest %s\nprograms %s\n", digestOf(linked.Manifest), digestOf(bytes.Join(linked.Programs, nil)))
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("digests\n%swant\n%s", got, want)
	}
}

// TestStandalone: another runtime's eyes: the module is valid WebAssembly that
// needs nothing, and carries its manifest.
func TestStandalone(t *testing.T) {
	a := build(t, 3)
	rt := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfig().WithCustomSections(true))
	defer rt.Close(t.Context())
	m, err := rt.CompileModule(t.Context(), a.Module)
	if err != nil {
		t.Fatal(err)
	}
	if imports := m.ImportedFunctions(); len(imports) != 0 {
		t.Errorf("it imports %d functions", len(imports))
	}
	sections := m.CustomSections()
	if len(sections) == 0 || sections[len(sections)-1].Name() != manifest.Section {
		t.Fatalf("%d custom sections, the last should be %s", len(sections), manifest.Section)
	}
	parsed, err := manifest.Parse(sections[len(sections)-1].Data())
	if err != nil || len(parsed.Tools) != 3 {
		t.Fatalf("manifest: %v", err)
	}
	if _, err := rt.InstantiateModule(t.Context(), m, wazero.NewModuleConfig()); err != nil {
		t.Errorf("instantiate: %v", err)
	}
}

// TestTampered flips every 97th byte, cuts and extends the module: none of it is
// opened as something else than it was.
func TestTampered(t *testing.T) {
	a := build(t, 3)
	f := func(module []byte, what string) {
		t.Helper()
		c, err := Open(module)
		if err == nil && digestOf(module) == a.Digest {
			t.Fatalf("%s: it was opened under its old digest", what)
		}
		if err != nil && !problem.Is(err, problem.InvalidPlugin) {
			t.Fatalf("%s: %v is no InvalidPlugin", what, err)
		}
		if err != nil {
			return
		}
		for i := range c.Len() { // bytes of texts may change; nothing may panic
			if _, err := c.Tool(i); err != nil && !problem.Is(err, problem.InvalidPlugin) {
				t.Fatalf("%s, tool %d: %v", what, i, err)
			}
		}
	}
	linked, err := engine.Open(a.Module, manifest.Section)
	if err != nil {
		t.Fatal(err)
	}
	code := len(a.Module) - len(linked.Manifest) - 64
	for i := 0; i < len(a.Module); i += 97 {
		m := bytes.Clone(a.Module)
		m[i] ^= 0x20
		f(m, fmt.Sprint("byte ", i))
		if i < code/4 {
			if _, err := Open(m); err == nil {
				t.Fatalf("byte %d is engine code and was changed without notice", i)
			}
		}
	}
	f(a.Module[:len(a.Module)-1], "cut")
	f(append(bytes.Clone(a.Module), 0), "longer")
	f(nil, "empty")
	other, err := engine.Link(nil, manifest.Section, []byte(`{"formatVersion":1,"kind":"toolset","name":"a","version":"1","toolset":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other); !problem.Is(err, problem.InvalidPlugin) {
		t.Errorf("a bundle was opened as a connector: %v", err)
	}
}

// TestAddRefuses: a bad operation is refused and the others are as if it had never
// been there.
func TestAddRefuses(t *testing.T) {
	good := build(t, 2)
	b := NewBuilder(sampleAPI())
	f := func(want string, change func(*operation.Operation)) {
		t.Helper()
		op := sampleOp(77)
		change(op)
		if err := b.Add(op); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("got %v, want %q", err, want)
		}
	}
	if err := b.Add(sampleOp(0)); err != nil {
		t.Fatal(err)
	}
	f("is taken", func(op *operation.Operation) { op.Name = "GET_pet_0" })
	f("already", func(op *operation.Operation) { op.Path = sampleOp(0).Path })
	f("lower-case", func(op *operation.Operation) { op.Name = "Get-Pet" })
	f("no request plan", func(op *operation.Operation) { op.Plan = nil })
	f("version 7", func(op *operation.Operation) { op.Plan.Version = 7 })
	f("path parameter", func(op *operation.Operation) { op.Plan.Path = "/x/{other}" })
	f("expected an object", func(op *operation.Operation) { op.InputSchema = json.RawMessage(`[]`) })
	f("its schemas", func(op *operation.Operation) { op.InputSchema = json.RawMessage(`{`) })
	f("limit is", func(op *operation.Operation) {
		op.InputSchema = json.RawMessage(`{"x":"` + strings.Repeat("x", manifest.MaxSchema) + `"}`)
	})
	if err := b.Add(sampleOp(1)); err != nil {
		t.Fatal(err)
	}
	a, err := b.Finish()
	if err != nil || a.Digest != good.Digest {
		t.Errorf("refused operations left traces: %v", err)
	}
	if err := b.Add(sampleOp(2)); err == nil {
		t.Error("Add after Finish")
	}
	if _, err := b.Finish(); err == nil {
		t.Error("Finish twice")
	}
	if a, err := NewBuilder(sampleAPI()).Finish(); err != nil || a.Tools != 0 {
		t.Errorf("a connector without tools: %v", err)
	}
}

func TestTag(t *testing.T) {
	f := func(version, want string) {
		t.Helper()
		if got := Tag(version, "sha256:0123456789abcdef"); got != want {
			t.Fatalf("Tag(%q) = %q, want %q", version, got, want)
		}
	}
	f("1.0", "1.0-01234567")
	f("1.0+beta/β", "1.0_beta__-01234567")
	f("", "_-01234567")
	f("-x", "_x-01234567")
	f(".", "_-01234567")
	f(strings.Repeat("v", 101), strings.Repeat("v", 100)+"-01234567")
}

// TestConcurrent: goroutines that load the same tools get the same ones.
func TestConcurrent(t *testing.T) {
	c, err := Open(build(t, 20).Module)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	tools := make([][20]*Tool, 8)
	errs := make([]error, 8)
	for g := range tools {
		wg.Go(func() {
			for i := range 20 {
				tool, err := c.Tool(i)
				tools[g][i], errs[g] = tool, errors.Join(errs[g], err)
			}
		})
	}
	wg.Wait()
	for g := range tools {
		if errs[g] != nil || tools[g] != tools[0] {
			t.Fatalf("goroutine %d: other tools, %v", g, errs[g])
		}
	}
}

// TestLater: a connector is opened at its first use, once; a failure is told to who
// asks and tried again.
func TestLater(t *testing.T) {
	module := build(t, 3).Module
	opened := 0
	fault := errors.New("not there yet")
	c := Later(func() (*Connector, error) {
		if opened++; opened == 1 {
			return nil, fault
		}
		return Open(module)
	})
	if opened != 0 {
		t.Fatal("it was opened before its first use")
	}
	if _, err := c.Tool(0); !errors.Is(err, fault) {
		t.Fatalf("Tool: %v", err)
	}
	if err := c.Load(); err != nil || c.Len() == 0 || c.Name() == "" {
		t.Fatalf("Load: %v, %d tools of %q", err, c.Len(), c.Name())
	}
	if _, err := c.Tool(0); err != nil || opened != 2 {
		t.Fatalf("Tool: %v, opened %d times", err, opened)
	}
	broken := Later(func() (*Connector, error) { return nil, fault })
	if n, servers, err := broken.Len(), broken.Servers(), broken.Load(); n != 0 || servers != nil || !errors.Is(err, fault) {
		t.Fatalf("one that cannot be opened: %d tools, %v, %v", n, servers, err)
	}
}

// TestProgramOfPurpose: operations with one schema have the program of what each is for, not that
// of the first of them.
func TestProgramOfPurpose(t *testing.T) {
	str := &operation.Schema{Type: operation.TypeString}
	links := &operation.Schema{Type: operation.TypeObject, Properties: []operation.Property{{Name: "id", Schema: str}, {Name: "links", Schema: &operation.Schema{Type: operation.TypeObject}}}}
	for name, response := range map[string]*operation.Schema{"described": links, "not described": nil} {
		b := NewBuilder(sampleAPI())
		for i, method := range []string{"GET", "POST"} {
			op := sampleOp(i)
			op.Method, op.Plan.Method, op.Path, op.Plan.Path, op.Response = method, method, "/bookings", "/bookings", response
			op.Plan.Params = nil
			if err := b.Add(op); err != nil {
				t.Fatal(err)
			}
		}
		a, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		c, err := Open(a.Module)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{`{"id":"1"}`, `{"id":"1","links":{"retrieve":{"href":"https://api.x/v1/b?token=1"}}}`} {
			got, _, err := engine.Reference(nil, c.Program(i), []byte(`{"id":"1","links":{"retrieve":{"href":"https://api.x/v1/b?token=1"}}}`), engine.Limits{})
			if err != nil || string(got) != want {
				t.Errorf("%s, %d: %s, %v, want %s", name, i, got, err, want)
			}
		}
	}
}

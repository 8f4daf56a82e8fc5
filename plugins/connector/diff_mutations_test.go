//go:build !race

package connector_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/connector"
)

//go:embed testdata/mutations/base.json
var mutationsBase []byte

//go:embed testdata/mutations/table.json
var mutationsTable []byte

//go:embed testdata/mutations/base30.json
var mutationsBase30 []byte

//go:embed testdata/mutations/table30.json
var mutationsTable30 []byte

//go:embed testdata/mutations/base30b.json
var mutationsBase30b []byte

//go:embed testdata/mutations/table30b.json
var mutationsTable30b []byte

//go:embed testdata/mutations/base31b.json
var mutationsBase31b []byte

//go:embed testdata/mutations/table31b.json
var mutationsTable31b []byte

//go:embed testdata/mutations/base32.json
var mutationsBase32 []byte

//go:embed testdata/mutations/table32.json
var mutationsTable32 []byte

// mutation is a change of the base document with what it means to an agent by
// OpenAPI's rules: what is sent may be accepted more widely, what is answered may be
// promised more narrowly.
type mutation struct {
	What  string  `json:"what"`
	Patch []patch `json:"patch"`
	Want  string  `json:"want"` // breaking, safe, wording or none
}

// patch is an operation of RFC 6902: add, replace or remove.
type patch struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// apply changes a document in place and returns it.
func (p patch) apply(t *testing.T, doc any) any {
	t.Helper()
	tokens := strings.Split(p.Path, "/")[1:]
	var at func(v any, tokens []string) any
	at = func(v any, tokens []string) any {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(tokens[0])
		switch v := v.(type) {
		case map[string]any:
			if _, there := v[name]; !there && (p.Op != "add" || len(tokens) > 1) {
				t.Fatalf("%s %s: there is no %s", p.Op, p.Path, name)
			}
			switch {
			case len(tokens) > 1:
				v[name] = at(v[name], tokens[1:])
			case p.Op == "remove":
				delete(v, name)
			default:
				v[name] = p.Value
			}
			return v
		case []any:
			if name == "-" {
				return append(v, p.Value)
			}
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(v) {
				t.Fatalf("%s %s: there is no %s", p.Op, p.Path, name)
			}
			switch {
			case len(tokens) > 1:
				v[i] = at(v[i], tokens[1:])
			case p.Op == "remove":
				return append(v[:i:i], v[i+1:]...)
			default:
				v[i] = p.Value
			}
			return v
		}
		t.Fatalf("%s %s: %s is in no object or list", p.Op, p.Path, name)
		return nil
	}
	return at(doc, tokens)
}

func connectorOf(t *testing.T, document []byte, patches []patch) *connector.Connector {
	t.Helper()
	var doc any
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for _, p := range patches {
		doc = p.apply(t, doc)
	}
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "spec.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	a, refused := compileFile(t, file)
	if len(refused) > 0 || a.Module == nil {
		t.Fatal(refused)
	}
	c, err := connector.Open(a.Module)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestMutations: each change of a document has the class that its table says.
func TestMutations(t *testing.T) {
	for _, set := range []struct {
		name        string
		base, table []byte
		least       int
	}{{"3.1", mutationsBase, mutationsTable, 149}, {"3.0", mutationsBase30, mutationsTable30, 120}, {"3.0 with headers", mutationsBase30b, mutationsTable30b, 46}, {"3.1 of another shape", mutationsBase31b, mutationsTable31b, 69}, {"3.2", mutationsBase32, mutationsTable32, 47}} {
		t.Run(set.name, func(t *testing.T) {
			var table []mutation
			if err := json.Unmarshal(set.table, &table); err != nil {
				t.Fatal(err)
			}
			if len(table) < set.least {
				t.Errorf("%d mutations", len(table))
			}
			base := connectorOf(t, set.base, nil)
			classes := map[string]int{}
			for _, m := range table {
				t.Run(m.What, func(t *testing.T) {
					list, err := connector.Diff(base, connectorOf(t, set.base, m.Patch))
					if err != nil {
						t.Fatal(err)
					}
					if got := gravest(list); got != m.Want {
						t.Errorf("%s, want %s: %q", got, m.Want, changes(list))
					}
				})
				classes[m.Want]++
			}
			t.Logf("%d mutations: %v", len(table), classes)
		})
	}
}

// gravest is the gravest impact of changes, none without one.
func gravest(list []connector.ToolChange) string {
	got := "none"
	for _, class := range []connector.Impact{connector.ImpactWording, connector.ImpactSafe, connector.ImpactBreaking} {
		for _, c := range list {
			if c.Impact == class {
				got = string(class)
			}
		}
	}
	return got
}

// TestRenamedPathParameter: the operation is the same one, its argument is another.
func TestRenamedPathParameter(t *testing.T) {
	list, err := connector.Diff(connectorOf(t, mutationsBase, nil), connectorOf(t, mutationsBase, []patch{
		{Op: "add", Path: "/paths/~1pets~1{petId}", Value: map[string]any{"get": map[string]any{
			"operationId": "get_pet", "parameters": []any{map[string]any{"name": "petId", "in": "path", "required": true, "schema": map[string]any{"type": "string"}}},
			"responses": map[string]any{"204": map[string]any{"description": "-"}},
		}}},
		{Op: "remove", Path: "/paths/~1pets~1{id}"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, c := range list {
		kinds = append(kinds, c.Kind+" "+c.Method+" "+c.Path+" "+string(c.Impact))
	}
	if got := strings.Join(kinds, ", "); got != "changed GET /pets/{petId} breaking, removed PUT /pets/{id} breaking" {
		t.Error(got)
	}
}

func TestSamePath(t *testing.T) {
	for path, want := range map[string]string{
		"/pets/{id}": "/pets/{}", "/a/{b}/c/{d}.json": "/a/{}/c/{}.json", "/pets": "/pets", "": "", "/{": "/{", "/}{": "/}{", "/{a}{b}": "/{}{}", "/}/{a}": "/}/{}",
	} {
		if got := connector.SamePath(path); got != want {
			t.Errorf("SamePath(%q) = %q, want %q", path, got, want)
		}
	}
}

func FuzzSamePath(f *testing.F) {
	f.Add("/a/{b}/}{c")
	f.Fuzz(func(t *testing.T, path string) {
		if once := connector.SamePath(path); connector.SamePath(once) != once || len(once) > len(path) {
			t.Errorf("SamePath(%q) = %q", path, once)
		}
	})
}

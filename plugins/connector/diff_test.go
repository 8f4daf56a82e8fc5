package connector_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/connector"
)

// opened is the connector of a specification with these paths, and members of the
// document beside them.
func opened(t *testing.T, paths, beside string) *connector.Connector {
	t.Helper()
	file := filepath.Join(t.TempDir(), "spec.json")
	doc := fmt.Sprintf(`{"openapi":"3.0.3","info":{"title":"Pets","version":"1"},"servers":[{"url":"https://api.example.com"}],%s"paths":%s}`, beside, paths)
	if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
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

// get is a path with one GET that has these parameters and this schema of its
// answer.
func get(parameters, answer string) string {
	return fmt.Sprintf(`{"/pets":{"get":{"operationId":"list_pets","summary":"List pets","parameters":[%s],"responses":{"200":{"description":"Pets",
		"content":{"application/json":{"schema":%s}}}}}}}`, parameters, answer)
}

const anyPet = `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}}}`

// param is an optional query parameter q.
func param(schema string) string { return `{"name":"q","in":"query","schema":` + schema + `}` }

// TestDiff compares connectors that differ in one thing.
func TestDiff(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new string // paths
		want     []string
	}{
		{"nothing", get(param(`{"type":"string"}`), anyPet), get(param(`{"type":"string"}`), anyPet), nil},
		{"a new optional argument", get("", anyPet), get(param(`{"type":"string"}`), anyPet), []string{"changed safe: safe input/q it is new and optional"}},
		{
			"a new required argument", get("", anyPet), get(strings.Replace(param(`{"type":"string"}`), `"in"`, `"required":true,"in"`, 1), anyPet),
			[]string{"changed breaking: breaking input/q it is new and required"},
		},
		{"an argument that is gone", get(param(`{"type":"string"}`), anyPet), get("", anyPet), []string{"changed breaking: breaking input/q it is gone"}},
		{
			"required now", get(param(`{"type":"string"}`), anyPet), get(strings.Replace(param(`{"type":"string"}`), `"in"`, `"required":true,"in"`, 1), anyPet),
			[]string{"changed breaking: breaking input/q it is required now"},
		},
		{
			"another type", get(param(`{"type":"string"}`), anyPet), get(param(`{"type":"integer"}`), anyPet),
			[]string{"changed breaking: breaking input/q the type was string, is integer"},
		},
		{
			"a wider type", get(param(`{"type":"integer"}`), anyPet), get(param(`{"type":"number"}`), anyPet),
			[]string{"changed safe: safe input/q the type was integer, is number"},
		},
		{
			"values that are gone and new", get(param(`{"type":"string","enum":["a","b"]}`), anyPet), get(param(`{"type":"string","enum":["b","c"]}`), anyPet),
			[]string{`changed breaking: breaking input/q values are not allowed any more: "a"; safe input/q values are new: "c"`},
		},
		{
			"a lower limit", get(param(`{"type":"integer","maximum":9}`), anyPet), get(param(`{"type":"integer","maximum":8}`), anyPet),
			[]string{"changed breaking: breaking input/q maximum was 9, is 8"},
		},
		{
			"a higher limit", get(param(`{"type":"integer","maximum":9}`), anyPet), get(param(`{"type":"integer","maximum":10}`), anyPet),
			[]string{"changed safe: safe input/q maximum was 9, is 10"},
		},
		{
			"a limit that is gone", get(param(`{"type":"integer","minimum":9}`), anyPet), get(param(`{"type":"integer"}`), anyPet),
			[]string{"changed safe: safe input/q minimum is no longer limited (9)"},
		},
		{
			"a member of items", get(param(`{"type":"array","items":{"type":"string"}}`), anyPet), get(param(`{"type":"array","items":{"type":"integer"}}`), anyPet),
			[]string{"changed breaking: breaking input/q/items the type was string, is integer"},
		},
		{
			"words", get(param(`{"type":"string","description":"One."}`), anyPet), get(param(`{"type":"string","description":"Two."}`), anyPet),
			[]string{"changed wording: wording input/q the description changed"},
		},
		{
			"an answer without a member", get("", anyPet), get("", `{"type":"object","properties":{"id":{"type":"integer"}}}`),
			[]string{"changed breaking: breaking output/name it is no longer answered"},
		},
		{
			"an answer with another member", get("", `{"type":"object","properties":{"id":{"type":"integer"}}}`), get("", anyPet),
			[]string{"changed safe: safe output/name it is answered too"},
		},
		{"another path", get("", anyPet), strings.Replace(get("", anyPet), `"/pets"`, `"/animals"`, 1), []string{"added safe: ", "removed breaking: "}},
		{
			"another name", get("", anyPet), strings.Replace(get("", anyPet), "list_pets", "find_pets", 1),
			[]string{"changed breaking: breaking name the specification now makes it find_pets, it was list_pets"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := connector.Diff(opened(t, c.old, ""), opened(t, c.new, ""))
			if err != nil {
				t.Fatal(err)
			}
			if lines := changes(got); !slices.Equal(lines, c.want) {
				t.Errorf("got  %q\nwant %q", lines, c.want)
			}
		})
	}
}

// changes are one line for each change.
func changes(list []connector.ToolChange) []string {
	var out []string
	for _, c := range list {
		var details []string
		for _, d := range c.Details {
			details = append(details, fmt.Sprintf("%s %s %s", d.Impact, d.Where, d.What))
		}
		out = append(out, fmt.Sprintf("%s %s: %s", c.Kind, c.Impact, strings.Join(details, "; ")))
	}
	return out
}

// TestDiffOfAuthentication: who could call, and cannot any more.
func TestDiffOfAuthentication(t *testing.T) {
	const schemes = `"components":{"securitySchemes":{"o":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://a.example/t","scopes":{"r":"","w":""}}}},"key":{"type":"apiKey","in":"header","name":"X-Key"},"basic":{"type":"http","scheme":"basic"}}},`
	f := func(before, after string, want ...string) {
		t.Helper()
		got, err := connector.Diff(opened(t, get("", anyPet), schemes+before), opened(t, get("", anyPet), schemes+after))
		if err != nil {
			t.Fatal(err)
		}
		if lines := changes(got); !slices.Equal(lines, want) {
			t.Errorf("%s → %s\ngot  %q\nwant %q", before, after, lines, want)
		}
	}
	none, key, either := `"security":[],`, `"security":[{"key":[]}],`, `"security":[{"key":[]},{"basic":[]}],`
	f(none, none)
	f(none, key, "changed breaking: breaking authentication it needs authentication now: key")
	f(key, none, "changed safe: safe authentication it needs no authentication any more")
	f(key, either, "changed safe: safe authentication basic is accepted too")
	f(either, key, "changed breaking: breaking authentication basic is not accepted any more; now: key")
	// Scopes: one more is breaking, unless another alternative is still enough.
	bare, read, both := `"security":[{"o":[]}],`, `"security":[{"o":["r"]}],`, `"security":[{"o":["w","r"]}],`
	f(read, read)
	f(bare, read, "changed breaking: breaking authentication it needs the scope o r now")
	f(read, both, "changed breaking: breaking authentication it needs the scope o w now")
	f(both, read, "changed safe: safe authentication it needs fewer scopes of o")
	f(read, bare, "changed safe: safe authentication it needs fewer scopes of o")
	f(read, `"security":[{"o":["w"]},{"o":["r"]}],`, "changed safe: safe authentication the scope o w is enough too")
	f(read, `"security":[{"o":["w"]}],`, "changed breaking: breaking authentication it needs the scope o w now")
}

// TestDiffIsBounded: of many differences fifty are listed, and the gravest counts
// wherever it stands.
func TestDiffIsBounded(t *testing.T) {
	f := func(n, gone, listed int) {
		t.Helper()
		paths := func(text string, drop int) string {
			var list []string
			for i := range n - drop {
				list = append(list, fmt.Sprintf(`{"name":"p%03d","in":"query","description":"%s.","schema":{"type":"string"}}`, i, text))
			}
			return get(strings.Join(list, ","), anyPet)
		}
		got, err := connector.Diff(opened(t, paths("One", 0), ""), opened(t, paths("Two", gone), ""))
		if err != nil || len(got) != 1 {
			t.Fatalf("%v, %d changes", err, len(got))
		}
		want := connector.ImpactWording
		if gone > 0 {
			want = connector.ImpactBreaking
		}
		if len(got[0].Details) != listed || got[0].Impact != want {
			t.Errorf("%d differences: %d listed, impact %s, want %d, %s", n, len(got[0].Details), got[0].Impact, listed, want)
		}
	}
	f(50, 0, 50)
	f(51, 0, 50)
	f(60, 1, 50)
}

// TestDiffWithItself: a connector does not differ from itself, and its changes
// survive JSON.
func TestDiffWithItself(t *testing.T) {
	c := opened(t, get(param(`{"type":"string"}`), anyPet), "")
	got, err := connector.Diff(c, c)
	if err != nil || len(got) != 0 {
		t.Fatalf("%v, %v", got, err)
	}
	got, err = connector.Diff(c, opened(t, `{"/other":{"get":{"responses":{"204":{"description":"-"}}}}}`, ""))
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var back []connector.ToolChange
	if err := json.Unmarshal(b, &back); err != nil || !slices.Equal(changes(back), changes(got)) {
		t.Errorf("%s, %v", b, err)
	}
}

package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/operation"
)

// small is an API of one operation, GET /p, that a test changes.
type small struct{ doc, op map[string]any }

func newSmall() small {
	op := map[string]any{"operationId": "one", "responses": map[string]any{"204": map[string]any{"description": "Done"}}}
	return small{op: op, doc: map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "Small", "version": "1"}, "servers": []any{map[string]any{"url": "https://x.example"}},
		"paths": map[string]any{"/p": map[string]any{"get": op}},
	}}
}

// parameter gives the operation one parameter, q, with a schema.
func (s small) parameter(schema map[string]any) small {
	s.op["parameters"] = []any{map[string]any{"name": "q", "in": "query", "schema": schema}}
	return s
}

func (s small) compile(t *testing.T) (*Result, *operation.Operation) {
	t.Helper()
	b, err := json.Marshal(s.doc)
	if err != nil {
		t.Fatal(err)
	}
	res, ops := compileAll(t, Source{Name: "small.json", Data: b}, Options{})
	if len(ops) == 0 {
		return res, nil
	}
	return res, ops[0]
}

func times[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// TestPublishedLimits: what the model reads of a parameter is there at its bound, and
// one past it is shortened or left out.
func TestPublishedLimits(t *testing.T) {
	x := strings.Repeat
	f := func(what string, schema map[string]any, has string, want bool) {
		t.Helper()
		_, op := newSmall().parameter(schema).compile(t)
		if got := strings.Contains(string(op.InputSchema), has); got != want {
			t.Errorf("%s: %q is published: %v, want %v\n%.300s", what, has, got, want, op.InputSchema)
		}
	}
	pattern := "^" + x("a", maxPattern-2) + "$"
	f("the longest pattern", map[string]any{"type": "string", "pattern": pattern}, pattern, true)
	f("a longer pattern", map[string]any{"type": "string", "pattern": "^" + x("a", maxPattern-1) + "$"}, x("a", 50), false)
	f("the longest default", map[string]any{"type": "string", "default": x("d", maxDefault-2)}, x("d", maxDefault-2), true) // with its quotes
	f("a longer default", map[string]any{"type": "string", "default": x("d", maxDefault-1)}, "ddd", false)
	f("the longest description", map[string]any{"type": "string", "description": x("d ", maxPropertyText/2-1) + "d"}, x("d ", maxPropertyText/2-1)+"d", true)
	f("a longer description", map[string]any{"type": "string", "description": x("d ", maxPropertyText/2) + "d"}, x("d ", maxPropertyText/2), false)
	// Of an enum what comes before its last value is counted, with quotes.
	f("the largest enum", map[string]any{"type": "string", "enum": []string{x("v", maxEnumBytes-2), "last"}}, `"last"]`, true)
	f("a larger enum", map[string]any{"type": "string", "enum": []string{x("v", maxEnumBytes-1), "last"}}, `"last"]`, false)
}

// TestCountLimits: lists of a document are read to their bound and no further.
func TestCountLimits(t *testing.T) {
	f := func(what string, limit int, count func(n int) int) {
		t.Helper()
		for n, want := range map[int]int{limit: limit, limit + 1: limit} {
			if got := count(n); got != want {
				t.Errorf("%d %s: %d are kept, want %d", n, what, got, want)
			}
		}
	}
	f("servers", maxServers, func(n int) int {
		s := newSmall()
		s.doc["servers"] = times(n, func(i int) any { return map[string]any{"url": fmt.Sprintf("https://s%d.example", i)} })
		res, _ := s.compile(t)
		return len(res.API.Servers)
	})
	f("variables of a server", maxVariables, func(n int) int {
		s, url, vars := newSmall(), "https://x.example", map[string]any{}
		for i := range n {
			url += fmt.Sprintf("/{v%d}", i)
			vars[fmt.Sprintf("v%d", i)] = map[string]any{"default": "a"}
		}
		s.doc["servers"] = []any{map[string]any{"url": url, "variables": vars}}
		res, _ := s.compile(t)
		return len(res.API.Servers[0].Variables)
	})
	f("security schemes", maxSchemes, func(n int) int {
		s, schemes := newSmall(), map[string]any{}
		for i := range n {
			schemes[fmt.Sprintf("k%d", i)] = map[string]any{"type": "apiKey", "in": "header", "name": fmt.Sprintf("X-K%d", i)}
		}
		s.doc["components"] = map[string]any{"securitySchemes": schemes}
		res, _ := s.compile(t)
		return len(res.API.Schemes)
	})
	f("parameters", maxParameters, func(n int) int {
		s := newSmall()
		s.op["parameters"] = times(n, func(i int) any {
			return map[string]any{"name": fmt.Sprintf("q%d", i), "in": "query", "schema": map[string]any{"type": "boolean"}}
		})
		_, op := s.compile(t)
		return len(op.Plan.Params)
	})
}

// TestTextLimits: an address, a path and a reference are taken at their bound, and one
// byte more is refused with a word.
func TestTextLimits(t *testing.T) {
	f := func(what string, limit int, taken func(n int) bool) {
		t.Helper()
		for n, want := range map[int]bool{limit: true, limit + 1: false} {
			if got := taken(n); got != want {
				t.Errorf("%s of %d bytes: taken %v, want %v", what, n, got, want)
			}
		}
	}
	pad := func(s string, n int) string { return s + strings.Repeat("a", n-len(s)) }
	f("a server's address", maxURL, func(n int) bool {
		s := newSmall()
		s.doc["servers"] = []any{map[string]any{"url": pad("https://x.example/", n)}}
		res, _ := s.compile(t)
		return len(res.API.Servers) == 1
	})
	f("a path", maxPath, func(n int) bool {
		s := newSmall()
		s.doc["paths"] = map[string]any{pad("/", n): map[string]any{"get": s.op}}
		_, op := s.compile(t)
		return op != nil
	})
	f("a reference", maxReferenceBytes, func(n int) bool {
		name := pad("", n-len("#/components/schemas/"))
		s := newSmall().parameter(map[string]any{"$ref": "#/components/schemas/" + name})
		s.doc["components"] = map[string]any{"schemas": map[string]any{name: map[string]any{"type": "integer", "maximum": 7}}}
		_, op := s.compile(t)
		return strings.Contains(string(op.InputSchema), `"maximum":7`)
	})
	f("a scope", maxScope, func(n int) bool {
		s := newSmall()
		s.doc["components"] = map[string]any{"securitySchemes": map[string]any{"o": map[string]any{"type": "oauth2", "flows": map[string]any{
			"clientCredentials": map[string]any{"tokenUrl": "https://x.example/t", "scopes": map[string]any{pad("", n): "All"}},
		}}}}
		s.op["security"] = []any{map[string]any{"o": []any{pad("", n)}}}
		_, op := s.compile(t)
		b, err := json.Marshal(op)
		return err == nil && bytes.Contains(b, []byte(pad("", n)))
	})
}

// TestMaxHops: as many references in a row are followed, and no more; of schemas the
// first one only leads to the row.
func TestMaxHops(t *testing.T) {
	row := func(kind string, n int, end any) map[string]any {
		out := map[string]any{}
		for i := 1; i < n; i++ {
			out[fmt.Sprintf("r%d", i)] = map[string]any{"$ref": fmt.Sprintf("#/components/%s/r%d", kind, i+1)}
		}
		out[fmt.Sprintf("r%d", n)] = end
		return map[string]any{kind: out}
	}
	seven := map[string]any{"type": "integer", "maximum": 7}
	for n, want := range map[int]bool{maxHops: true, maxHops + 1: false} {
		s := newSmall().parameter(map[string]any{"$ref": "#/components/schemas/r1"})
		s.doc["components"] = row("schemas", n+1, seven)
		_, op := s.compile(t)
		if got := strings.Contains(string(op.InputSchema), `"maximum":7`); got != want {
			t.Errorf("%d references of schemas in a row: followed %v, want %v", n, got, want)
		}
		s = newSmall()
		s.op["parameters"] = []any{map[string]any{"$ref": "#/components/parameters/r1"}}
		s.doc["components"] = row("parameters", n, map[string]any{"name": "q", "in": "query", "schema": seven})
		_, op = s.compile(t)
		if got := op != nil && strings.Contains(string(op.InputSchema), `"maximum":7`); got != want {
			t.Errorf("%d references of parameters in a row: followed %v, want %v", n, got, want)
		}
	}
}

// TestMaxWarnings: a result holds as many warnings and counts the others.
func TestMaxWarnings(t *testing.T) {
	for n, more := range map[int]int{MaxWarnings: 0, MaxWarnings + 1: 1} {
		var d diagnostics
		for i := range n {
			d.warnFor(fmt.Sprint(i), codeParamDropped, value{}, "", "%d", i)
		}
		if len(d.list) != MaxWarnings || d.dropped != more {
			t.Errorf("%d warnings: %d are held, %d counted", n, len(d.list), d.dropped)
		}
	}
}

// TestMaxArchiveEntries: entries that are no part of a specification count too.
func TestMaxArchiveEntries(t *testing.T) {
	u := unpacker{name: "x.zip", files: map[string][]byte{}}
	for i := range maxArchiveEntries {
		if err := u.entry("x.txt", true, nil); err != nil {
			t.Fatalf("entry %d: %v", i+1, err)
		}
	}
	if err := u.entry("x.txt", true, nil); !problem.Is(err, problem.TooLarge) {
		t.Errorf("one more: %v", err)
	}
}

package openapi

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/operation"
)

// TestEveryKindEverywhere puts a value of each kind at every place of the golden
// specifications. Whatever stands where something else belongs, the compiler ends
// with tools and warnings or with an error that has a code.
func TestEveryKindEverywhere(t *testing.T) {
	t.Parallel()
	others := []any{
		nil, true, 7, "text", "a\nb",
		[]any{},
		[]any{nil},
		[]any{"string", "null"},
		[]any{map[string]any{"type": []any{"string", "null"}}, 1},
		map[string]any{},
		map[string]any{"type": []any{"array", "null"}},
		map[string]any{"$ref": "#/nowhere"},
		map[string]any{"$ref": []any{}},
	}
	every := 1
	if raceEnabled {
		every = 17 // a sample: the detector makes each some ten times slower
	}
	files, err := filepath.Glob("testdata/golden/*")
	if err != nil {
		t.Fatal(err)
	}
	compiled := 0
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := yaml.Unmarshal(data, &doc); err != nil {
			t.Fatal(file, err)
		}
		doc = textKeys(doc)
		n := 0
		places(doc, file, func(place string, put func(any)) {
			for _, other := range others {
				if n++; n%every != 0 {
					continue
				}
				put(other)
				compileAnything(t, fmt.Sprintf("%s = %v", place, other), doc)
				compiled++
			}
		})
	}
	if compiled < 500 {
		t.Errorf("only %d documents", compiled)
	}
}

// compileAnything fails the test when doc panics or its error has no code.
func compileAnything(t *testing.T, what string, doc any) {
	t.Helper()
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(what, err)
	}
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("%s: panic: %v", what, v)
		}
	}()
	_, err = Compile(t.Context(), Source{Name: "kinds", Data: data}, Options{Each: func(*operation.Operation) error { return nil }})
	if err != nil && (!problem.Is(err, problem.InvalidSpec) || Code(err) == "") {
		t.Errorf("%s: %v", what, err)
	}
}

// textKeys makes every key of v a string, as JSON has them.
func textKeys(v any) any {
	switch v := v.(type) {
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[fmt.Sprint(k)] = textKeys(e)
		}
		return m
	case map[string]any:
		for k, e := range v {
			v[k] = textKeys(e)
		}
	case []any:
		for i, e := range v {
			v[i] = textKeys(e)
		}
	}
	return v
}

// places calls at for every member and element below v, which put replaces while
// at runs.
func places(v any, path string, at func(place string, put func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for k, m := range v {
			places(m, path+"/"+k, at)
			at(path+"/"+k, func(other any) { v[k] = other })
			v[k] = m
		}
	case []any:
		for i, m := range v {
			places(m, fmt.Sprintf("%s/%d", path, i), at)
			at(fmt.Sprintf("%s/%d", path, i), func(other any) { v[i] = other })
			v[i] = m
		}
	}
}

package admin_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// described is a schema of the API's document.
type described struct {
	Ref         string `json:"$ref"`
	Type        any
	Description string
	Examples    []any
	Enum        []any
	Properties  map[string]*described
	Items       *described
}

// Every property says what it is and has an example, or refers to a schema whose properties
// have them; so does every parameter, and every answer is described.
func TestEveryPropertyIsDescribed(t *testing.T) {
	var doc struct {
		Components struct{ Schemas map[string]*described }
		Paths      map[string]map[string]struct {
			Parameters []struct {
				Name, Description string
				Example           any
				Schema            *described
			}
			Responses map[string]struct {
				Description string
				Headers     map[string]struct{ Description string }
			}
		}
	}
	if err := json.Unmarshal(document(t, newWorld(t)), &doc); err != nil {
		t.Fatal(err)
	}
	count := 0
	var visit func(name string, s *described)
	visit = func(name string, s *described) {
		for _, property := range slices.Sorted(maps.Keys(s.Properties)) {
			p, at := s.Properties[property], name+"."+property
			count++
			if p.Description == "" {
				t.Errorf("%s has no description: give its field a doc tag, or document/properties.tsv a line", at)
			}
			refers := p.Ref != "" || p.Items != nil && (p.Items.Ref != "" || len(p.Items.Properties) > 0)
			whole, _ := p.Type.(string)
			if len(p.Examples) == 0 && !refers && whole != "object" && p.Type != nil {
				t.Errorf("%s has no example: give its field an example tag, or document/properties.tsv a line", at)
			}
			visit(at, p)
			if p.Items != nil {
				visit(at, p.Items)
			}
		}
	}
	for name, s := range doc.Components.Schemas {
		visit(name, s)
	}
	for path, item := range doc.Paths {
		for method, op := range item {
			for _, p := range op.Parameters {
				count++
				if p.Description == "" {
					t.Errorf("%s %s: the parameter %s has no description", method, path, p.Name)
				}
				if p.Example == nil && len(p.Schema.Examples) == 0 {
					t.Errorf("%s %s: the parameter %s has no example", method, path, p.Name)
				}
			}
			for status, r := range op.Responses {
				if r.Description == "" {
					t.Errorf("%s %s: the answer %s is not described", method, path, status)
				}
				for name, h := range r.Headers {
					if count++; h.Description == "" {
						t.Errorf("%s %s: the header %s is not described", method, path, name)
					}
				}
			}
		}
	}
	if count < 1700 {
		t.Errorf("looked at %d properties and parameters", count)
	}
	if t.Failed() {
		t.Log(strings.Repeat("-", 8), count, "were looked at")
	}
}

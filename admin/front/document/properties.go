package document

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// documentProperties are descriptions and examples of properties whose structs have none.
//
//go:embed properties.tsv
var documentProperties string

// propertyWords is one line of it.
type propertyWords struct {
	example     any // nil: none
	description string
}

// tableOfProperties is that table, read once.
var tableOfProperties = sync.OnceValue(func() map[string][]propertyWords {
	words, err := readProperties(documentProperties)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return words
})

// readProperties reads the table, by Schema.property or property.
func readProperties(table string) (map[string][]propertyWords, error) {
	out := map[string][]propertyWords{}
	for n, line := range strings.Split(strings.TrimSpace(table), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 3 {
			return nil, fmt.Errorf("line %d of properties.tsv has %d cells, not 3", n+1, len(cells))
		}
		var w propertyWords
		if cells[1] != "-" {
			if err := json.Unmarshal([]byte(cells[1]), &w.example); err != nil {
				return nil, fmt.Errorf("line %d of properties.tsv: the example: %w", n+1, err)
			}
		}
		if cells[2] != "-" {
			w.description = cells[2]
		}
		out[cells[0]] = append(out[cells[0]], w)
	}
	return out, nil
}

// describeProperties gives every property of the document a description and an example;
// those of schemas unless they have been described.
func describeProperties(api *huma.OpenAPI, described bool) {
	words := tableOfProperties()
	var schemas map[string]*huma.Schema
	if !described {
		schemas = api.Components.Schemas.Map()
	}
	var visit func(name string, s *huma.Schema)
	visit = func(name string, s *huma.Schema) {
		for _, property := range slices.Sorted(maps.Keys(s.Properties)) {
			p := s.Properties[property]
			rows := slices.Concat(words[name+"."+property], words[property])
			for i := range rows {
				if p.Description == "" && rows[i].description != "" {
					p.Description = rows[i].description
				}
			}
			if len(p.Examples) == 0 {
				if example := exampleOf(p, rows); example != nil {
					p.Examples = []any{example}
				}
			}
			visit(name+"."+property, p)
			if p.Items != nil {
				visit(name+"."+property, p.Items)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		visit(name, schemas[name])
	}
	for path, item := range api.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil {
				describeParameters(path, op, words)
				describeOperation(op)
			}
		}
	}
}

// describeOperation says of an operation who may do it.
func describeOperation(op *huma.Operation) {
	if op.Description == "" {
		op.Description = op.Summary + "."
	}
	if role, _ := op.Extensions[RoleExtension].(string); role != "" {
		op.Description += " Needs the role " + role + "."
	}
}

// describeParameters does so with the parameters of an operation, and headers of its answers.
func describeParameters(path string, op *huma.Operation, words map[string][]propertyWords) {
	for i, p := range op.Parameters {
		keys := []string{"header " + p.Name}
		switch p.In {
		case "query":
			keys = []string{"?" + p.Name}
		case "path":
			variable := "{" + p.Name + "}"
			before, _, _ := strings.Cut(path, "/"+variable)
			keys = []string{before[strings.LastIndexByte(before, '/')+1:] + " " + variable, variable}
		}
		own, schema := *p, *p.Schema // operations share what they have in common
		own.Schema = &schema
		op.Parameters[i] = &own
		for _, key := range keys {
			for _, w := range words[key] {
				if own.Description == "" {
					own.Description = w.description
				}
			}
			if len(schema.Examples) == 0 && own.Example == nil {
				if example := exampleOf(&schema, words[key]); example != nil {
					own.Example = example
				}
			}
		}
	}
	for _, r := range op.Responses {
		for name, h := range r.Headers {
			if rows := words["header "+name]; len(rows) > 0 && h.Description == "" {
				own := *h
				own.Description = rows[0].description
				r.Headers[name] = &own
			}
		}
	}
}

// exampleOf is an example of a property: the first of the rows that its type allows, or what
// its type itself tells. nil: there is none, or the schemas that it refers to have them.
func exampleOf(s *huma.Schema, rows []propertyWords) any {
	switch {
	case s.Ref != "":
		return nil
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == huma.TypeArray && len(s.Items.Enum) > 0:
		return []any{s.Items.Enum[0]}
	case s.Type == huma.TypeBoolean:
		return true
	}
	for i := range rows {
		if fitsSchema(s, rows[i].example) {
			return rows[i].example
		}
		if s.Type == huma.TypeArray && rows[i].example != nil && s.Items.Ref == "" && fitsSchema(s.Items, rows[i].example) {
			return []any{rows[i].example}
		}
	}
	switch {
	case s.Type == huma.TypeArray && s.Items.Ref == "":
		if item := exampleOf(s.Items, nil); item != nil {
			return []any{item}
		}
	case s.Format == "date-time":
		return "2026-11-03T10:00:00Z"
	}
	return nil
}

// fitsSchema reports whether an example has the type that a schema says, within its bounds.
func fitsSchema(s *huma.Schema, example any) bool {
	switch v := example.(type) {
	case nil:
		return false
	case string:
		if s.Type == "" {
			return true
		}
		return s.Type == huma.TypeString && len(s.Enum) == 0 && (s.Format != "date-time" || strings.HasSuffix(v, "Z")) &&
			(s.MaxLength == nil || len(v) <= *s.MaxLength) && (s.MinLength == nil || len(v) >= *s.MinLength)
	case float64:
		whole := v == float64(int64(v))
		return (s.Type == huma.TypeNumber || s.Type == huma.TypeInteger && whole) &&
			(s.Minimum == nil || v >= *s.Minimum) && (s.Maximum == nil || v <= *s.Maximum)
	case bool:
		return s.Type == huma.TypeBoolean
	case []any:
		return s.Type == huma.TypeArray
	}
	return s.Type == huma.TypeObject || s.Type == ""
}

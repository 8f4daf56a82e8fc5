package demo

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// members is a JSON object whose members keep their order.
type members []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in order.
func (m members) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, kv := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		k, err := json.Marshal(kv.key)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(kv.value)
		if err != nil {
			return nil, err
		}
		b.Write(k)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// openAPI makes the OpenAPI 3.1 document from the routes.
func (s *Server) openAPI() ([]byte, error) {
	d := &describer{}
	var paths members
	byPath := map[string]int{}
	for _, r := range s.routes() {
		op := members{{"operationId", r.id}, {"tags", []string{r.tag}}, {"summary", r.summary}}
		if r.description != "" {
			op = append(op, member{"description", r.description})
		}
		if len(r.parameters) > 0 {
			var list []members
			for _, p := range r.parameters {
				list = append(list, p.describe())
			}
			op = append(op, member{"parameters", list})
		}
		if r.body != nil {
			op = append(op, member{"requestBody", members{{"required", true}, {"content", jsonContent(d.schema(reflect.TypeOf(r.body)))}}})
		}
		ok := members{{"description", "Done"}}
		if r.result != nil {
			ok = append(ok, member{"content", jsonContent(d.schema(reflect.TypeOf(r.result)))})
		}
		op = append(op, member{"responses", members{
			{strconv.Itoa(r.status), ok},
			{"default", members{{"description", "Failed"}, {"content", jsonContent(d.schema(reflect.TypeFor[failure]()))}}},
		}})
		at, seen := byPath[r.path]
		if !seen {
			at = len(paths)
			byPath[r.path] = at
			paths = append(paths, member{r.path, members{}})
		}
		paths[at].value = append(paths[at].value.(members), member{strings.ToLower(r.method), op})
	}
	components := members{{"schemas", d.schemas}}
	doc := members{
		{"openapi", "3.1.0"},
		{"info", members{
			{"title", "Demo"},
			{"version", "1.0.0"},
			{"description", "A small API to try things on: issues, customers and charges, projects and tickets."},
		}},
		{"servers", []members{{{"url", api}}}},
		{"paths", paths},
	}
	if s.opts.APIKey != "" {
		doc = append(doc, member{"security", []members{{{"apiKey", []string{}}}}})
		components = append(components, member{"securitySchemes", members{{"apiKey", members{{"type", "apiKey"}, {"in", "header"}, {"name", KeyHeader}}}}})
	}
	doc = append(doc, member{"components", components})
	return json.Marshal(doc)
}

func jsonContent(schema any) members {
	return members{{"application/json", members{{"schema", schema}}}}
}

// describe is the Parameter Object.
func (p parameter) describe() members {
	schema := members{{"type", p.kind}}
	values := member{"enum", p.enum}
	switch {
	case p.kind == "array" && p.enum != nil:
		schema = append(schema, member{"items", members{{"type", "string"}, values}})
	case p.kind == "array":
		schema = append(schema, member{"items", members{{"type", "string"}}})
	case p.enum != nil:
		schema = append(schema, values)
	}
	if p.high != 0 {
		schema = append(schema, member{"minimum", p.low}, member{"maximum", p.high}, member{"default", p.standard})
	}
	m := members{{"name", p.name}, {"in", p.in}, {"description", p.description}}
	if p.required {
		m = append(m, member{"required", true})
	}
	m = append(m, member{"schema", schema})
	if p.example != nil {
		m = append(m, member{"example", p.example})
	}
	return m
}

// describer makes schemas of Go types and collects the named ones.
type describer struct {
	schemas members
	seen    map[string]bool
}

func (d *describer) schema(t reflect.Type) any {
	switch t.Kind() {
	case reflect.Slice:
		return members{{"type", "array"}, {"items", d.schema(t.Elem())}}
	case reflect.Map:
		return members{{"type", "object"}, {"additionalProperties", d.schema(t.Elem())}}
	case reflect.Struct:
		d.define(t)
		return members{{"$ref", "#/components/schemas/" + t.Name()}}
	default:
		return members{{"type", scalar(t)}}
	}
}

func scalar(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.String:
		return "string"
	default:
		panic("BUG: demo: no schema for " + t.String())
	}
}

// define adds the schema of a struct under its name, once.
func (d *describer) define(t reflect.Type) {
	if d.seen[t.Name()] {
		return
	}
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	d.seen[t.Name()] = true
	at := len(d.schemas)
	d.schemas = append(d.schemas, member{key: t.Name()})
	var properties members
	var required []string
	for f := range t.Fields() {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue // not part of the answer
		}
		properties = append(properties, member{name, d.property(f)})
		if f.Tag.Get("required") == "true" || !strings.HasSuffix(t.Name(), "Input") && !strings.HasSuffix(t.Name(), "Patch") && rest != "omitempty" {
			required = append(required, name)
		}
	}
	s := members{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		s = append(s, member{"required", required})
	}
	d.schemas[at].value = s
}

func (d *describer) property(f reflect.StructField) any {
	t, nullable := f.Type, false
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
		nullable = !strings.HasSuffix(f.Tag.Get("json"), ",omitempty")
	}
	if t.Kind() == reflect.Struct {
		ref := d.schema(t)
		if nullable {
			return members{{"anyOf", []any{ref, members{{"type", "null"}}}}}
		}
		return ref
	}
	m := d.schema(t).(members)
	if nullable {
		m[0].value = []any{m[0].value, "null"}
	}
	if v := f.Tag.Get("format"); v != "" {
		m = append(m, member{"format", v})
	}
	if v := f.Tag.Get("enum"); v != "" {
		m = append(m, member{"enum", strings.Split(v, ",")})
	}
	if v := f.Tag.Get("doc"); v != "" {
		m = append(m, member{"description", v})
	}
	return m
}

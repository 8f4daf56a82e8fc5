package connector_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/operation"
)

// generator makes arguments from a published input schema, as an agent would.
type generator struct {
	*rand.Rand
	guessed bool // a value was made for a schema that says nothing: cut off, or any
}

func (g *generator) value(s map[string]any, depth int) any {
	if name, ok := s["properties"].(map[string]any); ok && name["data"] != nil && name["filename"] != nil {
		return map[string]any{"data": "aGVsbG8=", "filename": "a b.txt"} // a file
	}
	if enum, ok := s["enum"].([]any); ok && len(enum) > 0 {
		return enum[g.IntN(len(enum))]
	}
	if branches, ok := s["anyOf"].([]any); ok && len(branches) > 0 {
		if b, ok := branches[g.IntN(len(branches))].(map[string]any); ok {
			return g.value(b, depth)
		}
	}
	number := func(key string, otherwise int) int {
		if n, ok := s[key].(json.Number); ok {
			if i, err := n.Int64(); err == nil {
				return int(i)
			}
		}
		return otherwise
	}
	switch s["type"] {
	case "integer", "number":
		lo := number("minimum", 1)
		return lo + g.IntN(min(number("maximum", lo+50)-lo, 1<<20)+1)
	case "boolean":
		return g.IntN(2) == 0
	case "array":
		items, ok := s["items"].(map[string]any)
		if !ok {
			items = map[string]any{"type": "string"}
		}
		list := []any{}
		for range max(1, number("minItems", 1)) {
			list = append(list, g.value(items, depth+1))
		}
		return list
	case "object":
		if s["properties"] == nil {
			g.guessed = true
		}
		return g.object(s, depth)
	}
	if s["type"] == nil {
		g.guessed = true
	}
	if s["format"] == "date-time" {
		return "2026-01-02T03:04:05Z"
	}
	text := []string{"main", "a b", "x/y", "é&=+", "50%", "100"}[g.IntN(6)]
	for len([]rune(text)) < number("minLength", 1) {
		text += "x"
	}
	r := []rune(text)
	return string(r[:min(len(r), number("maxLength", len(r)))])
}

func (g *generator) object(s map[string]any, depth int) map[string]any {
	out := map[string]any{}
	required := map[string]bool{}
	if list, ok := s["required"].([]any); ok {
		for _, r := range list {
			required[fmt.Sprint(r)] = true
		}
	}
	if props, ok := s["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(props)) { // map order would make runs differ
			p := props[name]
			sub, ok := p.(map[string]any)
			if text, cut := sub["description"].(string); cut && strings.Contains(text, "nested, any object") && !required[name] {
				continue // cut out of the published schema: an agent cannot know it
			}
			if ok && (required[name] || depth < 3 && g.IntN(2) == 0) {
				out[name] = g.value(sub, depth+1)
			}
		}
	}
	return out
}

// TestRandomRequests sends nothing: requests that the plans make of generated
// arguments are judged by kin-openapi's validator against the specification.
func TestRandomRequests(t *testing.T) {
	dir := os.Getenv("SLUICE_CORPUS")
	if dir == "" {
		t.Skip("SLUICE_CORPUS is not set")
	}
	const perSpec = 500
	for _, spec := range []string{"github/api.github.com.json", "stripe/spec3.json", "box/openapi.json", "github-ghes-3.19/ghes-3.19.json", "qdrant/openapi.json", "ory-hydra/api.json"} {
		file := filepath.Join(dir, "specs", spec)
		a, _ := compileFile(t, file)
		c, err := connector.Open(a.Module)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := openapi3.NewLoader().LoadFromData(data)
		if err != nil {
			t.Fatal(err)
		}
		doc.Servers = openapi3.Servers{{URL: "/"}}
		g := &generator{Rand: rand.New(rand.NewPCG(1, 2))}
		judged, unchecked, excused, faults := 0, 0, 0, 0
		for range perSpec {
			tool, err := c.Tool(g.IntN(c.Len()))
			if err != nil {
				t.Fatal(err)
			}
			var schema map[string]any
			dec := json.NewDecoder(bytes.NewReader(tool.InputSchema))
			dec.UseNumber()
			if err := dec.Decode(&schema); err != nil {
				t.Fatal(err)
			}
			g.guessed = false
			args, err := json.Marshal(g.object(schema, 0))
			if err != nil {
				t.Fatal(err)
			}
			v, err := jsonscan.Parse(args, 0)
			if err != nil {
				t.Fatal(err)
			}
			if tool.Plan.Check(v) != nil {
				unchecked++ // a constraint that is not published: a pattern, a uuid
				continue
			}
			var r operation.Request
			if err := tool.Plan.Build(&r, v); err != nil {
				t.Errorf("%s %s: %v", tool.Name, args, err)
				continue
			}
			judged++
			if err := judge(t, doc, tool.Path, &r); err != nil {
				if reason(err, &r, g.guessed) != "" {
					excused++
					continue
				}
				faults++
				t.Errorf("%s %s %s\n\targs %s\n\ttarget %s\n\tbody %.300s\n\t%.400s", spec, tool.Method, tool.Path, args, r.Target, r.Body, strings.ReplaceAll(err.Error(), "\n", " "))
			}
		}
		t.Logf("%s: %d requests judged, %d refused by hidden constraints, %d excused, %d faults", spec, judged, unchecked, excused, faults)
		if judged < perSpec*3/4 || excused > judged/2 {
			t.Errorf("%s: too few requests were judged to say anything", spec)
		}
	}
}

func judge(t *testing.T, doc *openapi3.T, path string, r *operation.Request) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, "http://x"+string(r.Target), bytes.NewReader(r.Body))
	if err != nil {
		return err
	}
	for _, h := range r.Header {
		req.Header.Set(h.Name, string(h.Value))
	}
	if r.HasBody {
		req.Header.Set("Content-Type", string(r.ContentType))
	} else {
		req.Body = nil
	}
	spec := doc
	if found := doc.Paths.Value(path); strings.Contains(path, "#") { // Box: only tells operations apart
		path, _, _ = strings.Cut(path, "#")
		doc = &openapi3.T{Paths: openapi3.NewPaths(openapi3.WithPath(path, found))}
	}
	only := openapi3.NewPaths(openapi3.WithPath(path, doc.Paths.Value(path)))
	found, params, err := route(&openapi3.T{Paths: only}, req)
	if err != nil {
		return err
	}
	found.Spec = spec
	return openapi3filter.ValidateRequest(t.Context(), &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params, Route: found,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	})
}

// reason says why a refusal is none of ours; empty when it is.
func reason(err error, r *operation.Request, guessed bool) string {
	for _, r := range []struct{ text, why string }{
		{"invalid serialization method", "the validator knows deepObject for objects only; Stripe declares it for arrays"},
		{"unsupported schema of request body's property", "the validator reads no arrays of objects in forms"},
		{"failed to decode request body: path ", "the validator reads no arrays inside deepObject in forms"},
		{"doesn't match the format", "formats are advice, not checked: servers accept more than they declare"},
		{"matches more than one oneOf", "oneOf is read as anyOf: servers do not refuse a value for fitting twice"},
		{"value must be a string", "the validator reads a scalar as an array where either is allowed"},
		{"schema has non primitive type object", "the validator reads no objects inside arrays in queries"},
		{": undefined", "the validator knows no multipart names with brackets"},
		{"no such operation", "the test's own router matches whole segments: thumbnail.{extension}"},
		{"in path has an error: value is required but missing", "the test's own router: {base}...{head}"},
	} {
		if strings.Contains(err.Error(), r.text) {
			return r.why
		}
	}
	for _, se := range schemaErrors(err) {
		switch se.SchemaField {
		case "required":
			if why := missing(se, r); why != "" {
				return why
			}
		case "anyOf", "oneOf":
			if requiredOnly(se.Schema) {
				return "alternatives that only list required names are a sentence in the description"
			}
			if guessed {
				return "alternatives below the published depth: an agent sees that anything may stand there"
			}
		}
	}
	return ""
}

// missing says why a member that the specification requires is not there.
func missing(se *openapi3.SchemaError, r *operation.Request) string {
	_, name, _ := strings.Cut(se.Reason, `"`)
	name, _, _ = strings.Cut(name, `"`)
	declared := se.Schema.Properties[name]
	switch {
	case declared == nil && len(se.Schema.Properties) == 0:
		return "alternatives that only list required names are a sentence in the description"
	case declared == nil:
		return "the specification requires a member that it does not declare"
	case strings.HasPrefix(string(r.ContentType), "application/x-www-form-urlencoded") && bytes.Contains(r.Body, []byte(name+"%5B")):
		return "the validator does not see arrays in deepObject style"
	}
	return ""
}

// requiredOnly reports alternatives none of which says more than which members
// are required.
func requiredOnly(s *openapi3.Schema) bool {
	list := append(append(openapi3.SchemaRefs{}, s.AnyOf...), s.OneOf...)
	for _, ref := range list {
		if b := ref.Value; len(b.Required) == 0 || len(b.Properties) > 0 || b.Type != nil && !b.Type.Is("object") || len(b.AllOf) > 0 {
			return false
		}
	}
	return len(list) > 0
}

// schemaErrors are the errors of schemas in a chain, the outermost first.
func schemaErrors(err error) []*openapi3.SchemaError {
	var out []*openapi3.SchemaError
	for err != nil && len(out) < 20 {
		se, ok := errors.AsType[*openapi3.SchemaError](err)
		if !ok {
			break
		}
		out = append(out, se)
		err = se.Origin
	}
	return out
}

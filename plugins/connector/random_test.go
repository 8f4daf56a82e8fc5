package connector_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
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
		lo := number("minimum", min(1, number("maximum", 1)))
		return lo + g.IntN(max(0, min(number("maximum", lo+50)-lo, 1<<20))+1)
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

// cut reports a value, or items, that the published schema has no room to describe.
func cut(s map[string]any) bool {
	if items, ok := s["items"].(map[string]any); ok {
		return cut(items)
	}
	text, _ := s["description"].(string)
	return s["properties"] == nil && strings.Contains(text, "nested, any object")
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
			if cut(sub) && !required[name] {
				continue // an agent cannot know what belongs there
			}
			if ok && (required[name] || depth < 3 && g.IntN(2) == 0) {
				out[name] = g.value(sub, depth+1)
			}
		}
	}
	return out
}

// defects are operations whose specification contradicts itself, so that nothing
// an agent could send would be right. One that is right now makes the test fail.
var defects = map[string]string{
	"schema-types.json /anything/quirks/polymorphism":  "allOf of a string and an integer",
	"openapi.yaml /add_operation_on_http_methods_only": "a path parameter that is not in the path",
	"2020-09-14.yml /application/get":                  "the body requires the credentials that the security schemes put into headers",
	"2020-09-14.yml /cra/check_report/create":          "as above",
}

// tally counts what became of generated requests.
type tally struct{ judged, hidden, excused, faults int }

// notes are what several specifications have in common: the defects met and how
// often each excuse was needed.
type notes struct {
	defects map[string]bool
	excuses map[string]int
}

// TestRandomRequests sends nothing: requests that the plans make of generated
// arguments are judged by kin-openapi's validator against the specification. Many
// from six large specifications, some from every other one that the validator can
// read.
func TestRandomRequests(t *testing.T) {
	dir := os.Getenv("SLUICE_CORPUS")
	if dir == "" {
		t.Skip("SLUICE_CORPUS is not set")
	}
	const many, some = 500, 40
	met := notes{map[string]bool{}, map[string]int{}}
	large := []string{"github/api.github.com.json", "stripe/spec3.json", "box/openapi.json", "github-ghes-3.19/ghes-3.19.json", "qdrant/openapi.json", "ory-hydra/api.json"}
	for _, spec := range large {
		n := randomRequests(t, filepath.Join(dir, "specs", spec), many, &met)
		t.Logf("%s: %d requests judged, %d refused by hidden constraints, %d excused, %d faults", spec, n.judged, n.hidden, n.excused, n.faults)
		if n.judged < many*3/4 || n.excused > n.judged*3/5 {
			t.Errorf("%s: too few requests were judged to say anything", spec)
		}
	}
	list, err := os.ReadFile(filepath.Join(dir, "specs.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		cols := strings.Split(line, "\t")
		if cols[0] == "id" || len(cols) < 8 || cols[7] == "2.0" || slices.Contains(large, cols[2]) {
			continue
		}
		n := randomRequests(t, filepath.Join(dir, "specs", cols[2]), some, &met)
		t.Logf("%s: %d requests judged, %d refused by hidden constraints, %d excused, %d faults", cols[2], n.judged, n.hidden, n.excused, n.faults)
	}
	for op := range defects {
		if !met.defects[op] {
			t.Errorf("%s: no request of it was refused: remove it from the list", op)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(met.excuses)) {
		t.Logf("excuse: %d: %s", met.excuses[why], why)
	}
}

// randomRequests makes and judges count requests of a specification; none when the
// validator cannot read it.
func randomRequests(t *testing.T, file string, count int, met *notes) tally {
	t.Helper()
	var n tally
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	doc, err := loader.LoadFromFile(file)
	if err != nil {
		t.Logf("%s: the validator cannot read it: %v", filepath.Base(file), err)
		return n
	}
	a, _ := compileFile(t, file)
	if a.Module == nil {
		return n
	}
	c, err := connector.Open(a.Module)
	if err != nil {
		t.Fatal(err)
	}
	if c.Len() == 0 {
		return n // only webhooks
	}
	doc.Servers = openapi3.Servers{{URL: "/"}}
	g := &generator{Rand: rand.New(rand.NewPCG(1, 2))}
	for range count {
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
			n.hidden++ // a constraint that is not published: a pattern, a uuid
			continue
		}
		var r operation.Request
		if err := tool.Plan.Build(&r, v); problem.Is(err, problem.InvalidArguments) {
			n.hidden++ // an object without members in a path
			continue
		} else if err != nil {
			t.Errorf("%s %s: %v", tool.Name, args, err)
			continue
		}
		n.judged++
		if err := judge(t, doc, tool.Path, &r, c.Schemes()); err != nil {
			if why := reason(err, &r, args, g.guessed); why != "" {
				met.excuses[why]++
				n.excused++
				continue
			}
			op := filepath.Base(file) + " " + tool.Path
			if defects[op] != "" {
				met.defects[op] = true
				met.excuses["the specification contradicts itself"]++
				n.excused++
				continue
			}
			n.faults++
			t.Errorf("%s %s %s\n\targs %s\n\ttarget %s\n\tbody %.300s\n\t%.400s", filepath.Base(file), tool.Method, tool.Path, args, r.Target, r.Body, strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
	return n
}

// judge asks the validator. Credentials that a specification declares as parameters
// are put on the request when it is sent, not by the plan.
func judge(t *testing.T, doc *openapi3.T, path string, r *operation.Request, schemes []operation.SecurityScheme) error {
	t.Helper()
	body := r.Body
	req, err := http.NewRequestWithContext(t.Context(), r.Method, "http://x"+string(r.Target), http.NoBody)
	if err != nil {
		return err
	}
	for _, h := range r.Header {
		req.Header.Set(h.Name, string(h.Value))
	}
	req.Header.Set("Accept", r.Accept)
	req.Header.Set("Authorization", "Bearer secret")
	for _, s := range schemes {
		switch s.In {
		case string(operation.InHeader):
			req.Header.Set(s.Name, "secret")
		case string(operation.InQuery):
			req.URL.RawQuery = strings.TrimPrefix(req.URL.RawQuery+"&"+url.QueryEscape(s.Name)+"=secret", "&")
		case "body":
			if rest, is := bytes.CutPrefix(body, []byte("{")); is {
				body = fmt.Appendf(nil, "{%q:%q%s", s.Name, "secret", rest)
				if len(rest) > 1 {
					body = fmt.Appendf(nil, "{%q:%q,%s", s.Name, "secret", rest)
				}
			}
		}
	}
	if r.HasBody {
		req.Header.Set("Content-Type", string(r.ContentType))
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	} else {
		req.Body = nil
	}
	spec := doc
	if found := doc.Paths.Value(path); strings.ContainsAny(path, "#?") { // Box, OpenAI: tells operations apart
		path = path[:strings.IndexAny(path, "#?")]
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
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true},
	})
}

// reason says why a refusal is none of ours; empty when it is.
func reason(err error, r *operation.Request, args []byte, guessed bool) string {
	for _, r := range []struct{ text, why string }{
		{"invalid serialization method", "the validator knows deepObject for objects only; Stripe declares it for arrays"},
		{"unsupported schema of request body's property", "the validator reads no arrays of objects in forms"},
		{"failed to decode request body: path ", "the validator reads no arrays inside deepObject in forms"},
		{"doesn't match the format", "formats are advice, not checked: servers accept more than they declare"},
		{"is not valid date", "formats are advice, as above; the validator of 3.1 says it so"},
		{"unsupported schema of request body", "the validator reads forms of plain objects only"},
		{"security requirements failed", "a security scheme that is declared nowhere: credentials are not judged here"},
		{"error parsing regexp", "the validator cannot read the pattern: a look-ahead"},
		{"a value must be a list of object's properties", "the validator splits exploded objects in paths after decoding them"},
		{"matches more than one oneOf", "oneOf is read as anyOf: servers do not refuse a value for fitting twice"},
		{"value must be a string", "the validator reads a scalar as an array where either is allowed"},
		{"schema has non primitive type object", "the validator reads no objects inside arrays in queries"},
		{": undefined", "the validator knows no multipart names with brackets"},
		{`unsupported content type "text/xml"`, "the validator reads no XML"},
		{`unsupported content type "application/xml"`, "the validator reads no XML"},
	} {
		if strings.Contains(err.Error(), r.text) {
			return r.why
		}
	}
	if strings.Contains(err.Error(), "empty value is not allowed") && !bytes.Contains(r.Target, []byte("=&")) && !bytes.HasSuffix(r.Target, []byte("=")) {
		return "the validator reads no arrays of what allOf or $ref make complicated"
	}
	if strings.Contains(err.Error(), "value must be an object") && bytes.Contains(r.Target, []byte("=%7B")) {
		return "no standard says how an object inside another is written in a query"
	}
	if _, name, ok := strings.Cut(err.Error(), `parameter "`); ok && strings.Contains(name, "in query has an error: value is required but missing") {
		name, _, _ = strings.Cut(name, `"`)
		if bytes.Contains(args, []byte(`"`+name+`":{}`)) {
			return "an object without members writes nothing into a query"
		}
	}
	if bytes.HasPrefix(r.ContentType, []byte("text/")) && strings.Contains(err.Error(), "got string, want ") {
		return "the validator takes every text for a string"
	}
	for _, se := range schemaErrors(err) {
		switch se.SchemaField {
		case "required":
			if guessed {
				return "below the published depth: an agent sees that any object may stand there"
			}
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
	if se.Schema == nil {
		return ""
	}
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
	if s == nil {
		return false
	}
	list := append(append(openapi3.SchemaRefs{}, s.AnyOf...), s.OneOf...)
	for _, ref := range list {
		b := ref.Value
		if b == nil {
			return false
		}
		if len(b.Required) == 0 || len(b.Properties) > 0 || b.Type != nil && !b.Type.Is("object") || len(b.AllOf) > 0 {
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

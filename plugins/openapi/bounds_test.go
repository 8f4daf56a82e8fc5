package openapi

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/operation"
)

type obj = map[string]any

// components gives the API schemas that are called by their names.
func (s small) components(schemas obj) small {
	s.doc["components"] = obj{"schemas": schemas}
	return s
}

// body gives the operation a JSON body with a schema.
func (s small) body(schema obj) small {
	s.op["requestBody"] = obj{"required": true, "content": obj{"application/json": obj{"schema": schema}}}
	s.doc["paths"] = obj{"/p": obj{"post": s.op}}
	return s
}

// answer gives the operation a successful answer with a schema.
func (s small) answer(schema obj) small {
	s.op["responses"] = obj{"200": obj{"description": "Done", "content": obj{"application/json": obj{"schema": schema}}}}
	return s
}

// atLimit calls f at the limit and one past it.
func atLimit(t *testing.T, what string, limit int, f func(n int) bool) {
	t.Helper()
	for n, want := range map[int]bool{limit: true, limit + 1: false} {
		if got := f(n); got != want {
			t.Errorf("%s, %d: taken %v, want %v", what, n, got, want)
		}
	}
}

var seven = obj{"type": "integer", "maximum": 7}

// TestSchemaBounds: what a schema is made of is read to its bound; what is beyond it is
// left open, so that arguments pass, and never refused for the wrong reason.
func TestSchemaBounds(t *testing.T) {
	f := func(what string, limit int, taken func(n int) bool) {
		t.Helper()
		atLimit(t, what, limit, taken)
	}
	checks := func(s small) bool { // whether the argument q is checked
		t.Helper()
		_, op := s.compile(t)
		return strings.HasPrefix(request(t, op, `{"q":8}`), "refused")
	}
	f("parts of one level", maxLevelFolds, func(n int) bool { // the level itself is one
		return checks(newSmall().parameter(obj{"type": "integer", "allOf": append(times(n-2, func(int) any { return obj{} }), obj{"maximum": 7})}))
	})
	f("allOf inside of allOf", maxFold, func(n int) bool {
		all := obj{}
		for i := range n { // by references: a document is not as deep
			all[fmt.Sprint("a", i)] = obj{"allOf": []any{obj{"$ref": fmt.Sprint("#/components/schemas/a", i+1)}}}
		}
		all[fmt.Sprint("a", n)] = seven
		// Each step has the reference and what it leads to; the first is where the level begins.
		start, steps := "a0", n/2
		if n%2 == 0 {
			all[fmt.Sprint("a", steps)] = seven
		} else {
			all[fmt.Sprint("a", steps)] = obj{"allOf": []any{seven}}
		}
		return checks(newSmall().components(all).parameter(obj{"$ref": "#/components/schemas/" + start}))
	})
	f("bytes of an enum", maxCheckedBytes, func(n int) bool {
		half := strings.Repeat("v", (n-4)/2)
		return checks(newSmall().parameter(obj{"enum": []any{half, half + strings.Repeat("w", (n-4)%2) + ""}, "type": []any{"string", "integer"}}))
	})
	f("bytes of an object in an enum", maxEnumValueSize, func(n int) bool {
		_, op := newSmall().parameter(obj{"type": "array", "enum": []any{[]any{strings.Repeat("v", n-4)}}}).compile(t)
		return strings.HasPrefix(request(t, op, `{"q":["other"]}`), "refused")
	})
	f("required names", maxRequired, func(n int) bool {
		_, op := newSmall().body(obj{"type": "object", "required": times(n, func(i int) any { return fmt.Sprintf("r%d", i) }), "properties": obj{"a": obj{"type": "string"}, fmt.Sprintf("r%d", n-1): obj{"type": "string"}}}).compile(t)
		return strings.HasPrefix(request(t, op, `{"a":"b"}`), "refused")
	})
	f("schemas of a plan", maxPlanNodes, func(n int) bool {
		// The object is one, its members are the others; the last is checked.
		props := obj{"zzzz": seven}
		for i := range n - 2 {
			props[fmt.Sprintf("p%04d", i)] = obj{"type": "boolean"}
		}
		s := newSmall()
		s.op["parameters"] = []any{obj{"name": "q", "in": "query", "content": obj{"application/json": obj{"schema": obj{"type": "object", "properties": props}}}}}
		_, op := s.compile(t)
		return strings.HasPrefix(request(t, op, `{"q":{"zzzz":8}}`), "refused")
	})
	f("levels of an answer", maxResponseDepth, func(n int) bool {
		all := obj{}
		for i := range n {
			all[fmt.Sprint("a", i)] = obj{"type": "object", "properties": obj{"n": obj{"$ref": fmt.Sprint("#/components/schemas/a", i+1)}}}
		}
		all[fmt.Sprint("a", n)] = obj{"type": "integer"}
		_, op := newSmall().components(all).answer(obj{"$ref": "#/components/schemas/a0"}).compile(t)
		at := op.Response
		for range n {
			at = at.Properties[0].Schema
		}
		return at != nil
	})
	f("subtypes", maxSubtypes, func(n int) bool {
		all := obj{"base": obj{"type": "object", "properties": obj{"kind": obj{"type": "string"}}, "required": []any{"kind"}, "discriminator": obj{"propertyName": "kind"}}}
		for i := range n {
			all[fmt.Sprintf("s%03d", i)] = obj{"allOf": []any{obj{"$ref": "#/components/schemas/base"}, obj{"type": "object", "properties": obj{fmt.Sprintf("p%d", i): seven}}}}
		}
		_, op := newSmall().components(all).answer(obj{"$ref": "#/components/schemas/base"}).compile(t)
		return len(op.Response.AnyOf) == n
	})
	f("alternatives that are published one by one", maxBranches, func(n int) bool {
		_, op := newSmall().body(obj{"type": "object", "properties": obj{"q": obj{"oneOf": times(n, func(i int) any {
			return obj{"type": "object", "required": []any{fmt.Sprint("p", i)}, "properties": obj{fmt.Sprint("p", i): obj{"type": "integer"}}}
		})}}}).compile(t)
		return bytes.Contains(op.InputSchema, []byte("anyOf"))
	})
	f("members of alternatives that are published as one", maxUnion, func(n int) bool {
		_, op := newSmall().body(obj{"type": "object", "properties": obj{"q": obj{"oneOf": times(maxBranches+1, func(i int) any {
			props := obj{}
			for j := range n {
				if j%(maxBranches+1) == i {
					props[fmt.Sprintf("p%03d", j)] = obj{}
				}
			}
			return obj{"type": "object", "properties": props}
		})}}}).compile(t)
		return bytes.Count(op.InputSchema, []byte(`"p`))-bytes.Count(op.InputSchema, []byte(`"properties"`)) == n
	})
}

// TestDocumentBounds: so much of a document is looked at.
func TestDocumentBounds(t *testing.T) {
	lim := Limits{}.withDefaults()
	reads := func(s string) bool {
		_, _, err := read(t.Context(), []byte(s), lim)
		return err == nil
	}
	atLimit(t, "anchors", maxAnchors, func(n int) bool {
		return reads("a:\n" + strings.Join(times(n, func(i int) string { return fmt.Sprintf("- &a%d 1\n", i) }), ""))
	})
	atLimit(t, "marks of YAML", maxYAMLMarks, func(n int) bool {
		// What counts is counted before the text is read, and this one is not YAML.
		_, _, err := read(t.Context(), []byte("a: 'b' c\n"+strings.Repeat("\n", n-2)), lim)
		return err != nil && !strings.Contains(err.Error(), "values")
	})
	atLimit(t, "duplicates that are told", maxDuplicates, func(n int) bool {
		_, dups, err := read(t.Context(), []byte("{"+strings.Repeat(`"a":1,`, n)+`"a":1}`), lim)
		return err == nil && len(dups) == n
	})
	atLimit(t, "references that get a guess", maxGuesses, func(n int) bool {
		s := newSmall().components(obj{"known": seven})
		s.op["parameters"] = times(n, func(i int) any {
			return obj{"name": fmt.Sprint("q", i), "in": "query", "schema": obj{"$ref": fmt.Sprintf("#/components/schemas/know%d", i)}}
		})
		res, _ := s.compile(t)
		guesses := 0
		for _, w := range res.Warnings {
			if strings.Contains(w.Remedy, "did you mean") {
				guesses++
			}
		}
		return guesses == n
	})
	atLimit(t, "resources", maxResources, func(n int) bool {
		all := obj{}
		for i := range n {
			all[fmt.Sprintf("s%05d", i)] = obj{"$id": fmt.Sprintf("https://x.example/s%d", i), "$defs": obj{"own": obj{"type": "integer", "maximum": i}}, "$ref": "#/$defs/own"}
		}
		_, op := newSmall().components(all).parameter(obj{"$ref": fmt.Sprintf("#/components/schemas/s%05d", n-1)}).compile(t)
		return bytes.Contains(op.InputSchema, fmt.Appendf(nil, `"maximum":%d`, n-1))
	})
	atLimit(t, "scopes", maxScopes, func(n int) bool {
		names := times(n-1, func(i int) any { return fmt.Sprintf("s%02d", i) }) // the scheme is one too
		s := newSmall()
		s.doc["components"] = obj{"securitySchemes": obj{"o": obj{"type": "http", "scheme": "bearer"}}}
		s.op["security"] = []any{obj{"o": names}}
		_, op := s.compile(t)
		return len(op.Plan.Scopes) == 1 && len(op.Plan.Scopes[0]) == n
	})
	atLimit(t, "headers that are told", maxToldHeaders, func(n int) bool {
		s, headers := newSmall(), obj{}
		for i := range n {
			headers[fmt.Sprintf("X-Found-%d", i)] = obj{"schema": obj{"type": "string"}}
		}
		s.op["responses"] = obj{"200": obj{"description": "Done", "headers": headers}}
		_, op := s.compile(t)
		return len(op.Plan.Told) == n
	})
	atLimit(t, "names that a description lists", maxVariants, func(n int) bool {
		props := obj{}
		for i := range n {
			props[fmt.Sprintf("p%02d", i)] = obj{"type": "integer"}
		}
		s := newSmall().body(obj{"type": "object", "properties": props, "required": times(n, func(i int) any { return fmt.Sprintf("p%02d", i) })})
		s.op["requestBody"].(obj)["required"] = false
		_, op := s.compile(t)
		return strings.Contains(op.Description, fmt.Sprintf("p%02d", n-1))
	})
	atLimit(t, "faults of a strict reading", maxViolations, func(n int) bool {
		s := newSmall()
		s.doc["tags"] = times(n, func(int) any { return obj{"name": 1} })
		b, err := json.Marshal(s.doc)
		if err != nil {
			t.Fatal(err)
		}
		res, _ := compileAll(t, Source{Name: "x", Data: b}, Options{Strict: true})
		faults := 0
		for _, w := range res.Warnings {
			if w.Code == codeSchemaViolation {
				faults++
			}
		}
		return faults == n
	})
}

// TestTotalBounds: what all schemas of a specification may cost together.
func TestTotalBounds(t *testing.T) {
	f := func(what string, put func(c *compiler, used int), limit, need int, s small) {
		t.Helper()
		b, err := json.Marshal(s.doc)
		if err != nil {
			t.Fatal(err)
		}
		for past, want := range []bool{true, false} {
			var ops []*operation.Operation
			opts := Options{Each: func(op *operation.Operation) error { ops = append(ops, op); return nil }}
			c := newCompiler(t.Context(), Source{Name: "x", Data: b}, opts, Limits{}.withDefaults())
			put(c, limit-need+past) // what others used before
			res, err := c.compileAll()
			if err != nil {
				t.Fatal(err)
			}
			if got := !hasWarning(res, codeSchemaBudget); got != want {
				t.Errorf("%s, %d past the limit: all is there %v, want %v", what, past, got, want)
			}
			if got := bytes.Contains(ops[0].InputSchema, []byte(`"maximum":7`)); got != want {
				t.Errorf("%s, %d past the limit: published %s", what, past, ops[0].InputSchema)
			}
		}
	}
	one := newSmall().parameter(seven)
	f("schemas", func(c *compiler, used int) { c.created = used }, maxSchemas, 1, one)
	f("parts that are merged", func(c *compiler, used int) { c.folds = used }, maxFolds, 1, one)
	sub := newSmall().components(obj{
		"base": obj{"type": "object", "properties": obj{"kind": obj{"type": "string"}}, "required": []any{"kind"}, "discriminator": obj{"propertyName": "kind"}},
		"sub":  obj{"allOf": []any{obj{"$ref": "#/components/schemas/base"}, obj{"type": "object", "properties": obj{"n": seven}}}},
	}).body(obj{"type": "object", "properties": obj{"q": obj{"$ref": "#/components/schemas/base"}}})
	f("subtypes", func(c *compiler, used int) {
		for i := range used {
			c.subtyped[subtypeKey{disc: fmt.Sprint(i)}] = &schema{}
		}
	}, maxSubtyped, 1, sub)
}

// TestWordBounds: texts and names.
func TestWordBounds(t *testing.T) {
	x := strings.Repeat
	atLimit(t, "an argument's name", maxArgName, func(n int) bool {
		s := newSmall()
		s.op["parameters"] = []any{obj{"name": x("q", n), "in": "query", "schema": seven}}
		_, op := s.compile(t)
		if len(op.Plan.Params[0].Arg) > maxArgName || op.Plan.Params[0].Name != x("q", n) {
			t.Errorf("%d: %q is sent as %q", n, op.Plan.Params[0].Arg, op.Plan.Params[0].Name)
		}
		return op.Plan.Params[0].Arg == x("q", n)
	})
	atLimit(t, "a description", maxDescription, func(n int) bool {
		s, text := newSmall(), x("d ", n/2-1)+x("d", 2+n%2)
		s.doc["info"].(obj)["description"] = text
		res, _ := s.compile(t)
		if len(res.API.Description) > maxDescription {
			t.Errorf("%d bytes: %d are kept", n, len(res.API.Description))
		}
		return res.API.Description == text
	})
	atLimit(t, "a slug", maxSlug, func(n int) bool { return slug(x("a", n)) == x("a", n) })
	atLimit(t, "a host's name", maxSlug, func(n int) bool {
		return hostName("https://api."+x("a", n)+".com") == x("a", n)
	})
	atLimit(t, "a text with marks", maxPlainInput, func(n int) bool { return plain(x("a", n)) == x("a", n) })
	atLimit(t, "a link's text", maxLink, func(n int) bool { // with its brackets
		text, _ := link("[" + x("a", n-2) + "](t)")
		return text == x("a", n-2)
	})
	atLimit(t, "a link's target", maxLink, func(n int) bool { // with its brackets, and the one before
		text, _ := link("[a](" + x("t", n-3) + ")")
		return text == "a"
	})
	atLimit(t, "searches of a path", maxDescendants, func(n int) bool {
		_, _, err := overlaid(t, "overlay: 1.0.0\ninfo: {title: t, version: '1'}\nactions: [{target: '$"+x("..a", n)+"', remove: true}]")
		return err == nil
	})
	atLimit(t, "an overlay", MaxOverlayBytes, func(n int) bool {
		o := `{"overlay":"1.0.0","info":{"title":"t","version":"1"},"actions":[{"target":"$.x","remove":true}]`
		_, _, err := overlaid(t, o+x(" ", n-len(o)-1)+"}")
		return err == nil
	})
}

// TestMaxReach: errors of alternatives are compared to this depth.
func TestMaxReach(t *testing.T) {
	atLimit(t, "nested alternatives", maxReach, func(n int) bool {
		e := &jsonschema.ValidationError{InstanceLocation: times(1000, func(int) string { return "a" })}
		for range n + 1 { // the outermost is not a nested one
			e = &jsonschema.ValidationError{Causes: []*jsonschema.ValidationError{e}}
		}
		return reach(e, 0) == 1000
	})
}

// TestMaxUnionVisits: alternatives inside of alternatives are looked at this often in all.
func TestMaxUnionVisits(t *testing.T) {
	atLimit(t, "alternatives", maxUnionVisits, func(n int) bool {
		c := newCompiler(t.Context(), Source{}, Options{}, Limits{}.withDefaults())
		u := union{p: &publisher{c: c}}
		s := &schema{alts: []alternatives{{branches: times(n-1, func(i int) child {
			return child{s: &schema{props: []prop{{name: fmt.Sprint(i%(maxUnion/2), i == n-2)}}}}
		})}}}
		for i := range s.alts[0].branches {
			s.alts[0].branches[i].s.props[0].s = c.anything
		}
		u.add(s, 0)
		return u.props[len(u.props)-1].name == fmt.Sprint((n-2)%(maxUnion/2), true)
	})
}

// TestMaxTarStream: what is inflated of an archive counts, also what is skipped.
func TestMaxTarStream(t *testing.T) {
	atLimit(t, "blocks of a tar", maxTarStream/512, func(n int) bool {
		size := int64(n-3) * 512 // beside a head and the end of two blocks
		var head bytes.Buffer
		if err := tar.NewWriter(&head).WriteHeader(&tar.Header{Name: "a.bin", Mode: 0o644, Size: size, Typeflag: tar.TypeReg, Format: tar.FormatGNU}); err != nil {
			t.Fatal(err)
		}
		u := unpacker{name: "x.tar", files: map[string][]byte{}}
		err := u.tar(io.MultiReader(&head, io.LimitReader(zeros{}, size+1024)))
		if err != nil && !problem.Is(err, problem.TooLarge) {
			t.Errorf("%d blocks: %v", n, err)
		}
		return err == nil
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

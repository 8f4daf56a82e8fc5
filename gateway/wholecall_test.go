package gateway_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// A wholeCall is a specification of one operation, a call of it, and what the
// specification says is sent.
type wholeCall struct {
	method, path string
	params       []*parameter
	media        string
	body         *sent
	fields       []member       // of a body of members
	schemas      map[string]any // components
	answer       string
	zip          bool
	profile      string
}

// wrapped is a schema as it stands in the specification: itself, by reference, or with
// others in allOf.
func (c *wholeCall) wrapped(t *tape, schema map[string]any) map[string]any {
	how := t.n(4)
	if how < 2 {
		return schema
	}
	name := fmt.Sprint("S", len(c.schemas))
	c.schemas[name] = schema
	ref := map[string]any{"$ref": "#/components/schemas/" + name}
	if how == 2 {
		return ref
	}
	return map[string]any{"allOf": []any{ref, map[string]any{"description": "More."}}}
}

func newWholeCall(t *tape) *wholeCall {
	c := &wholeCall{schemas: map[string]any{}, method: pick(t, "get", "post", "put", "patch", "delete"), path: "/v1", profile: pick(t, registry.ProfileOff, registry.ProfileLossless)}
	for i := range t.n(3) {
		p := &parameter{name: fmt.Sprint("p", i), in: "path", style: pick(t, "simple", "label", "matrix"), explode: t.n(2) == 1, value: valueOf(t, false)}
		c.path += "/" + pick(t, "x", "a-b", "é", "x.y") + "/{" + p.name + "}"
		c.params = append(c.params, p)
	}
	t.blank = true
	for i := range t.n(4) {
		p := &parameter{name: pick(t, "q", "filter", "a.b", "fields[x]", "ü", "sort by", "$top") + fmt.Sprint(i), in: "query", style: "form", explode: t.n(2) == 1}
		p.value = valueOf(t, false)
		switch {
		case t.n(6) == 5:
			p.json = true
		case p.value.kind == "array" && !p.explode:
			p.style = pick(t, "form", "spaceDelimited", "pipeDelimited")
		case p.value.kind == "object" && p.explode:
			p.style = pick(t, "form", "deepObject")
		}
		c.params = append(c.params, p)
	}
	t.blank = false
	for i := range t.n(3) {
		c.params = append(c.params, &parameter{name: fmt.Sprint("X-Part-", i), in: "header", style: "simple", explode: t.n(2) == 1, value: valueOf(t, true)})
	}
	if t.n(3) == 2 {
		p := &parameter{name: "choice", in: "cookie", style: "form", value: valueOf(t, true)}
		if p.value.kind == "scalar" {
			c.params = append(c.params, p)
		}
	}
	t.blank = true
	for _, p := range c.params {
		if p.schema = c.wrapped(t, p.value.schema); p.in != "path" && t.n(4) == 3 {
			p.value = nil
		}
	}
	if c.method != "get" && c.method != "delete" {
		switch c.media = pick(t, "", "application/json", "application/json", "application/merge-patch+json", "application/x-www-form-urlencoded", "text/plain"); c.media {
		case "text/plain":
			w := pick(t, words...)
			c.body = &sent{kind: "scalar", schema: map[string]any{"type": "string"}, text: quoted(w), scalar: w}
		case "application/x-www-form-urlencoded":
			c.body = c.members(t, func() (map[string]any, string, string) { return scalarOf(t, false) })
		case "":
		default:
			if t.n(4) == 0 {
				c.body = valueOf(t, false)
				for c.body.kind != "array" {
					c.body = &sent{kind: "array", schema: map[string]any{"type": "array", "items": map[string]any{}}, text: `[1,{"a":[]},"x"]`}
				}
				break
			}
			c.body = c.members(t, func() (map[string]any, string, string) {
				v := valueOf(t, false)
				return v.schema, v.text, ""
			})
		}
	}
	if c.body != nil {
		c.body.schema = c.wrapped(t, c.body.schema)
	}
	c.answer, c.zip = document(t, 3), t.n(3) == 2
	return c
}

// members makes a body that is an object.
func (c *wholeCall) members(t *tape, value func() (schema map[string]any, text, wire string)) *sent {
	props := map[string]any{}
	b := &sent{kind: "object", schema: map[string]any{"type": "object", "properties": props}}
	for i := range 1 + t.n(4) {
		name := pick(t, "m", "Name", "a.b", "x y", "ü") + fmt.Sprint("_", i)
		schema, text, wire := value()
		props[name] = c.wrapped(t, schema)
		c.fields = append(c.fields, member{name, text})
		b.object = append(b.object, member{name, wire})
	}
	return b
}

// specification writes the call's operation as OpenAPI 3.1.
func (c *wholeCall) specification(t *testing.T, server string) []byte {
	t.Helper()
	op := map[string]any{"operationId": "it", "responses": map[string]any{"200": map[string]any{
		"description": "ok", "content": map[string]any{"application/json": map[string]any{"schema": map[string]any{}}},
	}}}
	var params []any
	for _, p := range c.params {
		m := map[string]any{"name": p.name, "in": p.in, "required": p.in == "path"}
		if p.json {
			m["content"] = map[string]any{"application/json": map[string]any{"schema": p.schema}}
		} else {
			m["style"], m["explode"], m["schema"] = p.style, p.explode, p.schema
		}
		params = append(params, m)
	}
	op["parameters"] = params
	if c.body != nil {
		op["requestBody"] = map[string]any{"required": true, "content": map[string]any{c.media: map[string]any{"schema": c.body.schema}}}
	}
	b, err := json.Marshal(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "T", "version": "1"}, "servers": []any{map[string]any{"url": server}},
		"components": map[string]any{"schemas": c.schemas}, "paths": map[string]any{c.path: map[string]any{c.method: op}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// arguments writes what the agent gives. Of the plan only the names of arguments are taken.
func (c *wholeCall) arguments(t *testing.T, plan *operation.Plan) string {
	t.Helper()
	var out []string
	for _, p := range c.params {
		i := slices.IndexFunc(plan.Params, func(o operation.Param) bool { return o.Name == p.name && string(o.In) == p.in })
		switch {
		case i < 0:
			t.Fatalf("the plan has no parameter %s in %s", p.name, p.in)
		case p.value != nil:
			out = append(out, quoted(plan.Params[i].Arg)+":"+p.value.text)
		}
	}
	if c.body != nil {
		switch {
		case plan.Body == nil:
			t.Fatal("the plan has no body")
		case plan.Body.Arg == "":
			for _, m := range c.fields {
				i := slices.IndexFunc(plan.Body.Fields, func(f operation.Field) bool { return f.Name == m.name })
				if i < 0 {
					t.Fatalf("the plan has no member %s", m.name)
				}
				out = append(out, quoted(plan.Body.Fields[i].Arg)+":"+m.text)
			}
		default:
			text := c.body.text
			if len(c.fields) > 0 {
				text = object(c.fields)
			}
			out = append(out, quoted(plan.Body.Arg)+":"+text)
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

// target is the request target of the call.
func (c *wholeCall) target() string {
	path := c.path
	var query []string
	for _, p := range slices.Backward(c.params) {
		switch {
		case p.in == "path":
			path = strings.ReplaceAll(path, "{"+p.name+"}", p.wire())
		case p.in == "query" && p.value != nil:
			query = append([]string{p.wire()}, query...)
		}
	}
	path = strings.ReplaceAll(path, "é", "%C3%A9")
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	return path
}

// check compares what arrived with what the specification says.
func (c *wholeCall) check(t *testing.T, r *http.Request, body []byte) {
	t.Helper()
	if r.Method != strings.ToUpper(c.method) {
		t.Errorf("method %s", r.Method)
	}
	// Brackets and bars need no escape for most servers; both forms are the same text.
	tidy := strings.NewReplacer("[", "%5B", "]", "%5D", "|", "%7C")
	if got, want := tidy.Replace(r.RequestURI), tidy.Replace(c.target()); got != want {
		t.Errorf("target %s\n  want %s", got, want)
	}
	cookie := ""
	for _, p := range c.params {
		switch {
		case p.in == "header" && p.value == nil && r.Header.Values(p.name) != nil:
			t.Errorf("header %s is sent and was not given", p.name)
		case p.in == "header" && p.value != nil && r.Header.Get(p.name) != p.wire():
			t.Errorf("header %s: %q, want %q", p.name, r.Header.Get(p.name), p.wire())
		case p.in == "cookie" && p.value != nil:
			cookie = p.wire()
		}
	}
	if got := r.Header.Get("Cookie"); got != cookie {
		t.Errorf("cookie %q, want %q", got, cookie)
	}
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if c.body == nil {
		if len(body) > 0 {
			t.Errorf("a body that nobody gave: %q", body)
		}
		return
	}
	if media != c.media {
		t.Errorf("media type %q, want %q", media, c.media)
	}
	switch {
	case c.media == "text/plain":
		if string(body) != c.body.scalar {
			t.Errorf("body %q, want %q", body, c.body.scalar)
		}
	case c.media == "application/x-www-form-urlencoded":
		got, err := url.ParseQuery(string(body))
		want := url.Values{}
		for _, m := range c.body.object {
			want.Add(m.name, m.text)
		}
		if err != nil || got.Encode() != want.Encode() {
			t.Errorf("form %q, want %q", body, want.Encode())
		}
	case len(c.fields) > 0:
		sameDocument(t, "body", string(body), object(c.fields))
	default:
		sameDocument(t, "body", string(body), c.body.text)
	}
}

// FuzzWholeCall makes a specification, a call of its operation and an answer, sends the
// call as an agent does, and compares what arrives upstream and what the agent reads with
// what the specification says, worked out here from RFC 6570 and encoding/json.
func FuzzWholeCall(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		b := make([]byte, 150)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	var c *wholeCall
	var arrived *http.Request
	var arrivedBody []byte
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived, arrivedBody = r, nil
		arrivedBody, _ = io.ReadAll(r.Body) // a request that breaks off differs
		w.Header().Set("Content-Type", "application/json")
		if !c.zip {
			_, _ = io.WriteString(w, c.answer)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, c.answer)
		_ = z.Close()
	}))
	f.Cleanup(up.Close)
	s := start(f, gatewaytest.Options{})
	revision := uint64(0)
	f.Fuzz(func(t *testing.T, b []byte) {
		c, arrived = newWholeCall(&tape{b: b}), nil
		spec := c.specification(t, up.URL)
		var plan *operation.Plan
		var builder *connector.Builder
		var name string
		api := &operation.API{Name: "api", Title: "T", Version: "1", Servers: []operation.Server{{URL: up.URL}}}
		builder = connector.NewBuilder(api)
		if _, err := openapi.Compile(t.Context(), openapi.Source{Name: "spec.json", Data: spec}, openapi.Options{Each: func(op *operation.Operation) error {
			plan, name = op.Plan, op.Name
			return builder.Add(op)
		}}); err != nil || plan == nil {
			t.Fatalf("%v\n%s", err, spec)
		}
		a, err := builder.Finish()
		if err != nil {
			t.Fatal(err)
		}
		opened, err := connector.Open(a.Module)
		if err != nil {
			t.Fatal(err)
		}
		revision++
		if err := s.Serve(gatewaytest.Toolset("acme", revision, opened, func(b *registry.Toolset) {
			b.Profile, b.Answers = c.profile, &registry.Answers{Format: registry.FormatJSON}
		})); err != nil {
			t.Fatal(err)
		}
		args := c.arguments(t, plan)
		status, text := post(t, s.URL("acme"), callBody(name, args))
		var got struct {
			Result struct {
				Content []struct{ Text string }
				IsError bool
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || got.Result.IsError || len(got.Result.Content) == 0 || arrived == nil {
			t.Fatalf("%s: %d %s\n%s", args, status, text, spec)
		}
		c.check(t, arrived, arrivedBody)
		if answer := got.Result.Content[0].Text; c.profile == registry.ProfileOff && answer != c.answer {
			t.Errorf("the agent reads %q, answered was %q", answer, c.answer)
		} else if c.profile != registry.ProfileOff {
			sameDocument(t, "what the agent reads", answer, c.answer)
		}
		if t.Failed() {
			t.Logf("arguments %s\n%s", args, spec)
		}
	})
}

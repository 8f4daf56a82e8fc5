package answers

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/enginepool"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/projection"
	"github.com/sluicegate/sluice/registry"
)

// fresh are answers in the manner of public APIs, made up, each with what its users
// would ask of it and where in it that is.
//
//go:embed testdata/fresh.jsonl
var fresh []byte

// TestFreshAnswers: what people ask of answers, they get from the concise text,
// whether a specification describes them well, badly or not at all.
func TestFreshAnswers(t *testing.T) {
	h, err := enginepool.New(context.Background(), enginepool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close(context.Background()) }()
	m, n := &Measurer{Host: h}, 0
	lines := bufio.NewScanner(bytes.NewReader(fresh))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var c struct {
			Op     string
			Answer json.RawMessage
			Ask    map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		for _, described := range []string{"not at all", "by types", "by formats"} {
			text := concise(t, m, c.Op, c.Answer, described)
			before, after := anyOf(c.Answer), anyOf(text)
			for _, question := range slices.Sorted(maps.Keys(c.Ask)) {
				n++
				for p := range strings.SplitSeq(c.Ask[question], " /") {
					p = "/" + strings.TrimPrefix(p, "/")
					if _, is := valueAt(before, p); !is {
						t.Errorf("%s: %s: the answer has no %s", c.Op, question, p)
					} else if !sameAt(before, after, p) {
						t.Errorf("%s, described %s: %s: %s is lost", c.Op, described, question, p)
					}
				}
			}
		}
	}
	if n < 900 {
		t.Errorf("%d questions", n)
	}
}

// concise is what an agent reads of an answer, decoded.
func concise(t *testing.T, m *Measurer, op string, body json.RawMessage, described string) []byte {
	t.Helper()
	method, path, _ := strings.Cut(op, " ")
	media := map[string]any{}
	if described != "not at all" {
		media["schema"] = schemaOf(anyOf(body), described == "by formats")
	}
	var params []any
	for rest := path; ; {
		_, after, is := strings.Cut(rest, "{")
		if !is {
			break
		}
		name, left, _ := strings.Cut(after, "}")
		params = append(params, map[string]any{"name": name, "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
		rest = left
	}
	spec, err := json.Marshal(map[string]any{
		"openapi": "3.0.3", "info": map[string]any{"title": "Fresh", "version": "1"}, "servers": []any{map[string]any{"url": "https://api.fresh.example"}},
		"paths": map[string]any{path: map[string]any{strings.ToLower(method): map[string]any{
			"parameters": params,
			"responses":  map[string]any{"200": map[string]any{"description": "OK", "content": map[string]any{"application/json": media}}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	api, err := Compile(context.Background(), openapi.Source{Name: "fresh.json", Data: spec})
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	found, err := api.Find(op)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Measure(api, found, body, Wish{Profile: registry.ProfileConcise})
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	text, _, err := Decode(got.Concise)
	if err != nil {
		t.Fatalf("%s: %v\n%s", op, err, got.Concise)
	}
	return text
}

// schemaOf describes a value by its types, and addresses by their format.
func schemaOf(v any, formats bool) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		members := map[string]any{}
		for name, e := range v {
			members[name] = schemaOf(e, formats)
		}
		return map[string]any{"type": "object", "properties": members}
	case []any:
		items := map[string]any{}
		if len(v) > 0 {
			items = schemaOf(v[0], formats)
		}
		return map[string]any{"type": "array", "items": items}
	case string:
		if formats && projection.IsURL(v) {
			return map[string]any{"type": "string", "format": "uri"}
		}
		return map[string]any{"type": "string"}
	case bool:
		return map[string]any{"type": "boolean"}
	case nil:
		return map[string]any{}
	}
	return map[string]any{"type": "number"}
}

package node_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/plugins/catalog"
)

// TestCatalogStandIns: an entry that was not verified becomes a live toolset all the same, of a
// document that has what the entry names, at a vendor that wants the credential.
func TestCatalogStandIns(t *testing.T) {
	c, err := catalog.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	n, _ := start(t, node.Options{Data: t.TempDir()})
	tried := 0
	for _, e := range c.All() {
		if e.Kind() != catalog.KindOpenAPI || e.Verified != nil {
			continue
		}
		tried++
		t.Run(e.ID, func(t *testing.T) {
			if _, _, calls := callEntry(t, n, e, newVendor(t, e, standIn(t, e))); calls != len(e.Tools) {
				t.Errorf("%d calls of %d tools", calls, len(e.Tools))
			}
		})
	}
	if tried == 0 {
		t.Error("no entry was tried")
	}
}

// standIn is a document with the operations and arguments that an entry names.
func standIn(t *testing.T, e *catalog.Entry) []byte {
	t.Helper()
	type object = map[string]any
	paths := map[string]object{}
	for i := range e.Tools {
		tool := &e.Tools[i]
		parameters, members := []object{}, object{}
		for _, m := range regexp.MustCompile(`\{([^}]+)\}`).FindAllStringSubmatch(tool.Path(), -1) {
			parameters = append(parameters, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
		}
		for _, name := range tool.Arguments {
			at := members
			steps := strings.Split(strings.TrimPrefix(name, "body."), ".")
			for _, step := range steps[:len(steps)-1] {
				if at[step] == nil {
					at[step] = object{"type": "object", "properties": object{}}
				}
				at = at[step].(object)["properties"].(object)
			}
			at[steps[len(steps)-1]] = object{"type": "string"}
		}
		operation := object{"operationId": tool.Name, "responses": object{"200": object{"description": "done"}}}
		if method := tool.Method(); method == http.MethodGet || method == http.MethodDelete {
			for name, schema := range members {
				parameters = append(parameters, object{"name": name, "in": "query", "schema": schema})
			}
		} else if len(members) > 0 {
			schema := object{"type": "object", "properties": members}
			if slices.ContainsFunc(tool.Arguments, func(name string) bool { return strings.HasPrefix(name, "body.") }) {
				schema = object{"anyOf": []object{schema, {"type": "array", "items": object{"type": "string"}}}} // an argument of its own
			}
			operation["requestBody"] = object{"content": object{"application/json": object{"schema": schema}}}
		}
		operation["parameters"] = parameters
		if paths[tool.Path()] == nil {
			paths[tool.Path()] = object{}
		}
		paths[tool.Path()][strings.ToLower(tool.Method())] = operation
	}
	b, err := json.Marshal(object{"openapi": "3.0.3", "info": object{"title": e.Name, "version": "1"}, "paths": paths})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluicegate/sluice/plugins/catalog"
)

var pathParameter = regexp.MustCompile(`\{([^}]+)\}`)

// vendorServer stands for the vendor of an entry of the catalog: it serves a document at
// /openapi.json that has the operations of the entry and as many others, and answers
// each of them when the credential is the one that the entry describes, with the key
// "let-me-in".
func vendorServer(ts *testscript.TestScript, id string) *httptest.Server {
	c, err := catalog.BuiltIn()
	ts.Check(err)
	e, err := c.Entry(id)
	ts.Check(err)
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	ts.Defer(srv.Close)
	paths := map[string]map[string]any{}
	describe := func(id, method, path string) {
		parameters := []any{}
		for _, m := range pathParameter.FindAllStringSubmatch(path, -1) {
			parameters = append(parameters, map[string]any{"name": m[1], "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
		}
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		op := map[string]any{"summary": "As the vendor says it", "parameters": parameters, "responses": map[string]any{"200": map[string]any{"description": "OK"}}}
		if id != "" {
			op["operationId"] = id
		}
		paths[path][strings.ToLower(method)] = op
	}
	for i := range e.Tools {
		describe(e.Tools[i].OperationID, e.Tools[i].Method(), e.Tools[i].Path())
		describe("", "GET", "/internal"+e.Tools[i].Path())
	}
	doc, err := json.Marshal(map[string]any{"openapi": "3.0.3", "info": map[string]any{"title": "Vendor", "version": "1"}, "servers": []any{map[string]any{"url": srv.URL}}, "paths": paths})
	ts.Check(err)
	mux.HandleFunc("/openapi.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(doc) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		s := e.Authentication[0].Settings
		if r.Header.Get(s.HeaderName) != s.HeaderPrefix+"let-me-in" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"called": r.Method + " " + r.URL.Path})
	})
	return srv
}

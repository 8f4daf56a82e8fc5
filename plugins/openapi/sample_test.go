package openapi

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/operation"
)

// TestTextsInform: examples are shown, what says nothing is not, operations with the
// same words are told apart, and a long text is used up to its budget.
func TestTextsInform(t *testing.T) {
	doc := `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{
		"/statuses":{"get":{"operationId":"statuses/get-all","summary":"Statuses","parameters":[
			{"name":"q","in":"query","description":"Filter","example":"owner:ann","schema":{"type":"string"}},
			{"name":"n","in":"query","schema":{"type":"integer","examples":[7]}},
			{"name":"d","in":"query","schema":{"type":"integer","default":7,"example":7}},
			{"name":"b","in":"query","schema":{"type":"boolean","example":true}},
			{"name":"l","in":"query","description":"Like this: a, b","schema":{"type":"array","items":{"type":"string"},"example":["a","b"]}},
			{"name":"x","in":"query","description":"Long.","schema":{"type":"string","example":"` + strings.Repeat("x", maxExample+1) + `"}},
			{"name":"y","in":"query","description":"Fits.","schema":{"type":"string","example":"` + strings.Repeat("y", maxExample) + `"}}],
			"responses":{"200":{"description":"OK - the request has succeeded."}}}},
		"/a":{"get":{"operationId":"getA","description":"About things.","responses":{"200":{"description":"The cursor of the next page"}}}},
		"/b":{"get":{"operationId":"getB","description":"About things.","responses":{"204":{"description":"-"}}}},
		"/c":{"get":{"operationId":"getC","description":"Short. ` + strings.Repeat("row of a table | ", 700) + `","responses":{"204":{"description":"-"}}}}}}`
	texts, inputs := map[string]string{}, map[string]string{}
	_, err := Compile(t.Context(), Source{Name: "t.json", Data: []byte(doc)}, Options{Each: func(op *operation.Operation) error {
		texts[op.Path], inputs[op.Path] = op.Description, string(op.InputSchema)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	in := inputs["/statuses"]
	for _, want := range []string{`"Filter, e.g. owner:ann"`, `"e.g. 7"`, `"Like this: a, b"`, `"Long."`, `"Fits. e.g. ` + strings.Repeat("y", maxExample) + `"`} {
		if !strings.Contains(in, want) {
			t.Errorf("%s is not in %s", want, in)
		}
	}
	if strings.Count(in, "e.g. 7") != 1 || strings.Contains(in, "e.g. true") {
		t.Errorf("examples that say nothing in %s", in)
	}
	if texts["/statuses"] != "Statuses." {
		t.Errorf("boilerplate: %q", texts["/statuses"])
	}
	if a, b := texts["/a"], texts["/b"]; a != "About things. Returns: The cursor of the next page." || b != "Get b. About things." {
		t.Errorf("siblings: %q, %q", a, b)
	}
	if c := texts["/c"]; len(c) < maxSummary/2 || len(c) > maxSummary+len("….") {
		t.Errorf("%d bytes of a long description: %q", len(c), c)
	}
}

// TestUntold: a description that only repeats the name is left out, of arguments and of
// members.
func TestUntold(t *testing.T) {
	doc := `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"post":{"operationId":"a","parameters":[
		{"name":"page_size","in":"query","description":"Page size.","schema":{"type":"integer"}},
		{"name":"cursor","in":"query","description":"Cursor of the page","schema":{"type":"string"}}],
		"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{
			"userId":{"type":"string","description":"User ID"},
			"owner":{"type":"object","description":"Owner","properties":{"name":{"type":"string","title":"Name"},"kind":{"type":"string","description":"Kind of owner"}}}}}}}},
		"responses":{"204":{"description":"-"}}}}}}`
	var in string
	_, err := Compile(t.Context(), Source{Name: "t.json", Data: []byte(doc)}, Options{Each: func(op *operation.Operation) error {
		in = string(op.InputSchema)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"page_size":{"type":"integer"}`, `"description":"Cursor of the page"`, `"userId":{"type":"string"}`, `"name":{"type":"string"}`, `"description":"Kind of owner"`} {
		if !strings.Contains(in, want) {
			t.Errorf("%s is not in %s", want, in)
		}
	}
}

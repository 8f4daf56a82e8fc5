package openapi

import (
	"fmt"
	"strings"
	"testing"
)

// TestParameterCredentials: a token that most operations take is the operator's, also
// where some of them take it in the query and others in a header; one that few take is
// what the operation is about.
func TestParameterCredentials(t *testing.T) {
	spec := func(query, header, without int, extra string) string {
		var b strings.Builder
		b.WriteString("openapi: 3.1.0\ninfo: {title: Keys, version: '1'}\nservers: [{url: https://api.example.com}]\n" + extra + "paths:\n")
		for i := range query + header + without {
			in := ""
			switch {
			case i < query:
				in = "{name: token, in: query, required: true, schema: {type: string}}, "
			case i < query+header:
				in = "{name: token, in: header, required: true, schema: {type: string}}, "
			}
			fmt.Fprintf(&b, "  /op%d:\n    get:\n      operationId: op%d\n      parameters: [%s{name: q, in: query, schema: {type: string}}]\n      responses: {'200': {description: ok}}\n", i, i, in)
		}
		return b.String()
	}
	const (
		oauth = "components: {securitySchemes: {login: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://api.example.com/token', scopes: {}}}}}}\n"
		both  = "  /both:\n    get:\n      operationId: both\n      parameters: [{name: token, in: query, required: true, schema: {type: string}}, {name: token, in: header, schema: {type: string}}]\n      responses: {'200': {description: ok}}\n"
	)
	for _, f := range []struct {
		name, doc string
		of        int // the operation
		hidden    bool
		scheme    string // made for it; "": none
	}{
		{"of most, in the query", spec(4, 0, 3, ""), 0, true, "token"},
		{"of most, in two places: the query", spec(2, 3, 1, ""), 0, true, "token"},
		{"of most, in two places: the header", spec(2, 3, 1, ""), 3, true, "token"},
		{"in two places, and OAuth has it in Authorization", spec(2, 3, 1, oauth), 0, true, ""},
		{"of half in two places", spec(1, 2, 3, ""), 0, true, "token"},
		{"of less than half in two places", spec(1, 2, 4, ""), 0, false, ""},
		{"of two", spec(1, 1, 0, ""), 0, false, ""},
		{"besides the one in the header", spec(0, 4, 1, "") + both, 5, false, "token"},
	} {
		r, ops := compileAll(t, Source{Name: "keys.yaml", Data: []byte(f.doc)}, Options{})
		if shown := strings.Contains(string(ops[f.of].InputSchema), `"token"`); shown == f.hidden {
			t.Errorf("%s: %s", f.name, ops[f.of].InputSchema)
		}
		found := ""
		for _, s := range r.API.Schemes {
			if s.Type == "apiKey" {
				found = s.Name
			}
		}
		if found != f.scheme {
			t.Errorf("%s: schemes %+v, want one of %q", f.name, r.API.Schemes, f.scheme)
		}
	}
}

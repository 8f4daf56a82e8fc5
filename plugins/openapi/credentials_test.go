package openapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCredentialParameters: a parameter that carries the caller's own credential is the
// operator's, whatever place it travels in; what an operation is about is the model's.
func TestCredentialParameters(t *testing.T) {
	type param struct{ in, name, description string }
	spec := func(extra string, ops ...param) string {
		var b strings.Builder
		b.WriteString("openapi: 3.1.0\ninfo: {title: Keys, version: '1'}\nservers: [{url: https://api.example.com}]\n" + extra + "paths:\n")
		for i, p := range ops {
			fmt.Fprintf(&b, "  /op%d:\n    get:\n      operationId: op%d\n      parameters:\n      - {name: q, in: query, schema: {type: string}}\n", i, i)
			if p.name != "" {
				fmt.Fprintf(&b, "      - {name: %s, in: %s, required: true, description: %q, schema: {type: string}}\n", p.name, p.in, p.description)
			}
			b.WriteString("      responses: {'200': {description: ok}}\n")
		}
		return b.String()
	}
	times := func(n int, p param) []param { return slices.Repeat([]param{p}, n) }
	const oauth = "components: {securitySchemes: {o: {type: http, scheme: bearer}}}\n"
	token := func(in string) param { return param{in, "token", ""} }
	for _, f := range []struct {
		name, doc string
		hidden    bool
		scheme    string // that is made of it; "": none
	}{
		{"half in the query, half in a header", spec("", append(times(3, token("query")), times(3, token("header"))...)...), true, "token"},
		{"the token of the bearer scheme", spec(oauth, append(times(3, token("query")), times(3, token("header"))...)...), true, ""},
		{"few of many", spec("", append(times(2, token("query")), times(8, param{})...)...), false, ""},
		{"few of many that say so", spec("", append(times(2, param{"query", "token", "Authentication token. Requires scope: `a:b`"}), times(8, param{})...)...), true, "token"},
		{"an access token that says so", spec("", append(times(1, param{"query", "auth", "The API key. See your account."}), times(8, param{})...)...), true, "auth"},
		{"the token of another thing", spec("", append(times(2, param{"query", "token", "API key id to look up"}), times(8, param{})...)...), false, ""},
		{"a header of all", spec("", times(4, param{"header", "X-Postal-Server-Token", "of the server"})...), true, "X-Postal-Server-Token"},
		{"a header of most", spec("", append(times(4, param{"header", "X-Postal-Server-Token", ""}), times(2, param{})...)...), false, ""},
		{"an idempotency key of all", spec("", times(4, param{"header", "Idempotency-Key", ""})...), false, ""},
		{"a sync token of all", spec("", times(4, param{"header", "X-Sync-Token", ""})...), false, ""},
		{"a page token of all", spec("", times(4, param{"query", "page_token", ""})...), false, ""},
		{"a header of two", spec("", times(2, param{"header", "X-Postal-Server-Token", ""})...), false, ""},
	} {
		r, ops := compileAll(t, Source{Name: "keys.yaml", Data: []byte(f.doc)}, Options{})
		op := ops[0]
		if shown := strings.Count(string(op.InputSchema), `"type":"string"`) == 2; shown == f.hidden {
			t.Errorf("%s: %s", f.name, op.InputSchema)
		}
		made := ""
		for _, s := range r.API.Schemes {
			if s.Type == "apiKey" {
				made = s.Name
			}
		}
		if made != f.scheme || f.scheme != "" && len(op.Security) == 0 {
			t.Errorf("%s: schemes %+v, required %v, want %q", f.name, r.API.Schemes, op.Security, f.scheme)
		}
	}
}

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

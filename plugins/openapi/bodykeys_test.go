package openapi

import (
	"fmt"
	"strings"
	"testing"
)

// TestBodyCredentials: a key that most bodies take is the operator's; a member of that
// name which few take is what the operation is about.
func TestBodyCredentials(t *testing.T) {
	const many = 4
	spec := func(member string, with, without int, extra string) string {
		var b strings.Builder
		b.WriteString("openapi: 3.1.0\ninfo: {title: Keys, version: '1'}\nservers: [{url: https://api.example.com}]\n" + extra + "paths:\n")
		for i := range with + without {
			properties := "{q: {type: string}}"
			if i < with {
				properties = fmt.Sprintf("{%s: {type: string}, q: {type: string}}", member)
			}
			fmt.Fprintf(&b, "  /op%d:\n    post:\n      operationId: op%d\n      requestBody: {required: true, content: {application/json: {schema: {type: object, required: [q], properties: %s}}}}\n      responses: {'200': {description: ok}}\n", i, i, properties)
		}
		return b.String()
	}
	const header = "components: {securitySchemes: {secret: {type: apiKey, in: header, name: X-Client-Secret}}}\n"
	for _, f := range []struct {
		name, doc string
		hidden    bool
		scheme    string // of the body; "": none
	}{
		{"key of all", spec("key", many, 0, ""), true, "key"},
		{"api_secret of most", spec("api_secret", many, 2, ""), true, "api_secret"},
		{"key of few", spec("key", 2, 10, ""), false, ""},
		{"key of two of three", spec("key", 2, 1, ""), false, ""},
		{"access token of most", spec("access_token", many, 2, ""), false, ""},
		{"access token of all", spec("access_token", many, 0, ""), true, "access_token"},
		{"another name", spec("tenant", many, 0, ""), false, ""},
		{"in a header too", spec("secret", many, 0, header), true, ""},
	} {
		r, ops := compileAll(t, Source{Name: "keys.yaml", Data: []byte(f.doc)}, Options{})
		op := ops[0]
		if shown := strings.Count(string(op.InputSchema), `"type":"string"`) == 2; shown == f.hidden {
			t.Errorf("%s: %s", f.name, op.InputSchema)
		}
		found := ""
		for _, s := range r.API.Schemes {
			if s.In == "body" {
				found = s.Name
			}
		}
		if found != f.scheme {
			t.Errorf("%s: schemes %+v, want %q in the body", f.name, r.API.Schemes, f.scheme)
		}
		if f.scheme != "" && len(op.Security) == 0 {
			t.Errorf("%s: %v is required", f.name, op.Security)
		}
	}
}

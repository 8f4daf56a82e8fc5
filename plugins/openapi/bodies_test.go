package openapi

import (
	"strings"
	"testing"
)

// TestExtraMembers: what a body takes besides its declared members is what it says.
func TestExtraMembers(t *testing.T) {
	ops := fixture(t, "bodies.yaml", Limits{})
	for _, c := range []struct{ tool, args, want string }{
		{"add_open", `{"name":"n","size":{"w":1}}`, `POST /open application/json {"name":"n","size":{"w":1}}`},
		{"add_open", `{"size":1}`, `POST /open application/json {"size":1}`},
		{"add_open", `{"nam":"n"}`, `refused: /nam: unknown argument, did you mean "name"?`},
		{"add_any", `{"name":"n","size":null}`, `POST /any application/json {"name":"n","size":null}`},
		{"add_quiet", `{"name":"n","size":1}`, `refused: /size`},
		{"add_shut", `{"name":"n","size":1}`, `refused: /size`},
	} {
		if got := request(t, ops[c.tool], c.args); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s:\n%s\nwant %s", c.tool, c.args, got, c.want)
		}
	}
}

// TestContentEncoding: in a form with parts, contentEncoding stands for a header and for how
// the content is written.
func TestContentEncoding(t *testing.T) {
	const form = `{"openapi":"3.1.0","info":{"title":"F","version":"1"},"servers":[{"url":"https://api.example.com"}],"paths":{"/files":{"post":{"operationId":"add_file",
		"requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{
			"doc":{"type":"string","contentEncoding":"base64","contentMediaType":"application/pdf"},
			"raw":{"type":"string","contentMediaType":"application/pdf"},
			"all":{"type":"array","items":{"type":"string","contentEncoding":"base64"}},
			"old":{"type":"string","format":"byte"}}},
			"encoding":{"doc":{"contentType":"image/png","headers":{"Content-Transfer-Encoding":{"schema":{"type":"string","enum":["base64"]}}}}}}}},
		"responses":{"204":{"description":"done"}}}}}}`
	_, ops := compileAll(t, Source{Name: "form.json", Data: []byte(form)}, Options{})
	for _, c := range []struct{ args, want string }{
		{`{"doc":{"text":"hi"}}`, "name=\"doc\"; filename=\"doc\"\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\naGk=\r\n"},
		{`{"doc":"aGk="}`, "Content-Transfer-Encoding: base64\r\n\r\naGk=\r\n"},
		{`{"all":["aGk="]}`, "Content-Transfer-Encoding: base64\r\n\r\naGk=\r\n"},
		{`{"raw":{"data":"aGk="}}`, "Content-Type: application/pdf\r\n\r\nhi\r\n"},
		{`{"old":{"data":"aGk="}}`, "Content-Type: application/octet-stream\r\n\r\nhi\r\n"},
	} {
		if got := request(t, ops[0], c.args); !strings.Contains(got, c.want) || strings.Count(got, "Transfer-Encoding") > 1 {
			t.Errorf("%s:\n%s\nwant %s", c.args, got, c.want)
		}
	}
}

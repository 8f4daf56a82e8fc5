package openapi

import (
	"strings"
	"testing"
)

// TestServersWithVariables are taken wherever their variables stand: the specification of
// OpenAPI itself has one in the place of the port.
func TestServersWithVariables(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"https://{username}.gigantic-server.com:{port}/{basePath}/", "https://{username}.gigantic-server.com:{port}/{basePath}"},
		{"http://{host}:{port}", "http://{host}:{port}"},
		{"http{s}://api.example.com", "http{s}://api.example.com"},
		{"{scheme}://api.example.com", "{scheme}://api.example.com"},
		{"https://user:{password}@api.example.com", ""},
		{"https://api.example.com:{port", ""},
		{"https://api.example.com:8x", ""},
		{"https://api.example.com:" + strings.Repeat("{", 1000), ""},
	} {
		doc := "openapi: 3.1.0\ninfo: {title: Ports, version: '1'}\nservers: [{url: '" + c.url + "'}]\npaths: {/a: {get: {operationId: a, responses: {'200': {description: OK}}}}}\n"
		r, _ := compileAll(t, Source{Name: "ports.yaml", Data: []byte(doc)}, Options{})
		got := ""
		if servers := r.API.Servers; len(servers) > 0 {
			got = servers[0].URL
		}
		if got != c.want {
			t.Errorf("%s: the server is %q, want %q", c.url, got, c.want)
		}
	}
}

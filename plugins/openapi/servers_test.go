package openapi

import (
	"slices"
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

// TestPlainServers: only a server on this machine may be unencrypted without a warning, and a
// name that begins like a loopback address is none.
func TestPlainServers(t *testing.T) {
	for host, want := range map[string]bool{"api.example.com": true, "127.0.0.1.example.com": true, "127.evil.example": true, "localhost": false, "127.0.0.1:80": false, "[::1]": false} {
		doc := "openapi: 3.1.0\ninfo: {title: Plain, version: '1'}\nservers: [{url: 'http://" + host + "'}]\npaths: {/a: {get: {operationId: a, responses: {'200': {description: OK}}}}}\n"
		r, _ := compileAll(t, Source{Name: "plain.yaml", Data: []byte(doc)}, Options{})
		got := slices.ContainsFunc(r.Warnings, func(w Diagnostic) bool { return w.Code == codeServerPlain })
		if got != want {
			t.Errorf("http://%s: a warning %v, want %v", host, got, want)
		}
	}
}

// TestRelativeServersOfOperations: without the URL of the document nothing is guessed, but said.
func TestRelativeServersOfOperations(t *testing.T) {
	for _, c := range []struct{ own, base, server, want string }{
		{"/v2", "", "", `the server "/v2" of an operation is relative to the URL of the specification, which was not fetched from one; calls go to "https://api.example.com/v1" instead`},
		{"/v2", "https://docs.example.com/openapi.yaml", "https://docs.example.com/v2", ""},
		{"https://other.example.com", "", "https://other.example.com", ""},
	} {
		doc := "openapi: 3.1.0\ninfo: {title: Own, version: '1'}\nservers: [{url: 'https://api.example.com/v1'}]\npaths:\n" +
			"  /a: {get: {operationId: a, servers: [{url: '" + c.own + "'}], responses: {'200': {description: OK}}}}\n" +
			"  /b: {servers: [{url: '" + c.own + "'}], get: {operationId: b, responses: {'200': {description: OK}}}}\n"
		r, ops := compileAll(t, Source{Name: "own.yaml", Data: []byte(doc), BaseURL: c.base}, Options{})
		var said []string
		for _, w := range r.Warnings {
			if w.Code == codeServerMissing {
				said = append(said, w.Detail)
			}
		}
		if got := strings.Join(slices.Compact(said), "\n"); got != c.want {
			t.Errorf("%s from %q: %q, want %q", c.own, c.base, got, c.want)
		}
		for _, op := range ops {
			got := ""
			if len(op.Servers) > 0 {
				got = op.Servers[0].URL
			}
			if got != c.server {
				t.Errorf("%s from %q: %s is called at %q, want %q", c.own, c.base, op.Name, got, c.server)
			}
		}
	}
}

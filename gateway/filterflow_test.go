package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

const headerDocument = `arazzo: 1.0.1
info: {title: Headers, version: '1'}
sourceDescriptions: [{name: api, url: api.yaml, type: openapi}]
workflows:
- workflowId: headers
  steps:
  - stepId: ask
    operationId: answer
    parameters: [{name: kind, in: path, value: json}, {name: status, in: path, value: 200}]
    outputs: {link: $response.header.Link, after: $response.header.Retry-After, challenge: $response.header.WWW-Authenticate, body: $response.body}
  outputs: {link: $steps.ask.outputs.link, after: $steps.ask.outputs.after, challenge: $steps.ask.outputs.challenge, body: $steps.ask.outputs.body}
- workflowId: criterion
  steps:
  - stepId: ask
    operationId: answer
    parameters: [{name: kind, in: path, value: json}, {name: status, in: path, value: 200}]
    successCriteria: [{condition: "$response.header.Retry-After == 'never'"}]
`

// TestFiltersSeeHeadersOfSteps: a workflow reads headers of its steps' answers. A filter that is
// bound to the step's operation or connector alone does not run on what the workflow makes of
// them, so it has to see them before.
func TestFiltersSeeHeadersOfSteps(t *testing.T) {
	f := newFiltered(t)
	for _, place := range []registry.PluginRef{{}, {Connector: "api"}, {Connector: "api", Method: "GET", Path: "/a/{kind}/{status}"}} {
		for _, g := range guards() {
			if g.plugin == nil && place.Connector != "" {
				continue
			}
			op := gatewaytest.Operation("answer", "GET", "/a/{kind}/{status}",
				gatewaytest.Param("kind", operation.InPath, operation.TypeString, true), gatewaytest.Param("status", operation.InPath, operation.TypeInteger, true))
			c, err := gatewaytest.Connector("acme", f.up.URL, op)
			if err != nil {
				t.Fatal(err)
			}
			f.count++
			in := gatewaytest.Toolset("acme", f.count, c, func(ts *registry.Toolset) {
				for _, id := range []string{"headers", "criterion"} {
					ts.Workflows = append(ts.Workflows, registry.Workflow{Name: id, ID: id, Document: headerDocument, Calls: []registry.CalledTool{{Name: "answer", Connector: "api", Method: "GET", Path: "/a/{kind}/{status}"}}})
				}
			})
			g.bind(&in)
			for i := range in.Bundle.Plugins {
				p := &in.Bundle.Plugins[i]
				p.Connector, p.Method, p.Path = place.Connector, place.Method, place.Path
			}
			if in.Programs, err = in.Bundle.CompilePrograms(); err != nil {
				t.Fatal(err)
			}
			if err := f.Serve(in); err != nil {
				t.Fatal(err)
			}
			for _, tool := range []string{"headers", "criterion"} {
				got := f.read(tool, `{}`)
				if leaks(got) {
					t.Errorf("%s at %q, %s: %s", g.name, place.Connector+place.Path, tool, got)
				}
				if tool == "headers" && strings.HasPrefix(g.name, "reads all") && !strings.Contains(got, "cursor=***") {
					t.Errorf("%s at %q: what is left of the headers is not there: %s", g.name, place.Connector+place.Path, got)
				}
			}
		}
	}
}

// TestHeldAnswersAreOfTheirSettings: the rest of an answer that was made before a
// filter was bound cannot be fetched behind it.
func TestHeldAnswersAreOfTheirSettings(t *testing.T) {
	f := newFiltered(t)
	none := sentry{plugin: fake("scrub", "*/*"), onError: registry.OnErrorPass}
	f.serve(&none, forms["paged"], "")
	got := f.read("answer", `{"kind":"long list","status":200}`)
	m := handleIn(got)
	if m == "" {
		t.Fatalf("no rest: %s", got)
	}
	if got = f.read("fetch_result", m); strings.Contains(got, `"isError":true`) {
		t.Fatalf("before the change: %s", got)
	}
	f.serve(&guards()[0], forms["paged"], "")
	if got = f.read("fetch_result", m); !strings.Contains(got, "before the toolset changed") {
		t.Errorf("behind the change: %s", got)
	}
}

// TestFilterPassesNoWords: what a server says while its call runs is looked at by nothing, so
// a filter that may be passed by does not let it by: the client is told numbers.
func TestFilterPassesNoWords(t *testing.T) {
	f := newFiltered(t)
	for _, modern := range []bool{true, false} {
		u := newCanaryServer(t, modern)
		c, err := gatewaytest.MCPConnector("up", u.http.URL+"/mcp", `{"name":"do.it","inputSchema":{"type":"object"}}`)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range []sentry{{plugin: fake("scrub", "*/*"), onError: registry.OnErrorPass}, {plugin: fake("scrub"), onError: registry.OnErrorPass}} {
			f.count++
			in := gatewaytest.Toolset("acme", f.count, c, nil)
			g.bind(&in)
			if err := f.Serve(in); err != nil {
				t.Fatal(err)
			}
			for kind, answer := range u.all {
				if answer != "progress" {
					continue
				}
				for _, legacy := range []bool{false, true} {
					_, got := callRaw(t, f.Stack, legacy, "do_it", fmt.Sprintf(`"arguments":{"kind":%q}`, kind), "Accept", "application/json, text/event-stream", "Test-Meta", `"progressToken":1,"io.modelcontextprotocol/logLevel":"debug"`)
					if leaks(got) || !strings.Contains(got, `"progress":1`) {
						t.Errorf("server modern %v, client modern %v: %s", modern, !legacy, got)
					}
				}
			}
		}
	}
}

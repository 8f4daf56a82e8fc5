package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/plugin"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

// relay is a gateway whose toolset binds the workflow of the tests.
type relay struct {
	*gatewaytest.Stack
	t     *testing.T
	up    *upstreamtest.Server
	pkg   *guest.Package
	doc   *registry.AccessDocument
	edit  func(*registry.Toolset)
	also  map[string]*connector.Connector
	count uint64
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	code, err := os.ReadFile("../testdata/plugins/relay/relay.wasm")
	if err != nil {
		t.Fatal(err)
	}
	h, err := extism.New(extism.Options{Functions: guest.Functions(), Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r, err := plugin.New(plugin.Options{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	x := &relay{Stack: start(t, gatewaytest.Options{Plugins: r, CacheBytes: -1}), t: t, up: upstreamtest.New(t), pkg: open(t, code)}
	x.up.Handle("GET /items/{id}", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.PathValue("id") == "404" {
			upstreamtest.JSON(404, `{"message":"no such item"}`).ServeHTTP(w, q)
			return
		}
		upstreamtest.JSON(200, `{"id": `+q.PathValue("id")+`, "name": null}`).ServeHTTP(w, q)
	}))
	x.up.Handle("POST /items", upstreamtest.JSON(201, `{"id":9}`))
	x.up.Handle("GET /text", upstreamtest.Text(200, "text/plain", "plain \"text\"\n"))
	return x
}

// serve binds the workflow with a script.
func (x *relay) serve(script string) {
	x.t.Helper()
	c, err := gatewaytest.Connector("acme", x.up.URL, getItem(), gatewaytest.Operation("slow", "GET", "/slow"),
		gatewaytest.Operation("post", "POST", "/items"), gatewaytest.Operation("text", "GET", "/text"))
	if err != nil {
		x.t.Fatal(err)
	}
	config, err := json.Marshal(map[string]string{"script": script})
	if err != nil {
		x.t.Fatal(err)
	}
	ref := refTo(x.pkg)
	ref.Config = config
	ref.Calls = []registry.CalledTool{
		{Name: "item", Connector: "api", Method: "GET", Path: "/items/{id}"},
		{Name: "slow", Connector: "api", Method: "GET", Path: "/slow"},
		{Name: "post", Connector: "api", Method: "POST", Path: "/items"},
		{Name: "text", Connector: "api", Method: "GET", Path: "/text"},
	}
	x.count++
	in := gatewaytest.Toolset("acme", x.count, c, nil)
	if x.doc != nil {
		x.doc.Workspace, x.doc.Toolset = "test", in.ID
		b, err := x.doc.Encode()
		if err != nil {
			x.t.Fatal(err)
		}
		in.Access, in.AccessDigest = x.doc, registry.DigestOf(b)
	}
	in.Bundle.Plugins = []registry.PluginRef{ref}
	in.Plugins = []*guest.Package{x.pkg}
	for name, c := range x.also {
		in.Connectors[name] = c
		in.Bundle.Connectors = append(in.Bundle.Connectors, registry.ConnectorRef{
			Name: name, Repository: "test/connectors/" + name, Manifest: in.Digest, Digest: registry.DigestOf(fmt.Appendf(nil, "%p", c)),
		})
	}
	if x.edit != nil {
		x.edit(in.Bundle)
	}
	if err := x.Serve(in); err != nil {
		x.t.Fatal(err)
	}
	x.up.Forget()
}

// call calls the workflow as a client without SDK.
func (x *relay) call(args string, header ...string) string {
	x.t.Helper()
	status, got := post(x.t, x.URL("acme"), callBody("relay", args), header...)
	if status != 200 {
		x.t.Fatalf("%d %s", status, got)
	}
	return got
}

func (x *relay) wants(args, want string, header ...string) {
	x.t.Helper()
	if got := x.call(args, header...); !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), want) {
		x.t.Fatalf("got %s\nwant %s", got, want)
	}
}

const callItem1 = `{"tool":"item","arguments":{"id":1}}`

// TestWorkflow: a real client lists the tool and calls it, in both eras; its calls
// run in their order and together, and each has its own result.
func TestWorkflow(t *testing.T) {
	x := newRelay(t)
	x.serve(callItem1 + "\n" + `{"tool":"item","arguments":{"id":404}}` + "\n" + `{"tool":"text"}` + "\n\n" + `{"tool":"item","arguments":{"id":"2"}}`)
	for _, version := range eras {
		c := connect(t, x.Stack, version)
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var tool *mcp.Tool
		for _, listed := range list.Tools {
			if listed.Name == "relay" {
				tool = listed
			}
		}
		// It says that it only reads; one of the tools that it may call does not. A title that
		// repeats the name is left out.
		if tool == nil || tool.Annotations.ReadOnlyHint || tool.Annotations.IdempotentHint || tool.Title != "" || tool.Annotations.OpenWorldHint != nil {
			t.Fatalf("listed: %+v", tool)
		}
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "relay", Arguments: map[string]any{"id": 1}})
		if err != nil || r.IsError {
			t.Fatalf("%v %+v", err, r)
		}
		for _, want := range []string{`200`, `no such item`, `plain "text"`, `404`} {
			if !strings.Contains(strings.ReplaceAll(text(t, r), `\"`, `"`), want) {
				t.Errorf("%s lacks %s", text(t, r), want)
			}
		}
	}
	x.edit = func(ts *registry.Toolset) { ts.Answers = &registry.Answers{Structured: true} }
	x.serve(callItem1 + "\n" + `{"tool":"item","arguments":{"id":404}}`)
	x.wants(`{}`, `"structuredContent":{"result":[{"status":200,"value":{"id":1`)
	x.wants(`{}`, `{"status":404,"error":"HTTP 404 Not Found: no such item"}]`)
	x.wants(`{"fields":"status"}`, `[{"status":200},{"status":404}]`)
	x.wants(`{"id":0}`, `"isError":true`)
	x.wants(`{"id":0}`, `the arguments of relay are not valid: /id`)
}

// TestWorkflowRules: what breaks a rule of the contract ends the call, what the
// workflow says is for the agent, and neither shows more than it should.
func TestWorkflowRules(t *testing.T) {
	x := newRelay(t)
	f := func(script, want string) {
		t.Helper()
		x.serve(script)
		got := x.call(`{}`)
		if !strings.Contains(got, `"isError":true`) || !strings.Contains(got, want) {
			t.Errorf("%.60q: %s, want %s", script, got, want)
		}
	}
	const broke = "the workflow relay could not run"
	f("fail", "there is no such order")
	f("loop", broke)
	f("text", broke) // it has an output schema
	f(`{"tool":"other"}`, broke)
	f(`{"tool":"relay"}`, broke)
	f(`{"tool":"item","arguments":[]}`, broke)
	f(`{"tool":"item","more":1}`, broke)
	f(`no JSON`, broke)
	f(strings.Repeat(callItem1+"\n", 20)+callItem1, broke)
	x.serve(strings.TrimSuffix(strings.Repeat(callItem1+"\n", 20), "\n"))
	x.wants(`{}`, `"text":"`)
	if n := len(x.up.Requests()); n != 20 {
		t.Errorf("%d requests of 20 calls", n)
	}
	x.edit = func(ts *registry.Toolset) {
		ts.Tools = []registry.ToolEdit{{Connector: "api", Method: "GET", Path: "/items/{id}", Disabled: true}}
	}
	x.serve(callItem1)
	x.wants(`{}`, `the toolset does not serve the tool that this workflow calls`)
	x.edit = func(ts *registry.Toolset) { // not listed is not disabled
		ts.Selection = &registry.Selection{Mode: registry.SelectUseCase, UseCase: "x", Tools: []registry.SelectedTool{{Connector: "api", Method: "GET", Path: "/text"}}}
	}
	x.serve(callItem1)
	x.wants(`{}`, `200`)
	if status, got := post(t, x.URL("acme"), callBody("get_item", `{"id":1}`)); !strings.Contains(got, `"error"`) {
		t.Errorf("a tool that is not selected: %d %s", status, got)
	}
}

// TestWorkflowAccess: a token that does not open a tool does not open it by way of a
// workflow.
func TestWorkflowAccess(t *testing.T) {
	x := newRelay(t)
	x.doc = tokens(tokenGrant("all"), tokenGrant("some", "relay", "text"), tokenGrant("none", "text"))
	x.serve(callItem1 + "\n" + `{"tool":"text"}`)
	as := func(id string) []string { return []string{"Authorization", "Bearer slt_" + id} }
	x.wants(`{}`, `id`, as("all")...)
	x.up.Forget()
	x.wants(`{}`, `the access token does not permit to call get_item`, as("some")...)
	if sent := x.up.Requests(); len(sent) != 1 || sent[0].Target != "/text" {
		t.Errorf("sent %+v", sent)
	}
	if got := x.call(`{}`, as("none")...); !strings.Contains(got, "-32602") && !strings.Contains(got, `"error"`) {
		t.Errorf("a token without the workflow: %s", got)
	}
}

// TestWorkflowEnds: the deadline of the call and a client that goes away end the calls
// of a workflow, and waiting is not the plugin's time.
func TestWorkflowEnds(t *testing.T) {
	x := newRelay(t)
	var begun, ended atomic.Int32
	wait := make(chan struct{})
	x.up.Handle("GET /slow", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		begun.Add(1)
		select {
		case <-q.Context().Done():
			ended.Add(1)
		case <-wait:
			upstreamtest.JSON(200, `{"late":true}`).ServeHTTP(w, q)
		}
	}))
	slow := `{"tool":"slow"}`
	x.edit = func(ts *registry.Toolset) { ts.Answers = &registry.Answers{TimeoutMilliseconds: 2000} }
	x.serve(slow + "\n" + slow + "\n\n" + callItem1)
	x.wants(`{}`, `did not end within the 2s of a call; 2 calls ended`)
	if begun.Load() != 2 {
		t.Errorf("%d calls began", begun.Load())
	}
	if sent := x.up.Requests(); len(sent) != 2 {
		t.Errorf("%d requests after the deadline", len(sent)-2)
	}
	x.edit = nil
	x.serve(slow + "\n\n" + callItem1)
	time.AfterFunc(150*time.Millisecond, func() { close(wait) }) // three times the deadline of the plugin's own time
	x.wants(`{}`, `late`)
}

// TestWorkflowTrace: the trace names each call, and each is counted as a call of its
// tool; what the workflow saves is what came for its calls.
func TestWorkflowTrace(t *testing.T) {
	x := newRelay(t)
	x.serve(callItem1 + "\n\n" + `{"tool":"item","arguments":{"id":404}}`)
	_, got := post(t, x.URL("acme"), strings.Replace(callBody("relay", `{}`), `"arguments"`, `"_meta":{"dev.sluice/trace":true},"arguments"`, 1))
	shape := regexp.MustCompile(`(?i)ms":[0-9.]+`).ReplaceAllString(got, `ms":0`)
	for _, want := range []string{
		`"plugins":[{"name":"relay","version":"1.0.0"`,
		`"calls":[{"tool":"get_item","outcome":"ok","status":200,"startms":0,"ms":0,"upstreamms":0,"cached":false,"bytesIn":23,"tokensIn":`,
		`{"tool":"get_item","outcome":"tool_error","status":404,`,
		`"tokens":`, // of the call as the workflow got it
	} {
		if !strings.Contains(shape, want) && !strings.Contains(strings.ToLower(shape), strings.ToLower(want)) {
			t.Errorf("%s lacks %s", shape, want)
		}
	}
}

// TestWorkflowIsEdited: a client sees the name, title and description that the operator
// gave a workflow's tool; one that is taken makes room, never a tool of the API.
func TestWorkflowIsEdited(t *testing.T) {
	x := newRelay(t)
	name, title, text := "run_it", "Run it", "Runs it all."
	x.edit = func(b *registry.Toolset) {
		b.Plugins[0].Tool = &registry.OfferedTool{Name: &name, Title: &title, Description: &text}
	}
	listed := func() (names []string, tool *mcp.Tool) {
		t.Helper()
		x.serve(callItem1)
		list, err := connect(t, x.Stack, eras[0]).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list.Tools {
			if names = append(names, l.Name); strings.HasSuffix(l.Name, name) {
				tool = l
			}
		}
		return names, tool
	}
	names, tool := listed()
	if tool == nil || tool.Name != name || tool.Title != title || tool.Description != text || slices.Contains(names, "relay") {
		t.Fatalf("listed %v, %+v", names, tool)
	}
	if status, got := post(t, x.URL("acme"), callBody(name, `{"id":1}`)); status != 200 || !strings.Contains(got, `\"id\":1`) {
		t.Errorf("%d %s", status, got)
	}
	name = "slow" // a tool of the API has it
	if names, _ = listed(); !slices.Contains(names, "slow") || !slices.Contains(names, "relay_slow") {
		t.Errorf("listed %v", names)
	}
}

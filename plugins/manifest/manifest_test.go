package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluicegate/sluice/internal/problem"
)

func item(kind ItemKind, key string) Item {
	return Item{Key: key, Hash: "sha256:" + strings.Repeat("0b", 32), Definition: json.RawMessage(`{"` + kind.KeyName() + `":"` + key + `","icons":[]}`)}
}

// full has every member of the format.
func full() *Manifest {
	server := Server{URL: "https://{region}.example.com/v1", Description: "main", Variables: []Variable{{Name: "region", Default: "eu", Enum: []string{"eu", "us"}, Description: "where"}}}
	return &Manifest{
		FormatVersion: 1, Kind: Connector, Name: "acme-2", Version: "1.0 β", Title: "Acme \"API\"", Description: "Does\nthings.", Generator: "sluice",
		Upstream: &Upstream{
			Servers: []Server{server},
			Schemes: []Scheme{
				{ID: "k", Type: "apiKey", In: "header", Name: "X-Key", Description: "from the console"},
				{ID: "o", Type: "oauth2", Scheme: "x", BearerFormat: "jwt", OpenIDURL: "https://o", Flows: []Flow{{Grant: "clientCredentials", AuthorizationURL: "https://a", TokenURL: "https://t", RefreshURL: "https://r", Scopes: []string{"read"}}}},
			},
			Security: [][]string{{"k", "o"}, {}},
			MCP:      &MCPServer{Transport: TransportSSE, Protocol: "2024-11-05", Completions: true, Subscribe: true, Reads: true, EmptyPrompts: true, Tasks: true, CallTasks: true, CancelTasks: true},
		},
		Items: [ItemKinds][]Item{
			Prompts:   {item(Prompts, "greet"), item(Prompts, "bye now")},
			Resources: {item(Resources, "file:///a")},
			Templates: {item(Templates, "file:///{name}")},
		},
		Tools: []Tool{
			{
				Name: "get_pet", Title: "Get a pet", Description: "d", Method: "GET", Path: "/pets/{id}", OperationID: "pets/get", Pointer: "/paths/~1pets~1{id}/get",
				Tags: []string{"pets"}, Deprecated: true, Annotations: Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true},
				InputSchema: json.RawMessage(`{"type":"object","properties":{}}`), OutputSchema: json.RawMessage(`{"type":"object"}`),
				Request: json.RawMessage(`{"v":1}`), Program: 3, Security: [][]string{}, Servers: []Server{server},
			},
			{Name: "x", Method: "M-SEARCH", Path: "/", InputSchema: json.RawMessage(`{}`), Request: json.RawMessage(`{}`), Program: -1},
			{
				Name: "Do-it", Method: MethodMCP, Path: "/do.it", InputSchema: json.RawMessage(`{}`), Program: -1,
				MCP: &MCPTool{Name: "do.it", Hash: "sha256:" + strings.Repeat("0a", 32), Extra: json.RawMessage(`{"icons":[]}`), Needs: []string{"elicitation", "roots"}},
			},
		},
	}
}

func filter() *Manifest {
	return &Manifest{
		FormatVersion: 1, Kind: Filter, Name: "drop", Version: "2", Capabilities: &Capabilities{Hosts: []string{"a.example"}, Clock: true, Random: true},
		Limits: &Limits{MemoryBytes: 1 << 20, DeadlineMS: 50}, Config: json.RawMessage(`{"type":"object"}`),
		Input:  &Input{Types: []string{"application/json", "text/*", "*/*"}, Errors: new(bool)},
		Output: &Output{Effect: EffectReplace, Schema: json.RawMessage(`{"type":"object"}`), Redacts: new(bool)},
	}
}

func auth() *Manifest {
	return &Manifest{
		FormatVersion: 1, Kind: Auth, Name: "sign", Version: "1", Entry: "sign",
		Capabilities: &Capabilities{Signing: &Signing{Algorithm: "hmac-sha256", Derivations: 4}},
	}
}

func workflow() *Manifest {
	return &Manifest{
		FormatVersion: 1, Kind: Workflow, Name: "open-issues", Version: "1", Capabilities: &Capabilities{Tools: []string{"list_issues", "Get-it"}},
		Limits: &Limits{Calls: 256},
		Tool: &OfferedTool{
			Name: "open_issues", Title: "Open issues", Description: "What is open.", Annotations: Annotations{ReadOnly: true},
			InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"array"}`),
		},
	}
}

func toolset() *Manifest {
	return &Manifest{FormatVersion: 1, Kind: Toolset, Name: "mine", Version: "3", Toolset: json.RawMessage(`{"name":"Mine"}`)}
}

func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("manifest.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validBySchema(t testing.TB, s *jsonschema.Schema, b []byte) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	return err == nil && s.Validate(doc) == nil
}

func TestRoundTrip(t *testing.T) {
	schema := compileSchema(t)
	for _, m := range []*Manifest{full(), filter(), toolset(), auth(), workflow()} {
		b := m.Append(nil)
		back, err := Parse(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if again := back.Append(nil); !bytes.Equal(again, b) {
			t.Fatalf("parsed and written again:\n%s\nwant\n%s", again, b)
		}
		if m.Kind == Connector && !reflect.DeepEqual(back.Tools[0], m.Tools[0]) {
			t.Fatalf("tool %#v\nwant %#v", back.Tools[0], m.Tools[0])
		}
		if !validBySchema(t, schema, b) {
			t.Fatalf("the schema refuses %s", b)
		}
	}
}

// TestSchemaKnowsEveryMember: what the types write, the schema names, and it names
// nothing else.
func TestSchemaKnowsEveryMember(t *testing.T) {
	var schema struct {
		Properties map[string]any
		Defs       map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal(Schema, &schema); err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for _, m := range []*Manifest{full(), filter(), toolset(), auth(), workflow()} {
		var doc map[string]any
		if err := json.Unmarshal(m.Append(nil), &doc); err != nil {
			t.Fatal(err)
		}
		for k := range doc {
			written[k] = true
		}
	}
	same := func(where string, written map[string]bool, named map[string]any) {
		t.Helper()
		for k := range named {
			if !written[k] {
				t.Errorf("%s: the schema names %q, the types do not write it", where, k)
			}
		}
		if len(written) != len(named) {
			t.Errorf("%s: %d members written, %d named", where, len(written), len(named))
		}
	}
	same("manifest", written, schema.Properties)
	written = map[string]bool{}
	for _, tool := range full().Tools {
		var doc map[string]any
		if err := json.Unmarshal(tool.Append(nil), &doc); err != nil {
			t.Fatal(err)
		}
		for k := range doc {
			written[k] = true
		}
	}
	same("tool", written, schema.Defs["tool"].Properties)
}

// TestRefused changes one thing of a good manifest; parser and schema agree
// wherever JSON Schema can say it.
func TestRefused(t *testing.T) {
	schema := compileSchema(t)
	f := func(old, replacement, pointer, want string, bySchema bool) {
		t.Helper()
		var b []byte
		for _, m := range []*Manifest{full(), filter(), toolset(), auth(), workflow()} {
			if text := string(m.Append(nil)); strings.Contains(text, old) {
				b = []byte(strings.Replace(text, old, replacement, 1))
				break
			}
		}
		if b == nil {
			t.Fatalf("nothing contains %s", old)
		}
		_, err := Parse(b)
		p := problem.As(err)
		if p == nil || p.Kind != problem.InvalidPlugin || p.Place.Pointer != pointer || !strings.Contains(p.Detail, want) {
			t.Fatalf("%s: got %v, want %q at %q", replacement, err, want, pointer)
		}
		if validBySchema(t, schema, b) == bySchema {
			t.Fatalf("%s: the schema says valid=%v", replacement, bySchema)
		}
	}
	f(`{"formatVersion":1`, `{"formatVersion":2`, "/formatVersion", "version 2 is not known", true)
	f(`"kind":"connector"`, `"kind":"connector","entry":"f"`, "", `must not have "entry"`, true)
	f(`"entry":"sign"`, `"entry":""`, "/entry", "the text has 0 bytes", true)
	f(`"kind":"connector"`, `"kind":"thing"`, "/kind", "none of", true)
	f(`"kind":"connector"`, `"kind":"filter"`, "", "must not have", true)
	f(`"kind":"toolset"`, `"kind":"connector"`, "", "needs", true)
	f(`"kind":"toolset"`, `"kind":"filter"`, "", "must not have", true)
	f(`"name":"acme-2"`, `"name":"Acme"`, "/name", "slug", true)
	f(`"name":"acme-2"`, `"name":""`, "/name", "0 bytes", true)
	f(`"name":"acme-2",`, ``, "", `"name" is missing`, true)
	f(`"generator":"sluice"`, `"Generator":"sluice"`, "", "unknown member", true)
	f(`"generator":"sluice"`, `"generator":1`, "/generator", "expected a string", true)
	f(`"generator":"sluice"`, `"generator":"a","generator":"b"`, "/generator", "twice", false)
	f(`"name":"get_pet"`, `"name":"Get-Pet"`, "/tools/0/name", "lower-case", true)
	f(`"name":"get_pet"`, `"name":"x"`, "/tools/1", "is taken", false)
	f(`"path":"/do.it"`, `"path":"/other"`, "/tools/2/path", "and its name", false)
	f(`"method":"MCP"`, `"method":"GET"`, "/tools/2/method", "is MCP", false)
	f(`"needs":["elicitation","roots"]}`, `"needs":["elicitation","roots"]},"request":{}`, "/tools/2/request", "no request plan", true)
	f(`"needs":["elicitation","roots"]`, `"needs":["elicitation","clouds"]`, "/tools/2/mcp/needs/1", "none of", true)
	f(`"needs":["elicitation","roots"]`, `"needs":["roots","roots","roots","roots","roots","roots","roots"]`, "/tools/2/mcp/needs", "allowed are 6", true)
	f(`"hash":"sha256:0a`, `"hash":"sha256:zz`, "/tools/2/mcp/hash", "hexadecimal", true)
	f(`"key":"bye now"`, `"key":"greet"`, "/prompts/1", "there twice", false)
	f(`"key":"greet"`, `"key":""`, "/prompts/0/key", "0 bytes", true)
	f(`"hash":"sha256:0b`, `"hash":"sha256:zz`, "/prompts/0/hash", "hexadecimal", true)
	f(`,"mcp":{"transport":"sse","protocol":"2024-11-05","completions":true,"subscribe":true,"reads":true,"emptyPrompts":true,"tasks":true,"callTasks":true,"cancelTasks":true}`, ``, "", `must not have "prompts"`, true)
	f(`"transport":"sse"`, `"transport":"stdio"`, "/upstream/mcp/transport", "none of", true)

	f(`"method":"GET"`, `"method":"G T"`, "/tools/0/method", "HTTP method", true)
	f(`"path":"/pets/{id}"`, `"path":"pets"`, "/tools/0/path", "starts with /", true)
	f(`"program":3`, `"program":-1`, "/tools/0/program", "integer", true)
	f(`"inputSchema":{}`, `"inputSchema":true`, "/tools/1/inputSchema", "expected an object", true)
	f(`"readOnlyHint":true,`, ``, "/tools/0/annotations", "missing", true)
	f(`"clock":true`, `"clock":1`, "/capabilities/clock", "true or false", true)
	f(`"algorithm":"hmac-sha256"`, `"algorithm":"md5"`, "/capabilities/signing/algorithm", "none of", true)
	f(`"algorithm":"hmac-sha256",`, ``, "/capabilities/signing", "missing", true)
	f(`"derivations":4`, `"derivations":9`, "/capabilities/signing/derivations", "integer from 0 to 8", true)
	f(`"kind":"auth"`, `"kind":"filter"`, "", "must not have", true)
	f(`"deadlineMs":50`, `"deadlineMs":60001`, "/limits/deadlineMs", "integer from", true)
	f(`"effect":"replace"`, `"effect":"subset"`, "/output", "a schema when", true)
	f(`"effect":"replace","schema":{"type":"object"}`, `"effect":"replace"`, "/output", "a schema when", true)
	f(`"kind":"filter"`, `"kind":"auth"`, "", `must not have "input"`, true)
	f(`"input":{"types":["application/json","text/*","*/*"],"errors":false}`, `"tools":[]`, "", "must not have", true)
	f(`"errors":false`, `"errors":"no"`, "/input/errors", "true or false", true)
	f(`"redacts":false`, `"redacts":"no"`, "/output/redacts", "true or false", true)
	f(`"text/*"`, `"Text/*"`, "/input/types/1", "media type", true)
	f(`"text/*"`, `"*/json"`, "/input/types/1", "media type", true)
	f(`"text/*"`, `"text"`, "/input/types/1", "media type", true)
	f(`"text/*"`, `"*/*"`, "/input/types", "twice", true)
	f(`["application/json","text/*","*/*"]`, `[]`, "/input/types", "1 to 16", true)
	f(`["application/json","text/*","*/*"]`, `["`+strings.Repeat("a", MaxName-1)+`/b"]`, "/input/types/0", "bytes", true)
	f(`"kind":"workflow"`, `"kind":"auth"`, "", `must not have "tool"`, true)
	f(`"kind":"auth"`, `"kind":"workflow"`, "", "must not have", true)
	f(`"tools":["list_issues","Get-it"]`, `"clock":true`, "", `needs "capabilities/tools"`, true)
	f(`"tools":["list_issues","Get-it"]`, `"tools":[]`, "/capabilities/tools", "1 to 64 tools", true)
	f(`"tools":["list_issues","Get-it"]`, `"tools":["a","a"]`, "/capabilities/tools", "twice", true)
	f(`"tools":["list_issues","Get-it"]`, `"tools":["1a"]`, "/capabilities/tools/0", "letters", true)
	f(`"calls":256`, `"calls":257`, "/limits/calls", "integer from 1 to 256", true)
	f(`"deadlineMs":50`, `"calls":5`, "", `must not have "limits/calls"`, true)
	f(`"name":"open_issues"`, `"name":"Open"`, "/tool/name", "lower-case", true)
	f(`"description":"What is open."`, `"description":""`, "/tool/description", "0 bytes", true)
	f(`"inputSchema":{"type":"object"},"outputSchema":{"type":"array"}`, `"outputSchema":{"type":"array"}`, "/tool", "missing", true)
	f(`[{"url"`, `[{"uri":1,"url"`, "/upstream/servers/0", "unknown member", true)
	f(`"kind":"connector"`, `"kind":"connector"]`, "", "not JSON", true)
}

func TestBounds(t *testing.T) {
	text := func(n int) *Manifest { m := toolset(); m.Title = strings.Repeat("x", n); return m }
	name := func(n int) *Manifest { m := toolset(); m.Name = strings.Repeat("x", n); return m }
	tools := func(n int) *Manifest { m := full(); m.Tools[0].Tags = make([]string, n); return m }
	schema := func(n int) *Manifest {
		m := full()
		m.Tools[0].InputSchema = json.RawMessage(`{"a":"` + strings.Repeat("x", n-8) + `"}`)
		return m
	}
	limits := func(n int) *Manifest { m := filter(); m.Limits.MemoryBytes = n; return m }
	depth := func(n int) *Manifest {
		m := toolset()
		m.Toolset = json.RawMessage(strings.Repeat(`{"a":`, n-1) + "1" + strings.Repeat("}", n-1))
		return m
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	change := func(m *Manifest, f func(m *Manifest, n int)) func(int) *Manifest {
		return func(n int) *Manifest { b := *m; f(&b, n); return &b }
	}
	tool := func(i int, f func(t *Tool, n int)) func(int) *Manifest {
		return func(n int) *Manifest { m := full(); f(&m.Tools[i], n); return m }
	}
	words := func(form string) func(n int) []string {
		return func(n int) (out []string) {
			for i := range n {
				out = append(out, fmt.Sprintf(form, i))
			}
			return out
		}
	}
	for what, c := range map[string]struct {
		limit int
		make  func(int) *Manifest
	}{
		"tool name":         {MaxToolName, tool(0, func(t *Tool, n int) { t.Name = long(n) })},
		"method":            {MaxToolName, tool(0, func(t *Tool, n int) { t.Method = strings.Repeat("X", n) })},
		"MCP tool name":     {MaxMCPToolName, tool(2, func(t *Tool, n int) { t.Name = long(n) })},
		"description":       {MaxDescription, tool(0, func(t *Tool, n int) { t.Description = long(n) })},
		"MCP description":   {MaxMCPDescription, tool(2, func(t *Tool, n int) { t.Description = long(n) })},
		"own description":   {MaxDescription, change(toolset(), func(m *Manifest, n int) { m.Description = long(n) })},
		"path":              {MaxPath, tool(0, func(t *Tool, n int) { t.Path = "/" + long(n-1) })},
		"pointer":           {MaxPath, tool(0, func(t *Tool, n int) { t.Pointer = long(n) })},
		"plan":              {MaxPlan, tool(0, func(t *Tool, n int) { t.Request = json.RawMessage(`{"a":"` + long(n-8) + `"}`) })},
		"deadline":          {MaxDeadline, change(filter(), func(m *Manifest, n int) { m.Limits = &Limits{DeadlineMS: n} })},
		"calls of workflow": {MaxCalls, change(workflow(), func(m *Manifest, n int) { m.Limits = &Limits{Calls: n} })},
		"tools of workflow": {MaxCalledTools, change(workflow(), func(m *Manifest, n int) { m.Capabilities = &Capabilities{Tools: words("t%d")(n)} })},
		"media types":       {MaxInputTypes, change(filter(), func(m *Manifest, n int) { m.Input = &Input{Types: words("text/t%d")(n)} })},
		"derivations": {MaxDerivations, change(auth(), func(m *Manifest, n int) {
			m.Capabilities = &Capabilities{Signing: &Signing{Algorithm: "hmac-sha256", Derivations: n}}
		})},
		"definition of an item": {MaxMCPItem, change(full(), func(m *Manifest, n int) {
			m.Items[Prompts] = []Item{item(Prompts, "a")}
			m.Items[Prompts][0].Definition = json.RawMessage(`{"a":"` + long(n-8) + `"}`)
		})},
		"prompts": {MaxMCPItems, change(full(), func(m *Manifest, n int) {
			m.Items[Prompts] = nil
			for _, key := range words("p%d")(n) {
				m.Items[Prompts] = append(m.Items[Prompts], item(Prompts, key))
			}
		})},
		"text": {MaxText, text}, "name": {MaxName, name}, "items": {MaxItems, tools},
		"schema": {MaxSchema, schema}, "memory": {MaxMemory, limits}, "depth": {MaxDepth, depth},
	} {
		if _, err := Parse(c.make(c.limit).Append(nil)); err != nil {
			t.Errorf("%s at its limit: %v", what, err)
		}
		if _, err := Parse(c.make(c.limit + 1).Append(nil)); !problem.Is(err, problem.InvalidPlugin) {
			t.Errorf("%s past its limit: %v", what, err)
		}
	}
	many := []byte(`{"formatVersion":1,"kind":"connector","name":"a","version":"1","upstream":{},"tools":[` + strings.Repeat("{},", MaxTools-1) + `{}]}`)
	if _, tools, err := ParseHead(many); err != nil || len(tools) != MaxTools {
		t.Errorf("%d tools: %v", len(tools), err)
	}
	more := bytes.Replace(many, []byte(`[{}`), []byte(`[{},{}`), 1)
	if _, _, err := ParseHead(more); !problem.Is(err, problem.InvalidPlugin) {
		t.Errorf("one tool more: %v", err)
	}
	head := full().Append(nil)
	if _, err := Parse(append(head, bytes.Repeat([]byte(" "), MaxBytes-len(head))...)); err != nil {
		t.Errorf("at the size limit: %v", err)
	}
	if _, err := Parse(append(head, bytes.Repeat([]byte(" "), MaxBytes-len(head)+1)...)); !problem.Is(err, problem.InvalidPlugin) {
		t.Errorf("past the size limit: %v", err)
	}
}

// FuzzParse: what the parser accepts, the schema accepts, and it survives being
// written and read again.
func FuzzParse(f *testing.F) {
	for _, m := range []*Manifest{full(), filter(), toolset(), auth(), workflow()} {
		f.Add(m.Append(nil))
	}
	schema := compileSchema(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			if !problem.Is(err, problem.InvalidPlugin) {
				t.Fatalf("%v is no InvalidPlugin", err)
			}
			return
		}
		if !validBySchema(t, schema, b) {
			t.Fatalf("the schema refuses what the parser accepts: %s", b)
		}
		first := m.Append(nil)
		back, err := Parse(first)
		if err != nil || !bytes.Equal(back.Append(nil), first) {
			t.Fatalf("%s written again: %v", first, err)
		}
	})
}

func TestRedacts(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		kind   Kind
		output *Output
		want   bool
	}{
		{Filter, nil, true},
		{Filter, &Output{Effect: EffectText}, true},
		{Filter, &Output{Effect: EffectSubset, Redacts: &no}, false},
		{Projection, nil, false},
		{Projection, &Output{Effect: EffectReplace, Redacts: &yes}, true},
		{Auth, nil, false},
		{Workflow, nil, false},
	} {
		if got := (&Manifest{Kind: c.kind, Output: c.output}).Redacts(); got != c.want {
			t.Errorf("%s %+v redacts: %v", c.kind, c.output, got)
		}
	}
}

func TestReads(t *testing.T) {
	f := func(mediaType string, want bool, types ...string) {
		t.Helper()
		m := &Manifest{Kind: Filter}
		if types != nil {
			m.Input = &Input{Types: types}
		}
		if got := m.Reads(mediaType); got != want {
			t.Errorf("%v reads %s: %v", types, mediaType, got)
		}
	}
	f("application/json", true)
	f("text/plain", false)
	f("application/json", false, "text/*")
	f("text/plain", true, "application/json", "text/*")
	f("text/plain", true, "text/plain")
	f("text/html", false, "text/plain")
	f("textual/plain", false, "text/*")
	f("text", false, "text/*")
	f("", false, "text/*")
	f("image/png", true, "*/*")
}

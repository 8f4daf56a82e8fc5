package connector

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/wording"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// MCPServer is what an MCP server said of itself and of its tools: the source of a
// connector, as a specification is that of another. It is plain data.
type MCPServer struct {
	URL       string // endpoint, without credentials
	Transport string // manifest.TransportStreamable or manifest.TransportSSE
	Protocol  string // revision that was spoken
	// Name, Title, Version and Instructions are the server's own words; any may be "".
	Name, Title, Version, Instructions string
	// Tools are the definitions of tools/list as they came, valid JSON, in the
	// server's order.
	Tools []json.RawMessage
	// Items are those of the other lists, by kind.
	Items [manifest.ItemKinds][]json.RawMessage
	// Completions and those after it are as in [manifest.MCPServer].
	Completions, Subscribe, Reads, EmptyPrompts, Tasks, CallTasks, CancelTasks bool
	// Needs has, by name, the tools that the server lists only to clients with capabilities,
	// as in [manifest.MCPTool].
	Needs map[string][]string
	// Extensions are names of what it declares besides the protocol: extensions and
	// experimental capabilities. They are not stored.
	Extensions []string
}

// Append appends the document of s: JSON with a fixed order of members, so that
// equal answers of a server give equal bytes.
func (s *MCPServer) Append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, m := range []struct{ name, value string }{
		{"url", s.URL},
		{"transport", s.Transport},
		{"protocol", s.Protocol},
		{"name", s.Name},
		{"title", s.Title},
		{"version", s.Version},
		{"instructions", s.Instructions},
	} {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendStringOf(dst, m.name), ':')
		dst = jsonscan.AppendStringOf(dst, m.value)
	}
	dst = appendDefinitions(dst, "tools", s.Tools)
	return append(s.appendItems(dst), '}')
}

func appendDefinitions(dst []byte, list string, definitions []json.RawMessage) []byte {
	dst = append(append(append(dst, `,"`...), list...), `":[`...)
	for i, t := range definitions {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendMinified(dst, t)
	}
	return append(dst, ']')
}

// Refused is a tool of a server that cannot be a tool of a connector, or what else it
// has that cannot be served.
type Refused struct {
	List   string // that has it: "tools", "prompts", "resources", "resourceTemplates"
	Index  int    // in the list
	Name   string // as the server calls it; may be ""
	Reason string
}

// ListTools is the List of a [Refused] tool.
const ListTools = "tools"

// Pointer is the place in the document of the server.
func (r *Refused) Pointer() string { return "/" + r.List + "/" + strconv.Itoa(r.Index) }

// Method is how changes and edits name what it is: [manifest.MethodMCP] for a tool.
func (r *Refused) Method() string {
	for kind := range manifest.ItemKinds {
		if kind.List() == r.List {
			return kind.Method()
		}
	}
	return manifest.MethodMCP
}

// BuildMCP makes the connector of an MCP server; name is its slug. Tools keep
// their names where clients and model APIs accept them. Each tool is pinned by the
// hash of its definition. The same server gives the same bytes. It fails when neither a
// tool nor a prompt or resource is left.
func BuildMCP(name string, s *MCPServer) (Artifact, []Refused, error) {
	version := cut(s.Version, manifest.MaxText)
	if version == "" {
		version = "0"
	}
	m := manifest.Manifest{
		FormatVersion: manifest.FormatVersion, Kind: manifest.Connector, Name: name, Version: version,
		Title: cut(s.Title, manifest.MaxText), Generator: "sluice",
		Upstream: &manifest.Upstream{
			Servers: []manifest.Server{{URL: s.URL}}, MCP: &manifest.MCPServer{
				Transport: s.Transport, Protocol: s.Protocol, Completions: s.Completions, Subscribe: s.Subscribe, Reads: s.Reads, EmptyPrompts: s.EmptyPrompts,
				Tasks: s.Tasks, CallTasks: s.CallTasks, CancelTasks: s.CancelTasks,
			},
		},
	}
	if m.Title == "" {
		m.Title = cut(s.Name, manifest.MaxText)
	}
	var refused []Refused
	names := mcpNames(s.Tools)
	known := map[string]bool{}
	doc := m.AppendHead(nil)
	count := 0
	for i, raw := range s.Tools {
		tool, err := mcpTool(raw, names[i])
		if err == nil {
			tool.MCP.Needs = s.Needs[tool.MCP.Name]
		}
		if err == nil && known[tool.MCP.Name] {
			err = fmt.Errorf("the server lists a tool of this name twice")
		}
		if err == nil && count == manifest.MaxTools {
			err = fmt.Errorf("the server has more than %d tools", manifest.MaxTools)
		}
		if err != nil {
			refused = append(refused, Refused{ListTools, i, NameMCP(raw), err.Error()})
			continue
		}
		mark := len(doc)
		if count > 0 {
			doc = append(doc, ',')
		}
		from := len(doc)
		doc = tool.Append(doc)
		if err := readable(doc[from:]); err != nil {
			doc = doc[:mark]
			refused = append(refused, Refused{ListTools, i, tool.MCP.Name, err.Error()})
			continue
		}
		known[tool.MCP.Name] = true
		count++
	}
	refused = append(refused, s.items(&m)...)
	if count+len(m.Items[manifest.Prompts])+len(m.Items[manifest.Resources])+len(m.Items[manifest.Templates]) == 0 {
		return Artifact{}, refused, fmt.Errorf("making a connector of %s: none of its %d tools can be served, nor a prompt or resource", s.URL, len(s.Tools))
	}
	doc = m.AppendTail(doc)
	if _, _, err := manifest.ParseHead(doc); err != nil {
		return Artifact{}, refused, fmt.Errorf("making connector %s: %w", name, err)
	}
	module, err := engine.Link(nil, manifest.Section, doc)
	if err != nil {
		return Artifact{}, refused, fmt.Errorf("making connector %s: %w", name, err)
	}
	digest := digestOf(module)
	return Artifact{Module: module, Digest: digest, Name: name, Version: version, Tag: Tag(version, digest), Tools: count}, refused, nil
}

// NameMCP is the name in a definition; "" when it has none.
func NameMCP(raw []byte) string {
	v := jsonscan.Trusted(raw).Get("name")
	if v.Kind() != jsonscan.String {
		return ""
	}
	return cut(string(v.AppendText(nil)), manifest.MaxText)
}

// hashMCP is what pins a definition: the SHA-256 of its minified form.
func hashMCP(definition []byte) string {
	sum := sha256.Sum256(jsonscan.AppendMinified(nil, definition))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// mcpTool reads a definition (MCP 2026-07-28 "Tool"). What later revisions add is
// kept in Extra.
func mcpTool(raw []byte, name string) (*manifest.Tool, error) {
	v := jsonscan.Trusted(raw)
	if v.Kind() != jsonscan.Object {
		return nil, fmt.Errorf("it is not an object")
	}
	upstream := v.Get("name")
	if upstream.Kind() != jsonscan.String || upstream.EqualText("") || len(upstream.Raw()) > manifest.MaxText {
		return nil, fmt.Errorf("its name is missing, or longer than %d bytes", manifest.MaxText)
	}
	t := &manifest.Tool{
		Name: name, Method: manifest.MethodMCP, Program: -1,
		// MCP "ToolAnnotations": what a server does not say is the careful value.
		Annotations: manifest.Annotations{Destructive: true, OpenWorld: true},
		MCP:         &manifest.MCPTool{Name: string(upstream.AppendText(nil)), Hash: hashMCP(raw)},
	}
	t.Path = "/" + t.MCP.Name
	if title := v.Get("title"); title.Kind() == jsonscan.String {
		t.Title = cut(string(title.AppendText(nil)), manifest.MaxText)
	}
	if d := v.Get("description"); d.Kind() == jsonscan.String {
		t.Description = cut(string(d.AppendText(nil)), manifest.MaxMCPDescription)
	}
	a := v.Get("annotations")
	for _, hint := range []struct {
		name string
		to   *bool
	}{
		{"readOnlyHint", &t.Annotations.ReadOnly},
		{"destructiveHint", &t.Annotations.Destructive},
		{"idempotentHint", &t.Annotations.Idempotent},
		{"openWorldHint", &t.Annotations.OpenWorld},
	} {
		if b, ok := a.Get(hint.name).Bool(); ok {
			*hint.to = b
		}
	}
	if t.Annotations.ReadOnly && !a.Get("destructiveHint").Exists() {
		t.Annotations.Destructive = false // it has a meaning for tools that change something
	}
	if title := a.Get("title"); t.Title == "" && title.Kind() == jsonscan.String {
		t.Title = cut(string(title.AppendText(nil)), manifest.MaxText)
	}
	if t.Title == "" && strings.ContainsFunc(t.MCP.Name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		t.Title = t.MCP.Name // which people can read, as they may not what became of it
	}
	support := v.Get("execution").Get("taskSupport")
	t.MCP.Task = support.EqualText("required")
	t.MCP.MayTask = t.MCP.Task || support.EqualText("optional")
	input := v.Get("inputSchema")
	switch kind := input.Get("type"); {
	case input.Kind() <= jsonscan.Null: // it says nothing of its arguments
		t.InputSchema = []byte(`{"type":"object"}`)
	case input.Kind() != jsonscan.Object:
		return nil, fmt.Errorf("its input schema is not an object")
	case kind.EqualText("object"):
		t.InputSchema = jsonscan.AppendMinified(nil, input.Raw())
	case !kind.Exists():
		// Clients of the older revisions refuse a whole list for one such schema.
		t.InputSchema = withType(input)
	default:
		return nil, fmt.Errorf("its input schema is not of type object")
	}
	// Another root is allowed since 2026-07-28, and clients of the older revisions
	// refuse a whole list for it: the tool is served without.
	if out := v.Get("outputSchema"); out.Get("type").EqualText("object") {
		t.OutputSchema = jsonscan.AppendMinified(nil, out.Raw())
	}
	t.MCP.Extra = extra(v)
	return t, nil
}

func withType(schema jsonscan.Value) json.RawMessage {
	out := []byte(`{"type":"object"`)
	raw := jsonscan.AppendMinified(nil, schema.Raw())
	if schema.Len() > 0 {
		out = append(out, ',')
	}
	return append(out, raw[1:]...)
}

// extra is an object of the members that a manifest has no member for; nil when
// there are none.
func extra(v jsonscan.Value) json.RawMessage {
	out := []byte{'{'}
	for it := v.Members(); it.Next(); {
		known := slices.ContainsFunc([]string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}, it.KeyEqual)
		if known || it.KeyEqual("execution") { // MCPTool.Task and MayTask; only some clients are told
			continue
		}
		out = jsonscan.AppendMinified(jsonscan.AppendKey(out, 1, it.Key()), it.Value().Raw())
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, '}')
}

// mcpNames gives each definition a name that clients and model APIs accept, unique
// without regard to case: the server's own where it is one.
func mcpNames(tools []json.RawMessage) []string {
	names := make([]string, len(tools))
	taken := map[string]bool{}
	for _, exact := range []bool{true, false} { // names that can stay come first
		for i, raw := range tools {
			name := NameMCP(raw)
			safe := safeName(name)
			if names[i] != "" || (safe == name) != exact {
				continue
			}
			unique := safe
			for n := 2; taken[strings.ToLower(unique)]; n++ {
				suffix := "_" + strconv.Itoa(n)
				unique = safe[:min(len(safe), manifest.MaxMCPToolName-len(suffix))] + suffix
			}
			taken[strings.ToLower(unique)], names[i] = true, unique
		}
	}
	return names
}

// safeName replaces what is not accepted in a name. One that is cut, or has letters of
// another script, gets a part of its hash: such names differ, in whatever order the server
// lists its tools.
func safeName(s string) string {
	var b []byte
	hashed := false
	for _, r := range wording.ASCII(s) {
		switch {
		case r|0x20 >= 'a' && r|0x20 <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
			b = append(b, byte(r))
		case unicode.IsLetter(r), unicode.IsNumber(r):
			hashed = true
		default:
			b = append(b, '_')
		}
	}
	if hashed && len(bytes.Trim(b, "_-")) == 0 {
		b = []byte("tool")
	}
	if len(b) == 0 || b[0] == '-' || b[0] >= '0' && b[0] <= '9' {
		b = append([]byte{'_'}, b...)
	}
	if hashed || len(b) > manifest.MaxMCPToolName {
		sum := sha256.Sum256([]byte(s))
		b = append(bytes.TrimRight(b[:min(len(b), manifest.MaxMCPToolName-9)], "_-"), "_"+hex.EncodeToString(sum[:4])...)
	}
	return string(b)
}

// ParseMCPServer reads the document that [MCPServer.Append] wrote. It fails when b is
// anything else; it does not keep b.
func ParseMCPServer(b []byte) (*MCPServer, error) {
	var in struct {
		URL          string            `json:"url"`
		Transport    string            `json:"transport"`
		Protocol     string            `json:"protocol"`
		Name         string            `json:"name"`
		Title        string            `json:"title"`
		Version      string            `json:"version"`
		Instructions string            `json:"instructions"`
		Tools        []json.RawMessage `json:"tools"`

		Prompts      []json.RawMessage `json:"prompts"`
		Resources    []json.RawMessage `json:"resources"`
		Templates    []json.RawMessage `json:"resourceTemplates"`
		Completions  bool              `json:"completions"`
		Subscribe    bool              `json:"subscribe"`
		Reads        bool              `json:"reads"`
		EmptyPrompts bool              `json:"emptyPrompts"`
		Tasks        bool              `json:"tasks"`
		CallTasks    bool              `json:"callTasks"`
		CancelTasks  bool              `json:"cancelTasks"`

		Needs map[string][]string `json:"needs"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, fmt.Errorf("reading what an MCP server said: %w", err)
	}
	s := MCPServer{
		URL: in.URL, Transport: in.Transport, Protocol: in.Protocol, Name: in.Name, Title: in.Title, Version: in.Version, Instructions: in.Instructions,
		Tools: in.Tools, Items: [manifest.ItemKinds][]json.RawMessage{in.Prompts, in.Resources, in.Templates}, Completions: in.Completions, Subscribe: in.Subscribe, Reads: in.Reads, EmptyPrompts: in.EmptyPrompts,
		Tasks: in.Tasks, CallTasks: in.CallTasks, CancelTasks: in.CancelTasks, Needs: in.Needs,
	}
	if !bytes.Equal(s.Append(nil), b) {
		return nil, errors.New("reading what an MCP server said: the document is not as it was written")
	}
	return &s, nil
}

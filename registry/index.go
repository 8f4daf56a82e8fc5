package registry

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// indexSection is the custom section of a bundle that holds the index of its
// tools (package selection), behind everything that [BuildBundle] made.
const indexSection = "sluice.index"

// AppendIndex appends the index of a toolset's tools to its bundle. An empty index
// appends nothing.
func AppendIndex(bundle, index []byte) []byte {
	if len(index) == 0 {
		return bundle
	}
	body := binary.AppendUvarint(nil, uint64(len(indexSection)))
	body = append(body, indexSection...)
	bundle = append(bundle, 0) // a custom section (WebAssembly 2.0 §5.5.3)
	bundle = binary.AppendUvarint(bundle, uint64(len(body)+len(index)))
	bundle = append(bundle, body...)
	return append(bundle, index...)
}

// SplitIndex takes the index off a bundle; nil when it has none. Both are views of
// module. It fails with [problem.InvalidPlugin] when module is not a module made
// of whole sections, or has the section in another form than [AppendIndex] makes.
func SplitIndex(module []byte) (bundle, index []byte, err error) {
	const header = 8
	refuse := func(what string) ([]byte, []byte, error) {
		return nil, nil, problem.New(problem.InvalidPlugin, "the bundle is not a WebAssembly module: %s", what)
	}
	if len(module) < header || string(module[:4]) != "\x00asm" {
		return refuse("it has no header")
	}
	for at := header; at < len(module); {
		start := at
		id := module[at]
		size, n := binary.Uvarint(module[at+1:])
		if n <= 0 || size > uint64(len(module)-at-1-n) {
			return refuse("a section is cut off")
		}
		at += 1 + n
		body := module[at : at+int(size)]
		at += int(size)
		if id != 0 || len(body) <= len(indexSection) || body[0] != byte(len(indexSection)) || string(body[1:1+len(indexSection)]) != indexSection {
			continue
		}
		index := body[1+len(indexSection):]
		if at != len(module) || len(index) == 0 || !slices.Equal(AppendIndex(nil, index), module[start:]) {
			return refuse("its index has another form or is not at its end")
		}
		return module[:start:start], index, nil
	}
	return module, nil, nil
}

// IndexedTool is a tool that a toolset serves, as its index sees it.
type IndexedTool struct {
	SelectedTool
	selection.Tool
	ReadOnly bool
}

// IndexTools lists the enabled tools of a toolset as its index sees them: position n of
// the index is enabled tool n of [Toolset.EditedTools], whose errors it returns.
func IndexTools(t *Toolset, connectors map[string]*connector.Connector) ([]IndexedTool, error) {
	var out []IndexedTool
	for tool, err := range t.EditedTools(connectors) {
		if err != nil {
			return nil, fmt.Errorf("indexing toolset %s: %w", t.Slug, err)
		}
		if tool.Disabled() {
			continue
		}
		c, head := connectors[tool.Operation.Connector], tool.Head()
		out = append(out, indexed(tool.Operation, &head, c.Name(), c.Title()))
	}
	return out, nil
}

// IndexWorkflow is the tool that a workflow offers, as the index of a toolset that
// binds it sees it: behind the tools of [IndexTools], in the order of its bindings.
// edit may be nil.
func IndexWorkflow(m *manifest.Manifest, edit *OfferedTool) IndexedTool {
	head := WorkflowHead(m, edit, nil)
	it := indexed(SelectedTool{Method: head.Method, Path: head.Path}, &head, m.Name, m.Title)
	it.ReadOnly = false // what it calls is not known here
	return it
}

func indexed(op SelectedTool, h *connector.Head, server, serverText string) IndexedTool {
	return IndexedTool{SelectedTool: op, ReadOnly: h.Annotations.ReadOnly, Tool: selection.Tool{
		Name: h.Name, Title: h.Title, Description: h.Description, Tags: h.Tags, Method: h.Method, Path: h.Path,
		Server: server, ServerText: serverText, Params: schemaParams(h.InputSchema),
	}}
}

// schemaParams are the arguments at the top of an input schema and, where an
// argument is an object (a body), the members of it.
func schemaParams(schema []byte) []selection.Param {
	type object struct {
		Description string                     `json:"description"`
		Properties  map[string]json.RawMessage `json:"properties"`
		Required    []string                   `json:"required"`
	}
	var top object
	if json.Unmarshal(schema, &top) != nil {
		return nil
	}
	var out []selection.Param
	add := func(o *object, name string) *object {
		var p object
		_ = json.Unmarshal(o.Properties[name], &p) // a schema of another form has neither text nor members
		out = append(out, selection.Param{Name: name, Description: p.Description, Required: slices.Contains(o.Required, name)})
		return &p
	}
	for _, name := range sortedKeys(top.Properties) {
		p := add(&top, name)
		for _, member := range sortedKeys(p.Properties) {
			add(p, member)
			out[len(out)-1].Required = false
		}
	}
	return out
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

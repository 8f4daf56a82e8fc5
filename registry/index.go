package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/internal/wording"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
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
	return module.AppendSection(bundle, module.SectionCustom, indexName, index)
}

// indexName is the name of the section, with its length.
var indexName = append([]byte{byte(len(indexSection))}, indexSection...)

// SplitIndex takes the index off a bundle; nil when it has none. Both are views of
// code. It fails with [problem.InvalidPlugin] when code is not a module made
// of whole sections, or has the section in another form than [AppendIndex] makes.
func SplitIndex(code []byte) (bundle, index []byte, err error) {
	bundle = code
	err = module.Sections(code, func(s module.Section) error {
		if s.ID != module.SectionCustom || !bytes.HasPrefix(s.Payload, indexName) {
			return nil
		}
		bundle, index = code[:s.Start:s.Start], s.Payload[len(indexName):]
		if len(index) == 0 || !bytes.Equal(AppendIndex(nil, index), code[s.Start:]) {
			return errors.New("its index has another form or is not at its end")
		}
		return nil
	})
	if err != nil {
		return nil, nil, problem.New(problem.InvalidPlugin, "the bundle is not a WebAssembly module: %s", err)
	}
	return bundle, index, nil
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

// plainWords of a tool are indexed with its description, so that it is found by what
// people call the thing who have never read the API. Clients do not see them.
const plainWords = 4

func indexed(op SelectedTool, h *connector.Head, server, serverText string) IndexedTool {
	text := h.Description
	if more := wording.Plain(wording.Split(h.Name), text, plainWords); len(more) > 0 {
		text += " " + strings.Join(more, ", ")
	}
	return IndexedTool{SelectedTool: op, ReadOnly: h.Annotations.ReadOnly, Tool: selection.Tool{
		Name: h.Name, Title: h.Title, Description: text, Tags: h.Tags, Method: h.Method, Path: h.Path,
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

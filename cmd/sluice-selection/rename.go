package main

import (
	"github.com/sluicegate/sluice/admin/toolset/suggest"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
)

// suggested is what the rules propose for the tools of a catalogue.
func (c *catalogue) suggested() (tools []suggest.Tool, r suggest.Result, err error) {
	var all []string
	for t, err := range c.toolset.EditedTools(c.connectors) {
		if err != nil {
			return nil, r, err
		}
		h := t.Head()
		all = append(all, h.Name)
		tools = append(tools, suggest.Tool{Name: h.Name, Title: h.Title, Description: h.Description, Method: h.Method, Path: h.Path, InputSchema: h.InputSchema})
	}
	return tools, suggest.Rules(tools, all, openapi.ToolName), nil
}

// applied is the catalogue with proposals accepted: of names, and of descriptions if wanted.
func (c *catalogue) applied(tools []suggest.Tool, r *suggest.Result, descriptions bool) (*catalogue, error) {
	byName := make(map[string]*suggest.Tool, len(tools))
	for i := range tools {
		byName[tools[i].Name] = &tools[i]
	}
	ts := *c.toolset
	for i := range r.Suggestions {
		s := &r.Suggestions[i]
		t := byName[s.Tool]
		e := registry.ToolEdit{Connector: ts.Connectors[0].Name, Method: t.Method, Path: t.Path}
		if s.Name != "" {
			e.Name = &s.Name
		}
		if descriptions && s.Description != "" {
			e.Description = &s.Description
		}
		ts.Tools = append(ts.Tools, e)
	}
	return indexedCatalogue(&ts, c.connectors)
}

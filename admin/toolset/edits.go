package toolset

import (
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

// EditOf is the edit of a tool that a record holds, as gateways apply it.
func EditOf(e *store.ToolEdit) (*registry.ToolEdit, error) {
	out := &registry.ToolEdit{
		Connector: e.Connector, Method: e.Method, Path: e.Path, Name: e.Name, Title: e.Title, Description: e.Description, Disabled: e.Disabled,
	}
	var err error
	if out.Answers, err = AnswersOf(e.Answers); err != nil {
		return nil, err
	}
	if out.Annotations, err = AnnotationsOf(e.Annotations); err != nil {
		return nil, err
	}
	if out.Arguments, err = argumentsOf(e.Arguments); err != nil {
		return nil, err
	}
	if out.Texts, err = TextsOf(e.Texts); err != nil {
		return nil, err
	}
	out.Fixed, err = FixedOf(e.Fixed)
	return out, err
}

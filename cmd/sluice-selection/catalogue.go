package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// catalogue is an API as a toolset of one connector.
type catalogue struct {
	toolset    *registry.Toolset
	connectors map[string]*connector.Connector
	indexed    []registry.IndexedTool
	tools      []selection.Tool
}

// readCatalogue compiles a specification the way publishing does.
func readCatalogue(ctx context.Context, name, file string) (*catalogue, error) {
	data, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	api := new(operation.API) // filled before Finish: operations stream by before the whole is known
	builder := connector.NewBuilder(api)
	spec, err := openapi.Compile(ctx, openapi.Source{Name: filepath.Base(file), Data: data}, openapi.Options{
		Each: func(op *operation.Operation) error {
			_ = builder.Add(op) // what cannot be packed is no tool of any toolset
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("compiling %s: %w", file, err)
	}
	*api = *spec.API
	made, err := builder.Finish()
	if err != nil {
		return nil, fmt.Errorf("making a connector of %s: %w", file, err)
	}
	opened, err := connector.Open(made.Module)
	if err != nil {
		return nil, fmt.Errorf("opening the connector made of %s: %w", file, err)
	}
	c := &catalogue{
		toolset: &registry.Toolset{
			ID: name, Slug: name, Name: name, Workspace: "measure", Access: registry.Access{Mode: registry.AccessNone},
			Connectors: []registry.ConnectorRef{{Name: name}},
		},
		connectors: map[string]*connector.Connector{name: opened},
	}
	if c.indexed, err = registry.IndexTools(c.toolset, c.connectors); err != nil {
		return nil, err
	}
	for i := range c.indexed {
		c.tools = append(c.tools, c.indexed[i].Tool)
	}
	return c, nil
}

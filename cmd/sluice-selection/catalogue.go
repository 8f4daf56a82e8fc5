package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// compileTime of a specification: what is measured does not depend on what else the
// machine does.
const compileTime = 2 * time.Minute

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
	files, err := filesAround(file)
	if err != nil {
		return nil, err
	}
	spec, err := openapi.Compile(ctx, openapi.Source{Name: filepath.Base(file), Path: filepath.Base(file), Data: data, Files: files}, openapi.Options{
		Limits: openapi.Limits{Timeout: compileTime},
		Each: func(op *operation.Operation) error {
			_ = builder.Add(op) // what cannot be packed is not a tool of any toolset
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
	return indexedCatalogue(&registry.Toolset{
		ID: name, Slug: name, Name: name, Workspace: "measure", Access: registry.Access{Mode: registry.AccessNone},
		Connectors: []registry.ConnectorRef{{Name: name}},
	}, map[string]*connector.Connector{name: opened})
}

// indexedCatalogue is a toolset as its index sees it.
func indexedCatalogue(ts *registry.Toolset, connectors map[string]*connector.Connector) (*catalogue, error) {
	c := &catalogue{toolset: ts, connectors: connectors}
	var err error
	if c.indexed, err = registry.IndexTools(ts, connectors); err != nil {
		return nil, err
	}
	for i := range c.indexed {
		c.tools = append(c.tools, c.indexed[i].Tool)
	}
	return c, nil
}

// filesAround are the files of a specification's folder, which it may refer to.
func filesAround(file string) (map[string][]byte, error) {
	out := map[string][]byte{}
	dir := filepath.Dir(file)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error { //nolint:gosec // the operator names the folder
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name) //nolint:gosec // the operator names the folder
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		out[filepath.ToSlash(rel)] = data
		return err
	})
	return out, err
}

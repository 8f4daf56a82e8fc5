package main

import (
	"context"
	"log/slog"

	"github.com/sluicegate/sluice/cmd/internal/artifacts"
	"github.com/sluicegate/sluice/registry/oci"
)

// opener opens registries with the program's HTTP client and Docker's credentials.
func (a *app) opener(logger *slog.Logger) (artifacts.Opener, error) {
	client, err := a.HTTPClient()
	return artifacts.Opener{Client: client, DockerConfig: a.Env.DockerConfig(), Logger: logger}, err
}

// artifactsAt opens the registry of a node.
func (a *app) artifactsAt(p artifacts.Places, logger *slog.Logger) func(context.Context, string) (*artifacts.Registry, error) {
	return func(ctx context.Context, dir string) (*artifacts.Registry, error) {
		o, err := a.opener(logger)
		if err != nil {
			return nil, err
		}
		return o.Open(ctx, dir, p)
	}
}

// openArtifacts opens the registry of a data directory that no node has to run on.
func (a *app) openArtifacts(ctx context.Context, dir string, p artifacts.Places) (*artifacts.Registry, error) {
	return a.artifactsAt(p, nil)(ctx, dir)
}

// pluginRegistries are those that plugins may come from.
func (a *app) pluginRegistries(logger *slog.Logger, allowed []string) (func(string) (*oci.Store, string, string, error), error) {
	o, err := a.opener(logger)
	if err != nil {
		return nil, err
	}
	return o.Among(allowed)
}

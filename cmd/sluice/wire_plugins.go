package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluicegate/sluice/gateway/plugin"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// pluginPolicy is what third-party plugins may ask for on a node: memory and time,
// but no clock, no randomness and no requests.
var pluginPolicy = guest.Policy{Memory: manifest.MaxMemory, Deadline: time.Second}

// openPlugins makes what runs third-party plugins and has it closed with the node.
func openPlugins(ctx context.Context, cache string, logger *slog.Logger, onClose func(func() error)) (*plugin.Runner, error) {
	h, err := extism.New(extism.Options{CacheDir: cache, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("starting the host of third-party plugins: %w", err)
	}
	onClose(func() error { return h.Close(context.WithoutCancel(ctx)) })
	r, err := plugin.New(plugin.Options{Host: h, Policy: pluginPolicy, Logger: logger})
	if err != nil {
		return nil, err
	}
	onClose(func() error { r.Close(); return nil })
	return r, nil
}

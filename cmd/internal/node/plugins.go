package node

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/gateway/plugin"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/turns"
	"github.com/sluicegate/sluice/registry"
)

// pluginPolicy is what third-party plugins may be granted on a node, binding by binding.
var pluginPolicy = guest.NodePolicy()

// pluginEvents is how many plugins that were taken out of calls wait to be recorded.
const pluginEvents = 64

// nodePlugins runs third-party plugins on a node.
type nodePlugins struct {
	host   *extism.Host
	runner *plugin.Runner
	turns  *turns.Queue // shared with scripts
	// shadow runs those of candidates beside calls, on a host with turns of its own that
	// sends nothing. It costs nothing while no candidate is on trial.
	shadow *plugin.Runner
	// unbound are the plugins that were taken out of calls. What does not fit was
	// logged, and is not recorded.
	unbound chan registry.PluginUnbound
}

// openPlugins opens what runs third-party plugins.
func (n *Node) openPlugins(ctx context.Context) error {
	queue := turns.NewQueue()
	h, err := extism.New(extism.Options{CacheDir: n.codeCache(), Turns: queue, Grace: n.o.Upstreams.PluginGrace, Functions: guest.Functions(), HTTP: safehttp.NewPluginClient(n.dialer), Logger: n.o.Logger})
	if err != nil {
		return fmt.Errorf("starting the host of third-party plugins: %w", err)
	}
	n.onClose(func() error { return h.Close(context.WithoutCancel(ctx)) })
	p := &nodePlugins{host: h, turns: queue, unbound: make(chan registry.PluginUnbound, pluginEvents)}
	p.runner, err = plugin.New(plugin.Options{Host: h, Policy: pluginPolicy, Meter: n.meter, Logger: n.o.Logger, Unbound: func(u registry.PluginUnbound) {
		select {
		case p.unbound <- u:
		default:
		}
	}})
	if err != nil {
		return err
	}
	n.onClose(func() error { p.runner.Close(); return nil })
	beside, err := extism.New(extism.Options{Grace: n.o.Upstreams.PluginGrace, Functions: guest.Functions(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("starting the host of plugins on trial: %w", err)
	}
	n.onClose(func() error { return beside.Close(context.WithoutCancel(ctx)) })
	if p.shadow, err = plugin.New(plugin.Options{Host: beside, Policy: pluginPolicy}); err != nil {
		return err
	}
	n.onClose(func() error { p.shadow.Close(); return nil })
	n.plugins = p
	return nil
}

// watchPlugins records the plugins that are taken out of calls until ctx ends.
func (c *control) watchPlugins(ctx context.Context) error {
	for {
		select {
		case u := <-c.plugins.unbound:
			c.admin.Plugins().LeaveOut(ctx, "", &u)
		case <-ctx.Done():
			return nil
		}
	}
}

// reporter tells a control plane what plugins do on this edge.
func (n *nodePlugins) reporter(remote *edge.Remote, logger *slog.Logger) *edge.PluginReporter {
	return &edge.PluginReporter{Post: remote.PostPlugins, Unbound: n.unbound, Logger: logger, Usage: n.runner.Usage}
}

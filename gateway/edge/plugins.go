package edge

import (
	"context"
	"log/slog"
	"time"

	"github.com/sluicegate/sluice/registry"
)

// pluginsEvery is how often a node tells what its plugins did; that one was taken out
// of calls is told at once.
const pluginsEvery = 15 * time.Second

// PluginReporter tells the control plane what third-party plugins do on this node.
type PluginReporter struct {
	// Post sends a report: [Remote.PostPlugins].
	Post func(ctx context.Context, p *registry.EdgePlugins) error
	// Usage takes what was counted since it was called last.
	Usage func() []registry.PluginCalls
	// Unbound gives the plugins that were taken out of calls.
	Unbound <-chan registry.PluginUnbound
	Logger  *slog.Logger // nil: discard

	pending registry.EdgePlugins
}

// Run reports until ctx ends; it returns ctx's error. What could not be sent is added
// to the next report.
func (r *PluginReporter) Run(ctx context.Context) error {
	tick := time.NewTicker(pluginsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case u := <-r.Unbound:
			if len(r.pending.Unbound) < registry.MaxUnbindings {
				r.pending.Unbound = append(r.pending.Unbound, u)
			}
		case <-tick.C:
		}
		r.add(r.Usage())
		if len(r.pending.Calls) == 0 && len(r.pending.Unbound) == 0 {
			continue
		}
		rctx, cancel := context.WithTimeout(ctx, reportTimeout)
		err := r.Post(rctx, &r.pending)
		cancel()
		if err == nil {
			r.pending = registry.EdgePlugins{}
		} else if r.Logger != nil {
			r.Logger.LogAttrs(ctx, slog.LevelDebug, "what plugins did was not sent", slog.Any("error", err))
		}
	}
}

// add adds counts to those that wait; beyond the limit of a report new plugins are
// left out.
func (r *PluginReporter) add(counts []registry.PluginCalls) {
	for _, c := range counts {
		have := false
		for i := range r.pending.Calls {
			p := &r.pending.Calls[i]
			if have = p.PluginKey == c.PluginKey; have {
				p.Add(&c.PluginCounts)
				break
			}
		}
		if !have && len(r.pending.Calls) < registry.MaxPluginCounts {
			r.pending.Calls = append(r.pending.Calls, c)
		}
	}
}

// PostPlugins tells the control plane what plugins did.
func (r *Remote) PostPlugins(ctx context.Context, p *registry.EdgePlugins) error {
	return r.post(ctx, registry.EdgePluginsPath, true, p, nil)
}

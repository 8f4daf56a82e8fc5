package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// RolloutChange is a part of the toolset in which the candidate differs from what is live.
type RolloutChange struct {
	Kind string `json:"kind" enum:"plugin,connector,settings"`
	Name string `json:"name,omitempty" doc:"Of the plugin or connector."`
	From string `json:"from,omitempty" doc:"Version of the plugin, or digest of the connector, that is live; absent: there is none."`
	To   string `json:"to,omitempty" doc:"That of the candidate; absent: it has none."`
}

// compare says what the candidate of row changes, and refuses what a roll-out cannot do.
func (r *Room) compare(ctx context.Context, ts *store.Toolset, row *store.Trial) ([]RolloutChange, error) {
	live, err := r.Publisher.Toolset(ctx, ts.LiveRepository, registry.Digest(row.LiveDigest))
	if err != nil {
		return nil, err
	}
	next, err := r.Publisher.Toolset(ctx, row.Repository, registry.Digest(row.Digest))
	if err != nil {
		return nil, err
	}
	if err := r.keepsRedaction(ctx, live, next); err != nil {
		return nil, err
	}
	if row.Mode == registry.TrialShadow {
		if err := r.shadowable(ctx, live, next); err != nil {
			return nil, err
		}
	}
	var out []RolloutChange
	for i := range next.Connectors {
		c := &next.Connectors[i]
		at := slices.IndexFunc(live.Connectors, func(l registry.ConnectorRef) bool { return l.Name == c.Name })
		switch {
		case at < 0:
			out = append(out, RolloutChange{Kind: "connector", Name: c.Name, To: c.Digest.Short()})
		case live.Connectors[at].Digest != c.Digest:
			out = append(out, RolloutChange{Kind: "connector", Name: c.Name, From: live.Connectors[at].Digest.Short(), To: c.Digest.Short()})
		}
	}
	for i := range live.Connectors {
		c := &live.Connectors[i]
		if !slices.ContainsFunc(next.Connectors, func(n registry.ConnectorRef) bool { return n.Name == c.Name }) {
			out = append(out, RolloutChange{Kind: "connector", Name: c.Name, From: c.Digest.Short()})
		}
	}
	for i := range next.Plugins {
		p := &next.Plugins[i]
		switch was := boundAs(live, p); {
		case was == nil:
			out = append(out, RolloutChange{Kind: "plugin", Name: p.Name, To: p.Version})
		case was.Digest != p.Digest:
			out = append(out, RolloutChange{Kind: "plugin", Name: p.Name, From: was.Version, To: p.Version})
		}
	}
	for i := range live.Plugins {
		if p := &live.Plugins[i]; boundAs(next, p) == nil {
			out = append(out, RolloutChange{Kind: "plugin", Name: p.Name, From: p.Version})
		}
	}
	out = slices.Compact(out) // a plugin that is bound to several tools
	if same, err := r.sameSettings(ctx, live, next); err != nil {
		return nil, err
	} else if !same {
		out = append(out, RolloutChange{Kind: "settings"})
	}
	return out, nil
}

// boundAs finds the binding of the same plugin at the same place; nil: there is none.
func boundAs(t *registry.Toolset, p *registry.PluginRef) *registry.PluginRef {
	for i := range t.Plugins {
		if o := &t.Plugins[i]; o.Name == p.Name && o.Connector == p.Connector && o.Method == p.Method && o.Path == p.Path {
			return o
		}
	}
	return nil
}

// sameSettings compares what is neither a version of a plugin nor one of a connector.
func (r *Room) sameSettings(ctx context.Context, a, b *registry.Toolset) (bool, error) {
	var docs [2]string
	for i, t := range []*registry.Toolset{a, b} {
		c := *t
		c.Connectors, c.Plugins = slices.Clone(t.Connectors), slices.Clone(t.Plugins)
		for j := range c.Connectors {
			c.Connectors[j].Manifest, c.Connectors[j].Digest, c.Connectors[j].Repository = "", "", ""
		}
		for j := range c.Plugins {
			closed, err := r.closed(ctx, &c.Plugins[j]) // said or not, it is the same
			if err != nil {
				return false, err
			}
			if c.Plugins[j].OnError = registry.OnErrorPass; closed {
				c.Plugins[j].OnError = registry.OnErrorFail
			}
			c.Plugins[j].Manifest, c.Plugins[j].Digest, c.Plugins[j].Version, c.Plugins[j].Repository = "", "", "", ""
		}
		doc, err := json.Marshal(&c)
		if err != nil {
			return false, fmt.Errorf("comparing the settings of %s: %w", t.Slug, err)
		}
		docs[i] = string(doc)
	}
	return docs[0] == docs[1], nil
}

// keepsRedaction refuses a candidate that lets through what the live toolset withholds:
// each plugin that fails closed must be there, at the same place, and fail closed too.
func (r *Room) keepsRedaction(ctx context.Context, live, next *registry.Toolset) error {
	for i := range live.Plugins {
		p := &live.Plugins[i]
		closed, err := r.closed(ctx, p)
		if err != nil {
			return err
		}
		if !closed {
			continue
		}
		now := boundAs(next, p)
		if now == nil {
			return problem.New(problem.Conflict, "the candidate lacks the redacting plugin %s: a roll-out must not show some callers what is withheld from others", p.Name).
				Fix("bind it again, or deploy the draft for everybody: sluice toolset test %s", live.Slug)
		}
		if closed, err = r.closed(ctx, now); err != nil {
			return err
		}
		if !closed {
			return problem.New(problem.Conflict, "plugin %s %s does not redact, and %s, which is live, does: what it cannot run on would be shown", now.Name, now.Version, p.Version).
				Fix("bind it so that it fails closed: sluice plugin bind %s %s --on-error fail", live.Slug, now.Name)
		}
	}
	return nil
}

func (r *Room) closed(ctx context.Context, p *registry.PluginRef) (bool, error) {
	if p.OnError != "" {
		return p.OnError == registry.OnErrorFail, nil
	}
	g, err := r.Publisher.OpenPlugin(ctx, *p)
	if err != nil {
		return false, err
	}
	return registry.EffectiveOnError(p.OnError, g.Manifest.Redacts()) == registry.OnErrorFail, nil
}

// shadowable refuses a shadow of what sends requests: it runs beside calls that were made,
// and nothing may be sent twice.
func (r *Room) shadowable(ctx context.Context, live, next *registry.Toolset) error {
	for i := range next.Plugins {
		p := &next.Plugins[i]
		was := boundAs(live, p)
		changed := was == nil || was.Digest != p.Digest
		g, err := r.Publisher.OpenPlugin(ctx, *p)
		if err != nil {
			return err
		}
		kind := g.Manifest.Kind
		switch {
		case changed && (kind == manifest.Workflow || kind == manifest.Auth):
			return problem.New(problem.Unsupported, "plugin %s is of kind %s, whose work is to call or to sign: beside a call it cannot run", p.Name, kind).
				Fix("roll it out as a canary: sluice toolset rollout start %s --canary 10%%", live.Slug)
		case kind != manifest.Workflow && p.Grants != nil && len(p.Grants.Hosts) > 0:
			return problem.New(problem.Unsupported, "plugin %s may send requests to %s, and beside a call nothing is sent", p.Name, p.Grants.Hosts[0]).
				Fix("roll it out as a canary: sluice toolset rollout start %s --canary 10%%", live.Slug)
		}
	}
	return nil
}

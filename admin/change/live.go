package change

import (
	"context"
	"fmt"

	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// sinceLive is what makes the connectors of a draft others than those that are live. The
// draft may have versions that wait since earlier changes, of any of its connectors, so what
// one change makes of the draft does not say it.
type sinceLive struct {
	moved    []credential.OriginChange // connectors whose calls go elsewhere
	breaking int                       // tools
}

// why says why the draft waits; "": it need not.
func (s *sinceLive) why() string {
	switch {
	case len(s.moved) > 0:
		return s.moved[0].Why()
	case s.breaking == 1:
		return "a tool changes in a breaking way since the live revision"
	case s.breaking > 1:
		return fmt.Sprintf("%d tools change in a breaking way since the live revision", s.breaking)
	}
	return ""
}

// sinceLive compares the draft's connectors with those that are live.
func (c *change) sinceLive(ctx context.Context) (out sinceLive, err error) {
	d, r := c.d, c.r.Drafts
	if d.Toolset.LiveRevision == 0 {
		return out, nil
	}
	live, err := r.Publisher.Toolset(ctx, d.Toolset.LiveRepository, registry.Digest(d.Toolset.LiveDigest))
	if err != nil {
		return out, fmt.Errorf("reading the live revision of toolset %s: %w", d.Toolset.ID, err)
	}
	for i := range live.Connectors {
		ref := &live.Connectors[i]
		part := d.Named(ref.Name)
		if part == nil || part.Row.ConnectorDigest == string(ref.Digest) && part.Row.BaseURL == ref.BaseURL {
			continue // removed, which somebody did, or as it is
		}
		conn, err := r.Opened.Open(ctx, &store.ConnectorVersion{Connector: ref.Name, Digest: string(ref.Digest), Manifest: string(ref.Manifest), Repository: ref.Repository})
		if err != nil {
			return out, err
		}
		from, to := credential.CallsOf(ref.Name, ref.BaseURL, conn), part.Calls()
		if moved := credential.Movement(&from, &to); moved != nil {
			out.moved = append(out.moved, *moved)
		}
		tools, err := connector.Diff(conn.Opened, part.Conn.Opened)
		if err != nil {
			return out, fmt.Errorf("comparing connector %s with the live revision: %w", ref.Name, err)
		}
		for i := range tools {
			if breaks(&tools[i]) {
				out.breaking++
			}
		}
	}
	return out, nil
}

// breaks reports a tool whose callers fail. Names do not count: tools keep those that agents
// know.
func breaks(t *connector.ToolChange) bool {
	for i := range t.Details {
		if d := &t.Details[i]; d.Impact == connector.ImpactBreaking && d.Where != "name" {
			return true
		}
	}
	return t.Kind == connector.ToolRemoved
}

// tryAgain is tryOut for a toolset that was there: a source that sends calls elsewhere than
// the request itself says stays a draft, also where no credential would go there, because what
// agents send would.
func (c *change) tryAgain(ctx context.Context) (*rollout.TestRun, error) {
	if c.was.Version == nil || c.in.Deploy != nil && c.in.Deploy.Skip {
		test, _, err := c.tryOut(ctx)
		return test, err
	}
	since, err := c.sinceLive(ctx)
	if err != nil {
		return nil, err
	}
	for i := range since.moved {
		moved := &since.moved[i]
		known := registry.Origins(moved.From)
		if moved.Connector == c.d.Row.Name {
			known = known.With(c.consented()...)
		}
		if elsewhere := known.Missing(moved.To); len(elsewhere) > 0 {
			return &rollout.TestRun{Digest: c.d.Toolset.DraftDigest, At: c.ws.Now(), Reason: moved.Why(), Waits: since.moved[i : i+1]}, nil
		}
	}
	test, _, err := c.tryOut(ctx)
	return test, err
}

// consented are the addresses that the request is for: those that it names, and those of a
// secret that it gives.
func (c *change) consented() registry.Origins {
	out := credential.OriginsOf(c.in.BaseURL)
	if mcp := c.in.Source.MCP; mcp != nil {
		out = out.With(credential.OriginsOf(mcp.URL)...)
	}
	for i := range c.d.Creds {
		if c.in.Auth != nil && c.d.Creds[i].Given {
			calls := c.d.Calls()
			out = out.With(calls.Wanted()...)
		}
	}
	return out
}

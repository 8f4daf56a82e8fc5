package main

import (
	"context"
	"fmt"
	"io"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/cmd/internal/specification"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/cmd/internal/upstreamauth"
)

// addTo gives a toolset another connector.
func (a *app) addTo(ctx context.Context, c *client.Client, spec specification.Document, f *addFlags) error {
	t, _, err := c.Toolset(ctx, f.to)
	if err != nil {
		return err
	}
	made, err := a.newToolset(ctx, spec, f)
	if err != nil {
		return err
	}
	if f.dryRun {
		return a.preview(ctx, c, made)
	}
	in := struct {
		change.AddConnector
		Auth *upstreamauth.Request `json:"authentication,omitempty"`
	}{change.AddConnector{
		Name: f.name, Source: made.Source, BaseURL: made.BaseURL, Tools: made.Tools, Profile: made.Profile, Policy: made.Policy, Stateless: made.Stateless, Test: made.Test,
	}, made.Auth}
	if f.noDeploy {
		in.Deploy = &change.CreateDeploy{Skip: true}
	}
	var out change.AddedConnector
	if err := c.Post(ctx, client.ToolsetPath(t, "connectors"), in, &out, client.Wait); err != nil {
		return err
	}
	a.sayGranted(out.Granted)
	if out.Test != nil {
		a.sayTest(out.Test)
	}
	if err := a.Object(out, func(w io.Writer) { a.printAdded(w, &out) }); err != nil {
		return err
	}
	return leftDraft(&out.Toolset, f)
}

func (a *app) printAdded(w io.Writer, out *change.AddedConnector) {
	t, one := &out.Toolset, &out.Connector
	what := "added to"
	if !out.Created {
		what = "refreshed in"
	}
	fmt.Fprintf(w, "✓ %s is %s %s with %s\n", one.Name, what, t.Slug, terminal.Plural(len(out.Tools), "tool"))
	for _, r := range out.Renamed {
		fmt.Fprintf(w, "  %s is called %s here: another tool has that name\n", terminal.Printable(r.Generated), r.Name)
	}
	for _, u := range one.Unsupported[:min(len(one.Unsupported), describe.MaxListed)] {
		fmt.Fprintf(w, "! %s %s is not a tool: %s\n", u.Method, terminal.Printable(u.Path), terminal.Printable(u.Reason))
	}
	if t.Status == "live" && !t.Changed {
		fmt.Fprintf(w, "✓ %s is live: %s\n  Toolset URL   %s\n", t.Slug, terminal.Plural(t.EnabledTools, "tool"), t.URL)
	} else {
		fmt.Fprintf(w, "  next   it waits in the draft: sluice toolset test %s --connector %s   or: sluice toolset deploy %s --reason TEXT\n", t.Slug, one.Name, t.Slug)
	}
	if one.Authentication == nil && len(one.Methods) > 0 {
		fmt.Fprintf(w, "! it wants authentication (%s): sluice toolset auth %s set --connector %s --auth …\n", describe.Methods(one.Methods), t.Slug, one.Name)
	}
	a.adviseCount(w, t)
}

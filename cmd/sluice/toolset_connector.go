package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/cmd/internal/toolsetcmd"
)

func (a *app) toolsetConnector() *cobra.Command {
	var f addFlags
	var test string
	cmd := &cobra.Command{
		Use:     "connector TOOLSET [list | add SPEC|URL | set CONNECTOR | remove CONNECTOR]",
		Aliases: []string{"connectors"},
		Short:   "List, add, change and remove the APIs and MCP servers of a toolset",
		Long: `A toolset may have several connectors: OpenAPI specifications and MCP servers side by
side. Each has its own address, credential, settings of answers and refresh. A tool
whose name another tool of the toolset has gets its connector's name in front; tools
that are there are never renamed. add takes the flags of sluice add; set takes
--base-url, --profile, --upstream-policy and --stateless. Removing a connector takes its
edits and its credential along.`,
		Example: `  sluice toolset connector shop
  sluice toolset connector shop add https://mcp.example.com/mcp --tools 'search_*'
  sluice toolset connector shop add orders.yaml --name orders --auth bearer --api-key-file token.txt
  sluice toolset connector shop set orders --base-url https://eu.example.com
  sluice toolset auth shop rotate --connector orders --api-key-file new.txt
  sluice toolset connector shop remove orders`,
		Args: command.Between(1, 3, "a toolset and what to do"),
		RunE: func(cmd *cobra.Command, args []string) error {
			verb, name := "list", ""
			if len(args) > 1 {
				verb = args[1]
			}
			if len(args) > 2 {
				name = args[2]
			}
			switch {
			case verb == "list" && name == "":
				return a.listConnectors(cmd.Context(), args[0])
			case verb == "add" && name != "":
				c := a.Client()
				f.to, f.test = args[0], test
				return a.add(cmd.Context(), c, name, &f)
			case verb == "set" && name != "":
				return a.connectorSet(cmd, args[0], name, &f)
			case verb == "remove" && name != "":
				return a.connectorRemove(cmd.Context(), args[0], name, f.noDeploy)
			}
			return command.UnknownAction(cmd, args[1:])
		},
	}
	f.register(cmd)
	for _, other := range []string{"to", "slug", "selection", "use-case", "cache"} {
		_ = cmd.Flags().MarkHidden(other) // of whole toolsets; the flags are there
	}
	cmd.Flags().BoolVar(&f.noDeploy, "no-deploy", false, "neither test nor deploy: stay a draft")
	cmd.Flags().StringVar(&test, "test", "", "tool to test with, and its arguments: TOOL or TOOL={…}")
	return cmd
}

func (a *app) listConnectors(ctx context.Context, toolset string) error {
	_, t, _, err := a.Toolset(ctx, toolset)
	if err != nil {
		return err
	}
	return terminal.List(&a.Terminal, t.Connectors, nil, []terminal.Column[view.ToolsetConnector]{
		{Header: "name", Value: func(c view.ToolsetConnector) string { return c.Name }},
		{Header: "source", Value: func(c view.ToolsetConnector) string { return toolsetcmd.SourceKind(&c.Source) }},
		{Header: "tools", Value: func(c view.ToolsetConnector) string { return terminal.Thousands(c.ToolCount) }},
		{Header: "auth", Value: func(c view.ToolsetConnector) string { return toolsetcmd.AuthText(toolsetcmd.OfConnector(&c)) }},
		{Header: "base url", Value: func(c view.ToolsetConnector) string { return c.BaseURL }},
		{Header: "state", Value: func(c view.ToolsetConnector) string {
			switch {
			case c.Upstream == nil:
				return ""
			case c.Upstream.Fault != "":
				return "cannot be reached: " + c.Upstream.Fault
			case c.Upstream.Quarantined:
				return "a change waits"
			}
			return "policy " + c.Upstream.Policy
		}},
		{Header: "profile", Value: func(c view.ToolsetConnector) string {
			if c.Answers != nil && c.Answers.Profile != "" {
				return c.Answers.Profile
			}
			return t.Profile
		}, Wide: true},
		{Header: "version", Value: func(c view.ToolsetConnector) string { return c.Connector.Version }, Wide: true},
		{Header: "from", Value: func(c view.ToolsetConnector) string { return c.Source.URL }, Wide: true},
	}, func(c view.ToolsetConnector) string { return c.Name })
}

func (a *app) connectorSet(cmd *cobra.Command, slug, name string, f *addFlags) error {
	c, t, etag, err := a.Toolset(cmd.Context(), slug)
	if err != nil {
		return err
	}
	var in draft.PatchConnector
	fs := cmd.Flags()
	if fs.Changed("base-url") {
		in.BaseURL = &f.baseURL
	}
	if fs.Changed("upstream-policy") {
		in.Policy = &f.policy
	}
	if fs.Changed("stateless") {
		in.Stateless = &f.stateless
	}
	if fs.Changed("profile") {
		in.Answers = &toolset.PatchAnswers{Profile: &f.profile}
	}
	if in.BaseURL == nil && in.Policy == nil && in.Answers == nil && in.Stateless == nil {
		return exit.Usagef("set takes --base-url, --profile, --upstream-policy and --stateless")
	}
	var out view.ToolsetConnectorDetail
	if err := c.Patch(cmd.Context(), client.ToolsetPath(t, "connectors", name), in, &out, client.IfMatch(etag)); err != nil {
		return err
	}
	if t.Status == "live" {
		a.Say("  next   the draft has changed; make it live: sluice toolset test %s --connector %s", t.Slug, name)
	}
	return a.Object(out, func(w io.Writer) {
		fmt.Fprintf(w, "✓ %s of %s is called at %s\n", out.Name, t.Slug, terminal.Printable(out.BaseURL))
	})
}

// connectorRemove takes a connector out and, unless only the draft is meant, makes
// what is left live: its removal needs no test.
func (a *app) connectorRemove(ctx context.Context, toolset, name string, draft bool) error {
	c, t, etag, err := a.Toolset(ctx, toolset)
	if err != nil {
		return err
	}
	var there view.ToolsetConnectorDetail // nobody is asked about one that is not
	if err := c.Get(ctx, client.ToolsetPath(t, "connectors", name), &there); err != nil {
		return err
	}
	if err := a.Confirm(ctx, fmt.Sprintf("Remove %s from %s, with its edits and its credential?", name, t.Slug)); err != nil {
		return err
	}
	var out view.Toolset
	if err := c.Delete(ctx, client.ToolsetPath(t, "connectors", name), &out, client.IfMatch(etag)); err != nil {
		return err
	}
	if t.Status == "live" && !t.Changed && !draft {
		in := admin.DeployRequest{Reason: "connector " + name + " was removed"}
		if err := c.Post(ctx, client.ToolsetPath(t, "deploy"), in, &out, client.Wait); err != nil {
			return err
		}
	}
	return a.Object(out, func(w io.Writer) {
		fmt.Fprintf(w, "✓ %s is removed; %s has %s\n", name, out.Slug, terminal.Plural(out.EnabledTools, "tool"))
		if out.Changed {
			fmt.Fprintf(w, "  next   the draft has changed; make it live: sluice toolset test %s\n", out.Slug)
		}
	})
}

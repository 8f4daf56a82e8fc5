package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/specification"
	"github.com/sluicegate/sluice/internal/problem"
)

func (a *app) addCommand() *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add SPEC|DIR|ZIP|URL|- | -- PROGRAM [ARGUMENTS]",
		Short: "Create a toolset from an OpenAPI specification or an MCP server",
		Long: `Create a toolset from an OpenAPI specification or an MCP server, test one of its tools, and
deploy it when the test passes. Adding the same specification again refreshes the toolset
and keeps your edits. Files that the specification refers to are read from its folder; a
directory, zip or tar.gz is a specification in many files.

With --to the API or server becomes another connector of an existing toolset, with its
own address, credential and settings. No existing tool is renamed.

After -- comes a program that speaks MCP over stdio. The node starts it on its own
machine, one process for each session, and serves it on loopback only. Only operators
can do this, on a node that permits it (--allow-commands; sluice run on loopback does).

The tools of an MCP server are pinned: later changes of the server are shown by
sluice toolset diff and wait for sluice toolset accept.`,
		Example: `  sluice add petstore.yaml
  sluice add https://example.com/openapi.json --name shop --tools 'list_*,get_*'
  sluice add https://mcp.example.com/mcp --tools 'search_*'
  sluice add https://mcp.example.com/mcp --to shop
  sluice add -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  sluice add --auth env:GITHUB_TOKEN --api-key-file token.txt -- github-mcp-server stdio
  sluice add api.yaml --auth header:Authorization:Bearer --api-key-file key.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() == 0 && len(args) > 0 {
				return nil
			}
			return command.Exactly(1, "one specification: a file, a URL, or - for stdin; or -- and a program")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			if err := c.Connect(); err != nil {
				return err
			}
			if cmd.ArgsLenAtDash() == 0 {
				return a.addProgram(cmd.Context(), c, args, &f)
			}
			if flag := f.program.given(cmd.Flags()); flag != "" {
				return exit.Usagef("--%s belongs to a program: sluice add … -- PROGRAM ARGUMENTS", flag)
			}
			return a.add(cmd.Context(), c, args[0], &f)
		},
	}
	f.register(cmd)
	f.program.register(cmd)
	cmd.Flags().BoolVar(&f.noDeploy, "no-deploy", false, "neither test nor deploy: stay a draft")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be made and change nothing")
	cmd.Flags().StringVar(&f.test, "test", "", "tool to test with, and its arguments: TOOL or TOOL={…}")
	return cmd
}

func (a *app) add(ctx context.Context, c *client.Client, source string, f *addFlags) error {
	if source == "-" && f.auth.Stdin() {
		return exit.Usagef("the specification and the key cannot both come from stdin")
	}
	if f.to != "" && (f.slug != "" || f.selection != "" || f.useCase != "" || f.cacheSeconds != 0) {
		return exit.Usagef("--slug, --selection, --use-case and --cache are settings of a whole toolset and cannot be used with --to")
	}
	if f.mcp || looksLikeMCP(source) {
		return a.addServer(ctx, c, source, f)
	}
	spec, err := a.openForNode(ctx, source, f)
	if err != nil {
		return err
	}
	if f.dryRun && spec.URL != "" {
		// Fetched here: a node that fetches a private address has to be granted that,
		// and a dry run grants nothing.
		if err := spec.Fetch(ctx, &a.Session); err != nil {
			return err
		}
		spec.URL = ""
	}
	if f.to != "" {
		err := a.addTo(ctx, c, spec, f)
		if a.mayBeServer(ctx, c, source, spec, f, err) {
			return a.addServer(ctx, c, source, f)
		}
		return err
	}
	made, err := a.fromSource(ctx, c, spec, f)
	if a.mayBeServer(ctx, c, source, spec, f, err) {
		return a.addServer(ctx, c, source, f)
	}
	if err != nil || made == nil {
		return err
	}
	return a.showMade(made, f)
}

// mayBeServer reports whether what is not a specification is an MCP server.
func (a *app) mayBeServer(ctx context.Context, c *client.Client, source string, spec specification.Document, f *addFlags, err error) bool {
	return err != nil && spec.URL != "" && (problem.Is(err, problem.InvalidSpec) || problem.Is(err, problem.UpstreamStatus)) && a.isServer(ctx, c, source, f)
}

// openForNode reads everything that is sent to the node.
func (a *app) openForNode(ctx context.Context, source string, f *addFlags) (specification.Document, error) {
	spec, err := specification.Open(&a.Session, source, f.main)
	if err != nil {
		return spec, err
	}
	if err := spec.AddOverlays(ctx, &a.Session, f.overlays, false); err != nil {
		return spec, err
	}
	spec.Gather(ctx, &a.Session)
	return spec, nil
}

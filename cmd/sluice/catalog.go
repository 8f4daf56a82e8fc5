package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/cmd/internal/catalogcmd"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/specification"
	"github.com/sluicegate/sluice/cmd/internal/upstreamauth"
	"github.com/sluicegate/sluice/internal/problem"
	entries "github.com/sluicegate/sluice/plugins/catalog"
)

func (a *app) catalogAdd() *cobra.Command {
	f := addFlags{profileGiven: func() bool { return false }}
	var from catalog.EntryChoice
	cmd := &cobra.Command{
		Use: "add ENTRY", Short: "Create a toolset from a pre-built connector", Args: command.Exactly(1, "one entry of the catalog"),
		Long: `Create a toolset from an entry of the catalog, test one of its tools, and deploy it when
the test passes. The vendor's document is read now; operations that the entry names and
the vendor no longer has are listed, and nothing is created unless you add --partial.

A key is taken from --api-key-file or --api-key-env and sent as the entry says; --auth
says it otherwise. At an MCP server whose entry names a login, you log in.`,
		Example: `  sluice catalog add github --api-key-file token.txt
  sluice catalog add github --use-case triage --read-only --api-key-env GITHUB_TOKEN
  sluice catalog add jira --base-url https://acme.atlassian.net --auth basic:me@acme.example --api-key-file key.txt
  sluice catalog add dnsimple --value account=1010 --api-key-file key.txt
  sluice catalog add linear`,
		RunE: func(cmd *cobra.Command, args []string) error {
			from.Entry = args[0]
			f.entry = &from
			c := a.Client()
			if err := c.Connect(); err != nil {
				return err
			}
			return a.addEntry(cmd.Context(), c, &f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&from.UseCase, "use-case", "", "only the tools of this use case of the entry (default: all of the entry)")
	fs.BoolVar(&from.ReadOnly, "read-only", false, "only tools that read")
	fs.StringToStringVar(&from.Values, "value", nil, "value of an argument that the entry asks for, the same for all calls and not shown to the model: `NAME=TEXT`, again for each")
	fs.StringVar(&from.URL, "url", "", "read the vendor's document here instead, as from a mirror; of an MCP server, its address")
	fs.BoolVar(&from.Bare, "no-workflows", false, "leave out the workflows of the entry")
	fs.BoolVar(&from.Partial, "partial", false, "leave out tools whose operations the vendor no longer has")
	fs.StringSliceVar(&f.tools, "tools", nil, "names or globs of tools of the entry, !NAME leaves out (default all)")
	fs.StringVar(&f.name, "name", "", "name of the toolset (default: name of the entry)")
	fs.StringVar(&f.slug, "slug", "", "last part of the toolset URL (default: id of the entry)")
	fs.StringVar(&f.baseURL, "base-url", "", "where calls are sent (default: as the entry says)")
	fs.StringVar(&f.to, "to", "", "add to this `TOOLSET` instead of making one; --name is then the connector's name in it")
	fs.BoolVar(&f.public, "public", false, "a new toolset is open to everybody who reaches the gateway (default: only on loopback, else an access token is made)")
	fs.BoolVar(&f.noDeploy, "no-deploy", false, "neither test nor deploy: stay a draft")
	fs.BoolVar(&f.dryRun, "dry-run", false, "show what would be made and change nothing")
	fs.StringVar(&f.test, "test", "", "tool to test with, and its arguments: TOOL or TOOL={…}")
	f.auth.Register(cmd)
	return cmd
}

// addEntry makes a toolset of an entry of the catalog.
func (a *app) addEntry(ctx context.Context, c *client.Client, f *addFlags) error {
	if f.to != "" && f.slug != "" {
		return exit.Usagef("--slug names a whole toolset and cannot be used with --to")
	}
	var e catalog.EntryDetail
	if err := c.Get(ctx, catalogcmd.EntryPath(f.entry.Entry), &e); err != nil {
		return err
	}
	spec := specification.Document{Name: e.ID, URL: e.URL()}
	if f.entry.URL != "" {
		spec.URL = f.entry.URL
	}
	if err := a.preset(&e, f); err != nil {
		return err
	}
	if f.auth.LogsIn() && !f.dryRun {
		var err error
		if f.login, err = upstreamauth.LogIn(ctx, &a.Session, c, spec.URL, &f.auth); err != nil {
			return err
		}
	}
	if f.to != "" {
		if f.name == "" {
			f.name = e.ID
		}
		return a.addTo(ctx, c, spec, f)
	}
	made, err := a.fromSource(ctx, c, spec, f)
	if err != nil || made == nil {
		return err
	}
	return a.showMade(made, f)
}

// preset gives the flags of authentication what the entry says, unless --auth does.
func (a *app) preset(e *catalog.EntryDetail, f *addFlags) error {
	if len(f.auth.Specs) > 0 || len(e.Authentication) == 0 {
		return nil
	}
	best := &e.Authentication[0]
	if f.auth.Given() {
		for i := range e.Authentication {
			if e.Authentication[i].Settings.AuthType != "oauth" {
				best = &e.Authentication[i]
				break
			}
		}
		spec, err := authSpec(e, &best.Settings)
		if err != nil {
			return err
		}
		f.auth.Specs, f.scheme = []string{spec}, best.Settings.Scheme
		return nil
	}
	if best.Settings.AuthType == "oauth" {
		if a.NoInput {
			a.Say("! %s wants %s: log in by adding it without --no-input", e.Name, strings.TrimSuffix(best.Key, "."))
		} else {
			f.auth.Specs = []string{"oauth"}
		}
		return nil
	}
	where := ""
	if best.KeyURL != "" {
		where = ", made at " + best.KeyURL
	}
	a.Say("! %s wants %s%s: add it with --api-key-file FILE", e.Name, strings.TrimSuffix(best.Key, "."), where)
	return nil
}

// authSpec is the value of --auth for a preset of an entry.
func authSpec(e *catalog.EntryDetail, s *entries.EntrySettings) (string, error) {
	switch s.AuthType {
	case "header":
		if s.HeaderPrefix != "" {
			return "header:" + s.HeaderName + ":" + strings.TrimSuffix(s.HeaderPrefix, " "), nil
		}
		return "header:" + s.HeaderName, nil
	case "query":
		return "query:" + s.ParameterName, nil
	case "cookie":
		return "cookie:" + s.CookieName, nil
	case "body":
		return "body:" + s.MemberName, nil
	case "basic":
		if s.Username == "" {
			return "", problem.New(problem.InvalidArgument, "%s wants a user name with the key", e.Name).Fix("add --auth basic:USER")
		}
		return "basic:" + s.Username, nil
	}
	return s.AuthType, nil
}

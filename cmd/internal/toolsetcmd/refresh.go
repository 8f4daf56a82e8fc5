package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/plugins/connector"
)

func refreshCommand(cli *command.Session) *cobra.Command {
	var in change.RefreshRequest
	var reason string
	var keep bool
	cmd := &cobra.Command{
		Use: "refresh TOOLSET", Short: "Read the specification again and show what changed", Args: command.Exactly(1, "one toolset"),
		Long: `Fetch the specification of a toolset from its URL again, apply its overlays, and say
what changed, tool by tool: breaking, safe, or only wording. Names, descriptions and
disabled tools stay. Changes that break nothing are tested and deployed when the toolset is
live; breaking changes wait in the draft, unless --accept-breaking. A new address of the API
waits, though it is accepted, until its credential may be sent there (sluice toolset origins).

Of an MCP server the tools are read again. What it changed waits outside the draft
until --accept, unless the toolset's policy is another (sluice toolset upstream).`,
		Example: "  sluice toolset refresh shop --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason != "" {
				in.Deploy = &change.CreateDeploy{UntestedReason: reason}
			}
			if keep {
				in.Deploy = &change.CreateDeploy{Skip: true}
			}
			return refresh(cmd.Context(), cli, args[0], &in)
		},
	}
	ConnectorFlag(cmd, &in.Connector)
	cmd.Flags().BoolVar(&in.DryRun, "dry-run", false, "show what would change and change nothing")
	cmd.Flags().BoolVar(&in.Force, "force", false, "read it even when the server reports it as unchanged")
	cmd.Flags().BoolVar(&in.Hold, "hold", false, "breaking changes wait outside of the draft, as on a schedule (sluice toolset accept)")
	cmd.Flags().BoolVar(&in.AcceptBreaking, "accept-breaking", false, "test and deploy breaking changes too")
	cmd.Flags().BoolVar(&in.Accept, "accept", false, "take over what the MCP server changed, though its tools are pinned")
	cmd.Flags().StringVar(&reason, "reason", "", "deploy with this reason when nothing can be tested")
	cmd.Flags().BoolVar(&keep, "keep-draft", false, "neither test nor deploy: the new version stays in the draft, to roll it out (sluice toolset rollout)")
	cmd.MarkFlagsMutuallyExclusive("reason", "keep-draft")
	return cmd
}

func refresh(ctx context.Context, cli *command.Session, name string, in *change.RefreshRequest) error {
	c := cli.Client()
	t, etag, err := c.Toolset(ctx, name)
	if err != nil {
		return err
	}
	if in.Connector != "" || len(t.Connectors) == 1 {
		return refreshOne(ctx, cli, t, etag, in, "")
	}
	for i := range t.Connectors { // an uploaded document cannot be read again
		if one := &t.Connectors[i]; one.Source.URL != "" {
			next := *in
			next.Connector = one.Name
			if _, etag, err = c.Toolset(ctx, t.ID); err != nil { // the refresh before changed it
				return err
			}
			if err := refreshOne(ctx, cli, t, etag, &next, one.Name+": "); err != nil {
				return err
			}
		}
	}
	return nil
}

// refreshOne refreshes one connector of a toolset that has the ETag; title goes before
// what is printed.
func refreshOne(ctx context.Context, cli *command.Session, t *view.ToolsetDetail, etag string, in *change.RefreshRequest, title string) error {
	of := ""
	if in.Connector != "" {
		of = " --connector " + in.Connector
	}
	return command.Show(ctx, cli, client.Call{Method: http.MethodPost, Path: client.ToolsetPath(t, "refresh"), In: in, IfMatch: etag, Wait: true}, func(w io.Writer, out *change.Refreshed) {
		fmt.Fprint(w, title)
		if out.Changes == nil {
			fmt.Fprintf(w, "✓ %s is unchanged\n", t.Slug)
			return
		}
		printChanges(w, t.Slug, out.Changes)
		switch {
		case out.DryRun:
			fmt.Fprintln(w, "Nothing was changed.")
		case out.Deployed:
			printLive(w, &out.Toolset)
		case out.Changes.Waits:
			fmt.Fprintf(w, "! %s keeps its present tools; the change is pending\n  next   sluice toolset accept %s%s\n", t.Slug, t.Slug, of)
		case out.Waiting == "":
			fmt.Fprintf(w, "✓ the draft of %s is identical to the live revision\n", t.Slug)
		default:
			printWaiting(w, t.Slug, out)
			if in.Deploy != nil && in.Deploy.Skip && out.Toolset.Revision > 0 {
				fmt.Fprintf(w, "  or     sluice toolset rollout start %s --canary 10%%   or: --shadow\n", t.Slug)
			}
		}
	})
}

// printWaiting says that a new version is in the draft, and why it is not live.
func printWaiting(w io.Writer, slug string, out *change.Refreshed) {
	fmt.Fprintf(w, "✓ the draft of %[1]s has the new version; it waits: %[2]s\n  next   sluice toolset test %[1]s   or: sluice toolset deploy %[1]s --reason TEXT\n",
		slug, terminal.Printable(out.Waiting))
}

func diffCommand(cli *command.Session) *cobra.Command {
	var upstream bool
	var connector string
	cmd := &cobra.Command{
		Use: "diff TOOLSET", Short: "Show what new versions of the specification changed", Args: command.Exactly(1, "one toolset"),
		Long: "Show what the last refresh changed; with --upstream, what a refresh would change now.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if upstream {
				return refresh(cmd.Context(), cli, args[0], &change.RefreshRequest{DryRun: true, Force: true, Connector: connector})
			}
			c, t, _, err := cli.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var page admin.List[difference.Changes]
			if err := c.Get(cmd.Context(), client.ToolsetPath(t, "changes")+"?limit=1&connector="+url.QueryEscape(connector), &page); err != nil {
				return err
			}
			if len(page.Items) == 0 {
				return cli.Object(struct{}{}, func(w io.Writer) { fmt.Fprintf(w, "%s was never changed by a new version\n", t.Slug) })
			}
			return cli.Object(page.Items[0], func(w io.Writer) {
				printChanges(w, t.Slug, &page.Items[0])
				fmt.Fprintf(w, "Read %s by %s.\n", terminal.Ago(page.Items[0].At, time.Now()), page.Items[0].Actor)
			})
		},
	}
	ConnectorFlag(cmd, &connector)
	cmd.Flags().BoolVar(&upstream, "upstream", false, "compare with the current specification at its URL")
	return cmd
}

// printText prints a text that changed, line by line after its sign.
func printText(w io.Writer, sign, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(w, "      %s %s\n", sign, terminal.Printable(strings.TrimRight(line, "\r\n")))
	}
}

// printChanges lists what a new version changed, the gravest first.
func printChanges(w io.Writer, slug string, c *difference.Changes) {
	from, to := c.From.Version, c.To.Version
	if from == to && c.Entry == nil {
		from, to = from+" "+terminal.ShortDigest(c.From.Digest), to+" "+terminal.ShortDigest(c.To.Digest)
	}
	fmt.Fprintf(w, "%s → %s: %s added, %s removed, %s changed; %s breaking, %s safe, %s wording\n", from, to,
		terminal.Thousands(c.Added), terminal.Thousands(c.Removed), terminal.Thousands(c.Changed), terminal.Thousands(c.Breaking), terminal.Thousands(c.Safe), terminal.Thousands(c.Wording))
	printMoved(w, slug, c.Origins)
	if c.Entry != nil {
		printEntry(w, slug, c.Entry)
	}
	sign := map[string]string{connector.ToolAdded: "+", connector.ToolRemoved: "-", connector.ToolChanged: "~"}
	for _, impact := range []connector.Impact{connector.ImpactBreaking, connector.ImpactSafe, connector.ImpactWording} {
		for i := range c.Tools {
			t := &c.Tools[i]
			if t.Impact != impact {
				continue
			}
			fmt.Fprintf(w, "%s %-8s %-40s %s %s\n", sign[t.Kind], t.Impact, t.Tool, t.Method, terminal.Printable(t.Path))
			for _, d := range t.Details {
				fmt.Fprintf(w, "    %-8s %s: %s\n", d.Impact, terminal.Printable(d.Where), terminal.Printable(strings.TrimSpace(d.What)))
				if d.Old != d.New {
					printText(w, "-", d.Old)
					printText(w, "+", d.New)
				}
			}
		}
	}
	for _, x := range c.Workflows {
		what := map[string]string{
			workflow.Waits: "waits: it is not served without %s", workflow.Breaking: "is served, and %s changed in a breaking way", workflow.Serves: "is served again, if it waited for %s alone",
		}[x.Effect]
		fmt.Fprintf(w, "! %s "+what+"\n", x.Name, terminal.Printable(strings.Join(x.Operations, ", ")))
	}
	for _, k := range c.Kept {
		fmt.Fprintf(w, "  %s %s keeps the name %s\n", k.Operation.Method, terminal.Printable(k.Operation.Path), k.Name)
	}
}

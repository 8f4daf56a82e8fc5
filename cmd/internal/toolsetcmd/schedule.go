package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

// schedule reads how often a connector's specification is read again, and what waits.
func schedule(ctx context.Context, cli *command.Session, c *client.Client, t *admin.ToolsetDetail, connector string) (admin.Schedule, error) {
	var out admin.Schedule
	err := c.Get(ctx, client.ToolsetPath(t, "schedule")+"?connector="+url.QueryEscape(connector), &out)
	return out, err
}

func printSchedule(cli *command.Session, t *admin.ToolsetDetail, s *admin.Schedule) error {
	return cli.Object(s, func(w io.Writer) {
		every := "only when it is asked for"
		if s.EverySeconds > 0 {
			every = "every " + (time.Duration(s.EverySeconds) * time.Second).String()
		}
		fmt.Fprintf(w, "%s (%s) is read again %s", t.Slug, s.Connector, every)
		if s.CheckedAt != nil {
			fmt.Fprintf(w, ", last %s", terminal.Ago(*s.CheckedAt, time.Now()))
		}
		fmt.Fprintln(w)
		if s.Fault != "" {
			fmt.Fprintf(w, "! it could not be read, %s in a row: %s\n", terminal.Plural(int(s.Failures), "time"), terminal.Printable(s.Fault))
		}
		if s.Waiting != nil {
			fmt.Fprintf(w, "! a change waits: sluice toolset accept %s\n", t.Slug)
		}
	})
}

func toolsetSchedule(cli *command.Session) *cobra.Command {
	var connector string
	cmd := &cobra.Command{
		Use: "schedule TOOLSET [DURATION|off]", Short: "Show or set how often the specification is read again by itself", Args: command.Between(1, 2, "a toolset and a duration"),
		Long: `Show or set how often the specification of a toolset is read again from its URL, from 5m
to 720h. Changes that break nothing are tested and deployed when the test passes. Breaking
ones wait until they are accepted, and so does everything while the draft has changes that
are not live. A specification that cannot be read changes nothing.`,
		Example: "  sluice toolset schedule shop 6h\n  sluice toolset accept shop",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, etag, err := cli.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if len(args) == 1 {
				s, err := schedule(cmd.Context(), cli, c, t, connector)
				if err != nil {
					return err
				}
				return printSchedule(cli, t, &s)
			}
			every := time.Duration(0)
			if args[1] != "off" {
				if every, err = time.ParseDuration(args[1]); err != nil || every < time.Second {
					return exit.Usagef("%s is not a duration such as 6h; off ends a schedule", terminal.Printable(args[1]))
				}
			}
			var out admin.Schedule
			in := admin.Schedule{Connector: connector, EverySeconds: int64(every / time.Second)}
			if err := c.Put(cmd.Context(), client.ToolsetPath(t, "schedule"), in, &out, client.IfMatch(etag)); err != nil {
				return err
			}
			return printSchedule(cli, t, &out)
		},
	}
	ConnectorFlag(cmd, &connector)
	return cmd
}

func toolsetAccept(cli *command.Session) *cobra.Command {
	var connector, reason string
	cmd := &cobra.Command{
		Use: "accept TOOLSET", Short: "Accept a change of the specification or MCP server that waits", Args: command.Exactly(1, "one toolset"),
		Long: `Show the change that waits, ask, and take over exactly that: the new version is tested and
deployed when the test passes. When the source has changed again since, nothing happens.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, _, err := cli.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			s, err := schedule(cmd.Context(), cli, c, t, connector)
			if err != nil {
				return err
			}
			if s.Waiting == nil {
				return problem.New(problem.Conflict, "no change of %s waits to be accepted", t.Slug).Fix("see what there is: sluice toolset diff %s --upstream", t.Slug)
			}
			if !cli.Quiet {
				printChanges(cli.Err, t.Slug, s.Waiting)
			}
			if err := cli.Confirm("Accept this?"); err != nil {
				return err
			}
			in := admin.AcceptChange{}
			if reason != "" {
				in.Deploy = &admin.CreateDeploy{UntestedReason: reason}
			}
			var out admin.Refreshed
			if err := c.Post(cmd.Context(), client.ToolsetPath(t, "changes", s.Waiting.ID, "accept"), in, &out, client.Wait); err != nil {
				return err
			}
			return cli.Object(out, func(w io.Writer) {
				if out.Deployed {
					fmt.Fprintf(w, "✓ %s revision %d is live: %s\n", t.Slug, out.Toolset.Revision, out.Toolset.URL)
					return
				}
				fmt.Fprintf(w, "✓ the draft of %s has the new version; it waits: %s\n  next   sluice toolset test %s   or: sluice toolset deploy %s --reason TEXT\n",
					t.Slug, terminal.Printable(out.Waiting), t.Slug, t.Slug)
			})
		},
	}
	ConnectorFlag(cmd, &connector)
	cmd.Flags().StringVar(&reason, "reason", "", "deploy with this reason when nothing can be tested")
	return cmd
}

package toolsetcmd

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

func (e *edit) schedulePath(connector string) string {
	return e.path("schedule") + "?connector=" + url.QueryEscape(connector)
}

func (e *edit) printSchedule(w io.Writer, s *change.Schedule) {
	every := "only when it is asked for"
	if s.EverySeconds > 0 {
		every = "every " + (time.Duration(s.EverySeconds) * time.Second).String()
	}
	fmt.Fprintf(w, "%s (%s) is read again %s", e.t.Slug, s.Connector, every)
	if s.CheckedAt != nil {
		fmt.Fprintf(w, ", last %s", terminal.Ago(*s.CheckedAt, time.Now()))
	}
	fmt.Fprintln(w)
	if s.Fault != "" {
		fmt.Fprintf(w, "! it could not be read, %s in a row: %s\n", terminal.Plural(int(s.Failures), "time"), terminal.Printable(s.Fault))
	}
	if s.Waiting != nil {
		fmt.Fprintf(w, "! a change waits: sluice toolset accept %s\n", e.t.Slug)
	}
}

func scheduleCommand(cli *command.Session) *cobra.Command {
	var connector string
	cmd := &cobra.Command{
		Use: "schedule TOOLSET [DURATION|off]", Short: "Show or set the refresh schedule of the specification", Args: command.Between(1, 2, "a toolset and a duration"),
		Long: `Show or set how often the specification of a toolset is read again from its URL, from 5m
to 720h. Changes that break nothing are tested and deployed when the test passes. Breaking
ones wait until they are accepted, and so does everything while the draft has changes that
are not live. A specification that cannot be read changes nothing.`,
		Example: "  sluice toolset schedule shop 6h\n  sluice toolset accept shop",
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			if len(args) == 1 {
				return command.Get(cmd.Context(), e.Session, e.schedulePath(connector), e.printSchedule)
			}
			every := time.Duration(0)
			if args[1] != "off" {
				var err error
				if every, err = time.ParseDuration(args[1]); err != nil || every < time.Second {
					return exit.Usagef("%s is not a duration such as 6h; off ends a schedule", terminal.Printable(args[1]))
				}
			}
			in := change.Schedule{Connector: connector, EverySeconds: int64(every / time.Second)}
			return command.Show(cmd.Context(), e.Session, client.Call{Method: http.MethodPut, Path: e.path("schedule"), In: in, IfMatch: e.etag}, e.printSchedule)
		}),
	}
	ConnectorFlag(cmd, &connector)
	return cmd
}

func acceptCommand(cli *command.Session) *cobra.Command {
	var connector, reason string
	cmd := &cobra.Command{
		Use: "accept TOOLSET", Short: "Accept a pending change of the specification or MCP server", Args: command.Exactly(1, "one toolset"),
		Long: `Show the change that waits, ask, and take over exactly that: the new version is tested and
deployed when the test passes. When the source has changed again since, nothing happens.`,
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			var s change.Schedule
			if err := e.Client().Get(cmd.Context(), e.schedulePath(connector), &s); err != nil {
				return err
			}
			if s.Waiting == nil {
				return problem.New(problem.Conflict, "no change of %s waits to be accepted", e.t.Slug).Fix("see what there is: sluice toolset diff %s --upstream", e.t.Slug)
			}
			if !e.Quiet {
				printChanges(e.Err, e.t.Slug, s.Waiting)
			}
			if err := e.Confirm(cmd.Context(), "Accept this?"); err != nil {
				return err
			}
			in := change.AcceptChange{}
			if reason != "" {
				in.Deploy = &change.CreateDeploy{UntestedReason: reason}
			}
			return command.Show(cmd.Context(), e.Session, client.Call{Method: http.MethodPost, Path: e.path("changes", s.Waiting.ID, "accept"), In: in, IfMatch: e.etag, Wait: true}, func(w io.Writer, out *change.Refreshed) {
				if out.Deployed {
					printLive(w, &out.Toolset)
				} else {
					printWaiting(w, e.t.Slug, out)
				}
			})
		}),
	}
	ConnectorFlag(cmd, &connector)
	cmd.Flags().StringVar(&reason, "reason", "", "deploy with this reason when nothing can be tested")
	return cmd
}

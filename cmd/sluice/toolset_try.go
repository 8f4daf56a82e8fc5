package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/callcmd"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/cmd/internal/toolsetcmd"
	"github.com/sluicegate/sluice/cmd/internal/upstreamauth"
	"github.com/sluicegate/sluice/plugins/engine"
)

func (a *app) toolsetTest() *cobra.Command {
	var arguments string
	var keep, show bool
	var connector string
	cmd := &cobra.Command{
		Use:   "test TOOLSET [TOOL] [k=v …]",
		Short: "Test one tool of the draft; a passed test deploys it",
		Long: `Call one tool of the draft. Without TOOL it is the first safe operation that needs
no arguments, else one whose arguments have examples. A test passes when the
upstream answers 2xx with something that can be read; then the tested draft is
deployed.`,
		Args: command.Between(1, -1, "a toolset, a tool and its arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, etag, err := a.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			in := rollout.TestRequest{KeepDraft: keep, Connector: connector}
			if len(args) > 1 {
				in.Tool = args[1]
				var known toolset.Tool
				if err := c.Get(cmd.Context(), client.ToolsetPath(t, "tools", args[1]), &known); err != nil {
					return err
				}
				given, err := callcmd.Arguments(&a.Session, args[2:], arguments, "", known.InputSchema)
				if err != nil {
					return err
				}
				in.Arguments = map[string]any{}
				for name, v := range given {
					in.Arguments[name] = v
				}
			}
			var out admin.TestAnswer
			if err := c.Post(cmd.Context(), client.ToolsetPath(t, "test"), in, &out, client.IfMatch(etag), client.Wait); err != nil {
				return err
			}
			if err := a.Object(out, func(w io.Writer) { a.printTest(w, t.Slug, &out, show) }); err != nil {
				return err
			}
			if !out.Passed {
				a.sayRefused(cmd.Context(), c, t, &out)
				return exit.SilentError(exit.Failed)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&arguments, "args", "", "arguments as a JSON object")
	toolsetcmd.ConnectorFlag(cmd, &connector)
	cmd.Flags().BoolVar(&keep, "keep-draft", false, "do not deploy when it passes")
	cmd.Flags().BoolVar(&show, "show", false, "show the answer")
	return cmd
}

// workflowTest is toolsetTest for a workflow: the same test of a tool that is named.
func (a *app) workflowTest() *cobra.Command {
	cmd := a.toolsetTest()
	cmd.Use = "test TOOLSET NAME [k=v …]"
	cmd.Short = "Run a workflow of the draft; a passed test deploys it"
	cmd.Long = `Run a workflow of the draft with these arguments. The test passes when the workflow
ends as its success criteria say, with outputs; then the tested draft is deployed.
Its steps are made: those that change data change it.`
	cmd.Example = "  sluice toolset workflow test shop order id=7 --show"
	cmd.Args = command.Between(2, -1, "a toolset, a workflow and its arguments")
	_ = cmd.Flags().MarkHidden("connector") // workflows have none
	return cmd
}

// sayUnmatched warns of names in a mask that the answer does not have.
func sayUnmatched(w io.Writer, tool string, names []engine.Unmatched) {
	for _, n := range names {
		hint := ""
		if n.Nearest != "" {
			hint = "; it has " + terminal.Printable(n.Nearest)
		}
		fmt.Fprintf(w, "! %s: the mask names %s, which this answer has nowhere%s\n", tool, terminal.Printable(n.Path), hint)
	}
}

// sayRefused names the command that replaces the credential which the API refused.
func (a *app) sayRefused(ctx context.Context, c *client.Client, t *view.ToolsetDetail, out *admin.TestAnswer) {
	tool, status := out.Tool, out.UpstreamStatus
	for _, more := range out.More {
		if !refused(status) && !more.Passed {
			tool, status = more.Tool, more.UpstreamStatus
		}
	}
	if !refused(status) {
		return
	}
	if command := mend(ctx, c, t, tool); command != "" {
		a.Say("  next   %s", command)
	}
}

// mend is the command that replaces the credential, or sets the one, with which a tool is
// called; "" where nothing says what that is.
func mend(ctx context.Context, c *client.Client, t *view.ToolsetDetail, tool string) string {
	var known toolset.Tool
	if c.Get(ctx, client.ToolsetPath(t, "tools", tool), &known) != nil {
		return "" // it was renamed or removed since
	}
	return upstreamauth.Mend(&t.Toolset, known.Operation.Connector)
}

func (a *app) printTest(w io.Writer, slug string, t *admin.TestAnswer, show bool) {
	switch {
	case t.Passed && t.NoTest:
		fmt.Fprintf(w, "✓ %s   no API was called, so this is not a test of the draft · %s · %s\n", t.Tool, terminal.Seconds(t.DurationSeconds), terminal.TokenLine(t.Tokens.Received, t.Tokens.Result))
	case t.Passed, len(t.More) > 0: // the first one passed
		fmt.Fprintf(w, "✓ %s   HTTP %d · %s (upstream %s) · %s\n", t.Tool, t.UpstreamStatus, terminal.Seconds(t.DurationSeconds), terminal.Seconds(t.UpstreamSeconds),
			terminal.TokenLine(t.Tokens.Received, t.Tokens.Result))
	case t.Possible:
		fmt.Fprintf(w, "✗ %s   %s\n", t.Tool, terminal.Printable(t.Reason))
	default:
		fmt.Fprintf(w, "✗ nothing can be tested: %s\n  next   sluice toolset test %s TOOL k=v   or: sluice toolset deploy %s --reason TEXT\n", terminal.Printable(t.Reason), slug, slug)
	}
	for _, m := range t.More {
		if !m.Passed {
			fmt.Fprintf(w, "✗ %s   %s\n", m.Tool, terminal.Printable(m.Reason))
			continue
		}
		fmt.Fprintf(w, "✓ %s   HTTP %d · %s · %s\n", m.Tool, m.UpstreamStatus, terminal.Seconds(m.DurationSeconds), terminal.TokenLine(m.Tokens.Received, m.Tokens.Result))
	}
	sayUnmatched(w, t.Tool, t.Unmatched)
	for _, m := range t.More {
		sayUnmatched(w, m.Tool, m.Unmatched)
	}
	if len(t.Untested) > 0 {
		fmt.Fprintf(w, "! changed, not tested: %s\n  next   sluice toolset test %s %s k=v\n", strings.Join(t.Untested, ", "), slug, t.Untested[0])
	}
	if show && t.Answer != "" {
		fmt.Fprintln(w, terminal.SafeText(t.Answer))
	}
	switch {
	case t.Deployed && t.Toolset.Paused != nil:
		fmt.Fprintf(w, "✓ %s is deployed, and paused\n  next   sluice toolset resume %[1]s\n", t.Toolset.Slug)
	case t.Deployed:
		fmt.Fprintf(w, "✓ %s is live: %s\n", t.Toolset.Slug, t.Toolset.URL)
	}
}

package workflowcmd

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/cmd/internal/callcmd"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

func run(s *command.Session) *cobra.Command {
	var dryRun bool
	var arguments string
	cmd := &cobra.Command{
		Use: "run TOOLSET NAME [KEY=VALUE …]", Short: "Run a workflow of the draft, without deploying it", Args: command.Between(2, -1, "a toolset, a workflow and its arguments"),
		Example: "  sluice toolset workflow run shop order_item id=3\n  sluice toolset workflow run shop order_item id=3 --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, _, err := s.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var known workflow.ToolsetWorkflow
			if err := c.Get(cmd.Context(), client.ToolsetPath(t, "workflows", args[1]), &known); err != nil {
				return err
			}
			given, err := callcmd.Arguments(s, args[2:], arguments, "", known.Inputs)
			if err != nil {
				return err
			}
			var out rollout.WorkflowRun
			in := rollout.RunWorkflow{Arguments: map[string]any{}, DryRun: dryRun}
			for name, v := range given {
				in.Arguments[name] = v
			}
			if _, err := c.Do(cmd.Context(), client.Call{Method: http.MethodPost, Path: client.ToolsetPath(t, "workflows", args[1], "run"), In: in, Out: &out}); err != nil {
				return err
			}
			if err := s.Object(out, func(w io.Writer) { writeRun(w, &out) }); err != nil {
				return err
			}
			if out.IsError {
				return exit.SilentError(exit.ToolError)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&arguments, "args", "", "arguments as a JSON object")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "call nothing: draw the plan, and check the arguments")
	return cmd
}

func writeRun(w io.Writer, r *rollout.WorkflowRun) {
	if !r.Ran {
		for line := range strings.Lines(r.Plan) {
			fmt.Fprintln(w, terminal.Printable(strings.TrimSuffix(line, "\n")))
		}
		fmt.Fprintln(w, "Nothing was called.")
		return
	}
	fmt.Fprintln(w, terminal.Printable(r.Answer))
	for _, c := range r.Calls {
		fmt.Fprintf(w, "  %9.3f ms  +%.3f ms  %s  HTTP %d, %s, tokens %s → %s\n", c.StartMs, c.Ms, terminal.Printable(c.Tool), c.Status, c.Outcome, terminal.Thousands(c.TokensIn), terminal.Thousands(c.Tokens))
	}
}

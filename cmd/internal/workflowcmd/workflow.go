package workflowcmd

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/arazzo"
)

// Command is "sluice toolset workflow" with more commands below it.
func Command(s *command.Session, more ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: "workflow", Aliases: []string{"workflows"}, Short: "Create tools from Arazzo documents",
		Long: "A workflow is a tool whose calls an Arazzo 1.0 or 1.1 document describes: agents make one call for all its steps.",
	}
	o := offered[workflow.ToolsetWorkflow]{
		Session: s, word: "workflow", path: "workflows", empty: "There are no workflows yet. Make one: sluice toolset workflow add %s FILE",
		name: func(x workflow.ToolsetWorkflow) string { return x.Name },
		columns: []terminal.Column[workflow.ToolsetWorkflow]{
			{Header: "name", Value: func(x workflow.ToolsetWorkflow) string { return x.Name }},
			{Header: "state", Value: func(x workflow.ToolsetWorkflow) string { return x.State }},
			{Header: "steps", Value: func(x workflow.ToolsetWorkflow) string { return fmt.Sprint(x.Steps) }},
			{Header: "description", Value: func(x workflow.ToolsetWorkflow) string { return terminal.FirstSentence(x.Description) }},
		},
		write: write,
	}
	cmd.AddCommand(add(s), o.list("List the workflows of a toolset"), o.show("Show how a workflow is run"), run(s), o.remove("Remove a workflow"))
	cmd.AddCommand(more...)
	return cmd
}

func add(s *command.Session) *cobra.Command {
	var only []string
	var dryRun bool
	cmd := &cobra.Command{
		Use: "add TOOLSET FILE", Short: "Make a tool of each workflow of a document", Args: command.Exactly(2, "a toolset and a document"),
		Example: "  sluice toolset workflow add shop order.arazzo.yaml\n  sluice toolset workflow add shop order.arazzo.yaml --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readFile(args[1], arazzo.MaxDocument)
			if err != nil {
				return err
			}
			c, t, etag, err := s.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var out admin.List[workflow.ToolsetWorkflow]
			in := draft.AddWorkflows{Document: text, FileName: args[1], Workflows: only, DryRun: dryRun}
			if _, err := c.Do(cmd.Context(), client.Call{Method: http.MethodPost, Path: client.ToolsetPath(t, "workflows"), In: in, Out: &out, IfMatch: etag}); err != nil {
				return inFile(args[1], err)
			}
			return s.Object(out, func(w io.Writer) {
				// Control planes before 0.3 mark none.
				marked := slices.ContainsFunc(out.Items, func(x workflow.ToolsetWorkflow) bool { return x.Added })
				for i := range out.Items {
					if out.Items[i].Added || !marked {
						write(w, &out.Items[i])
					}
				}
				if dryRun {
					fmt.Fprintln(w, "Nothing was changed.")
				} else {
					fmt.Fprintf(w, "Deploy it: sluice toolset test %s\n", t.Slug)
				}
			})
		},
	}
	cmd.Flags().StringSliceVar(&only, "only", nil, "only the workflows with these ids")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "check the document and draw its plans, and change nothing")
	return cmd
}

// inFile names the document in a fault of it.
func inFile(name string, err error) error {
	if p := problem.As(err); p != nil && p.Place.File == "" && slices.Contains([]problem.Kind{problem.InvalidArgument, problem.Unsupported, problem.TooLarge}, p.Kind) {
		p.Place.File = name
	}
	return err
}

func write(w io.Writer, x *workflow.ToolsetWorkflow) {
	fmt.Fprintf(w, "%s  %s\n", x.Name, x.State)
	for _, m := range x.Missing {
		fmt.Fprintf(w, "   waits for %s\n", terminal.Printable(m))
	}
	for line := range strings.Lines(x.Plan) {
		fmt.Fprintln(w, terminal.Printable(strings.TrimSuffix(line, "\n")))
	}
}

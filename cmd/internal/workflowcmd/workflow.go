package workflowcmd

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/workflow"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/arazzo"
)

// Command is "sluice toolset workflow" with more commands below it.
func Command(s *command.Session, more ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: "workflow", Aliases: []string{"workflows"}, Short: "Make tools of Arazzo documents",
		Long: "A workflow is a tool whose calls an Arazzo 1.0 or 1.1 document describes: agents make one call for all its steps.",
	}
	cmd.AddCommand(add(s), list(s), show(s), run(s), remove(s))
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
			text, err := readDocument(args[1])
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
				for i := range out.Items {
					write(w, &out.Items[i])
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

func readDocument(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", exit.Usagef("cannot read the document: %v", err)
	case info.Mode()&fs.ModeType != 0:
		return "", exit.Usagef("%s is no file", name)
	case info.Size() > arazzo.MaxDocument:
		return "", exit.Usagef("%s has %d bytes, at most %d", name, info.Size(), arazzo.MaxDocument)
	}
	text, err := os.ReadFile(name)
	return string(text), err
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

func list(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "list TOOLSET", Aliases: []string{"ls"}, Short: "List the workflows of a toolset", Args: command.Exactly(1, "a toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, t, _, err := s.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			r := command.Resource[workflow.ToolsetWorkflow]{
				Empty: "There are no workflows yet. Make one: sluice toolset workflow add " + t.Slug + " FILE",
				Name:  func(x workflow.ToolsetWorkflow) string { return x.Name },
				Columns: []terminal.Column[workflow.ToolsetWorkflow]{
					{Header: "name", Value: func(x workflow.ToolsetWorkflow) string { return x.Name }},
					{Header: "state", Value: func(x workflow.ToolsetWorkflow) string { return x.State }},
					{Header: "steps", Value: func(x workflow.ToolsetWorkflow) string { return fmt.Sprint(x.Steps) }},
					{Header: "description", Value: func(x workflow.ToolsetWorkflow) string { return terminal.FirstSentence(x.Description) }},
				},
			}
			return r.Show(cmd.Context(), s, client.ToolsetPath(t, "workflows"))
		},
	}
}

func show(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "show TOOLSET NAME", Aliases: []string{"get"}, Short: "Show how a workflow is run", Args: command.Exactly(2, "a toolset and a workflow"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, t, _, err := s.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return command.Get(cmd.Context(), s, client.ToolsetPath(t, "workflows", args[1]), write)
		},
	}
}

func remove(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "remove TOOLSET NAME", Aliases: []string{"rm"}, Short: "Remove a workflow", Args: command.Exactly(2, "a toolset and a workflow"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, etag, err := s.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := s.Confirm(cmd.Context(), "Remove the workflow "+args[1]+" of "+t.Slug+"?"); err != nil {
				return err
			}
			var out admin.List[workflow.ToolsetWorkflow]
			if _, err := c.Do(cmd.Context(), client.Call{Method: http.MethodDelete, Path: client.ToolsetPath(t, "workflows", args[1]), Out: &out, IfMatch: etag}); err != nil {
				return err
			}
			return s.Object(out, func(w io.Writer) {
				fmt.Fprintf(w, "Removed %s. Deploy it: sluice toolset test %s\n", args[1], t.Slug)
			})
		},
	}
}

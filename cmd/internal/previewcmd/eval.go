package previewcmd

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/internal/selection/evaluate"
)

func (a previewer) evalCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "eval", Short: "Measure Sluice on your own data"}
	cmd.AddCommand(a.evalSelection())
	return cmd
}

func (a previewer) evalSelection() *cobra.Command {
	return &cobra.Command{
		Use:   "selection DIR",
		Short: "Measure the tool search on sets of tools and requests",
		Long: `Index the tools of every set in a folder, ask its requests, and print how often the
right tools are found. A set is a folder with tools.jsonl (id, name, description,
params, server, method, path) and queries.jsonl (id, text, relevant: ids of tools).
Figures are percent; macro is the mean over the sets.`,
		Example: "  sluice eval selection sets/\n  sluice eval selection sets/ -o json",
		Args:    command.Exactly(1, "one folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			sets, err := evaluate.Load(args[0])
			if err != nil {
				return err
			}
			scores := make(map[string]evaluate.Score, len(sets))
			for _, s := range sets {
				if err := cmd.Context().Err(); err != nil {
					return err
				}
				scores[s.Name] = evaluate.Run(s, selection.DefaultTable(), nil)
			}
			report := evaluate.Macro(scores)
			return a.Object(report, func(w io.Writer) {
				fmt.Fprintf(w, "%-30s %7s %8s %7s %8s %9s %6s %11s\n", "SET", "TOOLS", "QUERIES", "NDCG@10", "RECALL@5", "RECALL@10", "HIT@1", "COMPLETE@10")
				line := func(name string, s evaluate.Score) {
					fmt.Fprintf(w, "%-30s %7d %8d %7.1f %8.1f %9.1f %6.1f %11.1f\n", name, s.Tools, s.Queries, s.NDCG10, s.Recall5, s.Recall10, s.Hit1, s.Complete10)
				}
				for _, name := range slices.Sorted(maps.Keys(scores)) {
					line(terminal.Printable(name), scores[name])
				}
				line("macro", report.Macro)
			})
		},
	}
}

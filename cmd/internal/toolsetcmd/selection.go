package toolsetcmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// selectionFlags say which tools clients list.
type selectionFlags struct {
	selection, useCase string
	explain            bool
	learn              string // "": as it is
}

func (f *selectionFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.selection, "selection", "", "which tools clients list: all, use-case, search")
	fs.StringVar(&f.useCase, "use-case", "", "what the toolset is for, a sentence for each task: lists the tools that serve it")
	fs.BoolVar(&f.explain, "explain", false, "show which tools are listed, why, and what that costs; with --use-case nothing is changed")
	fs.StringVar(&f.learn, "learn", "", "on, off: make examples of searches that a successful call follows; only with --selection search")
	command.MustComplete(cmd, "selection", []string{"all", "use-case", "search"})
	command.MustComplete(cmd, "learn", []string{"on", "off"})
}

func (f *selectionFlags) given(fs *pflag.FlagSet) bool {
	return fs.Changed("selection") || fs.Changed("use-case") || fs.Changed("learn") || f.explain
}

func optimizeSelection(ctx context.Context, cli *command.Session, c *client.Client, t *admin.ToolsetDetail, etag string, f *selectionFlags, fs *pflag.FlagSet) error {
	var patch admin.PatchToolset
	if fs.Changed("use-case") {
		patch.UseCase = &f.useCase
		if !fs.Changed("selection") && f.useCase != "" {
			f.selection = "use-case"
		}
	}
	if f.selection != "" {
		patch.Selection = &f.selection
	}
	switch f.learn {
	case "":
	case "on", "off":
		on := f.learn == "on"
		patch.Learn = &on
	default:
		return exit.Usagef("--learn is on or off, not %s", terminal.Printable(f.learn))
	}
	if f.explain && patch.UseCase != nil {
		return previewSelection(ctx, cli, c, t, f.useCase)
	}
	if patch.UseCase != nil || patch.Selection != nil || patch.Learn != nil {
		if err := c.Patch(ctx, client.ToolsetPath(t), patch, t, client.IfMatch(etag)); err != nil {
			return err
		}
	}
	return showSelection(ctx, cli, c, t)
}

func previewSelection(ctx context.Context, cli *command.Session, c *client.Client, t *admin.ToolsetDetail, useCase string) error {
	var s admin.ToolSelection
	in := map[string]string{"useCase": useCase}
	if err := c.Post(ctx, client.ToolsetPath(t, "selection", "preview"), in, &s); err != nil {
		return err
	}
	return cli.Object(s, func(w io.Writer) {
		printSelection(cli, w, &s)
		fmt.Fprintln(w, "Nothing was changed.")
	})
}

func showSelection(ctx context.Context, cli *command.Session, c *client.Client, t *admin.ToolsetDetail) error {
	var s admin.ToolSelection
	if err := c.Get(ctx, client.ToolsetPath(t, "selection"), &s); err != nil {
		return err
	}
	return cli.Object(s, func(w io.Writer) {
		printSelection(cli, w, &s)
		if t.Changed {
			fmt.Fprintf(w, "  next   sluice toolset test %s   deploys the change\n", t.Slug)
		}
	})
}

func printSelection(cli *command.Session, w io.Writer, s *admin.ToolSelection) {
	fmt.Fprintf(w, "selection %s\n", s.Selection)
	for _, t := range s.Tools {
		why := "for: " + t.Clause
		score := fmt.Sprintf("%6.2f", t.Score)
		switch {
		case t.Plugin != "":
			why, score = "offered by the workflow "+t.Plugin, "      "
		case t.NeededBy != "":
			why, score = "gives "+t.Gives+" to "+t.NeededBy, "      "
		}
		fmt.Fprintf(w, "  %s  %-40s %6s tokens  %s\n", score, t.Name, terminal.Thousands(t.Tokens), terminal.Printable(why))
	}
	if s.Advice != nil {
		describe.Advice(w, s.Advice)
	}
}

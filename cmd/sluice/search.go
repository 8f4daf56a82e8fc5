package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

func (a *app) searchCommand() *cobra.Command {
	var k int
	var explain bool
	cmd := &cobra.Command{
		Use:   "search QUERY [TOOLSET]",
		Short: "Find tools as an agent does with search_tools",
		Long: `Search the enabled tools of a toolset, or of all toolsets, and print what
search_tools would find, best first. --explain shows what each score is made of.`,
		Example: "  sluice search \"create issue\" github\n  sluice search \"cancel an order\" shop --explain",
		Args:    command.Between(1, 2, "a query and perhaps a toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if k < 1 || k > 40 {
				return exit.Usagef("-k must be from 1 to 40")
			}
			c := a.Client()
			var toolsets []string
			if len(args) == 2 {
				t, _, err := c.Toolset(cmd.Context(), args[1])
				if err != nil {
					return err
				}
				toolsets = []string{t.Slug}
			} else {
				all, _, err := client.All[admin.Toolset](cmd.Context(), c, "/v1/toolsets")
				if err != nil {
					return err
				}
				for i := range all {
					toolsets = append(toolsets, all[i].Slug)
				}
			}
			return a.search(cmd.Context(), c, args[0], toolsets, k, explain)
		},
	}
	cmd.Flags().IntVarP(&k, "limit", "k", 8, "how many tools to show of each toolset")
	cmd.Flags().BoolVar(&explain, "explain", false, "show what each score is made of")
	return cmd
}

// foundIn is what a search found in a toolset.
type foundIn struct {
	Toolset string `json:"toolset"`
	admin.SearchAnswer
}

func (a *app) search(ctx context.Context, c *client.Client, query string, toolsets []string, k int, explain bool) error {
	found := make([]foundIn, 0, len(toolsets))
	for _, slug := range toolsets {
		f := foundIn{Toolset: slug}
		path := "/v1/toolsets/" + url.PathEscape(slug) + "/search?k=" + strconv.Itoa(k) + "&q=" + url.QueryEscape(query)
		if err := c.Get(ctx, path, &f.SearchAnswer); err != nil {
			return err
		}
		found = append(found, f)
	}
	return a.Object(found, func(w io.Writer) {
		for _, f := range found {
			switch {
			case len(f.Results) == 0:
				fmt.Fprintf(w, "%s: nothing fits\n", f.Toolset)
				continue
			case !f.Fits:
				fmt.Fprintf(w, "%s: nothing fits well (%.2f); the nearest are\n", f.Toolset, f.Fit)
			default:
				fmt.Fprintf(w, "%s\n", f.Toolset)
			}
			for _, r := range f.Results {
				fmt.Fprintf(w, "  %6.2f  %-40s %s %s\n", r.Score, r.Name, r.Operation.Method, terminal.Printable(r.Operation.Path))
				if !explain {
					continue
				}
				var parts []string
				for _, name := range slices.Sorted(maps.Keys(r.Components)) {
					if v := r.Components[name]; v != 0 {
						parts = append(parts, fmt.Sprintf("%s %.2f", name, v))
					}
				}
				fmt.Fprintf(w, "          %s\n", strings.Join(parts, "  "))
			}
		}
	})
}

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

func (a *app) optimizeSelection(ctx context.Context, c *client.Client, t *admin.ToolsetDetail, etag string, f *selectionFlags, fs *pflag.FlagSet) error {
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
		return a.previewSelection(ctx, c, t, f.useCase)
	}
	if patch.UseCase != nil || patch.Selection != nil || patch.Learn != nil {
		if err := c.Patch(ctx, client.ToolsetPath(t), patch, t, client.IfMatch(etag)); err != nil {
			return err
		}
	}
	return a.showSelection(ctx, c, t)
}

func (a *app) previewSelection(ctx context.Context, c *client.Client, t *admin.ToolsetDetail, useCase string) error {
	var s admin.ToolSelection
	in := map[string]string{"useCase": useCase}
	if err := c.Post(ctx, client.ToolsetPath(t, "selection", "preview"), in, &s); err != nil {
		return err
	}
	return a.Object(s, func(w io.Writer) {
		a.printSelection(w, &s)
		fmt.Fprintln(w, "Nothing was changed.")
	})
}

func (a *app) showSelection(ctx context.Context, c *client.Client, t *admin.ToolsetDetail) error {
	var s admin.ToolSelection
	if err := c.Get(ctx, client.ToolsetPath(t, "selection"), &s); err != nil {
		return err
	}
	return a.Object(s, func(w io.Writer) {
		a.printSelection(w, &s)
		if t.Changed {
			fmt.Fprintf(w, "  next   sluice toolset test %s   deploys the change\n", t.Slug)
		}
	})
}

func (a *app) printSelection(w io.Writer, s *admin.ToolSelection) {
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

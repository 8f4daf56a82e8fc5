package callcmd

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

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

func (a calls) searchCommand() *cobra.Command {
	var k int
	var explain bool
	cmd := &cobra.Command{
		Use:   "search QUERY [TOOLSET]",
		Short: "Search tools as an agent does with search_tools",
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
				all, _, err := client.All[view.Toolset](cmd.Context(), c, "/v1/toolsets")
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
	cmd.Flags().BoolVar(&explain, "explain", false, "show the parts of each score")
	return cmd
}

// foundIn is what a search found in a toolset.
type foundIn struct {
	Toolset string `json:"toolset"`
	advice.SearchAnswer
}

func (a calls) search(ctx context.Context, c *client.Client, query string, toolsets []string, k int, explain bool) error {
	found := make([]foundIn, 0, len(toolsets))
	for _, slug := range toolsets {
		f := foundIn{Toolset: slug}
		path := "/v1/toolsets/" + url.PathEscape(slug) + "/search?k=" + strconv.Itoa(k) + "&q=" + url.QueryEscape(query)
		if err := c.Get(ctx, path, &f.SearchAnswer); err != nil {
			return err
		}
		found = append(found, f)
	}
	if a.Format == "name" {
		var names strings.Builder
		for _, f := range found {
			for _, r := range f.Results {
				names.WriteString(terminal.Printable(r.Name) + "\n")
			}
		}
		return a.WriteResult([]byte(names.String()))
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

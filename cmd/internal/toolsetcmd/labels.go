package toolsetcmd

import (
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
)

func labelsCommand(cli *command.Session) *cobra.Command {
	var clearAll bool
	cmd := &cobra.Command{
		Use: "labels TOOLSET [NAME=VALUE …]", Short: "Show or choose the edges a toolset goes to",
		Long: "Show or set the labels of a toolset. It goes to the edges that have all of them; without labels it goes to every edge.",
		Args: command.Between(1, -1, "a toolset and labels"),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := command.ParseLabels(args[1:])
			if err != nil {
				return err
			}
			call := client.Call{Method: http.MethodGet, Path: "/v1/toolsets/" + url.PathEscape(args[0]) + "/labels"}
			if len(l) > 0 || clearAll {
				call.Method, call.In = http.MethodPut, fleet.LabelsBody{Labels: l}
			}
			return command.Show(cmd.Context(), cli, call, func(w io.Writer, out *fleet.LabelsBody) {
				if text := command.LabelsText(out.Labels); text != "" {
					fmt.Fprintln(w, text)
				} else {
					fmt.Fprintln(w, "no labels: every edge")
				}
			})
		},
	}
	cmd.Flags().BoolVar(&clearAll, "clear", false, "take all labels off")
	return cmd
}

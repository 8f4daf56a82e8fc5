package toolsetcmd

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/clientconfig"
)

func rollbackCommand(cli *command.Session) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "rollback TOOLSET [REVISION]", Short: "Roll back to an older revision", Args: command.Between(1, 2, "a toolset and a revision"),
		Long: "Publish the content of an older revision as a new revision; by default of the newest one before the live one. The draft becomes identical to it; its earlier edits are set aside: sluice toolset draft list TOOLSET",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := rollout.RollbackRequest{Reason: reason}
			if len(args) == 2 {
				n, err := strconv.ParseUint(args[1], 10, 64)
				if err != nil || n == 0 {
					return exit.Usagef("%s is not the number of a revision; see: sluice toolset history %s", terminal.Printable(args[1]), clientconfig.ShellWord(args[0]))
				}
				in.Revision = n
			}
			e, err := open(cmd.Context(), cli, args[0])
			if err != nil {
				return err
			}
			return command.Show(cmd.Context(), e.Session, client.Call{Method: http.MethodPost, Path: e.path("rollback"), In: in, IfMatch: e.etag}, func(w io.Writer, out *view.Toolset) {
				fmt.Fprintf(w, "%s is at revision %d, with the content of an older one; it was %d\n", out.Slug, out.Revision, e.t.Revision)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	return cmd
}

func historyCommand(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "history [TOOLSET]", Short: "List the published revisions of a toolset, or of all", Args: command.Between(0, 1, "a toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				columns := []terminal.Column[view.Published]{{Header: "toolset", Value: func(r view.Published) string { return r.Slug }}}
				for _, c := range revisionColumns {
					columns = append(columns, terminal.Column[view.Published]{Header: c.Header, Value: func(r view.Published) string { return c.Value(r.Revision) }})
				}
				r := command.Resource[view.Published]{Columns: columns, Name: func(r view.Published) string { return r.Slug + " " + strconv.FormatUint(r.N, 10) }}
				return r.Show(cmd.Context(), cli, "/v1/revisions")
			}
			e, err := open(cmd.Context(), cli, args[0])
			if err != nil {
				return err
			}
			r := command.Resource[view.Revision]{Columns: revisionColumns, Name: func(r view.Revision) string { return strconv.FormatUint(r.N, 10) }}
			return r.Show(cmd.Context(), cli, e.path("revisions"))
		},
	}
}

var revisionColumns = []terminal.Column[view.Revision]{
	{Header: "revision", Value: func(r view.Revision) string { return strconv.FormatUint(r.N, 10) }},
	{Header: "state", Value: func(r view.Revision) string { return r.State }},
	{Header: "restores", Value: func(r view.Revision) string {
		if r.Restores == 0 {
			return ""
		}
		return strconv.FormatUint(r.Restores, 10)
	}},
	{Header: "digest", Value: func(r view.Revision) string { return terminal.ShortDigest(r.Digest) }},
	{Header: "published", Value: func(r view.Revision) string { return terminal.Since(r.At) }},
	{Header: "by", Value: func(r view.Revision) string { return cmp.Or(r.By, r.Author) }},
	{Header: "reason", Value: func(r view.Revision) string { return r.Reason }},
}

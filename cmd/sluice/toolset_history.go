package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
)

func (a *app) toolsetRollback() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "rollback TOOLSET [REVISION]", Short: "Go back to an older revision", Args: between(1, 2, "a toolset and a revision"),
		Long: "Publish the content of an older revision as a new revision; by default of the newest one before the live one. The draft becomes what is live; edits that it had are kept aside: sluice toolset draft list TOOLSET",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := admin.RollbackRequest{Reason: reason}
			if len(args) == 2 {
				n, err := strconv.ParseUint(args[1], 10, 64)
				if err != nil || n == 0 {
					return usagef("%s is not the number of a revision; see: sluice toolset history %s", printable(args[1]), shellWord(args[0]))
				}
				in.Revision = n
			}
			c, t, _, err := a.clientAndToolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var out admin.Toolset
			if _, err := c.do(cmd.Context(), apiCall{method: http.MethodPost, path: toolsetPath(t, "rollback"), in: in, out: &out}); err != nil {
				return err
			}
			return a.object(out, func(w io.Writer) {
				fmt.Fprintf(w, "%s is at revision %d, with the content of an older one; it was %d\n", out.Slug, out.Revision, t.Revision)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	return cmd
}

func (a *app) toolsetHistory() *cobra.Command {
	return &cobra.Command{
		Use: "history TOOLSET", Short: "List the published revisions", Args: exactly(1, "one toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, _, err := a.clientAndToolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			items, raw, err := all[admin.Revision](cmd.Context(), c, toolsetPath(t, "revisions"))
			if err != nil {
				return err
			}
			now := time.Now()
			return list(a, items, raw, []column[admin.Revision]{
				{header: "revision", value: func(r admin.Revision) string { return strconv.FormatUint(r.N, 10) }},
				{header: "state", value: func(r admin.Revision) string { return r.State }},
				{header: "restores", value: func(r admin.Revision) string {
					if r.Restores == 0 {
						return ""
					}
					return strconv.FormatUint(r.Restores, 10)
				}},
				{header: "digest", value: func(r admin.Revision) string { return shortDigest(r.Digest) }},
				{header: "published", value: func(r admin.Revision) string { return ago(r.At, now) }},
				{header: "reason", value: func(r admin.Revision) string { return r.Reason }},
			}, func(r admin.Revision) string { return strconv.FormatUint(r.N, 10) })
		},
	}
}

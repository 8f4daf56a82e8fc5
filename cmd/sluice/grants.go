package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
)

func (a *app) grantCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "grant", Aliases: []string{"grants"}, Short: "List, make and revoke grants of private addresses",
		Long: `List, make and revoke grants: each lets one toolset call one private address from this
node. What an operator names on "sluice run" or "sluice add" is granted by that; every
other private address is refused. Edges obey only their own --allow-private-upstreams.`,
	}
	cmd.AddCommand(a.grantList(), a.grantCreate(), a.grantRevoke())
	return cmd
}

// sayGranted tells what was granted because the operator named it.
func (a *app) sayGranted(granted []string) {
	for _, g := range granted {
		a.say("! this toolset may now call the private address %s, because you named it here", g)
	}
}

func (a *app) grantList() *cobra.Command {
	var workspace string
	cmd := &cobra.Command{
		Use: "list [TOOLSET]", Aliases: []string{"ls"}, Short: "List grants of private addresses", Args: between(0, 1, "at most one toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			q := url.Values{}
			if len(args) == 1 {
				q.Set("toolset", args[0])
			}
			if workspace != "" {
				q.Set("workspace", workspace)
			}
			items, raw, err := all[admin.Grant](cmd.Context(), c, "/v1/grants?"+q.Encode())
			if err != nil {
				return err
			}
			now := time.Now()
			return list(a, items, raw, []column[admin.Grant]{
				{header: "id", value: func(g admin.Grant) string { return g.ID }},
				{header: "toolset", value: func(g admin.Grant) string { return g.Toolset }},
				{header: "address", value: func(g admin.Grant) string { return g.Address }},
				{header: "host", value: func(g admin.Grant) string { return g.Host }},
				{header: "reason", value: func(g admin.Grant) string { return g.Reason }, wide: true},
				{header: "by", value: func(g admin.Grant) string { return g.CreatedBy }, wide: true},
				{header: "created", value: func(g admin.Grant) string { return ago(g.CreatedAt, now) }},
			}, func(g admin.Grant) string { return g.ID })
		},
	}
	cmd.Flags().StringVar(&workspace, "workspace", "", "workspace of the toolsets (default: that of the token)")
	return cmd
}

func (a *app) grantCreate() *cobra.Command {
	in := admin.CreateGrant{}
	cmd := &cobra.Command{
		Use: "create TOOLSET ADDRESS", Short: "Let a toolset call a private address", Args: exactly(2, "a toolset and an address"),
		Long: `Let a toolset call a private address, host:port or a URL. What is granted are the
addresses that the name has now: when it has others later, they are refused. A name with
private and public addresses is refused too; grant the address itself if you are sure.
The node's own listeners and the addresses where clouds keep the credentials of machines
cannot be granted.`,
		Example: "  sluice grant create petstore localhost:8080\n  sluice grant create petstore 10.1.2.3:443 --reason 'staging'",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			in.Toolset, in.Address = args[0], args[1]
			var out admin.Grants
			if _, err := c.do(cmd.Context(), apiCall{method: http.MethodPost, path: "/v1/grants", in: in, out: &out}); err != nil {
				return err
			}
			if len(out.Items) == 0 {
				a.say("%s needs no grant: it is public, or this node may call it anyway.", printable(args[1]))
			}
			return a.object(out, func(w io.Writer) {
				for _, g := range out.Items {
					fmt.Fprintf(w, "%s  %s\n", g.ID, g.Address)
				}
			})
		},
	}
	cmd.Flags().StringVar(&in.Reason, "reason", "", "why, for the list and the audit log")
	cmd.Flags().StringVar(&in.Workspace, "workspace", "", "workspace of the toolset (default: that of the token)")
	return cmd
}

func (a *app) grantRevoke() *cobra.Command {
	var workspace string
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a grant at once: its connections are closed", Args: exactly(1, "one grant"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			path := "/v1/grants/" + url.PathEscape(args[0])
			if workspace != "" {
				path += "?workspace=" + url.QueryEscape(workspace)
			}
			if _, err := c.do(cmd.Context(), apiCall{method: http.MethodDelete, path: path}); err != nil {
				return err
			}
			a.say("%s is revoked.", printable(args[0]))
			return nil
		},
	}
	cmd.Flags().StringVar(&workspace, "workspace", "", "workspace of the toolset (default: that of the token)")
	return cmd
}

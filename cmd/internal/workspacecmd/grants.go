package workspacecmd

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/toolset/grant"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

var grants = command.Resource[grant.Grant]{
	Path: "/v1/grants",
	Name: func(g grant.Grant) string { return g.ID },
	Columns: []terminal.Column[grant.Grant]{
		{Header: "id", Value: func(g grant.Grant) string { return g.ID }},
		{Header: "toolset", Value: func(g grant.Grant) string { return cmp.Or(g.Slug, g.Toolset) }},
		{Header: "address", Value: func(g grant.Grant) string { return g.Address }},
		{Header: "host", Value: func(g grant.Grant) string { return g.Host }},
		{Header: "reason", Value: func(g grant.Grant) string { return g.Reason }, Wide: true},
		{Header: "by", Value: func(g grant.Grant) string { return g.CreatedBy }, Wide: true},
		{Header: "created", Value: func(g grant.Grant) string { return terminal.Since(g.CreatedAt) }},
	},
}

// Grant is "sluice grant".
func Grant(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "grant", Aliases: []string{"grants"}, Short: "List, create and revoke grants of private addresses",
		Long: `List, make and revoke grants: each lets one toolset call one private address from this
node. What an operator names on "sluice run" or "sluice add" is granted by that; every
other private address is refused. Edges obey only their own --allow-private-upstreams.`,
	}
	cmd.AddCommand(grantList(s), grantCreate(s), grantRevoke(s))
	return cmd
}

func grantList(s *command.Session) *cobra.Command {
	var workspace string
	cmd := &cobra.Command{
		Use: "list [TOOLSET]", Aliases: []string{"ls"}, Short: "List grants of private addresses", Args: command.Between(0, 1, "at most one toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{}
			if len(args) == 1 {
				q.Set("toolset", args[0])
			}
			if workspace != "" {
				q.Set("workspace", workspace)
			}
			return grants.Show(cmd.Context(), s, grants.Path+"?"+q.Encode())
		},
	}
	cmd.Flags().StringVar(&workspace, "workspace", "", "workspace of the toolsets (default: that of the token)")
	return cmd
}

func grantCreate(s *command.Session) *cobra.Command {
	in := grant.CreateGrant{}
	cmd := &cobra.Command{
		Use: "create TOOLSET ADDRESS", Short: "Allow a toolset to call a private address", Args: command.Exactly(2, "a toolset and an address"),
		Long: `Let a toolset call a private address, host:port or a URL. What is granted are the
addresses that the name has now: when it has others later, they are refused. A name with
private and public addresses is refused too; grant the address itself if you are sure.
The node's own listeners and the addresses where clouds keep the credentials of machines
cannot be granted.`,
		Example: "  sluice grant create petstore localhost:8080\n  sluice grant create petstore 10.1.2.3:443 --reason 'staging'",
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Toolset, in.Address = args[0], args[1]
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPost, Path: grants.Path, In: in}, func(w io.Writer, out *grant.Grants) {
				if len(out.Items) == 0 {
					s.Say("%s needs no grant: it is public, or this node may call it anyway.", terminal.Printable(args[1]))
				}
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

func grantRevoke(s *command.Session) *cobra.Command {
	var workspace string
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a grant at once: its connections are closed", Args: command.Exactly(1, "one grant"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := grants.Path + "/" + url.PathEscape(args[0])
			if workspace != "" {
				path += "?workspace=" + url.QueryEscape(workspace)
			}
			if err := s.Client().Delete(cmd.Context(), path, nil); err != nil {
				return err
			}
			s.Say("%s is revoked.", terminal.Printable(args[0]))
			return nil
		},
	}
	cmd.Flags().StringVar(&workspace, "workspace", "", "workspace of the toolset (default: that of the token)")
	return cmd
}

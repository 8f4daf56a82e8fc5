package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// roleNames are the roles of members and tokens; each may do what those before it may.
var roleNames = []string{"viewer", "editor", "publisher", "admin"}

func (a *app) memberCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "member", Aliases: []string{"members", "user", "users"}, Short: "List, add and remove the members of the workspace, and what they may do",
		Long: `A member has one of the roles viewer (read), editor (change, test and deploy toolsets),
publisher (publish connectors and plugins) and admin (everything in the workspace); each
may do what those before it may. Members work with API tokens of their own ("sluice token
create NAME --member EMAIL"), which may never do more than the member at that moment, and
end when the member is removed.`,
	}
	cmd.AddCommand(a.memberList(), a.memberAdd(), a.memberSetRole(), a.memberRemove())
	return cmd
}

func memberPath(id string) string { return "/v1/members/" + url.PathEscape(id) }

// member reads a member by id or address, with its ETag.
func (a *app) member(ctx context.Context, id string) (c *client.Client, m admin.Member, etag string, err error) {
	c = a.Client()
	etag, err = c.GetTag(ctx, memberPath(id), &m)
	return c, m, etag, err
}

func (a *app) memberList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List members", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.Client()
			items, raw, err := client.All[admin.Member](cmd.Context(), c, "/v1/members")
			if err != nil {
				return err
			}
			if len(items) == 0 {
				a.Say("There are no members yet. Add one: sluice member add EMAIL --role ROLE")
			}
			now := time.Now()
			return terminal.List(&a.Terminal, items, raw, []terminal.Column[admin.Member]{
				{Header: "email", Value: func(m admin.Member) string { return m.Email }},
				{Header: "name", Value: func(m admin.Member) string { return m.Name }},
				{Header: "role", Value: func(m admin.Member) string { return m.Role }},
				{Header: "id", Value: func(m admin.Member) string { return m.ID }, Wide: true},
				{Header: "added", Value: func(m admin.Member) string { return terminal.Ago(m.CreatedAt, now) }},
			}, func(m admin.Member) string { return m.Email })
		},
	}
}

func (a *app) memberAdd() *cobra.Command {
	var in admin.AddMember
	cmd := &cobra.Command{
		Use: "add EMAIL", Short: "Add a member", Args: command.Exactly(1, "one e-mail address"),
		Long:    "Add a member to the workspace. The address names the member; nothing is sent to it.",
		Example: "  sluice member add ann@example.com --role editor\n  sluice token create laptop --role editor --member ann@example.com",
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			in.Email = args[0]
			var out admin.Member
			if err := c.Post(cmd.Context(), "/v1/members", in, &out); err != nil {
				return err
			}
			a.Say("  next   sluice token create NAME --role %s --member %s", out.Role, out.Email)
			return a.Object(out, func(w io.Writer) { fmt.Fprintf(w, "✓ %s is a member, role %s\n", out.Email, out.Role) })
		},
	}
	cmd.Flags().StringVar(&in.Role, "role", "viewer", "viewer, editor, publisher, admin")
	cmd.Flags().StringVar(&in.Name, "name", "", "name of the person")
	command.MustComplete(cmd, "role", roleNames)
	return cmd
}

func (a *app) memberSetRole() *cobra.Command {
	return &cobra.Command{
		Use: "set-role MEMBER ROLE", Short: "Change what a member may do", Args: command.Exactly(2, "a member (address or id) and a role"),
		Long:      "Change the role of a member. Their tokens may do no more than that from now on; a token that was made for less stays at that.",
		ValidArgs: roleNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, was, etag, err := a.member(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var out admin.Member
			if err := c.Patch(cmd.Context(), memberPath(was.ID), admin.PatchMember{Role: &args[1]}, &out, client.IfMatch(etag)); err != nil {
				return err
			}
			return a.Object(out, func(w io.Writer) { fmt.Fprintf(w, "✓ %s: %s → %s\n", out.Email, was.Role, out.Role) })
		},
	}
}

func (a *app) memberRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove MEMBER", Aliases: []string{"rm", "delete"}, Short: "Remove a member and revoke their tokens", Args: command.Exactly(1, "one member (address or id)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, m, etag, err := a.member(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := c.Delete(cmd.Context(), memberPath(m.ID), nil, client.IfMatch(etag)); err != nil {
				return err
			}
			a.Say("%s is no member any more; their tokens are revoked.", m.Email)
			return nil
		},
	}
}

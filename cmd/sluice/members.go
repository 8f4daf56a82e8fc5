package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
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
func (a *app) member(ctx context.Context, id string) (c *apiClient, m admin.Member, etag string, err error) {
	if c, err = a.client(); err != nil {
		return nil, m, "", err
	}
	etag, err = c.do(ctx, apiCall{method: http.MethodGet, path: memberPath(id), out: &m})
	return c, m, etag, err
}

func (a *app) memberList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List members", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			items, raw, err := all[admin.Member](cmd.Context(), c, "/v1/members")
			if err != nil {
				return err
			}
			if len(items) == 0 {
				a.say("There are no members yet. Add one: sluice member add EMAIL --role ROLE")
			}
			now := time.Now()
			return list(a, items, raw, []column[admin.Member]{
				{header: "email", value: func(m admin.Member) string { return m.Email }},
				{header: "name", value: func(m admin.Member) string { return m.Name }},
				{header: "role", value: func(m admin.Member) string { return m.Role }},
				{header: "id", value: func(m admin.Member) string { return m.ID }, wide: true},
				{header: "added", value: func(m admin.Member) string { return ago(m.CreatedAt, now) }},
			}, func(m admin.Member) string { return m.Email })
		},
	}
}

func (a *app) memberAdd() *cobra.Command {
	var in admin.AddMember
	cmd := &cobra.Command{
		Use: "add EMAIL", Short: "Add a member", Args: exactly(1, "one e-mail address"),
		Long:    "Add a member to the workspace. The address names the member; nothing is sent to it.",
		Example: "  sluice member add ann@example.com --role editor\n  sluice token create laptop --role editor --member ann@example.com",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			in.Email = args[0]
			var out admin.Member
			if _, err := c.do(cmd.Context(), apiCall{method: http.MethodPost, path: "/v1/members", in: in, out: &out}); err != nil {
				return err
			}
			a.say("  next   sluice token create NAME --role %s --member %s", out.Role, out.Email)
			return a.object(out, func(w io.Writer) { fmt.Fprintf(w, "✓ %s is a member, role %s\n", out.Email, out.Role) })
		},
	}
	cmd.Flags().StringVar(&in.Role, "role", "viewer", "viewer, editor, publisher, admin")
	cmd.Flags().StringVar(&in.Name, "name", "", "name of the person")
	mustComplete(cmd, "role", roleNames)
	return cmd
}

func (a *app) memberSetRole() *cobra.Command {
	return &cobra.Command{
		Use: "set-role MEMBER ROLE", Short: "Change what a member may do", Args: exactly(2, "a member (address or id) and a role"),
		Long:      "Change the role of a member. Their tokens may do no more than that from now on; a token that was made for less stays at that.",
		ValidArgs: roleNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, was, etag, err := a.member(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var out admin.Member
			if _, err := c.do(cmd.Context(), apiCall{method: http.MethodPatch, path: memberPath(was.ID), in: admin.PatchMember{Role: &args[1]}, out: &out, ifMatch: etag}); err != nil {
				return err
			}
			return a.object(out, func(w io.Writer) { fmt.Fprintf(w, "✓ %s: %s → %s\n", out.Email, was.Role, out.Role) })
		},
	}
}

func (a *app) memberRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove MEMBER", Aliases: []string{"rm", "delete"}, Short: "Remove a member and revoke their tokens", Args: exactly(1, "one member (address or id)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, m, etag, err := a.member(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if _, err := c.do(cmd.Context(), apiCall{method: http.MethodDelete, path: memberPath(m.ID), ifMatch: etag}); err != nil {
				return err
			}
			a.say("%s is no member any more; their tokens are revoked.", m.Email)
			return nil
		},
	}
}

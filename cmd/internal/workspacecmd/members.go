package workspacecmd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// roleNames are the roles of members and tokens; each may do what those before it may.
var roleNames = []string{"viewer", "editor", "publisher", "admin"}

var members = command.Resource[people.Member]{
	Filter: "role:admin,publisher ada", Sort: "email",
	Path: "/v1/members", Empty: "There are no members yet. Add one: sluice member add EMAIL --role ROLE",
	Name: func(m people.Member) string { return m.Email },
	Columns: []terminal.Column[people.Member]{
		{Header: "email", Value: func(m people.Member) string { return m.Email }},
		{Header: "name", Value: func(m people.Member) string { return m.Name }},
		{Header: "role", Value: func(m people.Member) string { return m.Role }},
		{Header: "id", Value: func(m people.Member) string { return m.ID }, Wide: true},
		{Header: "added", Value: func(m people.Member) string { return terminal.Since(m.CreatedAt) }},
	},
}

// Member is "sluice member".
func Member(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "member", Aliases: []string{"members", "user", "users"}, Short: "List, add and remove members of the workspace",
		Long: `A member has one of the roles viewer (read), editor (change, test and deploy toolsets),
publisher (publish connectors and plugins) and admin (everything in the workspace); each
may do what those before it may. Members work with API tokens of their own ("sluice token
create NAME --member EMAIL"), which may never do more than the member at that moment, and
end when the member is removed. In the console they sign in with a password, which they
set after the first login with a link ("sluice member link EMAIL"), or with the passkeys
that they make there.`,
	}
	cmd.AddCommand(members.List(s, "List members"), memberAdd(s), memberLink(s), memberSetRole(s), memberRemove(s), memberPasskeys(s))
	return cmd
}

func memberPath(id string) string { return members.Path + "/" + url.PathEscape(id) }

// member reads a member by id or address, with its ETag.
func member(ctx context.Context, c *client.Client, id string) (m people.Member, etag string, err error) {
	etag, err = c.GetTag(ctx, memberPath(id), &m)
	return m, etag, err
}

func memberAdd(s *command.Session) *cobra.Command {
	var in people.AddMember
	cmd := &cobra.Command{
		Use: "add EMAIL", Short: "Add a member", Args: command.Exactly(1, "one e-mail address"),
		Long:    "Add a member to the workspace. The address names the member; nothing is sent to it.",
		Example: "  sluice member add ann@example.com --role editor\n  sluice token create laptop --role editor --member ann@example.com",
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Email = args[0]
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPost, Path: members.Path, In: &in}, func(w io.Writer, m *people.Member) {
				s.Say("  next   sluice token create NAME --role %s --member %s", m.Role, m.Email)
				fmt.Fprintf(w, "✓ %s is a member, role %s\n", m.Email, m.Role)
			})
		},
	}
	cmd.Flags().StringVar(&in.Role, "role", "viewer", "viewer, editor, publisher, admin")
	cmd.Flags().StringVar(&in.Name, "name", "", "name of the person")
	command.MustComplete(cmd, "role", roleNames)
	return cmd
}

func memberLink(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "link MEMBER", Short: "Make a link that signs a member in to the console", Args: command.Exactly(1, "one member (address or id)"),
		Long: `Make a link that signs one browser in as a member, once and within ten minutes, and lets
them set a password: an invitation, or the way back for who forgot theirs. An earlier link
of the member ends.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return showLink(cmd, s, memberPath(args[0])+"/login-link")
		},
	}
}

func memberSetRole(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "set-role MEMBER ROLE", Short: "Change the role of a member", Args: command.Exactly(2, "a member (address or id) and a role"),
		Long:      "Change the role of a member. Their tokens may do no more than that from now on; a token that was made for less stays at that.",
		ValidArgs: roleNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			was, etag, err := member(cmd.Context(), s.Client(), args[0])
			if err != nil {
				return err
			}
			change := client.Call{Method: http.MethodPatch, Path: memberPath(was.ID), In: people.PatchMember{Role: &args[1]}, IfMatch: etag}
			return command.Show(cmd.Context(), s, change, func(w io.Writer, m *people.Member) { fmt.Fprintf(w, "✓ %s: %s → %s\n", m.Email, was.Role, m.Role) })
		},
	}
}

func memberRemove(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "remove MEMBER", Aliases: []string{"rm", "delete"}, Short: "Remove a member, end their sessions and revoke their tokens", Args: command.Exactly(1, "one member (address or id)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := s.Client()
			m, etag, err := member(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if err := c.Delete(cmd.Context(), memberPath(m.ID), nil, client.IfMatch(etag)); err != nil {
				return err
			}
			s.Say("%s is not a member any more; their tokens are revoked.", m.Email)
			return nil
		},
	}
}

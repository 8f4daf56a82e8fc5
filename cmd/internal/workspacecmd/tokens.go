package workspacecmd

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

var tokens = command.Resource[people.APIToken]{
	Filter: "role:admin createdAt:>=7d", Sort: "-createdAt,name",
	Path: "/v1/tokens",
	Name: func(t people.APIToken) string { return t.ID },
	Columns: []terminal.Column[people.APIToken]{
		{Header: "id", Value: func(t people.APIToken) string { return t.ID }},
		{Header: "name", Value: func(t people.APIToken) string { return t.Name }},
		{Header: "role", Value: func(t people.APIToken) string { return t.Role }},
		{Header: "member", Value: func(t people.APIToken) string { return t.Member }, Wide: true},
		{Header: "state", Value: func(t people.APIToken) string {
			switch {
			case !t.RevokedAt.IsZero():
				return "revoked"
			case !t.ExpiresAt.IsZero() && t.ExpiresAt.Before(time.Now()):
				return "expired"
			}
			return "valid"
		}},
		{Header: "created", Value: func(t people.APIToken) string { return terminal.Since(t.CreatedAt) }},
	},
}

// Token is "sluice token".
func Token(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{Use: "token", Aliases: []string{"tokens"}, Short: "List, create and revoke API tokens"}
	cmd.AddCommand(tokens.List(s, "List API tokens"), tokenCreate(s),
		tokens.Remove(s, "revoke ID", "Revoke an API token", "one token", "%s is revoked."))
	return cmd
}

func tokenCreate(s *command.Session) *cobra.Command {
	var role, member string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create an API token; it is shown once", Args: command.Exactly(1, "one name"),
		Long: "Create an API token and write it to stdout. Roles, each may do what those before it may:\nviewer (read), editor (change, test and deploy toolsets), publisher (publish\nconnectors and plugins), admin (everything in the workspace).",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := people.CreateAPIToken{Name: args[0], Role: role, Member: member, TTLSeconds: int64(ttl / time.Second)}
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPost, Path: tokens.Path, In: in}, func(w io.Writer, t *people.APIToken) { fmt.Fprintln(w, t.Token) })
		},
	}
	cmd.Flags().StringVar(&role, "role", "viewer", "viewer, editor, publisher, admin")
	command.LifetimeVar(cmd.Flags(), &ttl, "ttl", 0, "how long it is valid, such as 12h or 90d (default: until it is revoked)")
	cmd.Flags().StringVar(&member, "member", "", "member (address or id) it belongs to: it may do no more than they may, and ends with them")
	command.MustComplete(cmd, "role", roleNames)
	return cmd
}

package main

import (
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

func (a *app) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "token", Aliases: []string{"tokens"}, Short: "List, make and revoke API tokens"}
	cmd.AddCommand(a.tokenList(), a.tokenCreate(), a.tokenRevoke())
	return cmd
}

func (a *app) tokenList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List API tokens", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.Client()
			items, raw, err := client.All[admin.APIToken](cmd.Context(), c, "/v1/tokens")
			if err != nil {
				return err
			}
			now := time.Now()
			return terminal.List(&a.Terminal, items, raw, []terminal.Column[admin.APIToken]{
				{Header: "id", Value: func(t admin.APIToken) string { return t.ID }},
				{Header: "name", Value: func(t admin.APIToken) string { return t.Name }},
				{Header: "role", Value: func(t admin.APIToken) string { return t.Role }},
				{Header: "member", Value: func(t admin.APIToken) string { return t.Member }, Wide: true},
				{Header: "state", Value: func(t admin.APIToken) string {
					switch {
					case !t.RevokedAt.IsZero():
						return "revoked"
					case !t.ExpiresAt.IsZero() && t.ExpiresAt.Before(now):
						return "expired"
					}
					return "valid"
				}},
				{Header: "created", Value: func(t admin.APIToken) string { return terminal.Ago(t.CreatedAt, now) }},
			}, func(t admin.APIToken) string { return t.ID })
		},
	}
}

func (a *app) tokenCreate() *cobra.Command {
	var role, member string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make an API token; it is shown once", Args: command.Exactly(1, "one name"),
		Long: "Make an API token and write it to stdout. Roles, each may do what those before it may:\nviewer (read), editor (change, test and deploy toolsets), publisher (publish\nconnectors and plugins), admin (everything in the workspace).",
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			var out admin.APIToken
			in := admin.CreateAPIToken{Name: args[0], Role: role, Member: member, TTLSeconds: int64(ttl / time.Second)}
			if err := c.Post(cmd.Context(), "/v1/tokens", in, &out); err != nil {
				return err
			}
			return a.Object(out, func(w io.Writer) { fmt.Fprintln(w, out.Token) })
		},
	}
	cmd.Flags().StringVar(&role, "role", "viewer", "viewer, editor, publisher, admin")
	cmd.Flags().DurationVar(&ttl, "ttl", 0, "how long it is good (default: until it is revoked)")
	cmd.Flags().StringVar(&member, "member", "", "member (address or id) it belongs to: it may do no more than they may, and ends with them")
	command.MustComplete(cmd, "role", roleNames)
	return cmd
}

func (a *app) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Revoke an API token", Args: command.Exactly(1, "one token"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			if err := c.Delete(cmd.Context(), "/v1/tokens/"+url.PathEscape(args[0]), nil); err != nil {
				return err
			}
			a.Say("%s is revoked.", args[0])
			return nil
		},
	}
}

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

func (a *app) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "token", Aliases: []string{"tokens"}, Short: "List, make and revoke API tokens"}
	cmd.AddCommand(a.tokenList(), a.tokenCreate(), a.tokenRevoke())
	return cmd
}

func (a *app) tokenList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List API tokens", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			items, raw, err := all[admin.APIToken](cmd.Context(), c, "/v1/tokens")
			if err != nil {
				return err
			}
			now := time.Now()
			return list(a, items, raw, []column[admin.APIToken]{
				{header: "id", value: func(t admin.APIToken) string { return t.ID }},
				{header: "name", value: func(t admin.APIToken) string { return t.Name }},
				{header: "role", value: func(t admin.APIToken) string { return t.Role }},
				{header: "member", value: func(t admin.APIToken) string { return t.Member }, wide: true},
				{header: "state", value: func(t admin.APIToken) string {
					switch {
					case !t.RevokedAt.IsZero():
						return "revoked"
					case !t.ExpiresAt.IsZero() && t.ExpiresAt.Before(now):
						return "expired"
					}
					return "valid"
				}},
				{header: "created", value: func(t admin.APIToken) string { return ago(t.CreatedAt, now) }},
			}, func(t admin.APIToken) string { return t.ID })
		},
	}
}

func (a *app) tokenCreate() *cobra.Command {
	var role, member string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make an API token; it is shown once", Args: exactly(1, "one name"),
		Long: "Make an API token and write it to stdout. Roles, each may do what those before it may:\nviewer (read), editor (change, test and deploy toolsets), publisher (publish\nconnectors and plugins), admin (everything in the workspace).",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			var out admin.APIToken
			in := admin.CreateAPIToken{Name: args[0], Role: role, Member: member, TTLSeconds: int64(ttl / time.Second)}
			if _, err := c.do(cmd.Context(), apiCall{method: http.MethodPost, path: "/v1/tokens", in: in, out: &out}); err != nil {
				return err
			}
			return a.object(out, func(w io.Writer) { fmt.Fprintln(w, out.Token) })
		},
	}
	cmd.Flags().StringVar(&role, "role", "viewer", "viewer, editor, publisher, admin")
	cmd.Flags().DurationVar(&ttl, "ttl", 0, "how long it is good (default: until it is revoked)")
	cmd.Flags().StringVar(&member, "member", "", "member (address or id) it belongs to: it may do no more than they may, and ends with them")
	mustComplete(cmd, "role", roleNames)
	return cmd
}

func (a *app) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Revoke an API token", Args: exactly(1, "one token"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			if _, err := c.do(cmd.Context(), apiCall{method: http.MethodDelete, path: "/v1/tokens/" + url.PathEscape(args[0])}); err != nil {
				return err
			}
			a.say("%s is revoked.", args[0])
			return nil
		},
	}
}

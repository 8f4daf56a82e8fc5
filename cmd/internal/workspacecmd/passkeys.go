package workspacecmd

import (
	"net/url"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/member/passkey"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

var passkeys = command.Resource[passkey.Passkey]{
	Empty: "The member has no passkeys. Members make them in the console: Settings, Passkeys",
	Name:  func(p passkey.Passkey) string { return p.ID },
	Columns: []terminal.Column[passkey.Passkey]{
		{Header: "id", Value: func(p passkey.Passkey) string { return p.ID }},
		{Header: "name", Value: func(p passkey.Passkey) string { return p.Name }},
		{Header: "host", Value: func(p passkey.Passkey) string { return p.Host }},
		{Header: "made", Value: func(p passkey.Passkey) string { return terminal.Since(p.CreatedAt) }},
		{Header: "used", Value: func(p passkey.Passkey) string {
			if p.UsedAt == nil {
				return "never"
			}
			return terminal.Since(*p.UsedAt)
		}},
		{Header: "copied", Value: func(p passkey.Passkey) string {
			if p.DoubtedAt == nil {
				return "-"
			}
			return "maybe, refused " + terminal.Since(*p.DoubtedAt) + " ago"
		}},
	},
}

func memberPasskeys(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "passkey", Aliases: []string{"passkeys"}, Short: "List and remove the passkeys of a member",
		Long: `A passkey signs its member in to the console with the fingerprint, face or PIN of a device.
Members make them in the console, with their password. "copied" names one whose counter went
back, as that of a copy does: its login was refused.`,
	}
	var filter *command.Filter
	list := &cobra.Command{
		Use: "list MEMBER", Aliases: []string{"ls"}, Short: "List the passkeys of a member", Args: command.Exactly(1, "one member (address or id)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return passkeys.ShowFiltered(cmd.Context(), s, memberPath(args[0])+"/passkeys", filter)
		},
	}
	filter = command.FilterOf(list, "host:localhost usedAt:>=30d", "-usedAt,name")
	remove := &cobra.Command{
		Use: "remove MEMBER ID", Aliases: []string{"rm", "delete"}, Short: "Remove a passkey of a member", Args: command.Exactly(2, "a member (address or id) and a passkey"),
		Long: "Remove a passkey of a member: it can no longer be used to sign in, and the member's sessions that were opened with a passkey end. Sessions opened with a password stay open.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.Client().Delete(cmd.Context(), memberPath(args[0])+"/passkeys/"+url.PathEscape(args[1]), nil); err != nil {
				return err
			}
			s.Say("%s can no longer be used to sign in.", args[1])
			return nil
		},
	}
	cmd.AddCommand(list, remove)
	return cmd
}

package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/describe"
)

func toolsetOrigins(cli *command.Session) *cobra.Command {
	var in admin.ConfirmOrigins
	cmd := &cobra.Command{
		Use: "origins TOOLSET", Short: "Show or confirm where the credential of a toolset may be sent", Args: command.Exactly(1, "one toolset"),
		Long: `Show where the credential of a toolset may be sent: scheme, host and port. It was bound to
these when it was set. A new version of the specification, an edit or a roll-back that would
send it elsewhere waits, and what is live goes on, until an administrator confirms the new
address here, or somebody sets the secret again (sluice toolset auth).`,
		Example: "  sluice toolset origins shop\n  sluice toolset origins shop --confirm https://api2.example.com --reason 'they moved'",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, etag, err := cli.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if len(in.Origins)+len(in.TokenOrigins) == 0 {
				return showOrigins(cmd.Context(), cli, c, t)
			}
			var out admin.List[admin.ConnectorOrigins]
			if err := c.Post(cmd.Context(), client.ToolsetPath(t, "origins"), in, &out, client.IfMatch(etag)); err != nil {
				return err
			}
			cli.Say("  next   sluice toolset test %s   or, when a change waits: sluice toolset accept %s", t.Slug, t.Slug)
			return cli.Object(out, func(w io.Writer) {
				fmt.Fprintf(w, "✓ the credential of %s may be sent to %s\n", t.Slug, strings.Join(append(in.Origins, in.TokenOrigins...), ", "))
			})
		},
	}
	ConnectorFlag(cmd, &in.Connector)
	cmd.Flags().StringSliceVar(&in.Origins, "confirm", nil, "`URLS` that calls may take the credential to, as well")
	cmd.Flags().StringSliceVar(&in.TokenOrigins, "confirm-token", nil, "`URLS` of an authorization server that may get the secret of the OAuth client, as well")
	cmd.Flags().StringVar(&in.Reason, "reason", "", "for the audit log")
	return cmd
}

func showOrigins(ctx context.Context, cli *command.Session, c *client.Client, t *admin.ToolsetDetail) error {
	var out admin.List[admin.ConnectorOrigins]
	if err := c.Get(ctx, client.ToolsetPath(t, "origins"), &out); err != nil {
		return err
	}
	return cli.Object(out, func(w io.Writer) {
		if len(out.Items) == 0 {
			fmt.Fprintf(w, "%s sends no credential\n", t.Slug)
		}
		for i := range out.Items {
			o := &out.Items[i]
			fmt.Fprintf(w, "%s: the credential is for %s\n", o.Connector, describe.Addresses(o.Origins))
			if len(o.TokenOrigins) > 0 {
				fmt.Fprintf(w, "  the OAuth client's secret is for %s\n", describe.Addresses(o.TokenOrigins))
			}
			if len(o.New) > 0 {
				fmt.Fprintf(w, "! not for %s, where calls would take it\n  next   sluice toolset origins %s --connector %s --confirm %s\n",
					describe.Addresses(o.New), t.Slug, o.Connector, strings.Join(o.New, ","))
			}
		}
	})
}

// printMoved shows the addresses of calls before and after a change.
func printMoved(w io.Writer, slug string, c *admin.OriginChange) {
	if c == nil {
		return
	}
	fmt.Fprintf(w, "! breaking calls go to another address: %s → %s\n", describe.Addresses(c.From), describe.Addresses(c.To))
	if len(c.New) > 0 {
		fmt.Fprintf(w, "  the credential is not sent to %s until an administrator confirms it:\n  sluice toolset origins %s --connector %s --confirm %s\n",
			describe.Addresses(c.New), slug, c.Connector, strings.Join(c.New, ","))
	}
}

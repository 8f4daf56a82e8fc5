package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/describe"
)

func originsCommand(cli *command.Session) *cobra.Command {
	var in login.ConfirmOrigins
	cmd := &cobra.Command{
		Use: "origins TOOLSET", Short: "Show or confirm where the credential of a toolset may be sent", Args: command.Exactly(1, "one toolset"),
		Long: `Show where the credential of a toolset may be sent: scheme, host and port. It was bound to
these when it was set. A new version of the specification, an edit or a roll-back that would
send it elsewhere waits, and what is live goes on, until an administrator confirms the new
address here, or somebody sets the secret again (sluice toolset auth).`,
		Example: "  sluice toolset origins shop\n  sluice toolset origins shop --confirm https://api2.example.com --reason 'they moved'",
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			if len(in.Origins)+len(in.TokenOrigins) == 0 {
				return e.showOrigins(cmd.Context())
			}
			var out admin.List[login.ConnectorOrigins]
			if err := e.Client().Post(cmd.Context(), e.path("origins"), in, &out, client.IfMatch(e.etag)); err != nil {
				return err
			}
			e.Say("  next   sluice toolset test %s   or, when a change waits: sluice toolset accept %s", e.t.Slug, e.t.Slug)
			return e.Object(out, func(w io.Writer) {
				fmt.Fprintf(w, "✓ the credential of %s may be sent to %s\n", e.t.Slug, strings.Join(append(in.Origins, in.TokenOrigins...), ", "))
			})
		}),
	}
	ConnectorFlag(cmd, &in.Connector)
	cmd.Flags().StringSliceVar(&in.Origins, "confirm", nil, "`URLS` that calls may take the credential to, as well")
	cmd.Flags().StringSliceVar(&in.TokenOrigins, "confirm-token", nil, "`URLS` of an authorization server that may get the secret of the OAuth client, as well")
	cmd.Flags().StringVar(&in.Reason, "reason", "", "for the audit log")
	return cmd
}

func (e *edit) showOrigins(ctx context.Context) error {
	return command.Get(ctx, e.Session, e.path("origins"), func(w io.Writer, out *admin.List[login.ConnectorOrigins]) {
		if len(out.Items) == 0 {
			fmt.Fprintf(w, "%s sends no credential\n", e.t.Slug)
		}
		for i := range out.Items {
			o := &out.Items[i]
			fmt.Fprintf(w, "%s: the credential is for %s\n", o.Connector, describe.Addresses(o.Origins))
			if len(o.TokenOrigins) > 0 {
				fmt.Fprintf(w, "  the OAuth client's secret is for %s\n", describe.Addresses(o.TokenOrigins))
			}
			if len(o.New) > 0 {
				fmt.Fprintf(w, "! not for %s, where calls would take it\n  next   sluice toolset origins %s --connector %s --confirm %s\n",
					describe.Addresses(o.New), e.t.Slug, o.Connector, strings.Join(o.New, ","))
			}
		}
	})
}

// printMoved shows the addresses of calls before and after a change.
func printMoved(w io.Writer, slug string, c *credential.OriginChange) {
	if c == nil {
		return
	}
	fmt.Fprintf(w, "! breaking calls go to another address: %s → %s\n", describe.Addresses(c.From), describe.Addresses(c.To))
	if len(c.New) > 0 {
		fmt.Fprintf(w, "  the credential is not sent to %s until an administrator confirms it:\n  sluice toolset origins %s --connector %s --confirm %s\n",
			describe.Addresses(c.New), slug, c.Connector, strings.Join(c.New, ","))
	}
}

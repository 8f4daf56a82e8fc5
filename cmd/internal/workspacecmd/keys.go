package workspacecmd

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/publish/keyring"
	"github.com/sluicegate/sluice/admin/store/cluster"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

var keys = command.Resource[keyring.ControlKey]{
	Path: "/v1/keys",
	Name: func(k keyring.ControlKey) string { return k.ID },
	Columns: []terminal.Column[keyring.ControlKey]{
		{Header: "id", Value: func(k keyring.ControlKey) string { return k.ID }},
		{Header: "use", Value: func(k keyring.ControlKey) string { return k.Use }},
		{Header: "state", Value: func(k keyring.ControlKey) string { return k.State }},
	},
}

// Key is "sluice key".
func Key(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "key", Aliases: []string{"keys"}, Short: "List the keys of the control plane, and rotate the one that seals credentials",
	}
	cmd.AddCommand(keys.List(s, "List keys: what each is for, none of their contents"), keyRotate(s))
	return cmd
}

func keyRotate(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Create a new key-encryption key and re-encrypt every credential", Args: command.Exactly(0, "no arguments"),
		Long: `Create a new key-encryption key and put the data key of every credential, token and
pending login under it, while calls go on. The key before it still opens until the next
rotation, a minute later at the earliest: two rotations end a key for good. Operator only.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPost, Path: keys.Path + "/rotate"}, func(w io.Writer, out *keyring.RotatedKeys) {
				fmt.Fprintf(w, "✓ key %s seals; %s put under it\n", out.Current, terminal.Plural(out.Rewrapped, "sealed value"))
				if len(out.Opening) > 0 {
					fmt.Fprintf(w, "  %s still opens until the next rotation: sluice key rotate\n", strings.Join(out.Opening, ", "))
				}
				planes, _, err := client.All[cluster.ControlPlane](cmd.Context(), s.Client(), "/v1/control-planes")
				if err != nil {
					return // that it was rotated is what was asked for
				}
				leader := ""
				for i := range planes {
					if planes[i].State == cluster.Leads {
						leader = planes[i].Name
					}
				}
				for i := range planes {
					if planes[i].State != cluster.Leads {
						fmt.Fprintf(w, "! %s cannot take over before it has the folder keys of %s: copy it there; its log and /readyz?verbose name the command\n",
							terminal.Printable(planes[i].Name), terminal.Printable(leader))
					}
				}
			})
		},
	}
}

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

func (a *app) keyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "key", Aliases: []string{"keys"}, Short: "List the keys of the control plane, and rotate the one that seals credentials",
	}
	cmd.AddCommand(a.keyList(), a.keyRotate())
	return cmd
}

func (a *app) keyList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List keys: what each is for, none of their contents", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.Client()
			items, raw, err := client.All[admin.ControlKey](cmd.Context(), c, "/v1/keys")
			if err != nil {
				return err
			}
			return terminal.List(&a.Terminal, items, raw, []terminal.Column[admin.ControlKey]{
				{Header: "id", Value: func(k admin.ControlKey) string { return k.ID }},
				{Header: "use", Value: func(k admin.ControlKey) string { return k.Use }},
				{Header: "state", Value: func(k admin.ControlKey) string { return k.State }},
			}, func(k admin.ControlKey) string { return k.ID })
		},
	}
}

func (a *app) keyRotate() *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Make a new key-encryption key and put every credential under it", Args: command.Exactly(0, "no arguments"),
		Long: `Make a new key-encryption key and put the data key of every credential, token and
pending login under it, while calls go on. The key before it still opens until the next
rotation, a minute later at the earliest: two rotations end a key for good. Operator only.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.Client()
			var out admin.RotatedKeys
			if err := c.Post(cmd.Context(), "/v1/keys/rotate", nil, &out); err != nil {
				return err
			}
			return a.Object(out, func(w io.Writer) {
				fmt.Fprintf(w, "✓ key %s seals; %s put under it\n", out.Current, terminal.Plural(out.Rewrapped, "sealed value"))
				if len(out.Opening) > 0 {
					fmt.Fprintf(w, "  %s still opens until the next rotation: sluice key rotate\n", strings.Join(out.Opening, ", "))
				}
			})
		},
	}
}

package toolsetcmd

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

func toolsetDraft(cli *command.Session) *cobra.Command {
	cmd := &cobra.Command{Use: "draft", Aliases: []string{"drafts"}, Short: "List, show, apply and drop the edits that roll-backs kept aside"}
	cmd.AddCommand(draftList(cli), draftShow(cli), draftApply(cli), draftDrop(cli))
	return cmd
}

func draftList(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "list TOOLSET", Aliases: []string{"ls"}, Short: "List the drafts that were kept aside, newest first", Args: command.Exactly(1, "one toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, _, err := cli.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			items, raw, err := client.All[admin.KeptDraft](cmd.Context(), c, client.ToolsetPath(t, "drafts"))
			if err != nil {
				return err
			}
			now := time.Now()
			return terminal.List(&cli.Terminal, items, raw, []terminal.Column[admin.KeptDraft]{
				{Header: "name", Value: func(d admin.KeptDraft) string { return d.Name }},
				{Header: "kept", Value: func(d admin.KeptDraft) string { return terminal.Ago(d.CreatedAt, now) }},
				{Header: "reason", Value: func(d admin.KeptDraft) string { return terminal.Printable(d.Reason) }},
				{Header: "digest", Value: func(d admin.KeptDraft) string { return terminal.ShortDigest(d.Digest) }, Wide: true},
			}, func(d admin.KeptDraft) string { return d.Name })
		},
	}
}

func draftShow(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "show TOOLSET NAME", Short: "Show a draft that was kept aside: settings, connectors and edits of tools", Args: command.Exactly(2, "a toolset and a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, _, err := cli.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var out admin.KeptDraftDetail
			if err := c.Get(cmd.Context(), client.ToolsetPath(t, "drafts", args[1]), &out); err != nil {
				return err
			}
			return cli.Object(out, func(w io.Writer) {
				var text bytes.Buffer
				if json.Indent(&text, out.Document, "", "  ") == nil {
					_, _ = w.Write(append(text.Bytes(), '\n'))
				}
			})
		},
	}
}

func draftApply(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "apply TOOLSET NAME", Short: "Make a draft that was kept aside the draft again; nothing becomes live", Args: command.Exactly(2, "a toolset and a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, etag, err := cli.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var out admin.Toolset
			if err := c.Post(cmd.Context(), client.ToolsetPath(t, "drafts", args[1], "apply"), nil, &out, client.IfMatch(etag)); err != nil {
				return err
			}
			cli.Say("%s has the edits of %s in its draft. Test and deploy it: sluice toolset test %s", t.Slug, terminal.Printable(args[1]), t.Slug)
			return nil
		},
	}
}

func draftDrop(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "drop TOOLSET NAME", Short: "Drop a draft that was kept aside", Args: command.Exactly(2, "a toolset and a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, _, err := cli.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			err = c.Delete(cmd.Context(), client.ToolsetPath(t, "drafts", args[1]), nil)
			return err
		},
	}
}

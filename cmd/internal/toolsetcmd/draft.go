package toolsetcmd

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

func draftCommand(cli *command.Session) *cobra.Command {
	cmd := &cobra.Command{Use: "draft", Aliases: []string{"drafts"}, Short: "List, show, restore and delete drafts set aside by rollbacks"}
	cmd.AddCommand(draftList(cli), draftShow(cli), draftApply(cli), draftDrop(cli))
	return cmd
}

func draftList(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "list TOOLSET", Aliases: []string{"ls"}, Short: "List drafts that were set aside, newest first", Args: command.Exactly(1, "one toolset"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			r := command.Resource[rollout.KeptDraft]{Columns: []terminal.Column[rollout.KeptDraft]{
				{Header: "name", Value: func(d rollout.KeptDraft) string { return d.Name }},
				{Header: "kept", Value: func(d rollout.KeptDraft) string { return terminal.Since(d.CreatedAt) }},
				{Header: "reason", Value: func(d rollout.KeptDraft) string { return terminal.Printable(d.Reason) }},
				{Header: "digest", Value: func(d rollout.KeptDraft) string { return terminal.ShortDigest(d.Digest) }, Wide: true},
			}, Name: func(d rollout.KeptDraft) string { return d.Name }}
			return r.Show(cmd.Context(), e.Session, e.path("drafts"))
		}),
	}
}

func draftShow(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "show TOOLSET NAME", Short: "Show a draft that was set aside: settings, connectors and edits of tools", Args: command.Exactly(2, "a toolset and a name"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			return command.Get(cmd.Context(), e.Session, e.path("drafts", args[1]), func(w io.Writer, out *rollout.KeptDraftDetail) {
				var text bytes.Buffer
				if json.Indent(&text, out.Document, "", "  ") == nil {
					_, _ = w.Write(append(text.Bytes(), '\n'))
				}
			})
		}),
	}
}

func draftApply(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "apply TOOLSET NAME", Short: "Restore a draft that was set aside; nothing becomes live", Args: command.Exactly(2, "a toolset and a name"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			if err := e.Client().Post(cmd.Context(), e.path("drafts", args[1], "apply"), nil, nil, client.IfMatch(e.etag)); err != nil {
				return err
			}
			e.Say("%s has the edits of %s in its draft. Test and deploy it: sluice toolset test %s", e.t.Slug, terminal.Printable(args[1]), e.t.Slug)
			return nil
		}),
	}
}

func draftDrop(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "drop TOOLSET NAME", Short: "Delete a draft that was set aside", Args: command.Exactly(2, "a toolset and a name"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			return e.Client().Delete(cmd.Context(), e.path("drafts", args[1]), nil)
		}),
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
)

func (a *app) toolsetDraft() *cobra.Command {
	cmd := &cobra.Command{Use: "draft", Aliases: []string{"drafts"}, Short: "List, show, apply and drop the edits that roll-backs kept aside"}
	cmd.AddCommand(a.draftList(), a.draftShow(), a.draftApply(), a.draftDrop())
	return cmd
}

func (a *app) draftList() *cobra.Command {
	return &cobra.Command{
		Use: "list TOOLSET", Aliases: []string{"ls"}, Short: "List the drafts that were kept aside, newest first", Args: exactly(1, "one toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, _, err := a.clientAndToolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			items, raw, err := all[admin.KeptDraft](cmd.Context(), c, toolsetPath(t, "drafts"))
			if err != nil {
				return err
			}
			now := time.Now()
			return list(a, items, raw, []column[admin.KeptDraft]{
				{header: "name", value: func(d admin.KeptDraft) string { return d.Name }},
				{header: "kept", value: func(d admin.KeptDraft) string { return ago(d.CreatedAt, now) }},
				{header: "reason", value: func(d admin.KeptDraft) string { return printable(d.Reason) }},
				{header: "digest", value: func(d admin.KeptDraft) string { return shortDigest(d.Digest) }, wide: true},
			}, func(d admin.KeptDraft) string { return d.Name })
		},
	}
}

func (a *app) draftShow() *cobra.Command {
	return &cobra.Command{
		Use: "show TOOLSET NAME", Short: "Show a draft that was kept aside: settings, connectors and edits of tools", Args: exactly(2, "a toolset and a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, _, err := a.clientAndToolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var out admin.KeptDraftDetail
			if _, err := c.do(cmd.Context(), apiCall{method: http.MethodGet, path: toolsetPath(t, "drafts", args[1]), out: &out}); err != nil {
				return err
			}
			return a.object(out, func(w io.Writer) {
				var text bytes.Buffer
				if json.Indent(&text, out.Document, "", "  ") == nil {
					_, _ = w.Write(append(text.Bytes(), '\n'))
				}
			})
		},
	}
}

func (a *app) draftApply() *cobra.Command {
	return &cobra.Command{
		Use: "apply TOOLSET NAME", Short: "Make a draft that was kept aside the draft again; nothing becomes live", Args: exactly(2, "a toolset and a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, etag, err := a.clientAndToolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var out admin.Toolset
			if _, err := c.do(cmd.Context(), apiCall{method: http.MethodPost, path: toolsetPath(t, "drafts", args[1], "apply"), ifMatch: etag, out: &out}); err != nil {
				return err
			}
			a.say("%s has the edits of %s in its draft. Test and deploy it: sluice toolset test %s", t.Slug, printable(args[1]), t.Slug)
			return nil
		},
	}
}

func (a *app) draftDrop() *cobra.Command {
	return &cobra.Command{
		Use: "drop TOOLSET NAME", Short: "Drop a draft that was kept aside", Args: exactly(2, "a toolset and a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, _, err := a.clientAndToolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = c.do(cmd.Context(), apiCall{method: http.MethodDelete, path: toolsetPath(t, "drafts", args[1])})
			return err
		},
	}
}

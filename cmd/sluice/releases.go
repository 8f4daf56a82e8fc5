package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

func (a *app) releaseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "release", Aliases: []string{"releases"}, Short: "Show the newest releases, and resume publishing when it is stopped", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.Client()
			items, raw, err := client.All[admin.Release](cmd.Context(), c, "/v1/releases")
			if err != nil {
				return err
			}
			return a.showReleases(items, raw)
		},
	}
	cmd.AddCommand(a.releaseResume())
	return cmd
}

// showReleases lists releases; raw are the same as the API answered them, or nil.
func (a *app) showReleases(items []admin.Release, raw []json.RawMessage) error {
	now := time.Now()
	err := terminal.List(&a.Terminal, items, raw, []terminal.Column[admin.Release]{
		{Header: "group", Value: func(r admin.Release) string { return r.Group }},
		{Header: "release", Value: func(r admin.Release) string { return fmt.Sprintf("%d.%d", r.Epoch, r.Revision) }},
		{Header: "toolsets", Value: func(r admin.Release) string { return terminal.Thousands(r.Toolsets) }},
		{Header: "issued", Value: func(r admin.Release) string { return terminal.Ago(r.Issued, now) }},
		{Header: "digest", Value: func(r admin.Release) string { return terminal.ShortDigest(r.Digest) }, Wide: true},
		{Header: "publishing", Value: func(r admin.Release) string {
			if r.Stopped != "" {
				return "stopped"
			}
			return "on"
		}},
	}, func(r admin.Release) string { return r.Group })
	for _, r := range items {
		if r.Stopped != "" {
			a.Say("%s", terminal.Printable(r.Stopped))
			a.Say("  %s", terminal.Printable(r.Remedy))
			break // the others say the same
		}
	}
	return err
}

func (a *app) releaseResume() *cobra.Command {
	var in admin.ResumeRequest
	cmd := &cobra.Command{
		Use: "resume", Short: "Publish the records as they are although they are older than the newest release", Args: command.Exactly(0, "no arguments"),
		Long: `A control plane whose records are older than its newest release publishes nothing: its
database was set back, by a lost write-ahead log or an old copy. Put the newest records
back and start it again. When they are gone, this publishes the records as they are in a
new epoch: what was published after them is given up. The reason is audited.`,
		Example: "  sluice release resume --reason 'the disk is gone, the copy of Monday is what we have'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if in.Reason == "" {
				return exit.Usagef("say why with --reason; it is audited")
			}
			c := a.Client()
			var out admin.List[admin.Release]
			if err := c.Post(cmd.Context(), "/v1/releases/resume", in, &out); err != nil {
				return err
			}
			return a.showReleases(out.Items, nil)
		},
	}
	cmd.Flags().StringVar(&in.Reason, "reason", "", "why, for the audit log")
	return cmd
}

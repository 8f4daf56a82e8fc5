package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
)

func (a *app) releaseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "release", Aliases: []string{"releases"}, Short: "Show the newest releases, and resume publishing when it is stopped", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			items, raw, err := all[admin.Release](cmd.Context(), c, "/v1/releases")
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
	err := list(a, items, raw, []column[admin.Release]{
		{header: "group", value: func(r admin.Release) string { return r.Group }},
		{header: "release", value: func(r admin.Release) string { return fmt.Sprintf("%d.%d", r.Epoch, r.Revision) }},
		{header: "toolsets", value: func(r admin.Release) string { return thousands(r.Toolsets) }},
		{header: "issued", value: func(r admin.Release) string { return ago(r.Issued, now) }},
		{header: "digest", value: func(r admin.Release) string { return shortDigest(r.Digest) }, wide: true},
		{header: "publishing", value: func(r admin.Release) string {
			if r.Stopped != "" {
				return "stopped"
			}
			return "on"
		}},
	}, func(r admin.Release) string { return r.Group })
	for _, r := range items {
		if r.Stopped != "" {
			a.say("%s", printable(r.Stopped))
			a.say("  %s", printable(r.Remedy))
			break // the others say the same
		}
	}
	return err
}

func (a *app) releaseResume() *cobra.Command {
	var in admin.ResumeRequest
	cmd := &cobra.Command{
		Use: "resume", Short: "Publish the records as they are although they are older than the newest release", Args: exactly(0, "no arguments"),
		Long: `A control plane whose records are older than its newest release publishes nothing: its
database was set back, by a lost write-ahead log or an old copy. Put the newest records
back and start it again. When they are gone, this publishes the records as they are in a
new epoch: what was published after them is given up. The reason is audited.`,
		Example: "  sluice release resume --reason 'the disk is gone, the copy of Monday is what we have'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if in.Reason == "" {
				return usagef("say why with --reason; it is audited")
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			var out admin.List[admin.Release]
			if _, err := c.do(cmd.Context(), apiCall{method: http.MethodPost, path: "/v1/releases/resume", in: in, out: &out}); err != nil {
				return err
			}
			return a.showReleases(out.Items, nil)
		},
	}
	cmd.Flags().StringVar(&in.Reason, "reason", "", "why, for the audit log")
	return cmd
}

package fleetcmd

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// Release is "sluice release".
func Release(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "release", Aliases: []string{"releases"}, Short: "Show the newest releases, and resume publishing when it is stopped", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := s.Client()
			items, raw, err := client.All[fleet.Release](cmd.Context(), c, "/v1/releases")
			if err != nil {
				return err
			}
			return showReleases(s, items, raw)
		},
	}
	cmd.AddCommand(releaseResume(s))
	return cmd
}

// showReleases lists releases; raw are the same as the API answered them, or nil.
func showReleases(s *command.Session, items []fleet.Release, raw []json.RawMessage) error {
	err := terminal.List(&s.Terminal, items, raw, releaseColumns, func(r fleet.Release) string { return r.Group })
	if i := slices.IndexFunc(items, func(r fleet.Release) bool { return r.Stopped != "" }); i >= 0 { // the others say the same
		s.Say("%s\n  %s", terminal.Printable(items[i].Stopped), terminal.Printable(items[i].Remedy))
	}
	return err
}

var releaseColumns = []terminal.Column[fleet.Release]{
	{Header: "group", Value: func(r fleet.Release) string { return r.Group }},
	{Header: "release", Value: func(r fleet.Release) string { return fmt.Sprintf("%d.%d", r.Epoch, r.Revision) }},
	{Header: "toolsets", Value: func(r fleet.Release) string { return terminal.Thousands(r.Toolsets) }},
	{Header: "issued", Value: func(r fleet.Release) string { return terminal.Since(r.Issued) }},
	{Header: "digest", Value: func(r fleet.Release) string { return terminal.ShortDigest(r.Digest) }, Wide: true},
	{Header: "publishing", Value: func(r fleet.Release) string {
		if r.Stopped != "" {
			return "stopped"
		}
		return "on"
	}},
}

func releaseResume(s *command.Session) *cobra.Command {
	var in fleet.ResumeRequest
	cmd := &cobra.Command{
		Use: "resume", Short: "Resume publishing although the records are older than the newest release", Args: command.Exactly(0, "no arguments"),
		Long: `A control plane whose records are older than its newest release publishes nothing: its
database was set back, by a lost write-ahead log or an old copy. Put the newest records
back and start it again. When they are gone, this publishes the records as they are in a
new epoch: what was published after them is given up. The reason is audited.`,
		Example: "  sluice release resume --reason 'the disk is gone, the copy of Monday is what we have'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if in.Reason == "" {
				return exit.Usagef("say why with --reason; it is audited")
			}
			c := s.Client()
			var out admin.List[fleet.Release]
			if err := c.Post(cmd.Context(), "/v1/releases/resume", in, &out); err != nil {
				return err
			}
			return showReleases(s, out.Items, nil)
		},
	}
	cmd.Flags().StringVar(&in.Reason, "reason", "", "why, for the audit log")
	return cmd
}

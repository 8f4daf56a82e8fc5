package fleetcmd

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/store/cluster"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// ControlPlanes is where the control planes that share a database are listed.
const ControlPlanes = "/v1/control-planes"

// Cluster is "sluice cluster".
func Cluster(s *command.Session) *cobra.Command {
	planes := command.Resource[cluster.ControlPlane]{
		Path: ControlPlanes, Name: func(p cluster.ControlPlane) string { return p.Name },
		Empty: "This control plane shares its database with no other: it was started without --cluster.",
		Columns: []terminal.Column[cluster.ControlPlane]{
			{Header: "name", Value: func(p cluster.ControlPlane) string { return p.Name }},
			{Header: "state", Value: func(p cluster.ControlPlane) string { return p.State }},
			{Header: "version", Value: func(p cluster.ControlPlane) string { return p.Version }},
			{Header: "started", Value: func(p cluster.ControlPlane) string { return terminal.Since(p.Started) }},
			{Header: "seen", Value: func(p cluster.ControlPlane) string { return terminal.Since(p.Seen) }},
			{Header: "url", Value: func(p cluster.ControlPlane) string { return p.URL }, Wide: true},
			{Header: "number", Value: func(p cluster.ControlPlane) string {
				if p.Number == 0 {
					return ""
				}
				return strconv.FormatUint(p.Number, 10)
			}, Wide: true},
		},
	}
	return &cobra.Command{
		Use: "cluster", Short: "List the control planes that share the database, and which one leads", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return planes.Show(cmd.Context(), s, planes.Path) },
	}
}

package fleetcmd

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

var edges = command.Resource[fleet.Edge]{
	Filter: "group:eu lastSeen:<1h", Sort: "-lastSeen,name",
	Path: "/v1/edges", Empty: "There are no edges yet. Invite one: sluice edge token",
	Name: func(e fleet.Edge) string { return e.Name },
	Columns: []terminal.Column[fleet.Edge]{
		{Header: "name", Value: func(e fleet.Edge) string { return e.Name }},
		{Header: "id", Value: func(e fleet.Edge) string { return e.ID }, Wide: true},
		{Header: "state", Value: func(e fleet.Edge) string { return e.State }},
		{Header: "release", Value: func(e fleet.Edge) string { return fmt.Sprintf("%d.%d", e.Epoch, e.Revision) }},
		{Header: "lag", Value: func(e fleet.Edge) string { return strconv.FormatUint(e.Lag, 10) }},
		{Header: "toolsets", Value: func(e fleet.Edge) string { return terminal.Thousands(e.Toolsets) }},
		{Header: "labels", Value: func(e fleet.Edge) string { return command.LabelsText(e.Labels) }},
		{Header: "version", Value: func(e fleet.Edge) string { return e.Version }, Wide: true},
		{Header: "seen", Value: func(e fleet.Edge) string { return terminal.Since(e.LastSeen) }},
		{Header: "errors", Value: func(e fleet.Edge) string { return strings.Join(e.Errors, "; ") }},
	},
}

// Edge is "sluice edge".
func Edge(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{Use: "edge", Aliases: []string{"edges"}, Short: "List, invite and revoke the edges of a control plane"}
	cmd.AddCommand(edges.List(s, "List edges: what they serve, how far behind they are, what is wrong"), edgeToken(s),
		edges.Remove(s, "revoke EDGE", "Revoke an edge: it gets nothing more", "one edge",
			"%s is revoked. It serves what it has until it stops; if the machine is lost, rotate the keys it had: sluice toolset auth TOOLSET set"))
	return cmd
}

var joinTokens = command.Resource[fleet.JoinToken]{
	Filter: "uses:0 expiresAt:>=7d", Sort: "-createdAt,name",
	Path: "/v1/edges/join-tokens", Empty: "There are no join tokens. Make one: sluice edge token",
	Name: func(t fleet.JoinToken) string { return t.ID },
	Columns: []terminal.Column[fleet.JoinToken]{
		{Header: "id", Value: func(t fleet.JoinToken) string { return t.ID }},
		{Header: "name", Value: func(t fleet.JoinToken) string { return t.Name }},
		{Header: "state", Value: joinState},
		{Header: "joined", Value: func(t fleet.JoinToken) string {
			if t.MaxUses == 0 {
				return strconv.FormatUint(t.Uses, 10)
			}
			return fmt.Sprintf("%d of %d", t.Uses, t.MaxUses)
		}},
		{Header: "labels", Value: func(t fleet.JoinToken) string { return command.LabelsText(t.Labels) }},
		{Header: "created", Value: func(t fleet.JoinToken) string { return terminal.Since(t.CreatedAt) }},
		{Header: "expires", Value: func(t fleet.JoinToken) string {
			if t.ExpiresAt.IsZero() {
				return "never"
			}
			return t.ExpiresAt.Local().Format(time.DateTime)
		}, Wide: true},
	},
}

// joinState says whether nodes may still join with a token.
func joinState(t fleet.JoinToken) string {
	switch {
	case !t.RevokedAt.IsZero():
		return "revoked"
	case !t.ExpiresAt.IsZero() && time.Now().After(t.ExpiresAt):
		return "expired"
	case t.MaxUses > 0 && t.Uses >= t.MaxUses:
		return "used"
	}
	return "valid"
}

func edgeToken(s *command.Session) *cobra.Command {
	var labels []string
	var name string
	var everyone bool
	var uses uint64
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "token", Aliases: []string{"invite"}, Short: "Create a join token for one edge; list and revoke join tokens",
		Long: `Create a join token and write it to stdout. It is shown once. Put it into a file on
the new node, readable by its owner only:

  sluice serve --role edge --control-plane URL --join-token-file FILE --data DIR

Labels choose what the edge serves: a toolset goes to the edges that have all labels
of the toolset ("sluice toolset labels"); one without labels goes to every edge.`,
		Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := command.ParseLabels(labels)
			if err != nil {
				return err
			}
			in := fleet.CreateJoinToken{Name: name, Labels: l, AllWorkspaces: everyone, MaxUses: uses, TTLSeconds: int64(ttl / time.Second)}
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPost, Path: joinTokens.Path, In: in}, func(w io.Writer, t *fleet.JoinToken) { fmt.Fprintln(w, t.Token) })
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&labels, "label", nil, "label of the edges that join with it, NAME=VALUE")
	fs.StringVar(&name, "name", "", "name of the token in lists")
	fs.BoolVar(&everyone, "all-workspaces", false, "the edges serve every workspace (operator only)")
	fs.Uint64Var(&uses, "uses", 1, "how many nodes may join with it")
	command.LifetimeVar(fs, &ttl, "ttl", 24*time.Hour, "how long it is valid, such as 12h or 7d")
	cmd.AddCommand(joinTokens.List(s, "List join tokens, newest first"),
		joinTokens.Remove(s, "revoke ID", "Revoke a join token: no further node joins with it", "the id of a join token", "%s is revoked. Edges that joined with it stay."))
	return cmd
}

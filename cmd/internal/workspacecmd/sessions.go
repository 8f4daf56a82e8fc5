package workspacecmd

import (
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/member/session"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

var sessions = command.Resource[session.OpenSession]{
	Filter: "seenAt:>=7d", Sort: "-seenAt",
	Path: "/v1/sessions", Empty: "Nobody is signed in to the console. Sign in with: sluice session link",
	Name: func(r session.OpenSession) string { return r.ID },
	Columns: []terminal.Column[session.OpenSession]{
		{Header: "id", Value: func(r session.OpenSession) string { return r.ID }},
		{Header: "name", Value: func(r session.OpenSession) string { return r.Name }},
		{Header: "role", Value: func(r session.OpenSession) string { return r.Role }},
		{Header: "by", Value: func(r session.OpenSession) string { return r.OpenedBy }},
		{Header: "from", Value: func(r session.OpenSession) string { return r.Address }},
		{Header: "browser", Value: func(r session.OpenSession) string { return r.Agent }, Wide: true},
		{Header: "signed in", Value: func(r session.OpenSession) string { return terminal.Since(r.CreatedAt) }},
		{Header: "seen", Value: func(r session.OpenSession) string { return terminal.Since(r.SeenAt) }},
	},
}

// Session is "sluice session".
func Session(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "session", Aliases: []string{"sessions"}, Short: "Sign in to the console, list and end sessions",
		Long: `A session is a browser that is signed in to the console. It may do what its member may at
that moment, or the API token whose link opened it; it ends twelve hours after its last
request, after thirty days in any case, and with its member or token.`,
	}
	cmd.AddCommand(sessionLink(s), sessions.List(s, "List the sessions that are open"),
		sessions.Remove(s, "revoke ID", "End a session", "one session", "%s has ended."))
	return cmd
}

func sessionLink(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "link", Short: "Make a link that signs a browser in to the console", Args: command.Exactly(0, "no arguments"),
		Long: `Make a link that signs one browser in to the console, once and within ten minutes, as the
API token that this command uses: on the machine of the control plane, that of the local
administrator. An earlier link of the same token ends. For a member: sluice member link EMAIL`,
		RunE: func(cmd *cobra.Command, _ []string) error { return showLink(cmd, s, "/v1/login-link") },
	}
}

// showLink makes a login link and prints it.
func showLink(cmd *cobra.Command, s *command.Session, path string) error {
	return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPost, Path: path}, func(w io.Writer, l *session.LoginLink) {
		s.Say("Open it in a browser, once and until %s.", l.ExpiresAt.Local().Format("15:04"))
		fmt.Fprintln(w, l.URL)
	})
}

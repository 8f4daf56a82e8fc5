package toolsetcmd

import (
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/clientconfig"
)

func pauseCommand(cli *command.Session) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "pause TOOLSET", Short: "Refuse all callers of a toolset until it is resumed", Args: command.Exactly(1, "one toolset"),
		Long: `Answer every caller of the toolset URL with 503 and the reason, and end open streams, at
once and without a new revision. Calls that run are finished. The draft can be changed,
tested, previewed and deployed meanwhile.`,
		Example: "  sluice toolset pause billing --reason 'the API is being moved'\n  sluice toolset resume billing",
		RunE: on(cli, func(cmd *cobra.Command, e *edit, _ []string) error {
			call := client.Call{Method: http.MethodPost, Path: e.path("pause"), In: access.PauseRequest{Reason: reason}}
			return command.Show(cmd.Context(), e.Session, call, func(w io.Writer, t *view.Toolset) {
				fmt.Fprintf(w, "%s is paused: %s refuses every caller\n  next   sluice toolset resume %s\n", t.Slug, t.URL, clientconfig.ShellWord(t.Slug))
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "what callers are told, and the audit log keeps")
	return cmd
}

func resumeCommand(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "resume TOOLSET", Short: "Let callers of a paused toolset in again", Args: command.Exactly(1, "one toolset"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, _ []string) error {
			return command.Show(cmd.Context(), e.Session, client.Call{Method: http.MethodPost, Path: e.path("resume")}, func(w io.Writer, t *view.Toolset) {
				if t.Status == "draft" {
					fmt.Fprintf(w, "%s is a draft, and not paused\n", t.Slug)
					return
				}
				fmt.Fprintf(w, "%s serves: %s\n", t.Slug, t.URL)
			})
		}),
	}
}

// pauseText says since when and why a toolset is paused.
func pauseText(p *access.Paused) string {
	text := "since " + terminal.Since(p.Since)
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

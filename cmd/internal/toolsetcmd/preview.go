package toolsetcmd

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

func previewCommand(cli *command.Session) *cobra.Command {
	var ttl time.Duration
	var show, end bool
	cmd := &cobra.Command{
		Use: "preview TOOLSET", Short: "Serve the draft at a temporary URL", Args: command.Exactly(1, "one toolset"),
		Long: `Serve the draft of a toolset, as it is now, at a URL that is listed nowhere, to whoever
shows the token that is printed once. What is live does not change, nothing is counted,
and a later change of the draft needs a new preview, which takes the place of this one.
The node that has both control plane and gateway serves it; edges serve no drafts.`,
		Example: "  sluice toolset preview shop --ttl 30m\n  sluice toolset preview shop --end",
		RunE: func(cmd *cobra.Command, args []string) error {
			if show && end {
				return exit.Usagef("--show and --end cannot be given together")
			}
			c, t, _, err := cli.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			call := client.Call{Method: http.MethodPost, Path: client.ToolsetPath(t, "preview"), In: rollout.CreateDraftPreview{TTLSeconds: int64(ttl / time.Second)}}
			switch {
			case show:
				call.Method, call.In = http.MethodGet, nil
			case end:
				call.Method, call.In = http.MethodDelete, nil
			case ttl < time.Minute || ttl > rollout.MaxPreviewLife:
				return exit.Usagef("--ttl is from 1m to %s", rollout.MaxPreviewLife)
			}
			if end {
				if _, err := c.Do(cmd.Context(), call); err != nil {
					return err
				}
				cli.Say("The preview of %s has ended.", t.Slug)
				return nil
			}
			return command.Show(cmd.Context(), cli, call, func(w io.Writer, out *rollout.DraftPreview) {
				fmt.Fprintf(w, "URL      %s\n", out.URL)
				if out.Token != "" {
					fmt.Fprintf(w, "Token    %s\n", out.Token)
				}
				what := "the draft"
				switch {
				case out.Live:
					what = "the draft, which equals the live revision"
				case !out.Current:
					what = "an older draft"
				}
				fmt.Fprintf(w, "Serves   %s, %s\nUntil    %s (in %s)\n", what, terminal.ShortDigest(out.Digest), out.ExpiresAt.Local().Format(time.DateTime), time.Until(out.ExpiresAt).Round(time.Second))
				if out.Token != "" {
					fmt.Fprintf(w, "  try    SLUICE_ACCESS_TOKEN=%s sluice call %s TOOL\n", out.Token, out.URL)
				}
			})
		},
	}
	command.LifetimeVar(cmd.Flags(), &ttl, "ttl", rollout.DefaultPreviewLife, "how long it is served, 1m to 24h")
	cmd.Flags().BoolVar(&show, "show", false, "show the preview there is, without its token")
	cmd.Flags().BoolVar(&end, "end", false, "end it now")
	return cmd
}

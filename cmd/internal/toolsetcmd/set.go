package toolsetcmd

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
)

func setCommand(cli *command.Session) *cobra.Command {
	var name, description, instructions, baseURL string
	cmd := &cobra.Command{
		Use:   "set TOOLSET [--name … --description … --instructions … --base-url URL]",
		Short: "Change the name, the texts and the base URL of a toolset",
		Long: "Change the name of a toolset, the texts that people and models read about it, and where its calls are sent.\n" +
			"The change is made to the draft; the live revision stays until the draft is tested. The slug, and with it the toolset URL, never changes.",
		Example: `  sluice toolset set shop --name 'Web shop' --description 'Orders and customers of the web shop'
  sluice toolset set shop --instructions 'Amounts are in cents.'
  sluice toolset set shop --base-url https://staging.shop.example/v2`,
		Args: command.Exactly(1, "a toolset"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, _ []string) error {
			var in draft.PatchToolset
			some, fs := false, cmd.Flags()
			take(fs, &some, "name", &in.Name, &name)
			take(fs, &some, "description", &in.Description, &description)
			take(fs, &some, "instructions", &in.Instructions, &instructions)
			take(fs, &some, "base-url", &in.BaseURL, &baseURL)
			if !some {
				return exit.Usagef("say what to set: --name, --description, --instructions or --base-url")
			}
			return settle(cmd.Context(), e, e.path(), true, in, func(w io.Writer, out *view.ToolsetDetail) { printToolset(w, out) })
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&name, "name", "", "name for people")
	fs.StringVar(&description, "description", "", "what it is, for people who look for a toolset; an empty text takes it away")
	fs.StringVar(&instructions, "instructions", "", "text that applications give to their model when they connect; an empty one takes it away")
	fs.StringVar(&baseURL, "base-url", "", "`URL` that calls are sent to; a credential goes there only after it was given again or granted (toolset origins)")
	return cmd
}

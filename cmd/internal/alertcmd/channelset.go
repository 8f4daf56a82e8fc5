package alertcmd

import (
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
)

// hours are the flags of quiet hours and digests.
type hours struct{ quiet, quietZone, digest, at, zone string }

// off is the word that ends quiet hours.
const off = "off"

func hoursOf(cmd *cobra.Command) *hours {
	h := new(hours)
	f := cmd.Flags()
	f.StringVar(&h.quiet, "quiet", "", "hours in which only what is critical is sent, such as 22:00-07:00; the rest waits")
	f.StringVar(&h.quietZone, "quiet-zone", "", "time zone of --quiet, such as Europe/Berlin (default: UTC)")
	f.StringVar(&h.digest, "digest", "", "hourly or daily: what is not critical comes in one message")
	f.StringVar(&h.at, "digest-at", "", "time of day of --digest daily (default: 08:00)")
	f.StringVar(&h.zone, "digest-zone", "", "time zone of --digest-at, such as Europe/Berlin (default: UTC)")
	command.MustComplete(cmd, "digest", []string{"hourly", "daily", off})
	return h
}

// given are the settings of the flags; nil: they were not given.
func (h *hours) given() (quiet *notify.Quiet, digest *notify.Digest, err error) {
	switch {
	case h.quiet != "":
		from, to, _ := strings.Cut(h.quiet, "-")
		quiet = &notify.Quiet{From: from, To: to, Zone: h.quietZone}
	case h.quietZone != "":
		return nil, nil, exit.Usagef("--quiet-zone is of --quiet FROM-TO")
	}
	switch {
	case h.digest != "":
		digest = &notify.Digest{Every: h.digest, At: h.at, Zone: h.zone}
	case h.at != "" || h.zone != "":
		return nil, nil, exit.Usagef("--digest-at and --digest-zone are of --digest daily")
	}
	return quiet, digest, nil
}

func channelSet(s *command.Session) *cobra.Command {
	var times *hours
	var again []string
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Change the quiet hours, digests and unsubscribed addresses of a channel", Args: command.Exactly(1, "one channel"),
		Long: `Change when a channel is notified of what is not critical: "off" ends quiet hours and
digests. What waits for a digest goes with the next of the new ones, or at once. Addresses
that used the link of a reminder get reminders again with --resubscribe.`,
		Example: "  sluice notify channel set mail --digest daily --digest-at 17:30 --digest-zone Europe/Berlin\n" +
			"  sluice notify channel set ops --quiet 22:00-07:00 --digest off",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := notify.ChangeChannel{Resubscribe: again}
			given := *times
			if given.quiet == off && given.quietZone == "" {
				in.Loud, given.quiet = true, ""
			}
			var err error
			if in.Quiet, in.Digest, err = given.given(); err != nil {
				return err
			}
			if in.Quiet == nil && in.Digest == nil && !in.Loud && len(again) == 0 {
				return exit.Usagef("there is nothing to change: give --quiet, --digest or --resubscribe")
			}
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPatch, Path: channelPath(args[0]), In: in}, func(w io.Writer, c *notify.Channel) {
				s.Say("%s gets: %s", c.Name, gets(*c))
			})
		},
	}
	times = hoursOf(cmd)
	cmd.Flags().StringSliceVar(&again, "resubscribe", nil, "addresses that get reminders again")
	return cmd
}

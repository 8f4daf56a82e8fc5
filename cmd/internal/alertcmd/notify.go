package alertcmd

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

var channels = command.Resource[notify.Channel]{
	Filter: "kind:webhook createdAt:>=7d", Sort: "name",
	Path: "/v1/channels", Empty: "There are no channels: alerts are in \"sluice alert list\" only. Add one: sluice notify channel add NAME --webhook URL",
	Name: func(c notify.Channel) string { return c.Name },
	Columns: []terminal.Column[notify.Channel]{
		{Header: "name", Value: func(c notify.Channel) string { return c.Name }},
		{Header: "kind", Value: func(c notify.Channel) string { return c.Kind }},
		{Header: "where", Value: func(c notify.Channel) string { return c.Where }},
		{Header: "gets", Value: gets},
		{Header: "state", Value: func(c notify.Channel) string {
			if c.Disabled != "" {
				return "off: " + c.Disabled
			}
			return "on"
		}},
		{Header: "id", Value: func(c notify.Channel) string { return c.ID }, Wide: true},
		{Header: "created", Value: func(c notify.Channel) string { return terminal.Since(c.CreatedAt) }, Wide: true},
	},
}

// gets is what a channel gets, in a few words.
func gets(c notify.Channel) string {
	var parts []string
	if len(c.Routes.Kinds) > 0 {
		parts = append(parts, strings.Join(c.Routes.Kinds, " "))
	}
	if c.Routes.MinSeverity != "" {
		parts = append(parts, "from "+c.Routes.MinSeverity)
	}
	if n := len(c.Routes.Toolsets); n > 0 {
		parts = append(parts, "of "+terminal.Plural(n, "toolset"))
	}
	if len(parts) == 0 {
		parts = []string{"everything"}
	}
	if q := c.Quiet; q != nil {
		parts = append(parts, strings.TrimSpace("quiet "+q.From+"-"+q.To+" "+q.Zone))
	}
	if d := c.Digest; d != nil {
		parts = append(parts, strings.Join(strings.Fields("digest "+d.Every+" "+d.At+" "+d.Zone), " "))
	}
	if len(c.Unsubscribed) > 0 {
		parts = append(parts, "no reminders to "+strings.Join(c.Unsubscribed, " "))
	}
	return strings.Join(parts, ", ")
}

var deliveries = command.Resource[notify.Delivery]{
	Path: "/v1/deliveries", Empty: "Nothing was sent.",
	Name: func(d notify.Delivery) string { return d.ID },
	Columns: []terminal.Column[notify.Delivery]{
		{Header: "id", Value: func(d notify.Delivery) string { return d.ID }},
		{Header: "type", Value: func(d notify.Delivery) string { return d.Type }},
		{Header: "channel", Value: func(d notify.Delivery) string { return cmp.Or(d.Name, d.Channel) }},
		{Header: "state", Value: func(d notify.Delivery) string { return d.State }},
		{Header: "attempts", Value: func(d notify.Delivery) string { return fmt.Sprint(d.Attempts) }},
		{Header: "fault", Value: func(d notify.Delivery) string { return d.Fault }},
		{Header: "alert", Value: func(d notify.Delivery) string { return d.AlertID }, Wide: true},
		{Header: "created", Value: func(d notify.Delivery) string { return terminal.Since(d.CreatedAt) }},
	},
}

// Notify is "sluice notify".
func Notify(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{Use: "notify", Short: "Manage notification channels and the delivery log"}
	channel := &cobra.Command{Use: "channel", Aliases: []string{"channels"}, Short: "List, add and remove channels"}
	channel.AddCommand(channels.List(s, "List channels"), channelAdd(s), channelSet(s), channelTest(s), channelRotate(s), channelSwitch(s, true), channelSwitch(s, false),
		channels.Remove(s, "remove NAME", "Remove a channel and what was to be sent to it", "one channel", "%s is removed."))
	cmd.AddCommand(channel, deliveryList(s), redeliver(s))
	return cmd
}

func channelPath(name string) string { return channels.Path + "/" + url.PathEscape(name) }

func channelAdd(s *command.Session) *cobra.Command {
	in := notify.NewChannel{Mail: &notify.Mail{}}
	var toolsets []string
	var webhook, slackFile, passwordFile string
	var times *hours
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a channel; the signing secret of a webhook is shown once", Args: command.Exactly(1, "one name"),
		Long: `Add a channel: a webhook (Standard Webhooks; its signing secret is written to stdout,
once), an incoming webhook of Slack or of a program that takes the same, or e-mail. It
gets every alert unless --kind, --min-severity or --toolset restrict it.`,
		Example: "  sluice notify channel add ops --webhook https://hooks.example/sluice\n" +
			"  sluice notify channel add chat --slack-url-file slack.txt --min-severity warning\n" +
			"  sluice notify channel add mail --mail-host mail.example --mail-from sluice@a.example --mail-to ops@a.example",
		RunE: func(cmd *cobra.Command, args []string) error {
			body := in
			body.Name = args[0]
			var err error
			if body.Quiet, body.Digest, err = times.given(); err != nil {
				return err
			}
			if err := chooseKind(s, &body, webhook, slackFile, passwordFile); err != nil {
				return err
			}
			for _, t := range toolsets {
				_, ts, _, err := s.Toolset(cmd.Context(), t)
				if err != nil {
					return err
				}
				body.Routes.Toolsets = append(body.Routes.Toolsets, ts.ID)
			}
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPost, Path: channels.Path, In: body}, func(w io.Writer, c *notify.Channel) {
				if c.Secret != "" {
					fmt.Fprintln(w, c.Secret)
				}
				s.Say("%s is added. Try it: sluice notify channel test %s", c.Name, c.Name)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&webhook, "webhook", "", "URL that gets signed webhooks")
	f.StringVar(&slackFile, "slack-url-file", "", "file with the URL of an incoming webhook, - for stdin: the URL is a secret")
	f.StringVar(&in.Mail.Host, "mail-host", "", "mail server")
	f.IntVar(&in.Mail.Port, "mail-port", 0, "port of the mail server (default: 587, with tls 465)")
	f.StringVar(&in.Mail.Security, "mail-security", "", "starttls (default), tls, none")
	f.StringVar(&in.Mail.Username, "mail-user", "", "login at the mail server (default: none)")
	f.StringVar(&passwordFile, "mail-password-file", "", "file with the password of the login, - for stdin")
	f.StringVar(&in.Mail.From, "mail-from", "", "address of the sender")
	f.StringSliceVar(&in.Mail.To, "mail-to", nil, "addresses that get the mail")
	f.StringSliceVar(&in.Routes.Kinds, "kind", nil, "only these kinds of alerts, with globs: upstream.*")
	f.StringVar(&in.Routes.MinSeverity, "min-severity", "", "nothing less severe: "+strings.Join(severities, ", "))
	f.StringSliceVar(&toolsets, "toolset", nil, "only alerts of these toolsets")
	command.MustComplete(cmd, "min-severity", severities)
	times = hoursOf(cmd)
	command.MustComplete(cmd, "mail-security", []string{"starttls", "tls", "none"})
	return cmd
}

// chooseKind sets the kind of a channel, and what belongs to it.
func chooseKind(s *command.Session, c *notify.NewChannel, webhook, slackFile, passwordFile string) error {
	chosen := 0
	for _, v := range []string{webhook, slackFile, c.Mail.Host} {
		if v != "" {
			chosen++
		}
	}
	if chosen != 1 {
		return exit.Usagef("a channel is one of --webhook URL, --slack-url-file FILE and --mail-host HOST")
	}
	switch {
	case webhook != "":
		c.Kind, c.URL, c.Mail = notify.Webhook, webhook, nil
	case slackFile != "":
		v, err := s.ReadSecretFile(slackFile)
		if err != nil {
			return err
		}
		c.Kind, c.URL, c.Mail = notify.Slack, v.Reveal(), nil
	default:
		c.Kind = notify.Email
		if passwordFile != "" {
			v, err := s.ReadSecretFile(passwordFile)
			if err != nil {
				return err
			}
			c.Password = v.Reveal()
		}
	}
	return nil
}

func channelTest(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "test NAME", Short: "Send a test message to a channel", Args: command.Exactly(1, "one channel"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.Client().Post(cmd.Context(), channelPath(args[0])+"/test", nil, nil); err != nil {
				return err
			}
			s.Say("A test is on its way. See what became of it: sluice notify deliveries --channel %s", args[0])
			return nil
		},
	}
}

func channelRotate(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "rotate-secret NAME", Short: "Rotate the signing secret of a webhook; it is shown once", Args: command.Exactly(1, "one channel"),
		Long: "Give a webhook a new signing secret and write it to stdout. For a day messages carry a\nsignature with the one before it, too.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPost, Path: channelPath(args[0]) + "/rotate-secret"}, func(w io.Writer, c *notify.Channel) {
				fmt.Fprintln(w, c.Secret)
			})
		},
	}
}

func channelSwitch(s *command.Session, on bool) *cobra.Command {
	use, short := "off NAME", "Send nothing to a channel any more"
	if on {
		use, short = "on NAME", "Send to a channel again, also what waited"
	}
	return &cobra.Command{
		Use: use, Short: short, Args: command.Exactly(1, "one channel"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := notify.ChangeChannel{Enabled: &on}
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPatch, Path: channelPath(args[0]), In: in}, func(w io.Writer, c *notify.Channel) {
				if c.Disabled == "" {
					fmt.Fprintf(w, "%s is on\n", c.Name)
				} else {
					fmt.Fprintf(w, "%s is off\n", c.Name)
				}
			})
		},
	}
}

func deliveryList(s *command.Session) *cobra.Command {
	var channel, state, alertID string
	var filter *command.Filter
	cmd := &cobra.Command{
		Use: "deliveries", Short: "List deliveries, newest first", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{}
			for name, value := range map[string]string{"channel": channel, "state": state, "alert": alertID} {
				if value != "" {
					q.Set(name, value)
				}
			}
			return deliveries.ShowFiltered(cmd.Context(), s, deliveries.Path+"?"+q.Encode(), filter)
		},
	}
	filter = command.FilterOf(cmd, "state:dead createdAt:>=7d", "-createdAt")
	f := cmd.Flags()
	f.StringVar(&channel, "channel", "", "only to this channel")
	f.StringVar(&state, "state", "", "only in this state: pending, delivered, dead")
	f.StringVar(&alertID, "alert", "", "only of this alert")
	command.MustComplete(cmd, "state", []string{"pending", "delivered", "dead"})
	return cmd
}

func redeliver(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "redeliver ID", Short: "Redeliver a message", Args: command.Exactly(1, "one message"),
		Long: "Send a message again: a dead one under its own id, one that was delivered under a new\none, because receivers drop an id that they have seen.",
		RunE: func(cmd *cobra.Command, args []string) error {
			path := deliveries.Path + "/" + url.PathEscape(args[0]) + "/redeliver"
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPost, Path: path}, func(w io.Writer, d *notify.Delivery) {
				fmt.Fprintf(w, "%s is on its way\n", d.ID)
			})
		},
	}
}

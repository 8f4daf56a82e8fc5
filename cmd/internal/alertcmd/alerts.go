package alertcmd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/notify/alert"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

var alerts = command.Resource[alert.Alert]{
	Path: "/v1/alerts", Empty: "Nothing is wrong.",
	Name: func(a alert.Alert) string { return a.ID },
	Columns: []terminal.Column[alert.Alert]{
		{Header: "id", Value: func(a alert.Alert) string { return a.ID }},
		{Header: "severity", Value: func(a alert.Alert) string { return a.Severity }},
		{Header: "state", Value: func(a alert.Alert) string { return a.State }},
		{Header: "what", Value: func(a alert.Alert) string { return a.Title }},
		{Header: "kind", Value: func(a alert.Alert) string { return a.Kind }, Wide: true},
		{Header: "since", Value: func(a alert.Alert) string { return terminal.Since(a.Since) }},
		{Header: "remedy", Value: func(a alert.Alert) string {
			if a.Details.Command != "" {
				return a.Details.Command
			}
			return a.Details.Remedy
		}, Wide: true},
	},
}

var (
	severities = []string{"info", "warning", "critical"}
	states     = []string{alert.Pending, alert.Firing, alert.Acknowledged, alert.Snoozed, alert.Resolved}
)

// Alert is "sluice alert".
func Alert(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "alert", Aliases: []string{"alerts"}, Short: "List, acknowledge and snooze alerts",
		Long: "See what is wrong, acknowledge and snooze it. Who is notified of it is set with \"sluice notify\".",
	}
	cmd.AddCommand(alertList(s), alertShow(s), alertAck(s), alertSnooze(s), alertTest(s), alertRule(s))
	return cmd
}

func alertList(s *command.Session) *cobra.Command {
	var state []string
	var kind, severity, toolset string
	var all bool
	var filter *command.Filter
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List alerts, newest first", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{}
			for name, value := range map[string]string{"kind": kind, "severity": severity, "toolset": toolset, "state": strings.Join(state, ",")} {
				if value != "" {
					q.Set(name, value)
				}
			}
			if !all && len(state) == 0 {
				q.Set("open", "true")
			}
			return alerts.ShowFiltered(cmd.Context(), s, alerts.Path+"?"+q.Encode(), filter)
		},
	}
	f := cmd.Flags()
	filter = command.FilterOf(cmd, "severity:critical,warning since:>=7d", "-since")
	f.BoolVar(&all, "all", false, "also what is over")
	f.StringSliceVar(&state, "state", nil, "only in these states: "+strings.Join(states, ", "))
	f.StringVar(&kind, "kind", "", "only of this kind")
	f.StringVar(&severity, "severity", "", "only of this severity: "+strings.Join(severities, ", "))
	f.StringVar(&toolset, "toolset", "", "only of this toolset")
	command.MustComplete(cmd, "severity", severities)
	command.MustComplete(cmd, "state", states)
	return cmd
}

func alertShow(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Aliases: []string{"get"}, Short: "Show an alert with its cause and remedy", Args: command.Exactly(1, "one alert"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return command.Get(cmd.Context(), s, alertPath(args[0]), writeAlert)
		},
	}
}

func alertPath(id string) string { return alerts.Path + "/" + url.PathEscape(id) }

func writeAlert(w io.Writer, a *alert.Alert) {
	d := &a.Details
	fmt.Fprintf(w, "%s\n\n", terminal.Printable(a.Title))
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-12s %s\n", name, terminal.Printable(fmt.Sprintf(format, args...)))
	}
	text := func(name, value string) {
		if value != "" {
			line(name, "%s", value)
		}
	}
	line("state", "%s, %s, since %s", a.State, a.Severity, a.Since.Format(time.RFC3339))
	text("kind", a.Kind)
	text("cause", d.Cause)
	text("rule", d.Rule)
	text("toolset", d.Toolset)
	text("toolsets", strings.Join(d.Toolsets, ", "))
	text("connector", d.Connector)
	text("upstream", d.Upstream)
	text("edge", d.Edge)
	text("tools", strings.Join(d.Tools, ", "))
	text("sent", d.Sent)
	if d.Caller != nil {
		line("caller", "%s", callerText(d.Caller))
	}
	if d.Calls > 0 {
		line("calls", "%d of %d callers", d.Calls, max(d.Callers, 1))
	}
	if d.FirstCall != "" {
		line("first, last", "%s, %s: sluice logs show %s", d.FirstCall, d.LastCall, d.FirstCall)
	}
	if !d.DueAt.IsZero() {
		line("due", "%s", d.DueAt.Format(time.RFC3339))
	}
	if p := d.Preceded; p != nil {
		line("before it", "%s by %s at %s", p.Action, p.Actor, p.At.Format(time.RFC3339))
	}
	if a.HandledBy != "" {
		line("handled", "by %s at %s", a.HandledBy, a.HandledAt.Format(time.RFC3339))
	}
	text("note", a.Note)
	if !a.SnoozedUntil.IsZero() {
		line("snoozed", "until %s", a.SnoozedUntil.Format(time.RFC3339))
	}
	if !a.ResolvedAt.IsZero() {
		line("resolved", "%s", a.ResolvedAt.Format(time.RFC3339))
	}
	fmt.Fprintf(w, "\nRemedy: %s\n", terminal.Printable(d.Remedy))
	if d.Command != "" {
		fmt.Fprintf(w, "  %s\n", terminal.Printable(d.Command))
	}
}

// callerText is a caller in a line: the token ci (act_…), the subject ann@a.example.
func callerText(c *alert.Caller) string {
	switch {
	case c.Kind != "token":
		return "subject " + c.ID
	case c.Name != "":
		return "access token " + c.Name + " (" + c.ID + ")"
	}
	return "access token " + c.ID
}

func alertAck(s *command.Session) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: "ack ID", Short: "Acknowledge an alert; it is quiet until it gets worse or is resolved", Args: command.Exactly(1, "one alert"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return handled(cmd.Context(), s, alertPath(args[0])+"/ack", map[string]any{"note": note})
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "for those who look at the alert")
	return cmd
}

func alertSnooze(s *command.Session) *cobra.Command {
	var note string
	var d time.Duration
	cmd := &cobra.Command{
		Use: "snooze ID", Short: "Snooze an alert", Args: command.Exactly(1, "one alert"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return handled(cmd.Context(), s, alertPath(args[0])+"/snooze", map[string]any{"note": note, "seconds": int64(d / time.Second)})
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "for those who look at the alert")
	command.LifetimeVar(cmd.Flags(), &d, "for", 4*time.Hour, "how long, such as 30m or 2d")
	return cmd
}

func handled(ctx context.Context, s *command.Session, path string, in any) error {
	return command.Show(ctx, s, client.Call{Method: http.MethodPost, Path: path, In: in}, func(w io.Writer, a *alert.Alert) {
		fmt.Fprintf(w, "%s is %s\n", a.ID, a.State)
	})
}

func alertTest(s *command.Session) *cobra.Command {
	var kind, severity string
	cmd := &cobra.Command{
		Use: "test", Short: "Send a test to the channels that get an alert of a kind", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			in := map[string]any{"kind": kind, "severity": severity}
			if err := s.Client().Post(cmd.Context(), alerts.Path+"/test", in, nil); err != nil {
				return err
			}
			s.Say("A test was sent to the channels that get %s %s. See what became of it: sluice notify deliveries", severity, kind)
			return nil
		},
	}
	cmd.Flags().StringVar(&kind, "kind", alert.KindAuthFailed, "kind of the alert")
	cmd.Flags().StringVar(&severity, "severity", "critical", strings.Join(severities, ", "))
	command.MustComplete(cmd, "severity", severities)
	return cmd
}

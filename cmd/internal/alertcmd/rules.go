package alertcmd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/admin/notify/alert"
	"github.com/sluicegate/sluice/admin/notify/alert/rule"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

var rules = command.Resource[alert.Rule]{
	Path: "/v1/alert-rules", Empty: "There are no rules.",
	Name: func(r alert.Rule) string { return r.Name },
	Columns: []terminal.Column[alert.Rule]{
		{Header: "name", Value: func(r alert.Rule) string { return r.Name }},
		{Header: "toolset", Value: func(r alert.Rule) string {
			if r.Toolset == "" {
				return "all"
			}
			return r.Toolset
		}},
		{Header: "metric", Value: ruleMetric},
		{Header: "from", Value: func(r alert.Rule) string { return threshold(&r) }},
		{Header: "window", Value: func(r alert.Rule) string { return r.Window }},
		{Header: "for", Value: func(r alert.Rule) string { return r.For }},
		{Header: "min calls", Value: func(r alert.Rule) string { return minCalls(&r) }, Wide: true},
		{Header: "severity", Value: func(r alert.Rule) string { return r.Severity }},
		{Header: "state", Value: ruleState},
	},
}

func ruleMetric(r alert.Rule) string {
	text := r.Metric
	switch {
	case r.Preset:
		return r.About
	case r.Tool != "":
		text += " of " + r.Tool
	case r.Connector != "":
		text += " of connector " + r.Connector
	}
	switch {
	case r.Caller != "":
		text += " by " + r.Caller
	case r.Each == rule.EachCaller:
		text += " by each caller"
	}
	return text
}

func ruleState(r alert.Rule) string {
	state := "on"
	if r.Enabled != nil && !*r.Enabled {
		state = "off"
	}
	if r.Changed {
		state += ", changed"
	}
	return state
}

func threshold(r *alert.Rule) string {
	if r.Threshold == nil {
		return ""
	}
	return strconv.FormatFloat(*r.Threshold, 'f', -1, 64) + " " + r.Unit
}

func minCalls(r *alert.Rule) string {
	if r.MinCalls == nil {
		return ""
	}
	return strconv.FormatUint(*r.MinCalls, 10)
}

// alertRule is "sluice alert rule".
func alertRule(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rule", Aliases: []string{"rules"}, Short: "List, add and change rules over usage",
		Long: `Rules say which usage is reported. Presets are on from the start; they can be changed and
switched off, for all toolsets or for one. Own rules compare calls, errors, latencies and
tokens with a threshold; over the window day or month they are budgets.`,
	}
	cmd.AddCommand(ruleList(s), ruleShow(s), ruleAdd(s), ruleSet(s), ruleRemove(s), ruleTest(s))
	return cmd
}

func ruleList(s *command.Session) *cobra.Command {
	var toolset string
	var filter *command.Filter
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List rules, presets first", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return rules.ShowFiltered(cmd.Context(), s, rulePath("", toolset), filter)
		},
	}
	filter = command.FilterOf(cmd, "enabled:true -metric:calls", "metric,name")
	cmd.Flags().StringVar(&toolset, "toolset", "", "only rules that count for this toolset")
	return cmd
}

func rulePath(name, toolset string) string {
	at := rules.Path
	if name != "" {
		at += "/" + url.PathEscape(name)
	}
	if toolset != "" {
		at += "?toolset=" + url.QueryEscape(toolset)
	}
	return at
}

func ruleShow(s *command.Session) *cobra.Command {
	var toolset string
	cmd := &cobra.Command{
		Use: "show NAME", Aliases: []string{"get"}, Short: "Show a rule", Args: command.Exactly(1, "one rule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return command.Get(cmd.Context(), s, rulePath(args[0], toolset), writeRule)
		},
	}
	cmd.Flags().StringVar(&toolset, "toolset", "", "of a preset: its settings for this toolset")
	return cmd
}

func writeRule(w io.Writer, r *alert.Rule) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-12s %s\n", name, terminal.Printable(value))
		}
	}
	line("rule", r.Name)
	line("about", r.About)
	if line("toolset", r.Toolset); r.Toolset == "" {
		line("toolset", "all")
	}
	line("metric", r.Metric)
	line("tool", r.Tool)
	line("connector", r.Connector)
	line("caller", r.Caller)
	line("from", threshold(r))
	line("window", r.Window)
	line("for", r.For)
	line("min calls", minCalls(r))
	line("alert for", r.Each)
	line("severity", r.Severity)
	line("state", ruleState(*r))
}

// ruleFlags are the flags of settings.
type ruleFlags struct {
	rule.Settings

	threshold float64
	minCalls  uint64
	on, off   bool
}

func (x *ruleFlags) add(f *pflag.FlagSet) {
	f.Float64Var(&x.threshold, "threshold", 0, "an alert from this value on, in the unit of the metric")
	f.StringVar(&x.Window, "window", "", "how far back: 1m to 60m, 2h to 31d, day, month")
	f.StringVar(&x.For, "for", "", "how long it must be so before it is reported")
	f.Uint64Var(&x.minCalls, "min-calls", 0, "fewer calls than this say nothing")
	f.StringVar(&x.Severity, "severity", "", "info, warning or critical")
}

// addFilters adds the flags of what of the usage is counted.
func (x *ruleFlags) addFilters(f *pflag.FlagSet) {
	f.StringVar(&x.Tool, "tool", "", "only calls of tools of this name")
	f.StringVar(&x.Connector, "connector", "", "only calls that this connector served")
	f.StringVar(&x.Caller, "caller", "", "only calls of this access token (its id) or subject")
}

// patch is given as a merge patch: a flag with an empty text is null.
func (x *ruleFlags) patch(f *pflag.FlagSet, given *rule.Settings) (map[string]json.RawMessage, error) {
	b, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, err
	}
	for _, name := range []string{"window", "for", "severity", "tool", "connector", "caller"} {
		if v := f.Lookup(name); v.Changed && v.Value.String() == "" {
			out[name] = json.RawMessage("null")
		}
	}
	return out, nil
}

// given is what the flags set.
func (x *ruleFlags) given(f *pflag.FlagSet) (rule.Settings, error) {
	s := x.Settings
	if f.Changed("threshold") {
		s.Threshold = &x.threshold
	}
	if f.Changed("min-calls") {
		s.MinCalls = &x.minCalls
	}
	if x.on && x.off {
		return s, exit.Usagef("a rule is either --on or --off")
	}
	if x.on || x.off {
		s.Enabled = &x.on
	}
	return s, nil
}

func ruleAdd(s *command.Session) *cobra.Command {
	var x ruleFlags
	var toolset string
	cmd := &cobra.Command{
		Use: "add NAME --metric METRIC --threshold N", Short: "Add a rule", Args: command.Exactly(1, "one name"),
		Long: `Add a rule. An alert rule.fired reports what passes the threshold, for each toolset by
itself unless --each says otherwise. Rates are percent, latencies milliseconds. Over the
window day or month (UTC) it is a budget: an alert budget.spent reports 80 % and of all.

With --each caller each caller that is known (by access token or JSON Web Token) counts for
itself, with --caller only one of them does. The alert says who it is; channels are not told.`,
		Example: "  sluice alert rule add shop-errors --metric error_rate --threshold 5 --window 15m --for 5m --toolset shop\n" +
			"  sluice alert rule add slow-search --metric latency_p95 --threshold 2000 --tool search --min-calls 50\n" +
			"  sluice alert rule add tokens --metric tokens --threshold 5e6 --window month --each workspace\n" +
			"  sluice alert rule add busy-caller --metric calls --threshold 1000 --window 1h --each caller",
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := x.given(cmd.Flags())
			if err != nil {
				return err
			}
			in := alert.NewRule{Name: args[0], Toolset: toolset, Settings: given}
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPost, Path: rules.Path, In: in}, func(w io.Writer, r *alert.Rule) {
				fmt.Fprintf(w, "%s is added. See what it would have reported: sluice alert rule test %s\n", r.Name, r.Name)
			})
		},
	}
	f := cmd.Flags()
	x.add(f)
	f.StringVar(&x.Metric, "metric", "", "what is measured")
	f.StringVar(&x.Each, "each", "", "what each alert is about: workspace, toolset (default), tool or caller")
	x.addFilters(f)
	f.StringVar(&toolset, "toolset", "", "only calls of this toolset")
	command.MustComplete(cmd, "metric", rule.Metrics)
	command.MustComplete(cmd, "severity", severities)
	command.MustComplete(cmd, "each", rule.Eaches)
	return cmd
}

func ruleSet(s *command.Session) *cobra.Command {
	var x ruleFlags
	var toolset string
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Change a rule, or switch it off and on", Args: command.Exactly(1, "one rule"),
		Long: `Change a rule, or switch it off and on. What no flag names stays; an empty text makes it as
it is from the start: --tool '' counts all tools again.`,
		Example: "  sluice alert rule set upstream.slow --threshold 3000\n  sluice alert rule set toolset.errors --off --toolset playground\n  sluice alert rule set slow-search --tool ''",
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := x.given(cmd.Flags())
			if err != nil {
				return err
			}
			patch, err := x.patch(cmd.Flags(), &given)
			if err != nil {
				return err
			}
			if len(patch) == 0 {
				return exit.Usagef("say what to change, such as --threshold or --off")
			}
			call := client.Call{Method: http.MethodPatch, Path: rulePath(args[0], toolset), In: patch}
			return command.Show(cmd.Context(), s, call, writeRule)
		},
	}
	x.add(cmd.Flags())
	x.addFilters(cmd.Flags())
	cmd.Flags().BoolVar(&x.on, "on", false, "switch it on")
	cmd.Flags().BoolVar(&x.off, "off", false, "switch it off; its alerts are resolved")
	cmd.Flags().StringVar(&toolset, "toolset", "", "of a preset: for this toolset only")
	command.MustComplete(cmd, "severity", severities)
	return cmd
}

func ruleRemove(s *command.Session) *cobra.Command {
	var toolset string
	cmd := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Remove a rule, or what was changed of a preset", Args: command.Exactly(1, "one rule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.Client().Delete(cmd.Context(), rulePath(args[0], toolset), nil); err != nil {
				return err
			}
			if rule.IsPreset(args[0]) {
				s.Say("%s has its default settings again.", args[0])
			} else {
				s.Say("%s is removed; its alerts are resolved.", args[0])
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&toolset, "toolset", "", "of a preset: what was changed for this toolset")
	return cmd
}

func ruleTest(s *command.Session) *cobra.Command {
	var x ruleFlags
	var toolset, since string
	cmd := &cobra.Command{
		Use: "test NAME", Short: "Say what a rule would have reported, also with other settings", Args: command.Exactly(1, "one rule"),
		Example: "  sluice alert rule test upstream.slow --threshold 2000 --since 6h",
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := x.given(cmd.Flags())
			if err != nil {
				return err
			}
			in := struct {
				Range string `json:"range"`
				rule.Settings
			}{since, given}
			path := rules.Path + "/" + url.PathEscape(args[0]) + "/test"
			if toolset != "" {
				path += "?toolset=" + url.QueryEscape(toolset)
			}
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPost, Path: path, In: in}, writeTest)
		},
	}
	x.add(cmd.Flags())
	cmd.Flags().StringVar(&since, "since", "24h", "how far back, 24h at most")
	cmd.Flags().StringVar(&toolset, "toolset", "", "of a preset: its settings for this toolset")
	command.MustComplete(cmd, "severity", severities)
	return cmd
}

func writeTest(w io.Writer, t *alert.RuleTest) {
	if len(t.Firings) == 0 {
		fmt.Fprintf(w, "%s would have reported nothing since %s.\n", t.Rule.Name, t.From.Format(time.RFC3339))
		return
	}
	for _, f := range t.Firings {
		until := "still"
		if !f.Until.IsZero() {
			until = f.Until.Format(time.RFC3339)
		}
		who := ""
		if f.Caller != nil {
			who = ": " + terminal.Printable(callerText(f.Caller))
		}
		fmt.Fprintf(w, "%s to %s  %s  %s%s (up to %s %s)\n", f.At.Format(time.RFC3339), until, f.Severity, terminal.Printable(f.Title), who, strconv.FormatFloat(f.Value, 'f', 1, 64), t.Rule.Unit)
	}
}

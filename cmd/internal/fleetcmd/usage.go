package fleetcmd

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/fleet/usage"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// usageFlags are the flags of "sluice usage".
type usageFlags struct {
	since, tool string
	by          []string
	failures    bool
	samples     bool
	limit       int
}

// Usage is "sluice usage".
func Usage(s *command.Session) *cobra.Command {
	var f usageFlags
	cmd := &cobra.Command{
		Use: "usage [TOOLSET]", Short: "Show calls, errors, latency and tokens", Args: command.Between(0, 1, "at most one toolset"),
		Long: `Show what was called: how often, how fast, how often it failed and how many tokens
were saved, by toolset, or by tool when a toolset is named.

Numbers are exact, but for the last ten seconds of a node that was killed. Edges
report every ten seconds; an edge that is cut off keeps its numbers and reports them
when it is back.`,
		Example: "  sluice usage\n  sluice usage petstore --since 7d\n  sluice usage --by tool,outcome\n  sluice usage petstore --errors\n  sluice usage petstore --samples",
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.failures && f.samples {
				return exit.Usagef("--errors and --samples are two lists; ask for one")
			}
			c := s.Client()
			q := url.Values{"range": {f.since}}
			if len(args) == 1 {
				q.Set("toolset", args[0])
			}
			if f.tool != "" {
				q.Set("tool", f.tool)
			}
			if f.failures || f.samples {
				q.Set("limit", strconv.Itoa(f.limit))
				var out usage.UsageErrors
				if err := c.Get(cmd.Context(), "/v1/usage/errors?"+q.Encode(), &out); err != nil {
					return err
				}
				if f.samples {
					return usageSamples(s, &out)
				}
				return usageCauses(s, &out)
			}
			if len(f.by) == 0 {
				f.by = []string{"toolset"}
				if len(args) == 1 {
					f.by = []string{"toolset", "tool"}
				}
			}
			q.Set("by", strings.Join(f.by, ","))
			var out usage.UsageReportOutput
			if err := c.Get(cmd.Context(), "/v1/usage?"+q.Encode(), &out); err != nil {
				return err
			}
			return usageTable(s, &out, f.by)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.since, "since", "24h", "how far back: 1h, 24h, 7d, 30d")
	fs.StringVar(&f.tool, "tool", "", "only tools of this name")
	fs.StringSliceVar(&f.by, "by", nil, "divide by toolset, tool, outcome, credential")
	fs.BoolVar(&f.failures, "errors", false, "show what calls failed of")
	fs.BoolVar(&f.samples, "samples", false, "show calls that failed, with what the agent was told")
	fs.IntVar(&f.limit, "limit", 50, "longest list of --errors and --samples")
	command.MustComplete(cmd, "by", []string{"toolset", "tool", "outcome", "credential"})
	return cmd
}

func usageTable(s *command.Session, out *usage.UsageReportOutput, by []string) error {
	if len(out.Groups) == 0 {
		s.Say("Nothing was called since %s.", out.From.Local().Format("2006-01-02 15:04"))
	}
	var columns []terminal.Column[usage.UsageGroup]
	for _, name := range by {
		switch name {
		case "toolset":
			columns = append(columns, terminal.Column[usage.UsageGroup]{Header: name, Value: func(g usage.UsageGroup) string { return cmp.Or(g.Toolset, g.ToolsetID) }})
		case "tool":
			columns = append(columns, terminal.Column[usage.UsageGroup]{Header: name, Value: func(g usage.UsageGroup) string { return g.Tool }})
		case "outcome":
			columns = append(columns, terminal.Column[usage.UsageGroup]{Header: name, Value: func(g usage.UsageGroup) string { return g.Outcome }})
		case "credential":
			columns = append(columns, terminal.Column[usage.UsageGroup]{Header: name, Value: func(g usage.UsageGroup) string { return g.Credential }})
		}
	}
	number := func(n uint64) string { return terminal.Thousands(int(min(n, 1<<62))) }
	numbers := func(header string, wide bool, value func(n *usage.UsageNumbers) string) {
		columns = append(columns, terminal.Column[usage.UsageGroup]{Header: header, Wide: wide, Value: func(g usage.UsageGroup) string { return value(&g.Totals) }})
	}
	numbers("calls", false, func(n *usage.UsageNumbers) string { return number(n.Calls) })
	numbers("inner", true, func(n *usage.UsageNumbers) string { return number(n.Inner) })
	numbers("errors", false, func(n *usage.UsageNumbers) string { return number(n.Errors) })
	numbers("cached", true, func(n *usage.UsageNumbers) string { return number(n.Cached) })
	numbers("p50 ms", false, func(n *usage.UsageNumbers) string { return milliseconds(n.Latency.P50Ms) })
	numbers("p95 ms", true, func(n *usage.UsageNumbers) string { return milliseconds(n.Latency.P95Ms) })
	numbers("p99 ms", false, func(n *usage.UsageNumbers) string { return milliseconds(n.Latency.P99Ms) })
	numbers("upstream p99 ms", true, func(n *usage.UsageNumbers) string { return milliseconds(n.Upstream.P99Ms) })
	numbers("tokens before", false, func(n *usage.UsageNumbers) string { return number(n.TokensBefore) })
	numbers("after", false, func(n *usage.UsageNumbers) string { return number(n.TokensAfter) })
	numbers("saved", false, func(n *usage.UsageNumbers) string {
		if n.TokensBefore == 0 || n.TokensAfter > n.TokensBefore {
			return ""
		}
		return fmt.Sprintf("%.0f%%", 100-100*float64(n.TokensAfter)/float64(n.TokensBefore))
	})
	return terminal.List(&s.Terminal, out.Groups, nil, columns, func(g usage.UsageGroup) string {
		return cmp.Or(g.Tool, g.Toolset, g.ToolsetID, g.Outcome, g.Credential)
	})
}

// milliseconds shows three digits.
func milliseconds(ms float64) string { return strconv.FormatFloat(ms, 'g', 3, 64) }

func usageCauses(s *command.Session, out *usage.UsageErrors) error {
	if len(out.Causes) == 0 {
		s.Say("No call failed since %s.", out.From.Local().Format("2006-01-02 15:04"))
	}
	return terminal.List(&s.Terminal, out.Causes, nil, []terminal.Column[usage.UsageCause]{
		{Header: "toolset", Value: func(c usage.UsageCause) string { return cmp.Or(c.Toolset, c.ToolsetID) }},
		{Header: "tool", Value: func(c usage.UsageCause) string { return c.Tool }},
		{Header: "cause", Value: func(c usage.UsageCause) string { return c.Cause }},
		{Header: "calls", Value: func(c usage.UsageCause) string { return strconv.FormatUint(c.Calls, 10) }},
	}, func(c usage.UsageCause) string { return c.Cause })
}

func usageSamples(s *command.Session, out *usage.UsageErrors) error {
	if len(out.Samples) == 0 {
		s.Say("No call that failed since %s was kept.", out.From.Local().Format("2006-01-02 15:04"))
	}
	return terminal.List(&s.Terminal, out.Samples, nil, []terminal.Column[usage.UsageSample]{
		{Header: "when", Value: func(s usage.UsageSample) string { return terminal.Since(s.At) }},
		{Header: "toolset", Value: func(s usage.UsageSample) string { return cmp.Or(s.Toolset, s.ToolsetID) }},
		{Header: "tool", Value: func(s usage.UsageSample) string { return s.Tool }},
		{Header: "cause", Value: func(s usage.UsageSample) string { return s.Cause }},
		{Header: "node", Value: func(s usage.UsageSample) string { return s.Node }, Wide: true},
		{Header: "what the agent was told", Value: func(s usage.UsageSample) string { return s.Text }},
	}, func(s usage.UsageSample) string { return s.Cause })
}

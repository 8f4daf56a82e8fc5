package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/registry"
)

// optimizeFlags are the settings of answers on the command line.
type optimizeFlags struct {
	tool, connector                          string
	profile, format, fields, rows, where, jq string
	limit, maxString, budget                 int
	redact, structured, keepHidden           bool
	timeLimit                                time.Duration
	maxResponse                              int // MiB
	cache                                    int // seconds
	selection                                selectionFlags
}

func optimizeCommand(cli *command.Session) *cobra.Command {
	var f optimizeFlags
	cmd := &cobra.Command{
		Use:   "optimize TOOLSET [--tool TOOL] [--profile … --fields … --where … --budget … --jq … --time-limit …]",
		Short: "Show or set how answers are shortened: masks, conditions, caps, budgets, time limits",
		Long: "Show or set how the answers of a toolset, of one of its connectors, or of one tool are shortened.\n" +
			"An empty text or 0 restores the default. Without settings it shows what is set.",
		Example: `  sluice toolset optimize shop --profile concise --budget 8000
  sluice toolset optimize shop --fields '-items.metadata'
  sluice toolset optimize shop --tool list_orders --fields 'items(id,total,customer.name)' --where "status == 'open'" --limit 50
  sluice toolset optimize shop --tool list_orders --jq '[.items[] | {id, total}]'
  sluice toolset optimize shop --tool list_orders --where ''
  sluice toolset optimize shop --tool export_orders --time-limit 10m --max-response 64
  sluice toolset optimize shop --use-case 'Refund an order. Answer a customer.' --explain
  sluice toolset optimize shop --selection search`,
		Args: command.Exactly(1, "a toolset"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			fs := cmd.Flags()
			if err := f.checkLimits(); err != nil {
				return err
			}
			selection := f.selection.given(fs)
			if f.tool != "" || f.connector != "" {
				if fs.Changed("cache") {
					return exit.Usagef("--cache is of the whole toolset, not of a tool or connector")
				}
				if selection {
					return exit.Usagef("which tools are listed, batches and scripts are of the whole toolset: leave --tool and --connector out")
				}
			}
			if selection {
				patch, answers := f.toolsetPatch(fs)
				return e.optimizeSelection(cmd.Context(), &f.selection, fs, patch, answers)
			}
			return e.optimize(cmd.Context(), &f, fs)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.tool, "tool", "", "settings of this `TOOL`; default: of the whole toolset")
	ConnectorFlag(cmd, &f.connector)
	fs.StringVar(&f.profile, "profile", "", "off, lossless or concise")
	fs.StringVar(&f.format, "format", "", "auto, json, table or toon")
	fs.StringVar(&f.fields, "fields", "", "field `MASK`: items(id,name) keeps, -body leaves out")
	fs.StringVar(&f.rows, "rows", "", "`PATH` to the list that --where and --limit are about")
	fs.StringVar(&f.where, "where", "", "`CONDITION` on rows: state == 'open' and comments > 5")
	fs.IntVar(&f.limit, "limit", 0, "rows at most")
	fs.IntVar(&f.maxString, "max-string", 0, "`BYTES` of a string; longer ones are cut and say so")
	fs.IntVar(&f.budget, "budget", 0, "`TOKENS` of an answer, cut at whole items; -1: none (default 20000)")
	fs.StringVar(&f.jq, "jq", "", "jq `EXPRESSION` that runs last")
	fs.BoolVar(&f.redact, "redact", false, "no answer rather than one these settings could not be applied to")
	fs.BoolVar(&f.structured, "structured", false, "send outputSchema and structuredContent")
	fs.BoolVar(&f.keepHidden, "keep-hidden", false, "leave control and invisible characters in answers")
	fs.DurationVar(&f.timeLimit, "time-limit", 0, "how long a call may take, up to 60m; each progress report of an MCP server restarts it (default 30s)")
	fs.IntVar(&f.maxResponse, "max-response", 0, "`MIB` of an answer of the API or server, up to 64 (default 16)")
	fs.IntVar(&f.cache, "cache", 0, "`SECONDS` that answers of tools that only read are given again, of the whole toolset; 0: not")
	f.selection.register(cmd)
	command.MustComplete(cmd, "profile", []string{"off", "lossless", "concise"})
	command.MustComplete(cmd, "format", []string{"auto", "json", "table", "toon"})
	return cmd
}

// checkLimits refuses what the flags cannot stand for, in their units.
func (f *optimizeFlags) checkLimits() error {
	least, most := registry.MinTimeoutMilliseconds*time.Millisecond, registry.MaxTimeoutMilliseconds*time.Millisecond
	if f.timeLimit != 0 && (f.timeLimit < least || f.timeLimit > most) {
		return exit.Usagef("--time-limit %s is not 0 or between %s and %s", f.timeLimit, least, most)
	}
	if f.maxResponse < 0 || f.maxResponse > registry.MaxResponseBytes>>20 {
		return exit.Usagef("--max-response %d is not between 0 and %d MiB", f.maxResponse, registry.MaxResponseBytes>>20)
	}
	return nil
}

// take gives a setting the value of its flag, when that was given.
func take[T any](fs *pflag.FlagSet, some *bool, name string, to **T, v *T) {
	if fs.Changed(name) {
		*to, *some = v, true
	}
}

// patch is what the flags that were given change; nil when there is none.
func (f *optimizeFlags) patch(fs *pflag.FlagSet) *toolset.PatchAnswers {
	p, some := &toolset.PatchAnswers{}, false
	take(fs, &some, "format", &p.Format, &f.format)
	take(fs, &some, "fields", &p.Fields, &f.fields)
	take(fs, &some, "rows", &p.Rows, &f.rows)
	take(fs, &some, "where", &p.Where, &f.where)
	take(fs, &some, "jq", &p.JQ, &f.jq)
	take(fs, &some, "limit", &p.Limit, &f.limit)
	take(fs, &some, "max-string", &p.MaxString, &f.maxString)
	take(fs, &some, "budget", &p.TokenBudget, &f.budget)
	take(fs, &some, "redact", &p.Redact, &f.redact)
	take(fs, &some, "structured", &p.Structured, &f.structured)
	take(fs, &some, "keep-hidden", &p.KeepHidden, &f.keepHidden)
	if fs.Changed("time-limit") {
		ms := int(f.timeLimit.Milliseconds())
		p.TimeoutMs, some = &ms, true
	}
	if fs.Changed("max-response") {
		bytes := int64(f.maxResponse) << 20
		p.MaxResponseBytes, some = &bytes, true
	}
	if f.tool != "" || f.connector != "" {
		take(fs, &some, "profile", &p.Profile, &f.profile)
	}
	if !some {
		return nil
	}
	return p
}

func (e *edit) optimize(ctx context.Context, f *optimizeFlags, fs *pflag.FlagSet) error {
	patch := f.patch(fs)
	switch {
	case f.tool != "":
		return settle(ctx, e, e.path("tools", f.tool), patch != nil, draft.PatchTool{Answers: patch}, func(w io.Writer, out *toolset.Tool) { printAnswers(w, out.Name, "", out.Answers) })
	case f.connector != "":
		return settle(ctx, e, e.path("connectors", f.connector), patch != nil, draft.PatchConnector{Answers: patch}, func(w io.Writer, out *view.ToolsetConnectorDetail) {
			printAnswers(w, out.Name, "", out.Answers)
		})
	}
	in, some := f.toolsetPatch(fs)
	return settle(ctx, e, e.path(), some, in, printToolsetAnswers)
}

// toolsetPatch is what the flags change of the answers of a whole toolset, and whether it is
// anything.
func (f *optimizeFlags) toolsetPatch(fs *pflag.FlagSet) (in draft.PatchToolset, some bool) {
	in.Answers = f.patch(fs)
	if fs.Changed("cache") {
		in.Cache = &draft.PatchedTTL{TTLSeconds: f.cache}
	}
	if fs.Changed("profile") {
		in.Profile = &f.profile
	}
	return in, in.Answers != nil || in.Profile != nil || in.Cache != nil
}

func printToolsetAnswers(w io.Writer, t *view.Toolset) {
	printAnswers(w, t.Slug, t.Profile, t.Answers)
	if t.Cache != nil {
		fmt.Fprintf(w, "  %-12s %d s\n", "cache", t.Cache.TTLSeconds)
	}
}

// printAnswers prints the settings that are set, one a line.
func printAnswers(w io.Writer, name, profile string, a *toolset.Answers) {
	if a == nil {
		a = &toolset.Answers{}
	}
	if a.Profile != "" {
		profile = a.Profile
	}
	fmt.Fprintln(w, name)
	line := func(label, value string) {
		if value != "" && value != "0" && value != "false" {
			fmt.Fprintf(w, "  %-12s %s\n", label, value)
		}
	}
	line("profile", profile)
	line("format", a.Format)
	line("fields", a.Fields)
	line("rows", a.Rows)
	line("where", a.Where)
	line("limit", strconv.Itoa(a.Limit))
	line("max string", strconv.Itoa(a.MaxString))
	line("budget", strconv.Itoa(a.TokenBudget))
	line("jq", a.JQ)
	line("redact", strconv.FormatBool(a.Redact))
	line("structured", strconv.FormatBool(a.Structured))
	line("keep hidden", strconv.FormatBool(a.KeepHidden))
	if a.TimeoutMs != 0 {
		line("time limit", (time.Duration(a.TimeoutMs) * time.Millisecond).String())
	}
	if a.MaxResponseBytes != 0 {
		line("max response", strconv.FormatFloat(float64(a.MaxResponseBytes)/(1<<20), 'f', -1, 64)+" MiB")
	}
	if *a == (toolset.Answers{}) && profile == "" {
		fmt.Fprintln(w, "  no settings of its own: those of the toolset apply")
	}
}

package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/draft/trial"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// RolloutFlags say how a draft is rolled out.
type RolloutFlags struct {
	shadow          bool
	canary          string
	after           time.Duration
	minCalls        uint64
	errors, latency float64
	reason          string
}

// Add adds --shadow and --canary to a command.
func (f *RolloutFlags) Add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.shadow, "shadow", false, "run the draft beside the live revision, on the same answers, and discard its results")
	fs.StringVar(&f.canary, "canary", "", "serve the draft to this `SHARE` of the callers, such as 10%")
	cmd.MarkFlagsMutuallyExclusive("shadow", "canary")
}

// Given reports whether one of the two is set.
func (f *RolloutFlags) Given() bool { return f.shadow || f.canary != "" }

// Check reports what is wrong with the flags, before anything is changed.
func (f *RolloutFlags) Check() error {
	_, err := f.start()
	return err
}

// start reads the flags.
func (f *RolloutFlags) start() (trial.StartRollout, error) {
	in := trial.StartRollout{Mode: registry.TrialShadow, UntestedReason: f.reason, PromoteAfterSeconds: int64(f.after / time.Second)}
	in.Thresholds = trial.RolloutThresholds{MinCalls: f.minCalls, ErrorPoints: f.errors, LatencyPercent: f.latency}
	if f.canary == "" {
		return in, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(f.canary, "%"))
	if err != nil || n < 1 || n > 100 {
		return in, exit.Usagef("--canary %s is not a share of the callers from 1%% to 100%%", terminal.Printable(f.canary))
	}
	in.Mode, in.Percent = registry.TrialCanary, n
	return in, nil
}

// Start tests the draft of a toolset, unless there is a reason not to, and rolls it out.
func (f *RolloutFlags) Start(ctx context.Context, cli *command.Session, t *view.ToolsetDetail) error {
	in, err := f.start()
	if err != nil {
		return err
	}
	if f.reason == "" && t.Digest != t.LiveDigest { // else there is nothing to roll out, as the API says
		var run admin.TestAnswer
		if err := cli.Client().Post(ctx, client.ToolsetPath(t, "test"), rollout.TestRequest{KeepDraft: true}, &run, client.Wait); err != nil {
			return err
		}
		if !run.Passed {
			return problem.New(problem.TestFailed, "the test of the draft did not pass: %s", run.Reason).
				Fix("test it with a tool of your choice: sluice toolset test %s TOOL k=v --keep-draft; or give --reason", t.Slug)
		}
		cli.Say("  test   %s  HTTP %d", run.Tool, run.UpstreamStatus)
	}
	return command.Show(ctx, cli, client.Call{Method: http.MethodPost, Path: client.ToolsetPath(t, "rollouts"), In: in}, func(w io.Writer, out *trial.Rollout) {
		printRollout(w, t.Slug, out)
	})
}

func rolloutCommand(cli *command.Session) *cobra.Command {
	cmd := &cobra.Command{Use: "rollout", Short: "Roll out a draft gradually: as a shadow, or to a share of the callers"}
	cmd.AddCommand(rolloutStart(cli), rolloutShow(cli), rolloutEnd(cli, "promote", "Make the candidate of the roll-out live"), rolloutEnd(cli, "abort", "End the roll-out: the live revision serves all callers again"))
	return cmd
}

func rolloutStart(cli *command.Session) *cobra.Command {
	var f RolloutFlags
	cmd := &cobra.Command{
		Use: "start TOOLSET (--shadow | --canary 10%)", Short: "Roll out the draft beside the live revision", Args: command.Exactly(1, "one toolset"),
		Long: `Roll out the draft of a live toolset: new versions of its plugins and connectors, or any
other change. It is tested first. The live revision stays live.

--shadow builds the draft's requests and runs its programs and plugins beside the calls
that are made, on their answers. It sends nothing, and its results are discarded:
differences in size, tokens, errors and time are counted.

--canary serves the draft to a share of the callers, the same ones at every call. It is
rolled back by itself when it fails more often or takes longer than the live revision.`,
		Example: `  sluice plugin bind shop mask --update && sluice toolset rollout start shop --shadow
  sluice toolset rollout start shop --canary 10% --promote-after 2h`,
		RunE: on(cli, func(cmd *cobra.Command, e *edit, _ []string) error {
			if !f.Given() {
				return exit.Usagef("say how: --shadow, or --canary 10%%")
			}
			return f.Start(cmd.Context(), e.Session, e.t)
		}),
	}
	f.Add(cmd)
	fs := cmd.Flags()
	command.LifetimeVar(fs, &f.after, "promote-after", 0, "promote a canary by itself after this `TIME`, if it is not worse then")
	fs.Uint64Var(&f.minCalls, "min-calls", 0, "calls that each side needs before a canary is judged (default 50)")
	fs.Float64Var(&f.errors, "max-errors", 0, "percentage `POINTS` by which more of its calls may fail (default 5)")
	fs.Float64Var(&f.latency, "max-latency", 0, "`PERCENT` by which the 95th percentile of its duration may be longer (default 50)")
	fs.StringVar(&f.reason, "reason", "", "roll it out without a test, with this reason, which is recorded")
	return cmd
}

func rolloutShow(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "show TOOLSET", Short: "Show the newest roll-outs and what was counted of them", Args: command.Exactly(1, "one toolset"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, _ []string) error {
			return command.Get(cmd.Context(), e.Session, e.path("rollouts"), func(w io.Writer, out *trial.RolloutList) {
				const shown = 5 // older ones are in -o json
				for i := range out.Rollouts[:min(len(out.Rollouts), shown)] {
					if i > 0 {
						fmt.Fprintln(w)
					}
					printRollout(w, e.t.Slug, &out.Rollouts[i])
				}
				if len(out.Rollouts) == 0 {
					fmt.Fprintf(w, "%[1]s had no roll-out yet\n  next   sluice toolset rollout start %[1]s --shadow\n", e.t.Slug)
				}
			})
		}),
	}
}

func rolloutEnd(cli *command.Session, verb, short string) *cobra.Command {
	var in admin.EndRollout
	cmd := &cobra.Command{
		Use: verb + " TOOLSET", Short: short, Args: command.Exactly(1, "one toolset"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, _ []string) error {
			return command.Show(cmd.Context(), e.Session, client.Call{Method: http.MethodPost, Path: e.path("rollouts", "current", verb), In: in}, func(w io.Writer, out *trial.Rollout) {
				printRollout(w, e.t.Slug, out)
			})
		}),
	}
	cmd.Flags().StringVar(&in.Reason, "reason", "", "why, for the record")
	return cmd
}

// rolloutState is how a roll-out is, in words.
func rolloutState(r *trial.Rollout) string {
	switch r.State {
	case "rolled_back":
		return "rolled back"
	case "promoted":
		return fmt.Sprintf("promoted to revision %d", r.Revision)
	}
	return r.State
}

func printRollout(w io.Writer, slug string, r *trial.Rollout) {
	share := ""
	if r.Mode == registry.TrialCanary {
		share = fmt.Sprintf(" %d %%", r.Percent)
	}
	fmt.Fprintf(w, "%s %s%s of %s: %s, started %s beside revision %d\n", r.ID, r.Mode, share, slug, rolloutState(r), terminal.Ago(r.StartedAt, time.Now()), r.LiveRevision)
	for _, c := range r.Changes {
		switch {
		case c.Kind == "settings":
			fmt.Fprintln(w, "  changes    settings of the toolset")
		case c.From == "":
			fmt.Fprintf(w, "  changes    %s %s: new, %s\n", c.Kind, c.Name, c.To)
		case c.To == "":
			fmt.Fprintf(w, "  changes    %s %s: gone\n", c.Kind, c.Name)
		default:
			fmt.Fprintf(w, "  changes    %s %s: %s → %s\n", c.Kind, c.Name, c.From, c.To)
		}
	}
	for _, side := range []struct {
		name string
		*trial.RolloutSide
	}{{"live", &r.Live}, {"candidate", &r.Candidate}} {
		if side.Calls == 0 {
			fmt.Fprintf(w, "  %-9s  no calls yet\n", side.name)
			continue
		}
		fmt.Fprintf(w, "  %-9s  %s  %.1f %% failed  95 %% within %.1f ms  %.0f bytes  %.0f tokens an answer\n",
			side.name, terminal.Plural(int(side.Calls), "call"), side.ErrorPercent, side.P95Ms, side.MeanBytes, side.MeanTokens)
	}
	if q := r.Requests; q != nil {
		fmt.Fprintf(w, "  differ     %.1f %%: %d answers, %d requests (origin %d, method %d, path %d, query %d, headers %d, body %d), %d calls of missing tools\n",
			r.DifferenceShare, r.Different, q.Any, q.Origin, q.Method, q.Path, q.Query, q.Headers, q.Body, r.Missing)
		if r.Skipped > 0 {
			fmt.Fprintf(w, "  skipped    %s: the shadow was busy, or they were larger than 1 MB\n", terminal.Plural(int(r.Skipped), "call"))
		}
	}
	if r.Reason != "" {
		fmt.Fprintf(w, "  reason     %s\n", terminal.Printable(r.Reason))
	}
	if r.State != "running" {
		return
	}
	if t := r.Thresholds; t != nil {
		fmt.Fprintf(w, "  rolls back when %g points more calls fail or 95 %% take %g %% longer, from %d calls of each side on\n", t.ErrorPoints, t.LatencyPercent, t.MinCalls)
	}
	if !r.PromoteAt.IsZero() {
		fmt.Fprintf(w, "  promoted by itself at %s, if it is not worse then\n", r.PromoteAt.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	fmt.Fprintf(w, "  next   sluice toolset rollout show %[1]s   then: sluice toolset rollout promote %[1]s, or abort\n", slug)
}

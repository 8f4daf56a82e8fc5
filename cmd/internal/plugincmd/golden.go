package plugincmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/plugins/extism/reference"
	"github.com/sluicegate/sluice/plugins/golden"
	"github.com/sluicegate/sluice/plugins/guest"
)

// tested is one golden case in the report of "sluice plugin test".
type tested struct {
	Case         string  `json:"case"`
	OK           bool    `json:"ok"`
	Updated      bool    `json:"updated,omitempty"`
	made         bool    // the plugin made something of the case
	TokensBefore int     `json:"tokensBefore"`
	TokensAfter  int     `json:"tokensAfter"`
	Microseconds float64 `json:"microseconds"`
	Diff         string  `json:"diff,omitempty"`
	// Bench is what many calls took; only with --bench.
	Bench *benched `json:"bench,omitempty"`
	// Reference is what extism/go-sdk makes of the case; only with --reference.
	Reference *referenced `json:"reference,omitempty"`
}

// benched are the times of many calls of one case, and what they read and wrote.
type benched struct {
	Calls    int     `json:"calls"`
	Mean     float64 `json:"meanMicroseconds"`
	Median   float64 `json:"medianMicroseconds"`
	P99      float64 `json:"p99Microseconds"`
	BytesIn  int     `json:"bytesIn"`
	BytesOut int     `json:"bytesOut"`
}

// referenced compares the reference host with ours.
type referenced struct {
	Same         bool    `json:"same"`
	Microseconds float64 `json:"microseconds"`
	Diff         string  `json:"diff,omitempty"` // - ours, + theirs
}

func (a plugins) pluginTest() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test [DIR]",
		Short: "Run the golden cases of a plugin",
		Long: `Run DIR/testdata/*.json on the plugin that was built in DIR: what it is given, and what
it has to make of it. Each case runs on the same sandbox as in a gateway, with the
limits of the manifest. Exit code 6 when one differs.

--reference runs each case on extism/go-sdk too, and shows what differs. It is built with the
Go toolchain, once, and kept in the user's cache.`,
		Args: command.Between(0, 1, "at most one directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.testPlugin(cmd, dir, f)
		},
	}
	cmd.Flags().BoolVar(&f.update, "update", false, "write what the plugin makes into the cases")
	cmd.Flags().BoolVar(&f.bench, "bench", false, "measure each case for half a second")
	cmd.Flags().BoolVar(&f.reference, "reference", false, "run each case on extism/go-sdk "+reference.Version+" too (needs Go)")
	return cmd
}

// testFlags are those of "plugin test".
type testFlags struct{ update, bench, reference bool }

// benchTime is how long --bench measures a case.
const benchTime = 500 * time.Millisecond

func (a plugins) testPlugin(cmd *cobra.Command, dir string, f testFlags) error {
	p, _, err := openPlugin(dir)
	if err != nil {
		return err
	}
	cases, err := golden.Read(filepath.Join(dir, "testdata"))
	if err != nil {
		return err
	}
	h, err := a.newAuthor()
	if err != nil {
		return err
	}
	defer h.close(cmd.Context())
	if f.reference {
		if h.reference, err = a.buildReference(cmd.Context()); err != nil {
			return err
		}
	}
	results := make([]tested, 0, len(cases))
	failed := 0
	for _, c := range cases {
		r, err := h.test(cmd, p, c, f.bench)
		if err != nil {
			return err
		}
		if r.Diff != "" && f.update && r.made {
			if err := c.Write(filepath.Join(dir, "testdata")); err != nil {
				return err
			}
			r.OK, r.Updated, r.Diff = true, true, ""
		}
		if !r.OK || r.Reference != nil && !r.Reference.Same {
			failed++
		}
		results = append(results, r)
	}
	if err := a.Object(results, func(w io.Writer) { printTested(w, results, failed) }); err != nil {
		return err
	}
	if failed > 0 {
		return exit.SilentError(exit.Invalid)
	}
	return nil
}

// test runs one case; the case then holds what the plugin made.
func (h *author) test(cmd *cobra.Command, p *guest.Package, c *golden.Case, measure bool) (tested, error) {
	g, err := c.Load(h.host, p, h.say)
	if err != nil {
		return tested{}, err
	}
	defer g.Close()
	if err := g.Compile(cmd.Context()); err != nil {
		return tested{}, err
	}
	r := golden.Run(cmd.Context(), p, g, c)
	t := tested{Case: c.Name, OK: r.Diff == "", Diff: r.Diff, Microseconds: micro(r.Took)}
	if r.Got.Tokens != nil {
		t.TokensBefore, t.TokensAfter = r.Got.Tokens.Before, r.Got.Tokens.After
	}
	if h.reference != "" {
		if t.Reference, err = h.compare(cmd.Context(), p, c, &r); err != nil {
			return tested{}, err
		}
	}
	if measure && t.OK {
		h.quiet = true
		t.Bench = bench(cmd.Context(), p, g, c)
		h.quiet = false
	}
	if r.Got.Output != nil || r.Got.Text != nil || r.Got.Error != nil {
		c.Want, t.made = r.Got, true
	}
	return t, nil
}

// bench calls the plugin again and again with one case.
func bench(ctx context.Context, p *guest.Package, g *guest.Plugin, c *golden.Case) *benched {
	in := c.Body()
	var out []byte
	var took []time.Duration
	start := time.Now()
	for last := start; last.Sub(start) < benchTime && ctx.Err() == nil; {
		out, _ = g.Transform(ctx, out[:0], in, c.Begin(p))
		now := time.Now()
		took, last = append(took, now.Sub(last)), now
	}
	if len(took) == 0 {
		return nil // the author gave up
	}
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	slices.Sort(took)
	at := func(share float64) float64 { return micro(took[int(share*float64(len(took)-1))]) }
	return &benched{Calls: len(took), Mean: micro(sum) / float64(len(took)), Median: at(0.5), P99: at(0.99), BytesIn: len(in), BytesOut: len(out)}
}

// compare runs a case on the reference host. Ours is what the sandbox made of it.
func (h *author) compare(ctx context.Context, p *guest.Package, c *golden.Case, ours *golden.Result) (*referenced, error) {
	host, err := reference.Start(ctx, h.reference, p, c.Config)
	if err != nil {
		return nil, err
	}
	defer host.Close()
	as := *c
	as.Want = ours.Got
	theirs := golden.Run(ctx, p, host, &as)
	r := &referenced{Diff: theirs.Diff, Microseconds: micro(theirs.Took)}
	if made := ours.Got; made.Output == nil && made.Text == nil && made.Error == nil {
		// Ours broke: the reference has to break as well, in words of its own.
		got := theirs.Got
		if r.Diff = ""; got.Output != nil || got.Text != nil || got.Error != nil {
			r.Diff = "- " + ours.Diff + "\n+ it did not break\n"
		}
	}
	r.Same = r.Diff == ""
	return r, nil
}

// buildReference returns the program of the reference host.
func (a plugins) buildReference(ctx context.Context) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the user's cache: %w", err)
	}
	return reference.Build(ctx, filepath.Join(dir, "sluice", "reference"))
}

func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func printTested(w io.Writer, results []tested, failed int) {
	wide := 0
	for _, r := range results {
		wide = max(wide, len(r.Case))
	}
	for _, r := range results {
		mark := "ok  "
		switch {
		case r.Updated:
			mark = "new "
		case !r.OK:
			mark = "FAIL"
		}
		fmt.Fprintf(w, "%s  %-*s  %s → %s tokens  %.1f µs\n", mark, wide, r.Case, terminal.Thousands(r.TokensBefore), terminal.Thousands(r.TokensAfter), r.Microseconds)
		printDiff(w, r.Diff)
		if ref := r.Reference; ref != nil {
			word := "the same"
			if !ref.Same {
				word = "differs: - the sandbox, + extism/go-sdk"
			}
			fmt.Fprintf(w, "      on extism/go-sdk %s %.1f µs, %s\n", reference.Version, ref.Microseconds, word)
			printDiff(w, ref.Diff)
		}
	}
	if slices.ContainsFunc(results, func(r tested) bool { return r.Bench != nil }) {
		fmt.Fprintf(w, "\n%-*s  %9s  %10s  %10s  %10s  %9s  %9s\n", wide+6, "CASE", "CALLS", "MEAN µs", "MEDIAN µs", "P99 µs", "BYTES IN", "OUT")
		for _, r := range results {
			if b := r.Bench; b != nil {
				fmt.Fprintf(w, "%-*s  %9s  %10.1f  %10.1f  %10.1f  %9s  %9s\n", wide+6, r.Case, terminal.Thousands(b.Calls), b.Mean, b.Median, b.P99, terminal.Thousands(b.BytesIn), terminal.Thousands(b.BytesOut))
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", len(results)-failed, failed)
}

func printDiff(w io.Writer, diff string) {
	if diff != "" {
		fmt.Fprintf(w, "      %s\n", strings.ReplaceAll(strings.TrimRight(diff, "\n"), "\n", "\n      "))
	}
}

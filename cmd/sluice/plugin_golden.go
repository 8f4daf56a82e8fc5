package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/plugins/golden"
	"github.com/sluicegate/sluice/plugins/guest"
)

// tested is one golden case in the report of "sluice plugin test".
type tested struct {
	Case         string  `json:"case"`
	OK           bool    `json:"ok"`
	Updated      bool    `json:"updated,omitempty"`
	TokensBefore int     `json:"tokensBefore"`
	TokensAfter  int     `json:"tokensAfter"`
	Microseconds float64 `json:"microseconds"`
	Diff         string  `json:"diff,omitempty"`
}

func (a *app) pluginTest() *cobra.Command {
	var update, bench bool
	cmd := &cobra.Command{
		Use:   "test [DIR]",
		Short: "Run the golden cases of a plugin",
		Long: `Run DIR/testdata/*.json on the plugin that was built in DIR: what it is given, and what
it has to make of it. Each case runs on the same sandbox as in a gateway, with the
limits of the manifest. Exit code 6 when one differs.`,
		Args: between(0, 1, "at most one directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.testPlugin(cmd, dir, update, bench)
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "write what the plugin makes into the cases")
	cmd.Flags().BoolVar(&bench, "bench", false, "measure each case for half a second")
	return cmd
}

// benchTime is how long --bench measures a case.
const benchTime = 500 * time.Millisecond

func (a *app) testPlugin(cmd *cobra.Command, dir string, update, bench bool) error {
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
	results := make([]tested, 0, len(cases))
	failed := 0
	for _, c := range cases {
		r, err := h.test(cmd, p, c, bench)
		if err != nil {
			return err
		}
		if r.Diff != "" && update {
			if err := c.Write(filepath.Join(dir, "testdata")); err != nil {
				return err
			}
			r.OK, r.Updated, r.Diff = true, true, ""
		}
		if !r.OK {
			failed++
		}
		results = append(results, r)
	}
	if err := a.object(results, func(w io.Writer) { printTested(w, results, failed) }); err != nil {
		return err
	}
	if failed > 0 {
		return silentError(exitInvalid)
	}
	return nil
}

// test runs one case; the case then holds what the plugin made.
func (h *author) test(cmd *cobra.Command, p *guest.Package, c *golden.Case, bench bool) (tested, error) {
	g, err := h.load(p, c.Config)
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
	if bench && t.OK {
		in := c.Body()
		var out []byte
		n, start := 0, time.Now()
		for ; time.Since(start) < benchTime && cmd.Context().Err() == nil; n++ {
			out, _ = g.Transform(cmd.Context(), out[:0], in, c.Begin(p))
		}
		t.Microseconds = micro(time.Since(start)) / float64(n)
	}
	if r.Got.Output != nil || r.Got.Text != nil || r.Got.Error != nil {
		c.Want = r.Got
	}
	return t, nil
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
		fmt.Fprintf(w, "%s  %-*s  %s → %s tokens  %.1f µs\n", mark, wide, r.Case, thousands(r.TokensBefore), thousands(r.TokensAfter), r.Microseconds)
		if r.Diff != "" {
			fmt.Fprintf(w, "      %s\n", strings.ReplaceAll(strings.TrimRight(r.Diff, "\n"), "\n", "\n      "))
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", len(results)-failed, failed)
}

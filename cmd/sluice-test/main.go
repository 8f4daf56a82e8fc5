package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/tool"
)

func main() { tool.Main("sluice-test", command) }

func command(ctx context.Context, args []string, stdout, _ io.Writer) error {
	if len(args) == 0 {
		return errors.New("usage: sluice-test run|tests|flaky|platforms")
	}
	flags := flag.NewFlagSet("sluice-test "+args[0], flag.ContinueOnError)
	switch args[0] {
	case "run":
		g := gate{out: stdout}
		flags.BoolVar(&g.strict, "strict", false, "fail for skips that no list allows, for results that were kept, and for tests that write into the tree")
		quarantine := flags.String("quarantine", "", "`FILE` of tests that may fail now and then")
		other := flags.String("elsewhere", "", "`DIR=TAG,TAG DIR`: directories with tests that other commands run, with these build tags or as modules")
		skips := flags.String("skips", "", "`FILE` of tests that may skip with CI=true")
		tests := flags.String("tests", "", "`FILE` with the numbers of tests of the packages, which are compared")
		flags.BoolVar(&g.benchmarks, "benchmarks", false, "run each benchmark once, too")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		g.elsewhere = parseElsewhere(*other)
		if *tests != "" {
			var err error
			if g.counts, err = readCounts(*tests); err != nil {
				return err
			}
		}
		now, err := commitDate(ctx, "")
		if err != nil {
			return err
		}
		if g.quarantine, err = readQuarantine(*quarantine, now); err != nil {
			return err
		}
		if g.skips, err = readSkips(*skips); err != nil {
			return err
		}
		checkout, err := os.Getwd()
		if err != nil {
			return err
		}
		if os.Getenv("TMPDIR") == "" {
			if dir := inMemory(memoryDir, checkout); dir != "" {
				defer os.RemoveAll(dir)
				fmt.Fprintf(stdout, "temporary files of tests: %s (another place: TMPDIR)\n", dir)
				g.env = append(os.Environ(), "TMPDIR="+dir, "GOTMPDIR="+cmp.Or(os.Getenv("GOTMPDIR"), os.TempDir()))
			}
		}
		return g.run(ctx, groups(flags.Args()))
	case "tests":
		if len(args) < 3 {
			return errors.New("usage: sluice-test tests FILE PACKAGES")
		}
		return writeCounts(ctx, &gate{}, args[1], args[2:])
	case "flaky":
		f := flaky{out: stdout}
		flags.StringVar(&f.dir, "dir", "bin/flaky", "`DIRECTORY` of the state, the test binaries and the output of failed runs")
		flags.IntVar(&f.rounds, "rounds", 20, "`N` runs of each package")
		flags.StringVar(&f.slow, "slow", "", "`PACKAGE` which is run -slow-rounds times, because it takes minutes")
		flags.IntVar(&f.slowRounds, "slow-rounds", 3, "`N` runs of the slow package")
		flags.BoolVar(&f.race, "race", true, "run with the race detector")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return f.run(ctx, flags.Args())
	case "platforms":
		list := flags.String("platforms", "", "`GOOS/GOARCH`, with blanks between them")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return checkPlatforms(ctx, "", strings.Fields(*list), flags.Args(), stdout)
	}
	return fmt.Errorf("no command %s: run, tests, flaky or platforms", args[0])
}

// groups splits arguments at "--": each group is one go command.
func groups(args []string) [][]string {
	var out [][]string
	for {
		i := slices.Index(args, "--")
		if i < 0 {
			return append(out, args)
		}
		out = append(out, args[:i])
		args = args[i+1:]
	}
}

// commitDate returns the date of the commit that is tested, by which the days of the
// quarantine are counted: the same commit gives the same verdict at any time. A commit is
// not older than those before it, whatever date it was given.
func commitDate(ctx context.Context, dir string) (time.Time, error) {
	cmd := exec.CommandContext(ctx, "git", "log", "-100", "--format=%cs", "HEAD")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return time.Time{}, fmt.Errorf("git log: %w: the quarantine is counted to the date of the commit", err)
	}
	days := strings.Fields(string(out))
	if len(days) == 0 {
		return time.Time{}, errors.New("git log: no commit: the quarantine is counted to its date")
	}
	return time.Parse(time.DateOnly, slices.Max(days))
}

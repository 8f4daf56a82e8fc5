package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// maxAgain failed tests are run again; more are no coincidence.
const maxAgain = 3

// A gate decides whether the tests passed.
type gate struct {
	out        io.Writer
	dir        string   // of the module; empty is the current directory
	env        []string // of the go command; nil is this process's
	strict     bool     // with CI=true: a skip that is in no list fails the run
	quarantine []quarantined
	skips      []skip
	elsewhere  elsewhere
	counts     map[string]counts // of tests by package; nil: they are not compared
	benchmarks bool              // run each benchmark once
}

// run runs "go test -json" with each group of arguments. It returns nil when every
// test passed, or failed where the quarantine allows it.
func (g *gate) run(ctx context.Context, groups [][]string) error {
	var faults []string
	all := &result{tests: map[test]bool{}, begun: map[test]bool{}, took: map[test]float64{}, packages: map[string]bool{}}
	for _, q := range g.quarantine {
		fmt.Fprintf(g.out, "quarantined, %d days left: %s %s: %s\n", q.left, q.pkg, q.test, q.reason)
	}
	if err := g.chosen(groups); err != nil {
		return err
	}
	benchmarks, err := g.look(ctx, groups)
	if err != nil {
		return err
	}
	planned, err := g.plan(ctx, groups)
	if err != nil {
		return err
	}
	planned = append(planned, benchmarks...)
	before, err := g.tree(ctx)
	if err != nil {
		return err
	}
	for _, args := range planned {
		r, err := g.test(ctx, args)
		if err != nil {
			return err
		}
		all.passed += r.passed
		all.failed += r.failed
		all.skips = append(all.skips, r.skips...)
		maps.Copy(all.tests, r.tests)
		maps.Copy(all.begun, r.begun)
		maps.Copy(all.took, r.took)
		maps.Copy(all.packages, r.packages)
		faults = append(faults, r.certain...)
		if r.passed+r.failed+len(r.skips) == 0 && !slices.Contains(args, benchmarkFlag) {
			faults = append(faults, "no test ran: go test "+strings.Join(args, " "))
		}
		switch {
		case len(r.certain) > 0 || len(r.doubtful) > maxAgain:
			for _, t := range r.doubtful {
				faults = append(faults, t.String()+": failed"+below(r.said[t]))
			}
		default:
			for _, t := range r.doubtful {
				if fault := g.again(ctx, args, t); fault != "" {
					faults = append(faults, t.String()+": "+fault+below(r.said[t]))
				}
			}
		}
	}
	faults = append(faults, g.judgeSkips(all, slices.ContainsFunc(groups, func(args []string) bool { return slices.Contains(args, "./...") }))...)
	g.printSlowest(all)
	fmt.Fprintf(g.out, "%d passed, %d failed, %d skipped\n", all.passed, all.failed, len(all.skips))
	if len(faults) == 0 { // tests of a package that crashed did not run
		if faults, err = g.notRun(ctx, groups, all); err != nil {
			return err
		}
	}
	after, err := g.tree(ctx)
	if err != nil {
		return err
	}
	for _, name := range changed(before, after) {
		faults = append(faults, name+": the run wrote this file: a test that writes into the tree decides what is tested")
	}
	if len(faults) > 0 {
		slices.Sort(faults)
		return errors.New("the run failed:\n  " + strings.Join(slices.Compact(faults), "\n  "))
	}
	return nil
}

// chosen refuses a group that chooses its tests, with CI=true: what it leaves out nobody sees.
func (g *gate) chosen(groups [][]string) error {
	for _, args := range groups {
		for _, a := range args {
			name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
			if g.strict && strings.HasPrefix(a, "-") && slices.Contains(choosing, strings.TrimPrefix(name, "test.")) {
				return fmt.Errorf("%s leaves tests out: with CI=true all run", a)
			}
		}
	}
	return nil
}

// choosing are flags of go test with which some tests do not run, or none does.
var choosing = []string{"run", "skip", "short", "list", "failfast", "c", "n", "exec", "o", "overlay", "toolexec", "modfile", "C"}

// benchmarkFlag runs all benchmarks.
const benchmarkFlag = "-bench=."

// look reads the packages that groups name, before a test runs: it compares the numbers
// of their tests with the list, and returns the group that runs each benchmark once.
func (g *gate) look(ctx context.Context, groups [][]string) ([][]string, error) {
	if g.counts == nil && !g.benchmarks {
		return nil, nil
	}
	var all, plain []string
	for _, args := range groups {
		flags, patterns := flagsOf(args)
		all = append(all, patterns...)
		plain = flags
	}
	packages, err := g.list(ctx, all)
	if err != nil {
		return nil, err
	}
	if err := g.judgeCounts(packages, slices.Contains(all, "./...")); err != nil || !g.benchmarks {
		return nil, err
	}
	plain = slices.DeleteFunc(slices.Clone(plain), func(f string) bool { return strings.Contains(f, "-race") })
	plain = append(plain, "-run=^$", benchmarkFlag, "-benchtime=1x")
	named := len(plain)
	for i := range packages {
		d, err := packages[i].declared()
		if err != nil {
			return nil, err
		}
		if len(d.benchmarks) > 0 {
			plain = append(plain, packages[i].ImportPath)
		}
	}
	if len(plain) == named {
		return nil, nil
	}
	return [][]string{plain}, nil
}

// printSlowest prints which tests take long: what a run that takes too long is shortened by.
func (g *gate) printSlowest(r *result) {
	const most, from = 12, 20 // seconds
	slowest := slices.SortedFunc(maps.Keys(r.took), func(a, b test) int { return cmp.Compare(r.took[b], r.took[a]) })
	for _, t := range slowest[:min(most, len(slowest))] {
		if r.took[t] >= from {
			fmt.Fprintf(g.out, "slow: %s %.0f s\n", t, r.took[t])
		}
	}
}

// below returns text as lines of its own, below what it belongs to.
func below(text string) string {
	if text == "" {
		return ""
	}
	return "\n" + text
}

// test runs the go command once. Its exit status must agree with its events.
func (g *gate) test(ctx context.Context, args []string) (*result, error) {
	flags := []string{"test", "-json"}
	if g.strict { // The go command keeps results, and knows not what the processes of a test read.
		flags = append(flags, "-count=1")
	}
	cmd := exec.CommandContext(ctx, "go", append(flags, args...)...)
	cmd.Dir, cmd.Env = g.dir, g.env
	if slices.Contains(args, "-race") {
		cmd.Env = withCgo(cmd.Env)
	}
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r, err := read(events, g.out)
	ended := cmd.Wait()
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case ended != nil && r.badPackages == 0:
		r.certain = append(r.certain, fmt.Sprintf("go test %s: %v, and no package failed", strings.Join(args, " "), ended))
	case ended == nil && r.badPackages > 0 && len(r.certain) == 0:
		r.certain = append(r.certain, fmt.Sprintf("go test %s: ended well, and %d packages failed", strings.Join(args, " "), r.badPackages))
	}
	return r, nil
}

// withCgo is an environment for the race detector, which needs cgo. Other tests run without,
// as what users get; nil is that of this process.
func withCgo(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	return append(slices.Clone(env), "CGO_ENABLED=1")
}

// again runs a failed test alone and then its whole package, as in the run in which
// it failed and with the race detector. It returns why the run fails, or an empty
// string where both pass and the test is quarantined.
func (g *gate) again(ctx context.Context, args []string, t test) string {
	var flags []string
	race := false
	for _, a := range args {
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "-run=") {
			flags = append(flags, a)
			race = race || a == "-race"
		}
	}
	flags = append(flags, "-count=1")
	runs := [][]string{slices.Concat(flags, []string{"-run=^" + t.name + "$", t.pkg}), slices.Concat(flags, []string{t.pkg})}
	if !race { // its package may have other tests with the race detector
		runs = append(runs, slices.Concat([]string{"-race"}, flags, []string{t.pkg}))
	}
	for i, run := range runs {
		r, err := g.test(ctx, run)
		switch {
		case err != nil:
			return err.Error()
		case i == 0 && !r.tests[t]:
			return "failed, and did not run again"
		case len(r.certain) > 0 || len(r.doubtful) > 0 || r.failed > 0:
			return "failed, and again in: go test " + strings.Join(run, " ")
		}
	}
	for _, q := range g.quarantine {
		if q.pkg == t.pkg && q.test == t.name {
			fmt.Fprintf(g.out, "quarantined: %s failed, then passed alone and with its package\n", t)
			return ""
		}
	}
	return "flaky: it failed, then passed alone and with its package; fix it, or quarantine it for " + fmt.Sprint(quarantineDays) + " days"
}

// judgeSkips prints skipped tests and returns those that are in no list, and the
// entries of the list without a test, or, of a run of all packages, without a package.
func (g *gate) judgeSkips(r *result, whole bool) []string {
	var faults []string
	for _, s := range r.skips {
		allowed := slices.ContainsFunc(g.skips, func(a skip) bool {
			return a.pkg == s.pkg && a.test == s.name && strings.Contains(s.reason, a.word)
		})
		if !allowed && g.strict {
			faults = append(faults, fmt.Sprintf("%s: skipped, and not in the list of skips: %s", s.test, s.reason))
		}
		if !allowed || !g.strict {
			fmt.Fprintf(g.out, "skipped %s: %s\n", s.test, s.reason)
		}
	}
	for _, a := range g.skips {
		if g.strict && whole && !r.packages[a.pkg] {
			faults = append(faults, fmt.Sprintf("%s %s: in the list of skips, and there is no such package", a.pkg, a.test))
		}
		if g.strict && r.packages[a.pkg] && !r.tests[test{a.pkg, a.test}] {
			faults = append(faults, fmt.Sprintf("%s %s: in the list of skips, and there is no such test", a.pkg, a.test))
		}
	}
	return faults
}

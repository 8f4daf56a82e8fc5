package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/tool"
)

//go:embed equivalent.txt
var equivalentText string

func main() { tool.Main("sluice-mutants", run) }

func run(ctx context.Context, args []string, stdout, _ io.Writer) error {
	flags := flag.NewFlagSet("sluice-mutants", flag.ContinueOnError)
	n := flags.Int("n", 240, "how many mutants that compile to try; 0 means all")
	seed := flags.String("seed", "1", "which mutants: a `SEED` names the same ones as long as their code stays")
	rev := flags.String("changed", "", "try all mutants of lines changed since the git `REV` instead of a sample")
	only := flags.String("pkg", "", "only packages whose directory begins with `DIR`")
	out := flags.String("o", "", "results `FILE`, which a later run continues (default bin/mutants-SEED.txt)")
	again := flags.Bool("again", false, "try the survivors of the results file again")
	each := flags.Bool("each", false, "compile each mutant for itself: slower, and every test is asked; the wider packages too, without -own")
	onlyWoven := flags.Bool("woven", false, "leave out the mutants that cannot be compiled with the others: most constants")
	own := flags.Bool("own", false, "ask only the tests of the mutant's own package, which is quicker and finds more survivors")
	asked := flags.String("tests", "", "of the wider packages, ask only tests whose name matches the regular expression `RE`: recording a large package takes minutes")
	list := flags.Bool("list", false, "print the mutants and try none")
	goal := flags.Float64("goal", 0, "fail when the score is below `PERCENT`")
	jobs := flags.Int("j", 2, "how many at a time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := output(ctx, ".", "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	r := &runner{root: strings.TrimSpace(string(root)), own: *own, clean: map[string]time.Duration{}, woven: map[string]*woven{}}
	if *asked != "" {
		if r.asked, err = regexp.Compile(*asked); err != nil {
			return fmt.Errorf("-tests: %w", err)
		}
	}
	mutants, err := choose(ctx, r.root, *only, *rev, *seed)
	if err != nil {
		return err
	}
	if *rev != "" {
		*n = 0
	}
	if *list {
		for _, m := range mutants {
			fmt.Fprintln(stdout, m.id, m)
		}
		return nil
	}
	if *out == "" {
		*out = filepath.Join(r.root, "bin", "mutants-"+*seed+".txt")
		if *rev != "" {
			*out = filepath.Join(r.root, "bin", "mutants-changed.txt")
		}
	}
	results, err := readResults(*out)
	if err != nil {
		return err
	}
	if *again {
		for id, was := range results {
			if was.verdict == survived {
				delete(results, id)
			}
		}
	}
	if r.tmp, err = tempDir(); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.tmp) }()
	if err := os.Setenv("TMPDIR", r.tmp); err != nil { // what tests that are killed leave is removed too
		return err
	}
	if !*each {
		if mutants, err = r.weave(ctx, mutants, *onlyWoven); err != nil {
			return err
		}
	}
	tried, err := tryAll(ctx, r, mutants, results, *n, *jobs, *out, stdout)
	if err != nil {
		return err
	}
	s := report(stdout, targets, tried, results)
	if s.percent() < *goal {
		return fmt.Errorf("%.1f %% of %d mutants are killed, goal %.0f %%", s.percent(), s.total(), *goal)
	}
	return nil
}

// tempDir makes the directory of temporary files. Servers that tests start as other users, as
// PostgreSQL for root, have theirs in it: who must not read it may still come by.
func tempDir() (string, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}

// choose returns the mutants to try, in the order of the seed. A line of
// equivalent.txt that fits no mutant any more is an error.
func choose(ctx context.Context, root, only, rev, seed string) ([]*mutant, error) {
	var lines map[string]map[int]bool
	if rev != "" {
		diff, err := output(ctx, root, "git", "diff", "-U0", "--no-color", rev, "--", "*.go")
		if err != nil {
			return nil, err
		}
		if lines, err = changedLines(diff); err != nil {
			return nil, err
		}
	}
	same, err := readEquivalent(equivalentText)
	if err != nil {
		return nil, err
	}
	var byTarget [][]*mutant
	for i := range targets {
		t := &targets[i]
		if !strings.HasPrefix(t.dir, strings.TrimSuffix(only, "/")) {
			continue
		}
		ms, err := load(root, t, func(dir string) ([]byte, error) {
			return output(ctx, root, "go", "list", "-deps", "-export", "-json=Dir,ImportPath,Export,GoFiles,DepOnly", dir)
		})
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			delete(same, m.id)
		}
		if rev != "" {
			ms = slices.DeleteFunc(ms, func(m *mutant) bool { return !lines[m.file][m.line] })
		}
		byTarget = append(byTarget, ms)
	}
	if len(same) > 0 && only == "" {
		var stale []string
		for id, reason := range same {
			stale = append(stale, id+" "+reason)
		}
		slices.Sort(stale)
		return nil, fmt.Errorf("equivalent.txt lists mutants that are gone, because their code changed:\n%s", strings.Join(stale, "\n"))
	}
	return sample(byTarget, seed), nil
}

// tryAll tries mutants until n of them compiled, or all for n = 0, and returns those
// it has results of. Results are written as they come.
func tryAll(ctx context.Context, r *runner, mutants []*mutant, results map[string]result, n, jobs int, path string, stdout io.Writer) ([]*mutant, error) {
	same, err := readEquivalent(equivalentText)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	var (
		mu     sync.Mutex // guards what follows, results and file
		next   int
		valid  int // tried or being tried, and not known to be invalid
		done   []*mutant
		failed error
	)
	// take returns the next mutant without a result; false when there is none.
	take := func() (*mutant, bool) {
		mu.Lock()
		defer mu.Unlock()
		for failed == nil && next < len(mutants) && (n == 0 || valid < n) {
			m := mutants[next]
			next++
			if reason, ok := same[m.id]; ok {
				results[m.id] = result{equivalent, reason}
			}
			was, ok := results[m.id]
			if was.verdict != invalid {
				valid++
			}
			if !ok {
				return m, true
			}
			done = append(done, m)
		}
		return nil, false
	}
	put := func(m *mutant, res result, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			err = writeResult(file, m, res)
		}
		if err != nil {
			failed = errors.Join(failed, err)
			return
		}
		if res.verdict == invalid {
			valid--
		}
		results[m.id], done = res, append(done, m)
		fmt.Fprintf(stdout, "%d %s %s %s\n", len(done), res.verdict, m, res.by)
	}
	var wait sync.WaitGroup
	for range max(jobs, 1) {
		wait.Go(func() {
			for m, ok := take(); ok; m, ok = take() {
				verdict, by, err := r.try(ctx, m)
				put(m, result{verdict, by}, err)
			}
		})
	}
	wait.Wait()
	return done, errors.Join(failed, file.Close())
}

func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, tail([]byte(stderr.String())))
	}
	return out, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// counts are how many tests a package has: what a run cannot miss is a test that was
// removed, which the committed list shows in the diff of a review.
type counts struct {
	tests      int // tests, fuzz tests and examples that go test runs here
	benchmarks int
	tagged     int // tests and benchmarks of files with other build tags
}

func (c counts) String() string { return fmt.Sprintf("%d %d %d", c.tests, c.benchmarks, c.tagged) }

const countsHead = `# How many tests the packages have: PACKAGE TESTS BENCHMARKS TAGGED, where those in files with other
# build tags are the last. A run fails when there are fewer, so that a test that is removed is seen in
# the diff; with CI=true also when there are more. "make tests" writes it. See docs/testing.md.
`

// count returns the counts of packages that have tests.
func count(packages []testFiles) (map[string]counts, error) {
	out := map[string]counts{}
	for i := range packages {
		d, err := packages[i].declared()
		if err != nil {
			return nil, err
		}
		if c := (counts{len(d.tests), len(d.benchmarks), d.tagged}); c != (counts{}) {
			out[packages[i].ImportPath] = c
		}
	}
	return out, nil
}

// readCounts reads a list of counts.
func readCounts(name string) (map[string]counts, error) {
	out := map[string]counts{}
	err := readLines(name, 4, func(f []string) error {
		var n [3]int
		for i := range n {
			var err error
			if n[i], err = strconv.Atoi(f[i+1]); err != nil || n[i] < 0 {
				return fmt.Errorf("%q is no number of tests", f[i+1])
			}
		}
		if _, twice := out[f[0]]; twice {
			return fmt.Errorf("%s stands here twice", f[0])
		}
		out[f[0]] = counts{n[0], n[1], n[2]}
		return nil
	})
	return out, err
}

// writeCounts writes the list anew.
func writeCounts(ctx context.Context, g *gate, name string, patterns []string) error {
	packages, err := g.list(ctx, patterns)
	if err != nil {
		return err
	}
	is, err := count(packages)
	if err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString(countsHead)
	for _, p := range slices.Sorted(maps.Keys(is)) {
		fmt.Fprintln(&text, p, is[p])
	}
	return os.WriteFile(name, []byte(text.String()), 0o644)
}

// judgeCounts compares packages with the list, before a test runs: whole says that
// they are all.
func (g *gate) judgeCounts(packages []testFiles, whole bool) error {
	if g.counts == nil {
		return nil
	}
	is, err := count(packages)
	if err != nil {
		return err
	}
	var faults []string
	for _, p := range packages {
		was, now := g.counts[p.ImportPath], is[p.ImportPath]
		switch {
		case now.tests < was.tests || now.benchmarks < was.benchmarks || now.tagged < was.tagged:
			faults = append(faults, fmt.Sprintf("%s: has %s tests, benchmarks and tests with tags, and had %s: some are gone", p.ImportPath, now, was))
		case now != was && g.strict:
			faults = append(faults, fmt.Sprintf("%s: has %s tests, benchmarks and tests with tags, and the list says %s: one that is removed later would not be seen", p.ImportPath, now, was))
		}
		delete(is, p.ImportPath)
	}
	for _, name := range slices.Sorted(maps.Keys(g.counts)) {
		if whole && !slices.ContainsFunc(packages, func(p testFiles) bool { return p.ImportPath == name }) {
			faults = append(faults, name+": had "+g.counts[name].String()+" tests, benchmarks and tests with tags, and is no package any more")
		}
	}
	if len(faults) > 0 {
		return errors.New("the tests are not those of the list; make tests writes it, and the diff says what changed:\n  " + strings.Join(faults, "\n  "))
	}
	return nil
}

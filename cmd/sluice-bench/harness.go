package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// bench is what a benchmark gets: where to report, and how to start servers.
type bench struct {
	out    io.Writer // progress for people
	sluice string    // path of the sluice binary under test
	spec   string    // path of GitHub's specification, "" when it is not there
	keep   string    // directory of the 1,000 toolsets that outlives the run, "" for none
	count  int       // repetitions of which the median is taken
	only   []string  // prefixes of the names that are asked for, none for all
	sizing string    // file that the table of docs/operate/sizing.md is written to, "" for none
	quick  bool      // shorter rounds, see -quick
	rows   []sized   // of that table
	lines  []line
	left   []string // names of figures that cannot be measured here
}

// benchmark measures the figures called names, all of them in one run.
type benchmark struct {
	names []string
	run   func(ctx context.Context, b *bench) error
}

// report records the figure of one goal. A name that is not a goal is a bug.
func (b *bench) report(name string, value float64, note string) {
	i := slices.IndexFunc(goals, func(g goal) bool { return g.name == name })
	if i < 0 {
		panic("BUG: no goal is called " + name)
	}
	b.lines = append(b.lines, line{goals[i], value, note})
}

// skip says that figures cannot be measured on this machine, and why.
func (b *bench) skip(why string, names ...string) {
	b.logf("left out, %s: %s", why, strings.Join(names, " "))
	b.left = append(b.left, names...)
}

// logf writes one line of progress.
func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(b.out, "# "+format+"\n", args...)
}

// wanted reports whether one of names starts with one of the prefixes in only; an
// empty only wants everything.
func wanted(only, names []string) bool {
	return len(only) == 0 || slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(only, func(p string) bool { return strings.HasPrefix(name, p) })
	})
}

// missing returns the goals wanted by only that no line reports and that were not left out.
func missing(only []string, lines []line, left []string) []string {
	var out []string
	for _, g := range goals {
		if wanted(only, []string{g.name}) && !slices.Contains(left, g.name) && !slices.ContainsFunc(lines, func(l line) bool { return l.name == g.name }) {
			out = append(out, g.name)
		}
	}
	return out
}

// median returns the middle of v, which it sorts; the mean of the two middle ones
// of an even number. It panics on none.
func median(v []float64) float64 {
	slices.Sort(v)
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

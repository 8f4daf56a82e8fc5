package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// A result is what became of a mutant, as a line of the results file:
// id, verdict, test, description, separated by tabs.
type result struct {
	verdict, by string
}

// readResults reads the results of a run before this one. A line that was cut when
// the run was killed is left out, so its mutant is tried again.
func readResults(path string) (map[string]result, error) {
	out := map[string]result{}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 4 && strings.HasSuffix(line, "\n") {
			out[f[0]] = result{f[1], f[2]}
		}
	}
	return out, nil
}

func writeResult(w io.Writer, m *mutant, r result) error {
	_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.id, r.verdict, r.by, m)
	return err
}

// readEquivalent reads the list of mutants that change nothing a caller can see:
// "id reason" a line, with comments after #.
func readEquivalent(text string) (map[string]string, error) {
	out := map[string]string{}
	s := bufio.NewScanner(strings.NewReader(text))
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, reason, _ := strings.Cut(line, " ")
		if reason = strings.TrimSpace(reason); len(id) != 12 || reason == "" {
			return nil, fmt.Errorf("equivalent.txt:%d: want an identity of 12 digits and a reason", n)
		}
		if _, twice := out[id]; twice {
			return nil, fmt.Errorf("equivalent.txt:%d: %s stands there twice", n, id)
		}
		out[id] = reason
	}
	return out, s.Err()
}

// A score counts verdicts.
type score map[string]int

func (s score) total() int { return s[killed] + s[survived] }

func (s score) percent() float64 {
	if s.total() == 0 {
		return 100
	}
	return 100 * float64(s[killed]) / float64(s.total())
}

// report writes the score of each package, as a table for docs/testing.md, and the
// survivors.
func report(w io.Writer, targets []target, mutants []*mutant, results map[string]result) score {
	all, by := score{}, map[string]score{}
	for _, m := range mutants {
		r, ok := results[m.id]
		if !ok {
			continue
		}
		if by[m.target.dir] == nil {
			by[m.target.dir] = score{}
		}
		by[m.target.dir][r.verdict]++
		all[r.verdict]++
	}
	fmt.Fprintln(w, "| package | mutants | killed | survived | equivalent | score |\n| --- | ---: | ---: | ---: | ---: | ---: |")
	row := func(name string, s score) {
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %.1f %% |\n", name, s.total()+s[equivalent], s[killed], s[survived], s[equivalent], s.percent())
	}
	for _, t := range targets {
		if s := by[t.dir]; s != nil {
			row("`"+t.dir+"`", s)
		}
	}
	row("all", all)
	for _, m := range mutants {
		if results[m.id].verdict == survived {
			fmt.Fprintf(w, "survived %s %s\n", m.id, m)
		}
	}
	return all
}

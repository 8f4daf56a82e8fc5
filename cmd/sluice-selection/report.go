package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/internal/selection/evaluate"
)

// The goals of the report. Those of macro means were set on sets that are not
// public, so they stand beside the public ones without deciding anything.
const (
	goalNDCG, goalRecall, goalHit = 69.5, 79.5, 63.0
	goalBelow                     = 1.0 // points that a set may be under plain BM25
	goalExamples                  = 90.0
	goalUser, goalAgent           = 80, 95 // percent of the needs
	goalTokens                    = 1500
	goalBuildSeconds              = 8.0
	goalBuildMegabytes            = 200.0
	goalOpen                      = 1. / 20
)

// goalP95 is in milliseconds, by number of tools.
var goalP95 = map[int]float64{1000: 1, 10_000: 5, 40_000: 10}

const (
	reportBegin = "<!-- begin: written by make selection-report -->\n"
	needsBegin  = "<!-- begin: written by make selection-needs -->\n"
	reportEnd   = "<!-- end -->\n"
)

// report collects the document.
type report struct {
	text   bytes.Buffer
	missed []string // goals
}

func (r *report) line(format string, args ...any) { fmt.Fprintf(&r.text, format+"\n", args...) }

// goal adds a row of the table of goals.
func (r *report) goal(ok bool, what, goal, measured string) {
	mark := "yes"
	if !ok {
		mark = "**no**"
		r.missed = append(r.missed, what)
	}
	r.line("| %s | %s | %s | %s |", what, goal, measured, mark)
}

// writeReport measures everything and writes it between the marks of the document.
// A missed goal is shown and is no fault of the run.
func writeReport(ctx context.Context, in *input, stdout, stderr io.Writer) error {
	for _, begin := range []string{reportBegin, needsBegin} { // before hours of work
		if _, _, err := around(in.to, begin); err != nil {
			return err
		}
	}
	h, err := readHeldOut(ctx, in, stderr)
	if err != nil {
		return err
	}
	m, err := h.measureSets(ctx, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr, "size and speed")
	if in.spec == "" {
		return errors.New("-github names no specification")
	}
	size, err := measure(ctx, in.spec)
	if err != nil {
		return err
	}
	var r report
	r.goals(m, size)
	r.sets(m)
	r.rest(m)
	if err := r.write(in.to, reportBegin, stdout); err != nil {
		return err
	}
	return writeNeeds(ctx, in, stdout, stderr)
}

// writeNeeds measures what people and agents find in four APIs, which takes seconds where the
// rest of the report takes hours, and writes it between marks of its own.
func writeNeeds(ctx context.Context, in *input, stdout, stderr io.Writer) error {
	fmt.Fprintln(stderr, "needs")
	needs, err := askNeeds(ctx, in.specs, in.needs)
	if err != nil {
		return err
	}
	var r report
	r.needs(needs)
	return r.write(in.to, needsBegin, stdout)
}

// write replaces what a document has between a mark and the next end.
func (r *report) write(file, begin string, stdout io.Writer) error {
	before, after, err := around(file, begin)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(before+begin+r.text.String()+reportEnd+after), 0o644); err != nil { //nolint:gosec // documentation is for everyone
		return err
	}
	for _, what := range r.missed {
		fmt.Fprintln(stdout, "missed:", what)
	}
	return nil
}

// around is what a document has before a mark and after the next end.
func around(file, begin string) (before, after string, err error) {
	doc, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	before, rest, ok := strings.Cut(string(doc), begin)
	_, after, ok2 := strings.Cut(rest, reportEnd)
	if !ok || !ok2 {
		return "", "", fmt.Errorf("%s has no lines %q and %q", file, begin, reportEnd)
	}
	return before, after, nil
}

// figures are what was measured on the sets, by set.
type figures struct {
	names                             []string
	plain, words, heldOut, shipped    map[string]evaluate.Score
	rightly, wrongly                  map[string]float64
	metatool, metatoolPlain           evaluate.Score // with and without examples
	metatoolShipped, seal, sealPlain  evaluate.Score
	hasMetatool, hasSeal              bool
	lowest                            float64
	lowestOf                          string
	plainAll, wordsAll, outAll, inAll evaluate.Score
}

const (
	perUnfit = 60 // requests of each set that are asked of the others
	parts    = 12 // one of as many requests is asked, the others are examples
)

func (h *heldOut) measureSets(ctx context.Context, stderr io.Writer) (*figures, error) {
	m := &figures{
		plain: map[string]evaluate.Score{}, words: map[string]evaluate.Score{}, heldOut: map[string]evaluate.Score{},
		shipped: map[string]evaluate.Score{}, rightly: map[string]float64{}, wrongly: map[string]float64{},
	}
	words := &selection.Features{selection.FeatureBM25: 1}
	for _, s := range h.sets {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fmt.Fprintln(stderr, "requests of", s.Name)
		g := groupOf(s.Name)
		table := h.tables[g]
		m.names = append(m.names, s.Name)
		m.plain[s.Name] = evaluate.RunPlain(s)
		m.words[s.Name] = evaluate.Run(s, nil, words)
		weights := h.without(g)
		m.heldOut[s.Name] = evaluate.Run(s, table, weights)
		m.shipped[s.Name] = evaluate.Run(s, selection.DefaultTable(), nil)
		others := slices.DeleteFunc(slices.Clone(h.sets), func(o *evaluate.Set) bool { return groupOf(o.Name) == g })
		m.rightly[s.Name], m.wrongly[s.Name] = evaluate.Unfit(s, others, table, perUnfit)
		if d := m.heldOut[s.Name].NDCG10 - m.plain[s.Name].NDCG10; m.lowestOf == "" || d < m.lowest {
			m.lowest, m.lowestOf = d, s.Name
		}
		switch s.Name {
		case "metatool_single":
			taught, plain := evaluate.WithExamples(s, parts)
			m.metatool, m.metatoolPlain = evaluate.Run(taught, table, weights), evaluate.Run(plain, table, weights)
			m.metatoolShipped, m.hasMetatool = evaluate.Run(taught, selection.DefaultTable(), nil), true
		case "sealtools":
			taught, plain := evaluate.WithExamples(s, 0)
			m.seal, m.sealPlain, m.hasSeal = evaluate.Run(taught, table, weights), evaluate.Run(plain, table, weights), true
		}
	}
	m.plainAll, m.wordsAll = evaluate.Macro(m.plain).Macro, evaluate.Macro(m.words).Macro
	m.outAll, m.inAll = evaluate.Macro(m.heldOut).Macro, evaluate.Macro(m.shipped).Macro
	return m, nil
}

func (r *report) goals(m *figures, size *measures) {
	r.line("| what | goal | measured | reached |")
	r.line("| --- | --- | --- | --- |")
	out := m.outAll
	r.goal(out.NDCG10 >= goalNDCG && out.Recall10 >= goalRecall && out.Hit1 >= goalHit,
		fmt.Sprintf("held out, mean of the %d public sets: nDCG@10 / recall@10 / hit@1", len(m.names)),
		fmt.Sprintf("≥ %.1f / %.1f / %.0f", goalNDCG, goalRecall, goalHit), triple(out))
	r.goal(m.lowest >= -goalBelow, "held out, nDCG@10 of the set that gains least over plain BM25", fmt.Sprintf("≥ −%.0f point", goalBelow),
		fmt.Sprintf("%+.1f (%s)", m.lowest, m.lowestOf))
	if m.hasMetatool {
		r.goal(m.metatool.NDCG10 >= goalExamples, "MetaTool with example requests (one of 12 asked, the others examples), nDCG@10, held out",
			fmt.Sprintf("≥ %.0f", goalExamples), fmt.Sprintf("%.1f, without examples %.1f, with the table in the binary %.1f", m.metatool.NDCG10, m.metatoolPlain.NDCG10, m.metatoolShipped.NDCG10))
	}
	if m.hasSeal {
		r.goal(m.seal.NDCG10 >= m.sealPlain.NDCG10-.005, "Seal-Tools with example requests (few of each tool), nDCG@10, held out", "not lower than without",
			fmt.Sprintf("%.2f, without %.2f", m.seal.NDCG10, m.sealPlain.NDCG10))
	}
	for _, n := range sizes {
		p := size.P95Milliseconds[fmt.Sprint(n)]
		r.goal(p <= goalP95[n], fmt.Sprintf("processor time of a search among %s tools, 95th percentile", thousands(n)), fmt.Sprintf("≤ %g ms", goalP95[n]), fmt.Sprintf("%.2f ms", p))
	}
	r.goal(size.Allocations == 0, "allocations of a search after warm-up", "0", fmt.Sprintf("%g", size.Allocations))
	r.goal(size.BuildSeconds <= goalBuildSeconds, "index of 40,000 tools: processor time", fmt.Sprintf("≤ %g s", goalBuildSeconds), fmt.Sprintf("%.1f s", size.BuildSeconds))
	r.goal(size.BuildMegabytes <= goalBuildMegabytes, "index of 40,000 tools: memory while it is made", fmt.Sprintf("≤ %g MB", goalBuildMegabytes),
		fmt.Sprintf("%.0f MB; stored %.0f MB", size.BuildMegabytes, size.StoredMegabytes))
	r.goal(size.OpenOverBuild <= goalOpen, "loading it over making it, time", fmt.Sprintf("≤ %.2f", goalOpen), fmt.Sprintf("%.3f", size.OpenOverBuild))
	r.goal(size.TokensSearch <= goalTokens, fmt.Sprintf("tokens (o200k_base) of the first tools/list of GitHub's %s tools in search mode", thousands(size.Tools)),
		fmt.Sprintf("≤ %s", thousands(goalTokens)), fmt.Sprintf("%s; %s in all: 1/%d", thousands(size.TokensSearch), thousands(size.TokensAll), size.TokensAll/max(size.TokensSearch, 1)))
}

func (r *report) sets(m *figures) {
	r.line("\nnDCG@10 / recall@10 / hit@1, in percent, of each public set:\n")
	r.line("| set | tools | requests | plain BM25 | words only (BM25F) | held out | table in the binary |")
	r.line("| --- | --- | --- | --- | --- | --- | --- |")
	for _, n := range m.names {
		r.line("| %s | %s | %s | %s | %s | %s | %s |", n, thousands(m.plain[n].Tools), thousands(m.plain[n].Queries), triple(m.plain[n]), triple(m.words[n]), triple(m.heldOut[n]), triple(m.shipped[n]))
	}
	r.line("| **mean** | | | %s | %s | **%s** | %s |", triple(m.plainAll), triple(m.wordsAll), triple(m.outAll), triple(m.inAll))
	r.line("\nHeld out, also: recall@5 %.1f, all tools that a request needs among the first ten %.1f.", m.outAll.Recall5, m.outAll.Complete10)
}

func (r *report) needs(needs []needScore) {
	var all, user, agent int
	for _, n := range needs {
		all, user, agent = all+n.needs, user+n.user, agent+n.agent
	}
	r.line("| what | goal | measured | reached |")
	r.line("| --- | --- | --- | --- |")
	r.goal(user*100 >= all*goalUser, fmt.Sprintf("%d needs over four APIs, found among the first %d: in a user's words", all, found), fmt.Sprintf("≥ %d %%", goalUser), percent(user, all))
	r.goal(agent*100 >= all*goalAgent, "the same, in an agent's words", fmt.Sprintf("≥ %d %%", goalAgent), percent(agent, all))
	r.line("\nNeeds found among the first %d results, with the table in the binary:\n", found)
	r.line("| API | tools | needs | in a user's words | in an agent's words |")
	r.line("| --- | --- | --- | --- | --- |")
	for _, n := range needs {
		r.line("| %s | %s | %d | %d | %d |", n.api, thousands(n.tools), n.needs, n.user, n.agent)
	}
	r.line("\nNot found:\n")
	for _, n := range needs {
		for _, q := range n.missed {
			r.line("* %s: “%s”", n.api, q)
		}
	}
}

func (r *report) rest(m *figures) {
	r.line("\n“Nothing fits”, in percent: of the requests of other groups of sets (the more the better), and of a set's own (the fewer the better), held out:\n")
	r.line("| set | tools | said of others' requests | said of its own |")
	r.line("| --- | --- | --- | --- |")
	var right, wrong float64
	for _, n := range m.names {
		right, wrong = right+m.rightly[n]/float64(len(m.names)), wrong+m.wrongly[n]/float64(len(m.names))
		r.line("| %s | %s | %.0f | %.1f |", n, thousands(m.plain[n].Tools), m.rightly[n], m.wrongly[n])
	}
	r.line("| **mean** | | %.0f | %.1f |", right, wrong)
}

func triple(s evaluate.Score) string {
	return fmt.Sprintf("%.1f / %.1f / %.1f", s.NDCG10, s.Recall10, s.Hit1)
}

func percent(n, of int) string {
	return fmt.Sprintf("%.0f %% (%d of %d)", 100*float64(n)/float64(max(of, 1)), n, of)
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

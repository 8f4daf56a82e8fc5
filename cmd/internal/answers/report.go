package answers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// vendorAnswers is how many answers of a vendor make its mean count.
const vendorAnswers = 5

// maxDroppedListed is how many members the report lists for an operation; what
// follows is counted.
const maxDroppedListed = 12

// WriteReport writes what became of the answers of a corpus, as Markdown: file, and
// beside it a folder of its name with a page for each specification. questions is nil
// where none were asked.
func WriteReport(file string, all []Answer, questions *Asked) error {
	var b bytes.Buffer
	b.WriteString(`# Answers

What agents read of real answers of real APIs, in tokens of o200k_base. ` + "`make answers-report`" + ` writes this page from the corpus in
` + "`SLUICE_CORPUS`" + `: answers recorded from live APIs, fixtures of vendors and client libraries, and examples of specifications.

* **pretty** and **minified** are the answer as JSON; **lossless** is the same in the shorter of minified JSON and [table text](table.md), from which it is
  got back exactly; **concise** is what is left by the [default projection](projection.md), in the same forms. **one field** is concise with ` + "`fields`" + `
  naming the first identifying field: what a caller pays who knows what it wants.
* **kept** is the share of essential leaves that concise has: members of the first two levels of each item whose name is or ends in id, name, title, state, date
  and the like, with a value that is not empty and no address. **ids lost** counts values that another operation of the same API takes as a parameter.

## In total

`)
	sums := SumUp(all)
	vendorTable(&b, sums[len(sums)-2:])
	mean, n := 0.0, 0
	for _, v := range sums[:len(sums)-2] {
		if v.Answers >= vendorAnswers {
			mean += saved(v.Tokens.Concise, v.Tokens.Pretty)
			n++
		}
	}
	var larger, unequal, costlier []string
	for _, v := range sums {
		if v.Tokens.Concise > v.Tokens.Minified {
			larger = append(larger, v.Vendor)
		}
	}
	for i := range all {
		if !all[i].RoundTrip {
			unequal = append(unequal, all[i].ID)
		}
		if all[i].Tokens.Lossless > all[i].Tokens.Minified {
			costlier = append(costlier, all[i].ID)
		}
	}
	fmt.Fprintf(&b, "\nConcise saves %.1f %% of pretty JSON as the unweighted mean over the %d vendors with %d answers or more. Larger than minified: vendors %s.\n"+
		"Answers that lossless text does not give back exactly: %s; for which it costs more than minified JSON: %s.\n",
		mean/float64(max(n, 1)), n, vendorAnswers, listed(larger), listed(unequal), listed(costlier))
	if questions != nil {
		questions.markdown(&b)
	}
	b.WriteString("\n## By vendor\n\n")
	vendorTable(&b, sums[:len(sums)-2])
	b.WriteString("\n## By answer\n\n| answer | kind | pretty | minified | lossless | concise | saved | one field | kept | ids lost |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for i := range all {
		r := &all[i]
		if r.m == nil {
			fmt.Fprintf(&b, "| %s | %s | %s | | | | | | | |\n", r.ID, r.Kind, strings.ReplaceAll(r.Error, "|", "\\|"))
			continue
		}
		t := r.Tokens
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %.1f %% | %s | %s | %d |\n", r.ID, r.Kind, thousands(t.Pretty), thousands(t.Minified), thousands(t.Lossless),
			thousands(t.Concise), saved(t.Concise, t.Pretty), thousands(r.m.oneField), KeptShare(r.m.Essential, r.m.LostEssential), r.m.LostIdentifiers)
	}
	b.WriteString("\n## Answers that are not what their specification declares\n\n")
	for i := range all {
		if r := &all[i]; r.Drift != "" {
			fmt.Fprintf(&b, "* %s: %s; essential leaves lost: %d\n", r.ID, r.Drift, r.m.LostEssential+r.m.LostIdentifiers)
		}
	}
	dir := strings.TrimSuffix(file, filepath.Ext(file))
	if dir == file {
		dir += "-operations"
	}
	b.WriteString("\n## What was left out, by operation\n\n")
	pages := droppedByOperation(all, file)
	specs := slices.Sorted(maps.Keys(pages))
	for _, spec := range specs {
		fmt.Fprintf(&b, "* [%s](%s/%s)\n", spec, filepath.Base(dir), pageOf(spec))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // pages of the documentation
		return notWritten(dir, err)
	}
	for _, spec := range specs {
		if err := writePage(filepath.Join(dir, pageOf(spec)), pages[spec]); err != nil {
			return err
		}
	}
	return writePage(file, &b)
}

// pageOf is the file name of a specification's page; its name comes from the corpus.
func pageOf(spec string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == ':' {
			return '-'
		}
		return r
	}, spec) + ".md"
}

func writePage(file string, b *bytes.Buffer) error {
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil { //nolint:gosec // a page of the documentation
		return notWritten(file, err)
	}
	return nil
}

func notWritten(file string, err error) error {
	return problem.New(problem.InvalidArgument, "%s cannot be written: %s", file, errors.Unwrap(err)).Because(err)
}

func saved(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 - 100*float64(part)/float64(whole)
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func vendorTable(b *bytes.Buffer, sums []Sum) {
	b.WriteString("| | answers | pretty | minified | lossless | saved | concise | saved | of minified | one field | kept | ids lost |\n" +
		"| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, v := range sums {
		t := v.Tokens
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s | %.1f %% | %s | %.1f %% | %.1f %% | %s | %s | %d |\n", v.Vendor, v.Answers, thousands(t.Pretty), thousands(t.Minified),
			thousands(t.Lossless), saved(t.Lossless, t.Pretty), thousands(t.Concise), saved(t.Concise, t.Pretty), saved(t.Concise, t.Minified),
			thousands(v.oneField), KeptShare(v.Essential, v.Lost), v.LostIDs)
	}
}

// droppedByOperation lists what was left out of each operation's answers, and why:
// a page for each specification, which names the report file.
func droppedByOperation(all []Answer, file string) map[string]*bytes.Buffer {
	type key struct{ spec, operation string }
	sums := map[key][]Dropped{}
	var order []key
	for i := range all {
		r := &all[i]
		if r.m == nil {
			continue
		}
		k := key{r.Spec, r.Operation}
		if _, known := sums[k]; !known {
			order = append(order, k)
		}
		list := sums[k]
		for _, d := range r.m.Dropped {
			at := slices.IndexFunc(list, func(o Dropped) bool { return o.Path == d.Path && o.Why == d.Why })
			if at < 0 {
				list = append(list, d)
				continue
			}
			list[at].Count += d.Count
		}
		sums[k] = list
	}
	slices.SortStableFunc(order, func(x, y key) int {
		return cmp.Or(cmp.Compare(x.spec, y.spec), cmp.Compare(x.operation, y.operation))
	})
	pages := map[string]*bytes.Buffer{}
	for _, k := range order {
		list := sums[k]
		if len(list) == 0 {
			continue
		}
		b := pages[k.spec]
		if b == nil {
			b = bytes.NewBufferString("# What is left out of answers of " + k.spec + "\n\nA part of [the report](../" + filepath.Base(file) + ").\n")
			pages[k.spec] = b
		}
		slices.SortStableFunc(list, func(x, y Dropped) int { return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Path, y.Path)) })
		fmt.Fprintf(b, "\n## %s\n\n", k.operation)
		byWhy := map[string][]string{}
		var whys []string
		for i, d := range list {
			if i == maxDroppedListed {
				whys = append(whys, "")
				byWhy[""] = []string{fmt.Sprintf("%d more members", len(list)-i)}
				break
			}
			if byWhy[d.Why] == nil {
				whys = append(whys, d.Why)
			}
			byWhy[d.Why] = append(byWhy[d.Why], fmt.Sprintf("`%s` ×%d", d.Path, d.Count))
		}
		for _, why := range whys {
			if why == "" {
				fmt.Fprintf(b, "* and %s\n", byWhy[why][0])
				continue
			}
			fmt.Fprintf(b, "* %s: %s\n", strings.Join(byWhy[why], ", "), why)
		}
	}
	return pages
}

// thousands writes 3184 as 3,184.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

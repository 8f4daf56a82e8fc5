package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/toolset/suggest"
	"github.com/sluicegate/sluice/admin/toolset/suggest/naming"
	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/plugins/catalog"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
)

// The goals of suggested names and descriptions.
const (
	goalImproved   = 50 // percent of the path-like names
	goalMoreTokens = 3  // percent of tools/list
	goalFirst      = 8  // points of needs found first
	goalUserNamed  = 70 // percent of needs found among the first with suggestions
	goalUserEntry  = 80 // the same, with an entry of the catalog
	namesBegin     = "<!-- begin: written by make names-report -->\n"
)

// apiOrder is the order of the APIs that needs are asked of.
var apiOrder = []string{"github", "stripe", "slack", "kubernetes"}

// writeNames measures what the rules propose and writes it between the marks of a
// document.
func writeNames(ctx context.Context, in *input, stdout, stderr io.Writer) error {
	if _, _, err := around(in.to, namesBegin); err != nil {
		return err
	}
	all, err := measureNames(ctx, filepath.Dir(in.specs), stderr)
	if err != nil {
		return err
	}
	sets, err := needSets(in.needs)
	if err != nil {
		return err
	}
	found, err := measureNeeds(ctx, in.specs, sets, stderr)
	if err != nil {
		return err
	}
	apis, err := measureAPIs(ctx, in.specs, in.needs, stderr)
	if err != nil {
		return err
	}
	large, err := measureLarge(ctx, in.specs, in.needs, stderr)
	if err != nil {
		return err
	}
	var r report
	r.names(all, sets, found)
	r.apis(apis)
	r.large(large)
	return r.write(in.to, namesBegin, stdout)
}

// corpusNames is what was counted over all specifications.
type corpusNames struct {
	specs, tools, faulty, improved, hashes, hashesAfter, described int
	tokens, tokensAfter                                            int
	most                                                           float64 // percent of more tokens, of one specification
	mostOf                                                         string
	byFault                                                        map[string][2]int // faulty, improved
}

// measureNames looks at every specification of the corpus as at one toolset.
func measureNames(ctx context.Context, corpus string, stderr io.Writer) (*corpusNames, error) {
	list, err := os.ReadFile(filepath.Join(corpus, "specs.tsv"))
	if err != nil {
		return nil, err
	}
	out := &corpusNames{byFault: map[string][2]int{}}
	for n, line := range strings.Split(strings.TrimSpace(string(list)), "\n") {
		f := strings.Split(line, "\t")
		if n == 0 || len(f) < 3 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := readCatalogue(ctx, f[0], filepath.Join(corpus, "specs", filepath.FromSlash(f[2])))
		if err != nil {
			fmt.Fprintln(stderr, "left out:", err)
			continue
		}
		if err := out.add(f[0], c); err != nil {
			return nil, err
		}
	}
	if out.tools == 0 {
		return nil, errors.New("the corpus has no tools")
	}
	return out, nil
}

func (o *corpusNames) add(id string, c *catalogue) error {
	tools, r, err := c.suggested()
	if err != nil {
		return err
	}
	names := map[string]string{}
	for i := range r.Suggestions {
		names[r.Suggestions[i].Tool] = r.Suggestions[i].Name
		if r.Suggestions[i].Description != "" {
			o.described++
		}
	}
	for i, fault := range naming.Faults(known(tools)) {
		t := &tools[i]
		o.tools++
		hash := openapi.HashEnds(t.Name, t.Method, t.Path)
		if hash {
			o.hashes++
		}
		if hash && names[t.Name] == "" {
			o.hashesAfter++
		}
		if fault == "" {
			continue
		}
		o.faulty++
		counts := o.byFault[fault]
		counts[0]++
		if names[t.Name] != "" {
			counts[1]++
			o.improved++
		}
		o.byFault[fault] = counts
	}
	o.specs++
	after, err := c.applied(tools, &r, true)
	if err != nil {
		return err
	}
	var was, is measures
	if err := was.list(c); err != nil {
		return err
	}
	if err := is.list(after); err != nil {
		return err
	}
	o.tokens, o.tokensAfter = o.tokens+was.TokensAll, o.tokensAfter+is.TokensAll
	if more := 100 * float64(is.TokensAll-was.TokensAll) / float64(max(was.TokensAll, 1)); o.mostOf == "" || more > o.most {
		o.most, o.mostOf = more, id
	}
	return nil
}

// known are tools as package naming takes them.
func known(tools []suggest.Tool) []naming.Tool {
	out := make([]naming.Tool, len(tools))
	for i := range tools {
		t := &tools[i]
		out[i] = naming.Tool{Name: t.Name, Title: t.Title, Description: t.Description, Method: t.Method, Path: t.Path}
	}
	return out
}

// needSet is a list of needs of one origin.
type needSet struct {
	name  string
	needs []need
}

// needSets are the needs that rules were made with, those that were written before and
// not looked at, and the examples of the catalog's entries, which others wrote earlier.
func needSets(file string) ([]needSet, error) {
	seen, err := readNeeds(file, specOf, 4)
	if err != nil {
		return nil, err
	}
	held, err := readNeeds(strings.TrimSuffix(file, ".tsv")+"-held-out.tsv", specOf, 4)
	if err != nil {
		return nil, err
	}
	entries, err := catalog.BuiltIn()
	if err != nil {
		return nil, err
	}
	examples := needSet{name: "examples of the catalog"}
	for _, api := range apiOrder {
		e, err := entries.Entry(api)
		if err != nil {
			return nil, err
		}
		for i := range e.Tools {
			for _, x := range e.Tools[i].Examples {
				examples.needs = append(examples.needs, need{api, []string{e.Tools[i].Operation}, x, x})
			}
		}
	}
	return []needSet{{"seen while the rules were made", seen}, {"held out once, seen since", held}, examples}, nil
}

// The ways in which an API is searched.
var ways = []string{"generated", "names suggested", "names and descriptions suggested", "entry of the catalog"}

// foundNeeds is the scores by set, way and API.
type foundNeeds [][][]needScore

func measureNeeds(ctx context.Context, specs string, sets []needSet, stderr io.Writer) (foundNeeds, error) {
	out := make(foundNeeds, len(sets))
	for i := range out {
		out[i] = make([][]needScore, len(ways))
	}
	entries, err := catalog.BuiltIn()
	if err != nil {
		return nil, err
	}
	for _, api := range apiOrder {
		fmt.Fprintln(stderr, "needs of", api)
		c, err := readCatalogue(ctx, api, filepath.Join(specs, filepath.FromSlash(specOf[api])))
		if err != nil {
			return nil, err
		}
		tools, r, err := c.suggested()
		if err != nil {
			return nil, err
		}
		named, err := c.applied(tools, &r, false)
		if err != nil {
			return nil, err
		}
		both, err := c.applied(tools, &r, true)
		if err != nil {
			return nil, err
		}
		entry, err := entries.Entry(api)
		if err != nil {
			return nil, err
		}
		chosen, err := c.entry(entry)
		if err != nil {
			return nil, err
		}
		taught := *chosen
		taught.tools = chosen.withExamples(entry)
		for s := range sets {
			needs := slices.DeleteFunc(slices.Clone(sets[s].needs), func(n need) bool { return n.api != api })
			for w, x := range []*catalogue{c, named, both, &taught} {
				of := needs
				if w == len(ways)-1 {
					if len(sets)-1 == s {
						x = chosen // they are the examples
					}
					of = slices.DeleteFunc(slices.Clone(needs), func(n need) bool { return !x.has(n.operations) })
				}
				score, err := x.ask(api, of)
				if err != nil {
					return nil, err
				}
				out[s][w] = append(out[s][w], score)
			}
		}
	}
	return out, nil
}

// has reports whether the catalogue has one of the operations.
func (c *catalogue) has(operations []string) bool {
	return slices.ContainsFunc(c.indexed, func(t registry.IndexedTool) bool {
		return slices.Contains(operations, t.SelectedTool.Method+" "+t.SelectedTool.Path)
	})
}

// entry is the catalogue with the tools of an entry alone, as a toolset made of it has them.
func (c *catalogue) entry(e *catalog.Entry) (*catalogue, error) {
	ts := *c.toolset
	for t, err := range c.toolset.EditedTools(c.connectors) {
		if err != nil {
			return nil, err
		}
		edit := registry.ToolEdit{Connector: t.Operation.Connector, Method: t.Operation.Method, Path: t.Operation.Path, Disabled: true}
		for i := range e.Tools {
			if x := &e.Tools[i]; x.Method() == edit.Method && x.Path() == edit.Path {
				chooseAs(&edit, e, x, t.Generated.Lists)
			}
		}
		ts.Tools = append(ts.Tools, edit)
	}
	return indexedCatalogue(&ts, c.connectors)
}

// chooseAs makes edit what the entry says of a tool, as far as the index reads it.
func chooseAs(edit *registry.ToolEdit, e *catalog.Entry, t *catalog.EntryTool, lists func(name string) bool) {
	edit.Disabled, edit.Name, edit.Fixed, edit.Arguments, edit.Texts = false, &t.Name, t.Fixed, t.Arguments, e.TextsOf(t, lists)
	if t.Description != "" {
		edit.Description, edit.Title = &t.Description, &t.Title // the vendor's title says another name
	} else if t.Title != "" {
		edit.Title = &t.Title
	}
}

// withExamples are the tools with the requests that an entry has for them, as a toolset
// made of it has.
func (c *catalogue) withExamples(e *catalog.Entry) []selection.Tool {
	out := slices.Clone(c.tools)
	for at := range c.indexed {
		for i := range e.Tools {
			if x := &e.Tools[i]; x.Operation == c.indexed[at].SelectedTool.Method+" "+c.indexed[at].SelectedTool.Path {
				for _, text := range x.Requests() {
					out[at].Examples = append(out[at].Examples, selection.Example{Text: text, Weight: 1})
				}
			}
		}
	}
	return out
}

func (r *report) names(all *corpusNames, sets []needSet, found foundNeeds) {
	sum := func(set, way int) (needs, first, eight int) {
		for _, s := range found[set][way] {
			needs, first, eight = needs+s.needs, first+s.userFirst, eight+s.user
		}
		return needs, first, eight
	}
	const generated, suggested, entry = 0, 2, 3
	r.line("| what | goal | measured | reached |\n| --- | --- | --- | --- |")
	r.goal(all.improved*100 >= all.faulty*goalImproved, fmt.Sprintf("path-like names with a better one, of %s operations in %d specifications", thousands(all.tools), all.specs),
		fmt.Sprintf("≥ %d %%", goalImproved), percent(all.improved, all.faulty))
	r.line("| names that end in meaningless characters | | %s, with suggestions %s | |", thousands(all.hashes), thousands(all.hashesAfter))
	more := 100 * float64(all.tokensAfter-all.tokens) / float64(all.tokens)
	r.goal(more <= goalMoreTokens, "tokens (o200k_base) of all tools/list with names and descriptions suggested", fmt.Sprintf("≤ +%d %%", goalMoreTokens), fmt.Sprintf("%+.1f %%", more))
	r.line("| the same, of the specification that grows most (%s) | | %+.1f %% | |", all.mostOf, all.most)
	for s := range sets {
		n, first, eight := sum(s, generated)
		_, firstNow, eightNow := sum(s, suggested)
		gain := 100 * float64(firstNow-first) / float64(max(n, 1))
		r.goal(gain >= goalFirst, fmt.Sprintf("needs in a user's words, %s: found as the first result", sets[s].name), fmt.Sprintf("≥ +%d points", goalFirst),
			fmt.Sprintf("%+.0f points: %s, generated %s", gain, percent(firstNow, n), percent(first, n)))
		r.goal(eightNow*100 >= n*goalUserNamed, "the same, among the first 8", fmt.Sprintf("≥ %d %%", goalUserNamed), fmt.Sprintf("%s, generated %s", percent(eightNow, n), percent(eight, n)))
		if e, _, in := sum(s, entry); e > 0 {
			r.goal(in*100 >= e*goalUserEntry, "the same, with the entry of the catalog, of the needs that it has a tool for", fmt.Sprintf("≥ %d %%", goalUserEntry), percent(in, e))
		}
	}
	r.line("\nPath-like names, by what is wrong with them:\n\n| fault | names | with a better one |\n| --- | ---: | ---: |")
	for _, fault := range slices.Sorted(maps.Keys(all.byFault)) {
		r.line("| %s | %s | %s |", fault, thousands(all.byFault[fault][0]), thousands(all.byFault[fault][1]))
	}
	r.line("\nDescriptions are proposed for %s of the tools.", thousands(all.described))
	r.line("\nFound as the first result / among the first 8, of the needs in a user's words:\n\n| needs | API | how many | %s |\n| --- | --- | ---: |%s", strings.Join(ways, " | "), strings.Repeat(" --- |", len(ways)))
	for s := range sets {
		for a, api := range apiOrder {
			var b bytes.Buffer
			for w := range ways {
				x := found[s][w][a]
				of := ""
				if w == entry {
					of = fmt.Sprintf(" of %d", x.needs)
				}
				fmt.Fprintf(&b, " %d / %d%s |", x.userFirst, x.user, of)
			}
			r.line("| %s | %s | %d |%s", sets[s].name, api, found[s][generated][a].needs, b.String())
		}
	}
}

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/plugins/catalog"
)

// apiSpecs names the file in the corpus of each API that needs were written for; most have
// an entry of the catalog of the same id.
var apiSpecs = map[string]string{
	"alertmanager": "alertmanager/openapi.yaml", "asana": "asana/asana_oas.yaml", "bitbucket": "bitbucket/bitbucket.org.json", "box": "box/openapi.json",
	"discourse": "discourse/discourse.local.json", "dnsimple": "dnsimple/openapi.yml", "gitea": "gitea-v2/v1_json.json", "github": specOf["github"],
	"intercom": "intercom-2.11/api.intercom.io.yaml", "jira": "jira-cloud/atlassian.com_jira.json", "kubernetes": specOf["kubernetes"], "meilisearch": "meilisearch/open-api.json",
	"mistral": "mistral/openapi.yaml", "netlify": "netlify/swagger.yml", "nomad": "nomad/openapi.yaml", "open-meteo": "openmeteo-forecast/forecast.yml", "openai": "openai/openapi.yaml",
	"ory-hydra": "ory-hydra/api.json", "pagerduty": "pagerduty-rest/openapiv3.json", "powerdns": "powerdns/authoritative-api-openapi.yaml", "qdrant": "qdrant/openapi.json",
	"sendgrid": "sendgrid/oai.json", "slack": specOf["slack"], "square": "square-v2/api.json", "stripe": specOf["stripe"], "tfl": "tfl/tfl.gov.uk.json",
	"trello": "trello/trello.com.json", "typesense": "typesense/openapi.yml", "workos": "workos/open-api-spec.yaml", "zoom": "zoom/zoom.us.json",
}

// largeAPIs have ten needs of each kind, over all of their operations.
var largeAPIs = []string{"asana", "github", "jira", "kubernetes", "pagerduty", "slack", "square", "stripe", "trello", "zoom"}

const (
	// others is how many tools of other APIs stand beside those of an entry.
	others = 500
	// The goals of entries among them, in percent.
	goalEntryFirst, goalEntryEight = 80, 95
)

// placed is how many needs were found first and among the first.
type placed struct{ needs, first, eight int }

func (p *placed) add(q placed) {
	p.needs, p.first, p.eight = p.needs+q.needs, p.first+q.first, p.eight+q.eight
}

// apiFound is what was found of an API's needs: as generated, with suggestions, and of its
// entry among other tools.
type apiFound struct{ generated, suggested, entry placed }

// found searches tools for the needs that the first own of them, of a catalogue, serve.
func (c *catalogue) found(tools []selection.Tool, needs []need) (p placed) {
	s := selection.Build(tools, selection.DefaultTable()).NewSearcher()
	for i := range needs {
		wanted := map[int]bool{}
		for at := range c.indexed {
			if t := &c.indexed[at].SelectedTool; slices.Contains(needs[i].operations, t.Method+" "+t.Path) {
				wanted[at] = true
			}
		}
		if len(wanted) == 0 {
			continue
		}
		p.needs++
		for place, h := range s.Search(needs[i].user, found) {
			if wanted[h.Tool] {
				if p.eight++; place == 0 {
					p.first++
				}
				break
			}
		}
	}
	return p
}

// twoNeeds reads the needs that were seen and those held out, of the APIs that have a specification.
func twoNeeds(needs, seen, heldOut string, specs map[string]string) (sets [2][]need, err error) {
	for i, name := range []string{seen, heldOut} {
		if sets[i], err = readNeeds(filepath.Join(filepath.Dir(needs), name), specs, 3); err != nil {
			return sets, err
		}
	}
	return sets, nil
}

// readSuggested reads the tools of an API as they are generated, and as they are with what
// is suggested for them.
func readSuggested(ctx context.Context, api, spec string, stderr io.Writer) (generated, both *catalogue, err error) {
	fmt.Fprintln(stderr, "needs of", api)
	if generated, err = readCatalogue(ctx, api, spec); err != nil {
		return nil, nil, err
	}
	tools, r, err := generated.suggested()
	if err != nil {
		return nil, nil, err
	}
	both, err = generated.applied(tools, &r, true)
	return generated, both, err
}

// foundOf asks those of the needs that are of an API, which it returns too. Each must have
// its operation.
func foundOf(api string, set []need, generated, both *catalogue) (apiFound, []need, error) {
	of := slices.DeleteFunc(slices.Clone(set), func(n need) bool { return n.api != api })
	x := apiFound{generated: generated.found(generated.tools, of), suggested: both.found(both.tools, of)}
	if x.generated.needs != len(of) {
		return x, nil, fmt.Errorf("%s has operations for %d of its %d needs", api, x.generated.needs, len(of))
	}
	return x, of, nil
}

// measureAPIs asks the needs of all APIs, those that were seen and those held out.
func measureAPIs(ctx context.Context, specs, needs string, stderr io.Writer) (map[string][2]apiFound, error) {
	sets, err := twoNeeds(needs, "needs-apis.tsv", "needs-apis-held-out.tsv", apiSpecs)
	if err != nil {
		return nil, err
	}
	strangers, err := otherTools(ctx, filepath.Dir(specs), stderr)
	if err != nil {
		return nil, err
	}
	entries, err := catalog.BuiltIn()
	if err != nil {
		return nil, err
	}
	out := map[string][2]apiFound{}
	for api, file := range apiSpecs {
		c, both, err := readSuggested(ctx, api, filepath.Join(specs, filepath.FromSlash(file)), stderr)
		if err != nil {
			return nil, err
		}
		var chosen *catalogue
		var among []selection.Tool
		if e, err := entries.Entry(api); err == nil {
			if chosen, err = c.entry(e); err != nil {
				return nil, err
			}
			among = append(chosen.withExamples(e), strangers...)
		}
		var x [2]apiFound
		for i := range sets {
			var of []need
			if x[i], of, err = foundOf(api, sets[i], c, both); err != nil {
				return nil, err
			}
			if chosen != nil {
				x[i].entry = chosen.found(among, of)
			}
		}
		out[api] = x
	}
	return out, nil
}

// otherTools are tools of the corpus, chosen by a digest, of vendors that no need is about.
func otherTools(ctx context.Context, corpus string, stderr io.Writer) ([]selection.Tool, error) {
	list, err := os.ReadFile(filepath.Join(corpus, "specs.tsv"))
	if err != nil {
		return nil, err
	}
	var lines [][]string
	known := map[string]bool{}
	for n, line := range strings.Split(strings.TrimSpace(string(list)), "\n") {
		f := strings.Split(line, "\t")
		if n == 0 || len(f) < 3 {
			continue
		}
		lines = append(lines, f)
		for _, file := range apiSpecs {
			known[f[1]] = known[f[1]] || f[2] == file
		}
	}
	type keyed struct {
		key  string
		tool selection.Tool
	}
	var all []keyed
	for _, f := range lines {
		if known[f[1]] {
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
		for i := range c.indexed {
			sum := sha256.Sum256([]byte(f[0] + " " + c.indexed[i].SelectedTool.Method + " " + c.indexed[i].SelectedTool.Path))
			all = append(all, keyed{string(sum[:]), c.tools[i]})
		}
	}
	if len(all) < others {
		return nil, fmt.Errorf("the corpus has %d tools of other APIs, want %d", len(all), others)
	}
	slices.SortFunc(all, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	out := make([]selection.Tool, others)
	for i := range out {
		out[i] = all[i].tool
	}
	return out, nil
}

// apiKinds are the two lists of needs.
var apiKinds = [2]string{"seen", "held out"}

func (r *report) apis(got map[string][2]apiFound) {
	r.line("\nNeeds of %d APIs, which were written before any of them was searched for; the engine was then worked on with those called *seen*:\n", len(got))
	r.line("| what | goal | measured | reached |\n| --- | --- | --- | --- |")
	for k, kind := range apiKinds {
		var large, all apiFound
		for api, x := range got {
			all.entry.add(x[k].entry)
			all.suggested.add(x[k].suggested)
			if slices.Contains(largeAPIs, api) {
				large.generated.add(x[k].generated)
				large.suggested.add(x[k].suggested)
			}
		}
		s, g := large.suggested, large.generated
		r.goal(s.eight*100 >= s.needs*goalUserNamed, kind+", large APIs with names and descriptions suggested: among the first 8", fmt.Sprintf("≥ %d %%", goalUserNamed),
			fmt.Sprintf("%s, generated %s", percent(s.eight, s.needs), percent(g.eight, g.needs)))
		r.line("| the same, found as the first result | | %s, generated %s | |", percent(s.first, s.needs), percent(g.first, g.needs))
		r.line("| %s, all APIs with names and descriptions suggested: first / among the first 8 | | %s / %s | |", kind, percent(all.suggested.first, all.suggested.needs), percent(all.suggested.eight, all.suggested.needs))
		e := all.entry
		r.goal(e.first*100 >= e.needs*goalEntryFirst, fmt.Sprintf("%s, the tools of an entry among %d of other APIs: found as the first result", kind, others), fmt.Sprintf("≥ %d %%", goalEntryFirst), percent(e.first, e.needs))
		r.goal(e.eight*100 >= e.needs*goalEntryEight, "the same, among the first 8", fmt.Sprintf("≥ %d %%", goalEntryEight), percent(e.eight, e.needs))
	}
	r.line("\nFound as the first result / among the first 8, of how many:\n\n| API | needs | generated | names and descriptions suggested | entry among %d others |\n| --- | --- | --- | --- | --- |", others)
	names := make([]string, 0, len(got))
	for api := range got {
		names = append(names, api)
	}
	slices.Sort(names)
	for k, kind := range apiKinds {
		for _, api := range names {
			x := got[api][k]
			if x.generated.needs == 0 {
				continue
			}
			entry := "no entry"
			if x.entry.needs > 0 {
				entry = x.entry.String()
			}
			r.line("| %s | %s | %s | %s | %s |", api, kind, x.generated, x.suggested, entry)
		}
	}
}

func (p placed) String() string { return fmt.Sprintf("%d / %d of %d", p.first, p.eight, p.needs) }

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluicegate/sluice/internal/selection"
)

// found is how many results an agent looks at: search_tools gives as many when
// nobody says.
const found = 8

// need is one line of the file of needs.
type need struct {
	api        string
	operations []string // "METHOD /path", any one serves it
	user       string   // as a person says it
	agent      string   // as an agent searches it
}

// specOf names the file of each API in the corpus.
var specOf = map[string]string{
	"github": "github/api.github.com.json", "stripe": "stripe/spec3.json",
	"slack": "slack-web-v2/slack_web_openapi_v2.json", "kubernetes": "kubernetes-v2/swagger.json",
}

// readNeeds reads needs of APIs that are in specs, with the words of an agent or without:
// lines of 4 parts or of 3.
func readNeeds(file string, specs map[string]string, parts int) ([]need, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []need
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		if line := sc.Text(); line != "" && line[0] != '#' {
			p := strings.Split(line, "\t")
			if len(p) != parts || specs[p[0]] == "" {
				return nil, fmt.Errorf("%s:%d: want a known API, operations, the words of a user and, of 4 parts, of an agent, with tabs between", file, n)
			}
			out = append(out, need{p[0], strings.Split(p[1], "|"), p[2], strings.Join(p[3:], "")})
		}
	}
	return out, sc.Err()
}

// needScore is how many needs of an API were served.
type needScore struct {
	api                       string
	tools, needs, user, agent int
	userFirst, agentFirst     int      // found as the first result
	missed                    []string // what was asked and not found
}

// askNeeds is the scripted agent: it searches for each need, once in the words of
// the user and once in its own, and is served when one of the operations is among
// the first results. An operation that the API does not have is a fault of the file.
func askNeeds(ctx context.Context, specs, file string) ([]needScore, error) {
	needs, err := readNeeds(file, specOf, 4)
	if err != nil {
		return nil, err
	}
	var out []needScore
	for len(needs) > 0 {
		n := 1
		for n < len(needs) && needs[n].api == needs[0].api {
			n++
		}
		c, err := readCatalogue(ctx, needs[0].api, filepath.Join(specs, filepath.FromSlash(specOf[needs[0].api])))
		if err != nil {
			return nil, err
		}
		score, err := c.ask(needs[0].api, needs[:n])
		if err != nil {
			return nil, err
		}
		out, needs = append(out, score), needs[n:]
	}
	return out, nil
}

// ask searches a catalogue for needs.
func (c *catalogue) ask(api string, needs []need) (needScore, error) {
	s := selection.Build(c.tools, selection.DefaultTable()).NewSearcher()
	score := needScore{api: api, tools: len(c.tools), needs: len(needs)}
	for i := range needs {
		n := &needs[i]
		wanted := map[int]bool{}
		for _, op := range n.operations {
			method, path, _ := strings.Cut(op, " ")
			for at := range c.indexed {
				if t := &c.indexed[at]; t.SelectedTool.Method == method && t.SelectedTool.Path == path {
					wanted[at] = true
				}
			}
		}
		if len(wanted) == 0 {
			return score, fmt.Errorf("%s has none of the operations %s", api, strings.Join(n.operations, ", "))
		}
		ask := func(q string, count, first *int) {
			for place, h := range s.Search(q, found) {
				if wanted[h.Tool] {
					if *count++; place == 0 {
						*first++
					}
					return
				}
			}
			score.missed = append(score.missed, q)
		}
		ask(n.user, &score.user, &score.userFirst)
		ask(n.agent, &score.agent, &score.agentFirst)
	}
	return score, nil
}

//go:build interop

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// asAlone has the checks of the suite that are another through a toolset than at the server
// alone, with the reason. None of those that are scored fails.
var asAlone = map[string]string{
	// SHOULD: the tools and prompts of a toolset are pinned, and a new revision tells it.
	"stateless 2026-07-28 server-stateless sep-2575-server-sends-tools-list-changed-on-subscription SUCCESS WARNING":   "pinned",
	"stateless 2026-07-28 server-stateless sep-2575-server-sends-prompts-list-changed-on-subscription SUCCESS WARNING": "pinned",
	// Not scored: what has nothing to tell before its result is one JSON document, which the
	// check leaves out.
	"stateless 2026-07-28 server-sse-multiple-streams server-sse-streams-functional SUCCESS INFO": "JSON",
	"stateful 2025-11-25 server-sse-multiple-streams server-sse-streams-functional SUCCESS INFO":  "JSON",
}

// TestConformanceAsAlone compares the official suite at a toolset of the reference server with
// the suite at the server alone, check by check.
func TestConformanceAsAlone(t *testing.T) {
	node, suite := npm(t, "@modelcontextprotocol/conformance/dist/index.js")
	var differs []string
	for _, mode := range []struct{ name, flag string }{{"stateless", "-stateless=true"}, {"stateful", "-stateless=false"}} {
		server := everythingServer(t, mode.flag)
		toolset := proxiedToolset(t, server)
		for _, revision := range []string{"2026-07-28", "2025-11-25"} {
			alone, through := t.TempDir(), t.TempDir()
			_, _ = runTool(t, node, suite, "server", "--url", server, "--requirements", revision, "-o", alone)    // it fails with one check
			_, _ = runTool(t, node, suite, "server", "--url", toolset, "--requirements", revision, "-o", through) // likewise
			want, got := readChecks(t, alone), readChecks(t, through)
			for _, key := range got.keys {
				scenario, _, _ := strings.Cut(key, " ")
				before := want.worst[key]
				if before == "" { // the scenario took another way
					before = want.scenario[scenario]
				}
				if after := got.worst[key]; severity[after] > severity[before] {
					differs = append(differs, strings.Join([]string{mode.name, revision, key, before, after}, " "))
				}
			}
			t.Logf("%s %s: alone %v, through a toolset %v", mode.name, revision, want.count, got.count)
		}
	}
	for _, d := range differs {
		if asAlone[d] == "" {
			t.Errorf("not as at the server alone: %s", d)
		}
	}
	for d := range asAlone {
		if !slices.Contains(differs, d) {
			t.Errorf("as at the server alone: take out %s", d)
		}
	}
}

// severity orders what a check can say.
var severity = map[string]int{"SUCCESS": 1, "INFO": 2, "SKIPPED": 3, "WARNING": 4, "FAILURE": 5}

// checks are the worst outcomes by scenario and check, and by scenario alone, and how often
// each outcome was reported: one check of a scenario can be reported many times.
type checks struct {
	keys            []string
	worst, scenario map[string]string
	count           map[string]int
}

// runOf is the folder of a scenario that ran: its name and a time.
var runOf = regexp.MustCompile(`^server-(.*)-\d{4}-\d\d-\d\dT`)

func readChecks(t *testing.T, dir string) checks {
	t.Helper()
	c := checks{worst: map[string]string{}, scenario: map[string]string{}, count: map[string]int{}}
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("the suite left %d reports, %v", len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		var all []struct{ ID, Status string }
		if err == nil {
			err = json.Unmarshal(b, &all)
		}
		name := runOf.FindStringSubmatch(filepath.Base(filepath.Dir(f)))
		if err != nil || name == nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, check := range all {
			c.count[check.Status]++
			key := name[1] + " " + check.ID
			if c.worst[key] == "" {
				c.keys = append(c.keys, key)
			}
			if severity[check.Status] > severity[c.worst[key]] {
				c.worst[key] = check.Status
			}
			if severity[check.Status] > severity[c.scenario[name[1]]] {
				c.scenario[name[1]] = check.Status
			}
		}
	}
	return c
}

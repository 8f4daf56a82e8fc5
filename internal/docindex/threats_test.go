package docindex

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	threatTest   = regexp.MustCompile(`\b(?:Test|Fuzz|test)[A-Z]\w*`)
	threatScript = regexp.MustCompile("script `([a-z0-9_]+)`")
	declared     = regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)\(`)
)

// declaredIn are the functions of the test files in a folder below the root; none: it is
// no folder.
func declaredIn(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllSubmatch(b, -1) {
			out[string(m[1])] = true
		}
	}
	return out
}

// TestThreats: each attack in the threat model names a test or a script that is there, in
// one of the packages that it names.
func TestThreats(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "docs", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, attacks, found := strings.Cut(string(b), "\n## Attacks")
	if !found {
		t.Fatal("the threat model has no section Attacks")
	}
	attacks, _, _ = strings.Cut(attacks, "\n## ")
	packages := map[string]map[string]bool{}
	tests, scripts := 0, 0
	for line := range strings.Lines(attacks) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 2 || !strings.HasSuffix(cells[1], "|") || strings.HasPrefix(cells[1], "test |") || strings.HasPrefix(cells[1], "---") {
			continue
		}
		attack, by := strings.TrimPrefix(cells[0], "| "), cells[1]
		has := map[string]bool{}
		for _, quoted := range code.FindAllString(by, -1) {
			folder := strings.Trim(quoted, "`")
			if folder == "make chaos" {
				folder = "cmd/sluice/e2e"
			}
			if packages[folder] == nil {
				packages[folder] = declaredIn(t, folder)
			}
			for name := range packages[folder] {
				has[name] = true
			}
		}
		named := threatTest.FindAllString(by, -1)
		for _, name := range named {
			if tests++; !has[name] {
				t.Errorf("%s: %s is in none of the packages that are named beside it", attack, name)
			}
		}
		found := threatScript.FindAllStringSubmatch(by, -1)
		for _, m := range found {
			scripts++
			if _, err := os.Stat(filepath.Join(root, "cmd", "sluice", "testdata", "script", m[1]+".txtar")); err != nil {
				t.Errorf("%s: %v", attack, err)
			}
		}
		if len(named)+len(found) == 0 {
			t.Errorf("%s: no test is named", attack)
		}
	}
	if tests < 200 || scripts < 8 {
		t.Errorf("only %d tests and %d scripts were found", tests, scripts)
	}
}

package alert

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestConsoleShowsEveryRule compares the kinds of alerts with the rules that the console
// shows, and with docs/alerts.md.
func TestConsoleShowsEveryRule(t *testing.T) {
	kinds := append(declaredKinds(t, "."), declaredKinds(t, "rule")...)
	slices.Sort(kinds)
	if len(kinds) < 10 {
		t.Fatalf("found only the kinds %q", kinds)
	}
	page := read(t, "../../console/src/pages/alerts/rules.tsx")
	var shown []string
	for _, m := range regexp.MustCompile(`kind: "([^"]+)"`).FindAllStringSubmatch(page, -1) {
		shown = append(shown, m[1])
	}
	slices.Sort(shown)
	if !slices.Equal(kinds, shown) {
		t.Errorf("the console shows the rules %q, the kinds of alerts are %q", shown, kinds)
	}
	documented := read(t, "../../../docs/alerts.md")
	for _, k := range kinds {
		if !strings.Contains(documented, "| `"+k+"` |") {
			t.Errorf("docs/alerts.md does not say when there is an alert %s", k)
		}
	}
}

// declaredKinds are the values of the constants Kind… of a package.
func declaredKinds(t *testing.T, dir string) []string {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, entry := range names {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, entry.Name()), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, "Kind") || len(spec.Values) == 0 {
				return true
			}
			if text, ok := spec.Values[0].(*ast.BasicLit); ok {
				kind, err := strconv.Unquote(text.Value)
				if err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, kind)
			}
			return true
		})
	}
	return kinds
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

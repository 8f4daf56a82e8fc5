package layers

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// walked are packages whose files can be read from top to bottom: none of them uses a
// file that uses it, also not by way of others.
var walked = []string{"cmd/sluice"}

// TestFiles: the files of a package that has to be walked have an order.
func TestFiles(t *testing.T) {
	for _, dir := range walked {
		names, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		files := map[string]string{}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_other.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(name)] = string(text)
		}
		uses, err := usesOf(files)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range circlesOf(uses) {
			for _, from := range c {
				for _, to := range c {
					if what := uses[from][to]; what != "" {
						t.Errorf("%s: the files %s use each other: %s uses %s of %s", dir, strings.Join(c, ", "), from, what, to)
					}
				}
			}
		}
	}
}

// usesOf returns what each file of a package uses of which other one: a name of it. Types
// of other packages are not looked at, so what only these lead to is not seen.
func usesOf(files map[string]string) (map[string]map[string]string, error) {
	set := token.NewFileSet()
	var parsed []*ast.File
	for name, text := range files {
		f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	none := types.Config{Importer: importsNothing{}, Error: func(error) {}}
	pkg, _ := none.Check("p", set, parsed, &info) // its faults are those of the imports
	uses := map[string]map[string]string{}
	for id, o := range info.Uses {
		from, to := set.Position(id.Pos()).Filename, set.Position(o.Pos()).Filename
		if o.Pkg() != pkg || from == to || to == "" {
			continue
		}
		if uses[from] == nil {
			uses[from] = map[string]string{}
		}
		if before := uses[from][to]; before == "" || o.Name() < before {
			uses[from][to] = o.Name()
		}
	}
	return uses, nil
}

type importsNothing struct{}

func (importsNothing) Import(string) (*types.Package, error) { return nil, errors.New("not read") }

// circlesOf returns the files that use each other, also by way of others, in order.
func circlesOf(uses map[string]map[string]string) (circles [][]string) {
	from := func(at string) map[string]bool {
		seen, next := map[string]bool{}, []string{at}
		for len(next) > 0 {
			for to := range uses[next[0]] {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
			next = next[1:]
		}
		return seen
	}
	done := map[string]bool{}
	for name := range uses {
		there := from(name)
		if done[name] || !there[name] {
			continue
		}
		var circle []string
		for other := range there {
			if other == name || from(other)[name] {
				circle = append(circle, other)
				done[other] = true
			}
		}
		slices.Sort(circle)
		circles = append(circles, circle)
	}
	slices.SortFunc(circles, slices.Compare)
	return circles
}

func TestCirclesOf(t *testing.T) {
	uses, err := usesOf(map[string]string{
		"a.go": "package p\nimport \"strings\"\nfunc A() { b(); var d int; _ = d; strings.ToLower(\"\") }",
		"b.go": "package p\ntype B struct{}\nfunc b() { c() }\nfunc (B) Do() {}",
		"c.go": "package p\nfunc c() { B{}.Do(); d() }",
		"d.go": "package p\nfunc d() {}",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := circlesOf(uses); len(got) != 1 || !slices.Equal(got[0], []string{"b.go", "c.go"}) {
		t.Errorf("circles %q; want b.go and c.go", got)
	}
	if uses["a.go"]["d.go"] != "" {
		t.Error("a local variable is taken for a function of another file")
	}
}

package bounds

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// mostUntested is how many bounds may still be listed as "not tested yet". It only falls.
const mostUntested = 0

const untested = "not tested yet"

// list names the constants that need no test, one a line: package, name, and why, separated by tabs.
const list = "bounds.tsv"

const root = "../.."

// trees are the parts of the module that meet untrusted input.
var trees = []string{"admin", "cmd/internal", "cmd/sluice", "gateway", "internal", "plugins", "registry", "sdk"}

// bound is the shape of a bound's name: maxDepth, MaxTools, rowLimit.
var bound = regexp.MustCompile(`^([mM]ax[A-Z0-9]\w*|\w*Limit)$`)

// constant is a constant or variable of one package; dir is relative to the module's root.
type constant struct{ dir, name string }

type source struct {
	module string
	places map[constant]string // file:line of each bound
	tested map[constant]bool   // what tests name
}

func TestEveryBoundIsTested(t *testing.T) {
	s := read(t, root)
	listed := readList(t)
	for c, place := range s.places {
		_, ok := listed[c]
		switch {
		case s.tested[c] && ok:
			t.Errorf("%s: a test names %s: remove its line from internal/bounds/%s", place, c.name, list)
		case !s.tested[c] && !ok:
			t.Errorf("%s: no test names %s: test it at the limit and one past it, with the constant in the test; "+
				"if it bounds no untrusted input, say why in internal/bounds/%s", place, c.name, list)
		}
	}
	count, named := 0, 0
	for c := range s.places {
		if s.tested[c] {
			named++
		}
	}
	for c, why := range listed {
		if s.places[c] == "" {
			t.Errorf("internal/bounds/%s: %s has no %s: remove the line", list, c.dir, c.name)
		}
		if why == untested {
			count++
		}
	}
	t.Logf("%d bounds, %d with a test, %d listed, of them %d %s",
		len(s.places), named, len(listed), count, untested)
	if count > mostUntested {
		t.Errorf("%d bounds are %s, %d are allowed: test them, do not raise the number", count, untested, mostUntested)
	}
	if count < mostUntested {
		t.Errorf("%d bounds are %s: lower mostUntested from %d", count, untested, mostUntested)
	}
}

// TestFindsBounds proves the reader on a tree whose findings are known.
func TestFindsBounds(t *testing.T) {
	s := read(t, "testdata/tree")
	for name, tested := range map[string]bool{
		"maxUsed": true, "MaxBeside": true, "MaxElsewhere": true, "maxInTable": true,
		"maxUnused": false, "MaxOfAnother": false, "rowLimit": false, "maxLocal": false,
		"maxShadowed": false, "maxField": false, "maxParameter": false,
	} {
		c := constant{"gateway", name}
		if s.places[c] == "" {
			t.Errorf("%s is not found", name)
		}
		if s.tested[c] != tested {
			t.Errorf("%s: named in a test: %v, want %v", name, s.tested[c], tested)
		}
	}
	if got, want := len(s.places), 12; got != want {
		t.Errorf("%d bounds found, want %d: %v", got, want, s.places)
	}
	if got, want := s.places[constant{"gateway", "maxUsed"}], "gateway/code.go:7"; got != want {
		t.Errorf("place of maxUsed: %s, want %s", got, want)
	}
}

func readList(t *testing.T) map[constant]string {
	t.Helper()
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	m := map[constant]string{}
	last, n := "", 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		f := strings.Split(line, "\t")
		if len(f) != 3 || f[2] == "" {
			t.Fatalf("internal/bounds/%s:%d: want package, name and reason, separated by tabs", list, n)
		}
		if key := f[0] + "\t" + f[1]; key <= last {
			t.Errorf("internal/bounds/%s:%d: %s %s is out of order or there twice", list, n, f[0], f[1])
		} else {
			last = key
		}
		m[constant{f[0], f[1]}] = f[2]
	}
	return m
}

// read parses every Go file of the trees below dir. It opens the files itself, so
// the test cache notices when one changes.
func read(t *testing.T, dir string) *source {
	t.Helper()
	mod, err := os.ReadFile(path.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	s := &source{places: map[constant]string{}, tested: map[constant]bool{}}
	first, _, _ := strings.Cut(string(mod), "\n")
	s.module = strings.TrimPrefix(strings.TrimSpace(first), "module ")
	for _, tree := range trees {
		if _, err := os.Stat(path.Join(dir, tree)); os.IsNotExist(err) {
			continue
		}
		err := fs.WalkDir(os.DirFS(dir), tree, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if b := d.Name(); b == "testdata" || b == "node_modules" || b == "templates" || strings.HasPrefix(b, ".") {
					return fs.SkipDir
				}
				return nil
			}
			if !strings.HasSuffix(name, ".go") {
				return nil
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path.Join(dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			if strings.HasSuffix(name, "_test.go") {
				s.readTest(path.Dir(name), f)
			} else {
				s.readCode(name, fset, f)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// readCode records the bounds a file declares: constants anywhere, variables at the top.
func (s *source) readCode(name string, fset *token.FileSet, f *ast.File) {
	add := func(g *ast.GenDecl) {
		for _, spec := range g.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for _, id := range v.Names {
				if bound.MatchString(id.Name) {
					s.places[constant{path.Dir(name), id.Name}] = fmt.Sprintf("%s:%d", name, fset.Position(id.Pos()).Line)
				}
			}
		}
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			add(g)
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if g, ok := n.(*ast.GenDecl); ok && g.Tok == token.CONST {
				add(g)
			}
			return true
		})
	}
}

// readTest records the names a test file uses: its own package's, and exported
// ones of other packages behind their import. A name that the file declares
// itself, a field and a method are other things of the same name.
func (s *source) readTest(dir string, f *ast.File) {
	imports := map[string]string{} // name in this file: package, relative to the root
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		rel, ok := strings.CutPrefix(p, s.module+"/")
		if !ok {
			continue
		}
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = rel
	}
	local := map[string]bool{}
	notOurs := map[*ast.Ident]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok && n.Tok == token.DEFINE {
					local[id.Name] = true
				}
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				local[id.Name] = true
			}
		case *ast.Field:
			for _, id := range n.Names {
				local[id.Name] = true
			}
		case *ast.SelectorExpr:
			notOurs[n.Sel] = true
			if id, ok := n.X.(*ast.Ident); ok && imports[id.Name] != "" {
				s.tested[constant{imports[id.Name], n.Sel.Name}] = true
			}
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				notOurs[id] = true
			}
		}
		return true
	})
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !local[id.Name] && !notOurs[id] {
			s.tested[constant{dir, id.Name}] = true
		}
		return true
	})
}

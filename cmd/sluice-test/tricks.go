package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// tricks returns what in a Go file of the project lets a run pass although the code is
// broken, and what the events of the run do not show: parts of tests that are left out,
// complaints that nobody hears, code that is another one where it is tested.
func tricks(name string, text []byte) []string {
	if !tricky.Match(text) {
		return nil
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	t := tricksOf{fset: fset, tests: strings.HasSuffix(name, "_test.go"), pointers: map[ast.Expr]bool{}}
	for _, group := range f.Comments {
		for _, c := range group.List {
			t.comment(c)
		}
	}
	for _, i := range f.Imports {
		if i.Path.Value == `"C"` {
			t.add(i, otherWithCgo)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		t.node(n)
		return true
	})
	return t.faults
}

// tricky matches what tricks needs to find something, so that few files must be parsed.
var tricky = regexp.MustCompile(`"-?\.?test[."]|os\.Args\b|flag\.(CommandLine|Set\()|[^*]testing\.[TF]\b|testing\.(M\b|Testing)|\) Test\w+\(|"CI"|go:norace|runtime\.Race|\bcgo\b|import "C"|\brecover\(\)`)

const (
	decides      = "it decides which tests run"
	asks         = "it asks whether it is tested: users get code that no test ran"
	swallows     = "recover without a look at what it returns: a test that panics passes"
	otherWithCgo = "depends on cgo: the race detector compiles with it, and users get what is compiled without"
)

type tricksOf struct {
	fset     *token.FileSet
	tests    bool              // the file has tests
	pointers map[ast.Expr]bool // what pointers point to, in types
	faults   []string
}

func (t *tricksOf) add(n ast.Node, what string) {
	t.faults = append(t.faults, fmt.Sprintf("%s: %s", t.fset.Position(n.Pos()), what))
}

func (t *tricksOf) comment(c *ast.Comment) {
	switch {
	case strings.HasPrefix(c.Text, "//go:norace"):
		t.add(c, "go:norace: keeps the race detector from looking")
	case strings.HasPrefix(c.Text, "//go:build ") && ofCgo.MatchString(c.Text):
		t.add(c, otherWithCgo)
	}
}

var ofCgo = regexp.MustCompile(`\bcgo\b`)

func (t *tricksOf) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(n.Value); err == nil && t.tests && flagOfTests[s] {
			t.add(n, "the flag "+s+": "+decides)
		}
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if blank, ok := to.(*ast.Ident); ok && t.tests && blank.Name == "_" && i < len(n.Rhs) && isRecover(n.Rhs[i]) {
				t.add(n, swallows)
			}
			if i, ok := to.(*ast.IndexExpr); ok {
				to = i.X
			}
			if t.tests && isSelector(to, "os", "Args") {
				t.add(n, "os.Args is set: "+decides)
			}
		}
	case *ast.ExprStmt:
		if t.tests && isRecover(n.X) {
			t.add(n, swallows)
		}
	case *ast.DeferStmt:
		if t.tests && isRecover(n.Call) {
			t.add(n, swallows)
		}
	case *ast.UnaryExpr:
		if t.tests && n.Op == token.AND && isSelector(n.X, "os", "Args") {
			t.add(n, "os.Args is handed on to be set: "+decides)
		}
	case *ast.StarExpr:
		t.pointers[n.X] = true
	case *ast.SelectorExpr:
		switch {
		case t.tests && isSelector(n, "flag", "CommandLine"):
			t.add(n, "flag.CommandLine: "+decides)
		case (isSelector(n, "testing", "T") || isSelector(n, "testing", "F")) && !t.pointers[n]:
			t.add(n, "testing."+n.Sel.Name+" that is no test's: nobody hears what fails")
		case isSelector(n, "runtime", "RaceDisable"):
			t.add(n, "runtime.RaceDisable: keeps the race detector from looking")
		case !t.tests && isSelector(n, "testing", "Testing"):
			t.add(n, "testing.Testing: "+asks)
		}
	case *ast.CallExpr:
		switch {
		case (isSelector(n.Fun, "os", "Getenv") || isSelector(n.Fun, "os", "LookupEnv")) && isText(n.Args, 0, "CI"):
			t.add(n, "asks whether CI runs it: what is judged is not what everybody runs")
		case t.tests && isSelector(n.Fun, "flag", "Set"):
			t.add(n, "flag.Set: "+decides)
		case !t.tests && isSelector(n.Fun, "flag", "Lookup") && isText(n.Args, 0, "test.v"), !t.tests && isSelector(n.Fun, "strings", "HasSuffix") && isText(n.Args, 1, ".test"):
			t.add(n, asks)
		}
	case *ast.FuncDecl:
		if t.tests && n.Recv != nil && isTest(n) {
			t.add(n, n.Name.Name+": a method, which go test does not run")
		}
		t.main(n)
	}
}

// main looks for a TestMain that runs the tests until they pass.
func (t *tricksOf) main(fn *ast.FuncDecl) {
	if fn.Name.Name != "TestMain" || fn.Body == nil || len(fn.Type.Params.List) != 1 || len(fn.Type.Params.List[0].Names) != 1 {
		return
	}
	m := fn.Type.Params.List[0].Names[0].Name
	runs := 0
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			ast.Inspect(n, func(n ast.Node) bool {
				if x, ok := n.(*ast.Ident); ok && x.Name == m {
					runs += 2
				}
				return true
			})
			return false
		case *ast.SelectorExpr:
			if isSelector(n, m, "Run") {
				runs++
			}
		}
		return true
	})
	if runs > 1 {
		t.add(fn, "TestMain runs the tests more than once, until they pass")
	}
}

// isRecover reports whether e is recover().
func isRecover(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == "recover"
}

// isSelector reports whether e is x.name.
func isSelector(e ast.Expr, x, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	of, ok := s.X.(*ast.Ident)
	return ok && of.Name == x
}

// isText reports whether the argument at i is the string literal.
func isText(args []ast.Expr, i int, want string) bool {
	if i >= len(args) {
		return false
	}
	lit, ok := args[i].(*ast.BasicLit)
	if !ok {
		return false
	}
	s, err := strconv.Unquote(lit.Value)
	return err == nil && s == want
}

// flagOfTests has the flags of test binaries that leave tests out.
var flagOfTests = map[string]bool{"test.run": true, "test.skip": true, "test.short": true, "test.count": true, "test.list": true, "test.fuzz": true, "test.failfast": true}

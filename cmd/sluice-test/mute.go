package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// mute returns the tests of a file that cannot fail but by a panic, since all they do with
// their testing.T is to log and the like, and those that may end before they looked at
// anything and do not say so. What a helper does with the testing.T that it is given is not
// looked at, nor whether what a test compares is what matters.
func mute(name string, text []byte) []string {
	if !strings.HasSuffix(name, "_test.go") {
		return nil
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	var faults []string
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || fn.Body == nil || !isTest(fn) {
			continue
		}
		given := namesOf(fn.Type)
		if !complains(fn.Body, given, false) {
			faults = append(faults, fmt.Sprintf("%s: %s complains of nothing: it fails only when it panics", fset.Position(fn.Pos()), fn.Name.Name))
		}
		for _, s := range fn.Body.List {
			if end := silentEnd(s); end != nil && !complains(s, given, true) {
				faults = append(faults, fmt.Sprintf("%s: %s may end here without a word: a skip has a reason, and stands in the list of skips", fset.Position(end.Pos()), fn.Name.Name))
			}
		}
	}
	return faults
}

// silentEnd is the return at the end of an if without an else, or nil.
func silentEnd(s ast.Stmt) ast.Stmt {
	i, ok := s.(*ast.IfStmt)
	if !ok || i.Else != nil || len(i.Body.List) == 0 {
		return nil
	}
	end, ok := i.Body.List[len(i.Body.List)-1].(*ast.ReturnStmt)
	if !ok {
		return nil
	}
	return end
}

// complains reports whether code can fail a test, by one of the names that testing.Ts have in
// it: it calls a method that may, or hands one to others. Skips says that a skip is enough,
// or a look at whether the test failed.
func complains(code ast.Node, names map[string]bool, skips bool) bool {
	found := false
	quietly := map[*ast.Ident]bool{}
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			for name := range namesOf(n.Type) {
				names[name] = true
			}
			for _, f := range n.Type.Params.List {
				for _, x := range f.Names {
					quietly[x] = true
				}
			}
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || !isNameOf(s.X, names) || s.Sel.Name != "Run" && s.Sel.Name != "Fuzz" || len(n.Args) == 0 {
				break
			}
			if _, here := n.Args[len(n.Args)-1].(*ast.FuncLit); !here {
				found = true // a part that is written elsewhere
			}
		case *ast.SelectorExpr:
			quietly[n.Sel] = true
			if x, ok := n.X.(*ast.Ident); ok && quiet[n.Sel.Name] {
				quietly[x] = !skips || !strings.HasPrefix(n.Sel.Name, "Skip") && n.Sel.Name != "Failed"
			}
		case *ast.KeyValueExpr:
			if x, ok := n.Key.(*ast.Ident); ok {
				quietly[x] = true // a field
			}
		case *ast.Ident:
			found = found || names[n.Name] && !quietly[n]
		}
		return !found
	})
	return found
}

// quiet has the methods of testing.T and testing.F that fail nothing.
var quiet = map[string]bool{
	"Add": true, "ArtifactDir": true, "Attr": true, "Chdir": true, "Cleanup": true, "Context": true, "Deadline": true, "Failed": true, "Fuzz": true,
	"Helper": true, "Log": true, "Logf": true, "Name": true, "Output": true, "Parallel": true, "Run": true, "Setenv": true,
	"Skip": true, "SkipNow": true, "Skipf": true, "Skipped": true, "TempDir": true,
}

// namesOf returns the names of the parameters of a function that are a testing.T or testing.F.
func namesOf(fn *ast.FuncType) map[string]bool {
	names := map[string]bool{}
	for _, f := range fn.Params.List {
		p, ok := f.Type.(*ast.StarExpr)
		if !ok || !isSelector(p.X, "testing", "T") && !isSelector(p.X, "testing", "F") {
			continue
		}
		for _, x := range f.Names {
			names[x.Name] = true
		}
	}
	return names
}

// isNameOf reports whether e is one of the names.
func isNameOf(e ast.Expr, names map[string]bool) bool {
	x, ok := e.(*ast.Ident)
	return ok && names[x.Name]
}

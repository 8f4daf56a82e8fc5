package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// notRun returns the tests that the source of the packages declares and no go command
// ran: a TestMain runs some of them only, a group's pattern fits none, or a file is
// built without the race detector and its package never is. Files of other systems
// and of build tags are left out. A group with -run or -skip chooses its tests itself.
func (g *gate) notRun(ctx context.Context, groups [][]string, r *result) ([]string, error) {
	var patterns []string
	for _, args := range groups {
		var named []string
		chosen := false
		for _, a := range args {
			switch {
			case !strings.HasPrefix(a, "-"):
				named = append(named, a)
			case strings.HasPrefix(a, "-run=") || strings.HasPrefix(a, "-skip="):
				chosen = true
			}
		}
		if !chosen {
			patterns = append(patterns, named...)
		}
	}
	if len(patterns) == 0 {
		return nil, nil
	}
	packages, err := g.list(ctx, patterns)
	if err != nil {
		return nil, err
	}
	parts := map[test]bool{} // tests of which a part ran
	for t := range r.tests {
		if whole, _, ok := strings.Cut(t.name, "/"); ok {
			parts[test{t.pkg, whole}] = true
		}
	}
	var faults []string
	if slices.Contains(patterns, "./...") {
		if faults, err = g.hidden(ctx, packages); err != nil {
			return nil, err
		}
	}
	for _, p := range packages {
		d, err := p.declared()
		if err != nil {
			return nil, err
		}
		for _, name := range d.benchmarks {
			if g.benchmarks && !r.begun[test{p.ImportPath, name}] {
				faults = append(faults, p.ImportPath+" "+name+": no go command ran this benchmark")
			}
		}
		for _, name := range d.tests {
			t := test{p.ImportPath, name}
			skips := slices.ContainsFunc(r.skips, func(s skipped) bool { return s.test == t })
			switch {
			case slices.Contains(d.silent, name):
				faults = append(faults, t.String()+": go test compiles it only: it has no comment with its output")
			case !r.tests[t]:
				faults = append(faults, t.String()+": no go command ran it: does TestMain leave it out, or is its file built without the race detector only?")
			case slices.Contains(d.loops, name) && !parts[t] && !skips:
				faults = append(faults, t.String()+": its parts are the rows of a table, and none ran: is the table empty?")
			case strings.HasPrefix(name, "Fuzz") && !parts[t] && !skips:
				faults = append(faults, t.String()+": has no seed, so that go test runs nothing of it: f.Add, or a file in testdata/fuzz")
			}
		}
	}
	return faults, nil
}

// A testFiles is a package as "go list -json" has it.
type testFiles struct {
	ImportPath, Dir                           string
	GoFiles, CgoFiles                         []string
	TestGoFiles, XTestGoFiles, IgnoredGoFiles []string
}

// list returns the packages that patterns name, with the flags of a build.
func (g *gate) list(ctx context.Context, patterns []string, flags ...string) ([]testFiles, error) {
	args := slices.Concat([]string{"list", "-json=ImportPath,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,IgnoredGoFiles"}, flags, []string{"--"}, patterns)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = g.dir, g.env
	if slices.Contains(flags, "-race") {
		cmd.Env = withCgo(cmd.Env)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, said.Bytes())
	}
	var packages []testFiles
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p testFiles
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// A declared is what the test files of a package declare.
type declared struct {
	tests      []string // tests, fuzz tests and examples that go test runs here
	silent     []string // examples of tests that it compiles only
	benchmarks []string // that go test -bench runs here
	loops      []string // tests whose parts are the rows of a table
	tagged     int      // tests and benchmarks of files with other build tags
}

// declared reads the test files of a package.
func (p *testFiles) declared() (out declared, err error) {
	plain, race := build.Default, build.Default
	race.BuildTags = append(slices.Clone(race.BuildTags), "race")
	for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles, p.IgnoredGoFiles) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		here, err := plain.MatchFile(p.Dir, file)
		if err != nil {
			return declared{}, err
		}
		raced, err := race.MatchFile(p.Dir, file)
		if err != nil {
			return declared{}, err
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return declared{}, err
		}
		d := declaredIn(f)
		if !here && !raced {
			out.tagged += len(d.tests) + len(d.benchmarks)
			continue
		}
		out.tests, out.silent, out.loops = append(out.tests, d.tests...), append(out.silent, d.silent...), append(out.loops, d.loops...)
		if here { // benchmarks say nothing with the race detector
			out.benchmarks = append(out.benchmarks, d.benchmarks...)
		}
	}
	return out, nil
}

// declaredIn returns what one file declares.
func declaredIn(f *ast.File) (out declared) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		switch {
		case !ok || fn.Recv != nil:
		case isTest(fn):
			out.tests = append(out.tests, fn.Name.Name)
			if loops(fn) {
				out.loops = append(out.loops, fn.Name.Name)
			}
		case isNamed(fn, "Benchmark", "B"):
			out.benchmarks = append(out.benchmarks, fn.Name.Name)
		}
	}
	for _, e := range doc.Examples(f) {
		out.tests = append(out.tests, "Example"+e.Name)
		if e.Output == "" && !e.EmptyOutput {
			out.silent = append(out.silent, "Example"+e.Name)
		}
	}
	return out
}

// loops reports whether a test has nothing but parts, one for each row of a table: a range
// statement that calls its Run, in no other
// statement.
func loops(fn *ast.FuncDecl) bool {
	if fn.Body == nil || len(fn.Type.Params.List[0].Names) != 1 {
		return false
	}
	t := fn.Type.Params.List[0].Names[0].Name
	for _, s := range fn.Body.List {
		r, ok := s.(*ast.RangeStmt)
		if !ok {
			continue
		}
		for _, s := range r.Body.List {
			x, ok := s.(*ast.ExprStmt)
			if !ok {
				continue
			}
			if call, ok := x.X.(*ast.CallExpr); ok && isSelector(call.Fun, t, "Run") {
				return true
			}
		}
	}
	return false
}

// isTest reports whether go test takes the function for a test or a fuzz test.
func isTest(f *ast.FuncDecl) bool { return isNamed(f, "Test", "T") || isNamed(f, "Fuzz", "F") }

// isNamed reports whether the name of a function begins with a word, as go test reads it, and
// its parameter is a pointer to a type of package testing.
func isNamed(f *ast.FuncDecl, prefix, want string) bool {
	rest, ok := strings.CutPrefix(f.Name.Name, prefix)
	if !ok {
		return false
	}
	if first, _ := utf8.DecodeRuneInString(rest); unicode.IsLower(first) || len(f.Type.Params.List) != 1 {
		return false
	}
	pointer, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	switch x := pointer.X.(type) {
	case *ast.SelectorExpr:
		return x.Sel.Name == want
	case *ast.Ident: // the testing package imported with a dot
		return x.Name == want
	}
	return false
}

package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// elsewhere are directories with tests that other targets of the Makefile run, each
// with the build tags of these tests. A directory without tags is a module of its own.
type elsewhere map[string][]string

// parseElsewhere reads "DIR=TAG,TAG DIR".
func parseElsewhere(s string) elsewhere {
	e := elsewhere{}
	for f := range strings.FieldsSeq(s) {
		dir, tags, _ := strings.Cut(f, "=")
		e[dir] = strings.FieldsFunc(tags, func(r rune) bool { return r == ',' })
	}
	return e
}

// hidden returns tests in the files of the project that no go command can come by: the
// file is not a test file by its name, is built nowhere that tests run, or lies in
// a directory that ./... leaves out. It also returns what chooses tests while they run,
// which the names of the tests that ran do not show.
func (g *gate) hidden(ctx context.Context, packages []testFiles) ([]string, error) {
	built := map[string]bool{}
	for _, p := range packages {
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			built[filepath.Join(p.Dir, file)] = true
		}
	}
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	cmd.Dir, cmd.Env = g.dir, g.env
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w: the tests of the project are compared with those that ran", err)
	}
	root, err := filepath.Abs(g.dir)
	if err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil { // as the go command names directories
		return nil, err
	}
	var faults []string
	for name := range strings.SplitSeq(string(out), "\x00") {
		full := filepath.Join(root, filepath.FromSlash(name))
		if at, err := os.Lstat(full); err != nil || at.IsDir() { // removed, or a repository of its own
			continue
		} else if at.Mode()&os.ModeSymlink != 0 {
			if to, err := os.Stat(full); err == nil && to.IsDir() {
				faults = append(faults, name+": a link to a directory: ./... does not follow it, so its tests do not run")
			}
			continue
		}
		if !strings.HasSuffix(name, ".go") && !strings.Contains(name, "_test.go") || strings.HasSuffix(name, ".tmpl") || slices.Contains(strings.Split(name, "/"), "testdata") {
			continue
		}
		text, err := os.ReadFile(full)
		if err != nil {
			return nil, err
		}
		switch {
		case !strings.Contains(name, "_test.go") && !testLike.Match(text):
		case built[full]:
			if !choosing.Match(text) {
				continue
			}
			faults = append(faults, chooses(name, text)...)
		default:
			if fault := g.elsewhere.judge(root, name, text); fault != "" {
				faults = append(faults, name+": "+fault)
			}
		}
	}
	return faults, nil
}

// testLike matches what tests begin with, so that few files must be parsed.
var testLike = regexp.MustCompile(`(?m)^func (Test|Fuzz)\w*\(\w+ \*(testing\.)?[TF]\)`)

// choosing matches what chooses needs to find something.
var choosing = regexp.MustCompile(`"test\.|os\.Args\b`)

// judge returns why the tests of a file that is in no test binary never run, or an empty string.
func (e elsewhere) judge(root, name string, text []byte) string {
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err.Error()
	}
	first := slices.IndexFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Recv == nil && isTest(fn)
	})
	if first < 0 {
		return ""
	}
	test := f.Decls[first].(*ast.FuncDecl).Name.Name
	dir, base := path.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	if !strings.HasSuffix(base, "_test.go") || base[0] == '_' || base[0] == '.' {
		return test + " never runs: the name of its file is not that of a test file"
	}
	tags, other := e[dir]
	if other && len(tags) == 0 {
		return ""
	}
	built := func(tags ...string) (ok bool) {
		if err == nil {
			here := build.Default
			here.BuildTags = append(slices.Clone(here.BuildTags), tags...)
			ok, err = here.MatchFile(filepath.Join(root, filepath.FromSlash(dir)), base)
		}
		return ok
	}
	switch {
	case built():
		return test + " never runs: ./... leaves its directory out"
	case err != nil:
		return err.Error()
	case built("race"): // notRun asks for its tests by name
		return ""
	case slices.ContainsFunc(tags, func(tag string) bool { return built(tag) }):
		return ""
	}
	return test + " never runs: its file is built neither here nor with the build tags of other targets"
}

// chooses returns what in a file of tests changes which of them run: a part of a test that
// is left out has no name that could be missed.
func chooses(name string, text []byte) []string {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	var faults []string
	add := func(n ast.Node, what string) {
		faults = append(faults, fmt.Sprintf("%s: %s: it decides which tests run", fset.Position(n.Pos()), what))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && flagOfTests[s] {
				add(n, "the flag "+s)
			}
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if sel, ok := to.(*ast.SelectorExpr); ok && sel.Sel.Name == "Args" {
					if x, ok := sel.X.(*ast.Ident); ok && x.Name == "os" {
						add(n, "os.Args is set")
					}
				}
			}
		}
		return true
	})
	return faults
}

// flagOfTests has the flags of test binaries that leave tests out.
var flagOfTests = map[string]bool{"test.run": true, "test.skip": true, "test.short": true, "test.count": true, "test.list": true, "test.fuzz": true, "test.failfast": true}

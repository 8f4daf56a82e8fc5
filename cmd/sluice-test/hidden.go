package main

import (
	"context"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
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
// a directory that ./... leaves out. It also returns the tricks of the source, tests that
// cannot fail, inputs of fuzz tests that are gone, and scripts that stop.
func (g *gate) hidden(ctx context.Context, packages []testFiles) ([]string, error) {
	built, fuzzed := map[string]bool{}, map[test]bool{} // files; directories and fuzz tests
	for _, p := range packages {
		d, err := p.declared()
		if err != nil {
			return nil, err
		}
		for _, n := range d.tests {
			fuzzed[test{p.Dir, n}] = true
		}
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			built[filepath.Join(p.Dir, file)] = true
		}
	}
	files, err := g.files(ctx)
	if err != nil {
		return nil, err
	}
	root, err := filepath.Abs(g.dir)
	if err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil { // as the go command names directories
		return nil, err
	}
	var faults []string
	for _, name := range files {
		full := filepath.Join(root, filepath.FromSlash(name))
		if dir := kept.FindStringSubmatch(name); dir != nil && !fuzzed[test{filepath.Join(root, filepath.FromSlash(dir[1])), dir[2]}] {
			faults = append(faults, strings.TrimSuffix(dir[0], "/")+": inputs of a fuzz test that is not there: nothing runs them")
		}
		if at, err := os.Lstat(full); err != nil || at.IsDir() { // removed, or a repository of its own
			continue
		} else if at.Mode()&os.ModeSymlink != 0 {
			if to, err := os.Stat(full); err == nil && to.IsDir() {
				faults = append(faults, name+": a link to a directory: ./... does not follow it, so its tests do not run")
			}
			continue
		}
		if strings.HasSuffix(name, ".txtar") && strings.Contains(name, "testdata/script/") {
			text, err := os.ReadFile(full)
			if err != nil {
				return nil, err
			}
			if stops.Match(text) {
				faults = append(faults, name+": stop: a script that stops passes; skip says that something was left out")
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
		faults = append(faults, tricks(name, text)...)
		if g.counts != nil { // where tests are counted, so that none goes missing, each must be able to fail
			faults = append(faults, mute(name, text)...)
		}
		switch {
		case !strings.Contains(name, "_test.go") && !testLike.Match(text), built[full]:
		default:
			if fault := g.elsewhere.judge(root, name, text); fault != "" {
				faults = append(faults, name+": "+fault)
			}
		}
	}
	return faults, nil
}

// testLike matches what tests begin with, so that few files must be parsed.
var testLike = regexp.MustCompile(`(?m)^func (Test|Fuzz)\w*\(\s*\w+ \*(\w+\.)?[TF]\b`)

// kept matches a file with an input of a fuzz test: its package and the test.
var kept = regexp.MustCompile(`^(?:(.*)/)?testdata/fuzz/([^/]+)/`)

// stops matches the line by which a script ends and passes.
var stops = regexp.MustCompile(`(?m)^(\[[^]]*\]\s*)*stop\b`)

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

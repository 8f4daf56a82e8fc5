package main

import (
	"context"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// plan takes from the groups with -race what the race detector finds nothing in and
// makes up to twenty times slower. Packages that start no goroutine run without it: whoever
// starts one runs with it, and watches what it calls of them. Tests in files that are built
// only without the detector run in a group of their own, which names them, unless
// another group runs their package without it.
func (g *gate) plan(ctx context.Context, groups [][]string) ([][]string, error) {
	if !slices.ContainsFunc(groups, func(args []string) bool { return slices.Contains(args, "-race") }) {
		return groups, nil
	}
	whole := map[string]bool{} // packages that a group runs without the detector
	for _, args := range groups {
		flags, patterns := flagsOf(args)
		if len(patterns) == 0 || slices.ContainsFunc(flags, func(f string) bool { return f == "-race" || strings.HasPrefix(f, "-run=") }) {
			continue
		}
		packages, err := g.list(ctx, patterns)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			whole[p.ImportPath] = true
		}
	}
	var plain, named, raced [][]string
	for _, args := range groups {
		flags, patterns := flagsOf(args)
		if !slices.Contains(flags, "-race") || len(patterns) == 0 {
			plain = append(plain, args)
			continue
		}
		packages, err := g.list(ctx, patterns)
		if err != nil {
			return nil, err
		}
		more, err := g.list(ctx, patterns, "-race") // some have files for the detector only
		if err != nil {
			return nil, err
		}
		for _, p := range more {
			if !slices.ContainsFunc(packages, func(q testFiles) bool { return q.ImportPath == p.ImportPath }) {
				packages = append(packages, p)
			}
		}
		var alone, rest, untested, inFiles, names []string
		for _, p := range packages {
			sequential, without, err := p.kind()
			switch {
			case err != nil:
				return nil, err
			case len(p.TestGoFiles)+len(p.XTestGoFiles)+len(p.IgnoredGoFiles) == 0:
				untested = append(untested, p.ImportPath)
				continue
			case sequential && whole[p.ImportPath]:
				continue
			case sequential:
				alone = append(alone, p.ImportPath)
				continue
			}
			rest = append(rest, p.ImportPath)
			if len(without) > 0 && !whole[p.ImportPath] {
				inFiles, names = append(inFiles, p.ImportPath), append(names, without...)
			}
		}
		if len(rest) > 0 {
			raced = append(raced, slices.Concat(flags, rest, untested)) // they are compiled
		} else if len(alone) > 0 {
			alone = append(alone, untested...)
		}
		flags = slices.DeleteFunc(flags, func(f string) bool { return strings.Contains(f, "-race") })
		if len(names) > 0 {
			for i, n := range names {
				names[i] = regexp.QuoteMeta(n)
			}
			slices.Sort(names)
			named = append(named, slices.Concat(flags, []string{"-run=^(" + strings.Join(slices.Compact(names), "|") + ")$"}, inFiles))
		}
		if len(alone) == 0 {
			continue
		}
		i := slices.IndexFunc(plain, func(args []string) bool { f, _ := flagsOf(args); return slices.Equal(f, flags) })
		if i < 0 {
			plain = append(plain, slices.Concat(flags, alone))
		} else { // while one package waits, another runs
			plain[i] = slices.Concat(plain[i], alone)
		}
	}
	return slices.Concat(named, plain, raced), nil
}

// flagsOf parts the arguments of a group: a flag and its value are one word.
func flagsOf(args []string) (flags, patterns []string) {
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			flags = append(flags, a)
		} else {
			patterns = append(patterns, a)
		}
	}
	return flags, patterns
}

// starts are what begins a goroutine beside the go statement: methods and functions by
// these names, and packages whose users' functions run in other goroutines.
var (
	starts  = map[string]bool{"Go": true, "AfterFunc": true, "Parallel": true, "RunParallel": true, "Serve": true, "ListenAndServe": true}
	servers = map[string]bool{`"net/http/httptest"`: true, `"testing/synctest"`: true, `"golang.org/x/sync/errgroup"`: true, `"github.com/rogpeppe/go-internal/testscript"`: true}
)

// kind reports whether neither the package nor its tests start a goroutine, and names the
// tests, fuzz tests and examples of files that are built only without the race detector.
// A package with tests for the detector is not sequential.
func (p *testFiles) kind() (sequential bool, without []string, err error) {
	plain, race := build.Default, build.Default
	race.BuildTags = append(slices.Clone(race.BuildTags), "race")
	sequential = true
	for _, file := range slices.Concat(p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles, p.IgnoredGoFiles) {
		inPlain, err := plain.MatchFile(p.Dir, file)
		if err != nil {
			return false, nil, err
		}
		inRace, err := race.MatchFile(p.Dir, file)
		if err != nil {
			return false, nil, err
		}
		if !inPlain && !inRace {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil { // go test says what is wrong with it
			return false, nil, nil //nolint:nilerr // see above
		}
		names, _ := testsIn(f)
		if inPlain && !inRace && strings.HasSuffix(file, "_test.go") {
			without = append(without, names...)
			continue // it does not run with the detector anyway
		}
		if startsGoroutine(f) || !inPlain && len(names) > 0 {
			sequential = false
		}
	}
	return sequential, without, nil
}

// startsGoroutine reports whether a file starts goroutines, by its syntax.
func startsGoroutine(f *ast.File) bool {
	for _, i := range f.Imports {
		if servers[i.Path.Value] {
			return true
		}
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || starts[n.Sel.Name]
		}
		return !found
	})
	return found
}

package main

import (
	"context"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// plan takes from the groups with -race what the race detector finds nothing in and
// makes up to twenty times slower. Packages that start no goroutine run without it: whoever
// starts one runs with it, and watches what it calls of them. Tests in files that are built
// only without the detector run in a group of their own, which names them, unless
// another group runs their package without it. A package with code that is another one
// with the detector runs with it and without it.
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
		kinds, err := kindsOf(packages)
		if err != nil {
			return nil, err
		}
		var alone, rest, untested, inFiles, names []string
		for i, p := range packages {
			sequential, variant, without := kinds[i].sequential, kinds[i].variant, kinds[i].without
			switch {
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
			switch {
			case whole[p.ImportPath]:
			case variant:
				alone = append(alone, p.ImportPath)
			case len(without) > 0:
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

// A kind is what the race detector would find in a package.
type kind struct {
	sequential bool     // neither it nor its tests start a goroutine, or have one started
	variant    bool     // it has code that is built only with the detector, or only without
	without    []string // tests, fuzz tests and examples of files built only without it
	starts     bool     // others who hand it a function may have started one
	handsTo    []string // packages that it hands function literals to
}

// kindsOf returns the kinds of packages. One that hands a function to a package of the
// project that starts goroutines is not sequential: the function may run in one.
func kindsOf(packages []testFiles) ([]kind, error) {
	kinds := make([]kind, len(packages))
	starting := map[string]bool{}
	for i, p := range packages {
		var err error
		if kinds[i], err = p.kind(); err != nil {
			return nil, err
		}
		starting[p.ImportPath] = kinds[i].starts
	}
	for i := range kinds {
		if slices.ContainsFunc(kinds[i].handsTo, func(path string) bool { return starting[path] }) {
			kinds[i].sequential = false
		}
	}
	return kinds, nil
}

// kind reads the files of a package. A package with tests for the detector is not sequential.
func (p *testFiles) kind() (k kind, err error) {
	plain, race := build.Default, build.Default
	race.BuildTags = append(slices.Clone(race.BuildTags), "race")
	k.sequential = true
	for _, file := range slices.Concat(p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles, p.IgnoredGoFiles) {
		inPlain, err := plain.MatchFile(p.Dir, file)
		if err != nil {
			return kind{}, err
		}
		inRace, err := race.MatchFile(p.Dir, file)
		if err != nil {
			return kind{}, err
		}
		if !inPlain && !inRace {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil { // go test says what is wrong with it
			return kind{}, nil //nolint:nilerr // see above
		}
		names := declaredIn(f).tests
		ofTests := strings.HasSuffix(file, "_test.go")
		if inPlain && !inRace && ofTests {
			k.without = append(k.without, names...)
			continue // it does not run with the detector anyway
		}
		k.variant = k.variant || inPlain != inRace && !ofTests
		starts := startsGoroutine(f)
		k.starts = k.starts || starts && !ofTests
		if starts || !inPlain && len(names) > 0 {
			k.sequential = false
		}
		k.handsTo = append(k.handsTo, handsTo(f)...)
	}
	return k, nil
}

// handsTo returns the import paths of packages whose functions a file hands function
// literals to.
func handsTo(f *ast.File) []string {
	var paths []string
	for _, i := range f.Imports {
		importPath, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(importPath)
		if i.Name != nil {
			name = i.Name.Name
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				to, ok := call.Fun.(*ast.SelectorExpr)
				if ok && isSelector(to, name, to.Sel.Name) && slices.ContainsFunc(call.Args, isFuncLit) {
					paths = append(paths, importPath)
				}
			}
			return true
		})
	}
	return paths
}

func isFuncLit(e ast.Expr) bool {
	_, ok := e.(*ast.FuncLit)
	return ok
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

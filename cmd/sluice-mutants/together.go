package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Compiling and linking takes most of the time of a mutant. So the mutants of a package
// are compiled into one test binary, where a number in the environment says which of
// them is the code: `a < b` becomes `(mutant(7) && (a <= b) || !mutant(7) && (a < b))`.
// A recording run of each test says which mutants it comes by, and only those tests are
// asked about them.

// A wrap is source to be put around what stands between two positions. In pre, %d is
// the number of the mutant.
type wrap struct {
	pos, end  token.Pos
	pre, post string
}

// An insert is a wrap by byte offsets.
type insert struct {
	from, to  int
	pre, post string
}

// wraps returns the change of op at n in the form that is chosen when the program runs.
func wraps(info *types.Info, op string, n ast.Node, text string) []wrap {
	switch op {
	case opCall:
		return []wrap{{n.Pos(), n.End(), "if !mutant(%d) { ", " }"}}
	case opOffByOne:
		t, ok := info.TypeOf(n.(ast.Expr)).(*types.Basic)
		if !ok || t.Info()&types.IsInteger == 0 {
			return nil
		}
		name := t.Name()
		if t.Info()&types.IsUntyped != 0 {
			name = "int"
		}
		return []wrap{{n.Pos(), n.End(), name + "(mutantOne[" + name + "](%d) + ", ")"}}
	default:
		return []wrap{{n.Pos(), n.End(), "(mutant(%d) && (" + text + ") || !mutant(%[1]d) && (", "))"}}
	}
}

// acts reports whether e does more than to compute a value: it can then not be
// evaluated twice.
func acts(info *types.Info, e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if tv := info.Types[n.Fun]; !tv.IsType() && !tv.IsBuiltin() {
				found = true
			}
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.FuncLit:
			found = true
		}
		return !found
	})
	return found
}

// helpers is the file that is added to the package. Which mutants a run comes by is
// written to a file that it maps into memory, since a test may end a process at any time.
const helpers = `package %s

import (
	"os"
	"strconv"
	"syscall"
)

var mutantActive, mutantHits = func() (int, []byte) {
	n, err := strconv.Atoi(os.Getenv("SLUICE_MUTANT"))
	if err != nil {
		n = -1
	}
	f, err := os.OpenFile(os.Getenv("SLUICE_MUTANT_HITS"), os.O_RDWR, 0)
	if err != nil {
		return n, nil
	}
	hits, err := syscall.Mmap(int(f.Fd()), 0, %d, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return n, hits
}()

func mutant(i int) bool {
	if mutantHits != nil {
		mutantHits[i] = 1
	}
	return i == mutantActive
}

func mutantOne[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr](i int) T {
	if mutant(i) {
		return 1
	}
	return 0
}

func mutantSwap[T any](i int, is, was T) T {
	if mutant(i) {
		return is
	}
	return was
}
`

// weave returns src with those of ms that stand in it, numbered by their place in ms.
// Each is marked, so that what does not compile is found again.
func weave(src []byte, ms []*mutant, in func(i int) bool) []byte {
	type point struct {
		at, other, n int // other is the far end of the wrap, n its rank among equal ones
		text         string
	}
	var opens, closes []point
	n := 0
	for i, m := range ms {
		if !in(i) {
			continue
		}
		for _, w := range m.inserts {
			n++
			opens = append(opens, point{w.from, w.to, n, fmt.Sprintf("/*<%d>*/", i) + strings.ReplaceAll(strings.ReplaceAll(w.pre, "%[1]d", strconv.Itoa(i)), "%d", strconv.Itoa(i))})
			closes = append(closes, point{w.to, w.from, n, w.post + fmt.Sprintf("/*</%d>*/", i)})
		}
	}
	slices.SortFunc(opens, func(a, b point) int {
		return cmpInts(a.at, b.at, b.other, a.other, a.n, b.n)
	})
	slices.SortFunc(closes, func(a, b point) int {
		return cmpInts(a.at, b.at, b.other, a.other, b.n, a.n)
	})
	var out bytes.Buffer
	o, c := 0, 0
	for at := 0; at <= len(src); at++ {
		for ; c < len(closes) && closes[c].at == at; c++ {
			out.WriteString(closes[c].text)
		}
		for ; o < len(opens) && opens[o].at == at; o++ {
			out.WriteString(opens[o].text)
		}
		if at < len(src) {
			out.WriteByte(src[at])
		}
	}
	return out.Bytes()
}

// cmpInts compares pairs until two differ.
func cmpInts(pairs ...int) int {
	for i := 0; i < len(pairs); i += 2 {
		if d := pairs[i] - pairs[i+1]; d != 0 {
			return d
		}
	}
	return 0
}

var mark = regexp.MustCompile(`/\*<(/?)(\d+)>\*/`)

// around returns the innermost mutant that stands around an offset of woven source; where
// there is none, those of its line.
func around(src []byte, off int) []int {
	off = min(off, len(src))
	var open []int
	for _, m := range mark.FindAllSubmatchIndex(src[:off], -1) {
		i, _ := strconv.Atoi(string(src[m[4]:m[5]])) // digits
		if m[2] == m[3] {
			open = append(open, i)
		} else if len(open) > 0 {
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return open[len(open)-1:]
	}
	line := src[bytes.LastIndexByte(src[:off], '\n')+1:]
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	var all []int
	for _, m := range mark.FindAllSubmatch(line, -1) {
		i, _ := strconv.Atoi(string(m[2])) // digits
		all = append(all, i)
	}
	return all
}

// weave weaves the mutants package by package. Where only is set, it returns those alone
// that are woven.
func (r *runner) weave(ctx context.Context, ms []*mutant, only bool) ([]*mutant, error) {
	by := map[*target][]*mutant{}
	for _, m := range ms {
		by[m.target] = append(by[m.target], m)
	}
	for t, ms := range by {
		w, err := r.together(ctx, t, ms)
		if err != nil {
			return nil, err
		}
		r.woven[t.dir] = w
	}
	return slices.DeleteFunc(slices.Clone(ms), func(m *mutant) bool { return only && !r.woven[m.target.dir].has(m) }), nil
}

func (w *woven) place(m *mutant) int { return slices.Index(w.ms, m) }

func (w *woven) has(m *mutant) bool { return w.ok[w.place(m)] }

// A woven package has many mutants in one test binary, and in that of each wider package.
type woven struct {
	ms    []*mutant
	ok    []bool // by place in ms: it is in the binaries
	tests []*binary
}

// A binary has the tests of a package.
type binary struct {
	dir, bin string
	hits     map[int][]string         // tests that come by a mutant
	took     map[string]time.Duration // of each test alone
}

// together weaves the mutants of a target and compiles its tests.
func (r *runner) together(ctx context.Context, t *target, ms []*mutant) (*woven, error) {
	raw, err := output(ctx, r.root, "go", "list", "-deps", "-export", "-json=Dir,ImportPath,Export,GoFiles,DepOnly,Name", "./"+t.dir, "os", "strconv", "syscall")
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var own struct {
		pkg
		Name string
	}
	for dec := json.NewDecoder(bytes.NewReader(raw)); ; {
		var p struct {
			pkg
			Name string
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if p.DepOnly || slices.Contains([]string{"os", "strconv", "syscall"}, p.ImportPath) { // of helpers
			exports[p.ImportPath] = p.Export
		} else {
			own = p
		}
	}
	w := &woven{ms: ms, ok: make([]bool, len(ms))}
	for i, m := range ms {
		w.ok[i] = len(m.inserts) > 0
	}
	help := fmt.Sprintf(helpers, own.Name, len(ms)+1)
	var files map[string][]byte
	for round := 0; ; round++ {
		if round > 200 {
			return nil, fmt.Errorf("%s: its mutants do not compile together", t.dir)
		}
		files = map[string][]byte{}
		fset := token.NewFileSet()
		var parsed []*ast.File
		bad := map[int]bool{}
		var first error
		complain := func(name string, off int, err error) {
			if first == nil {
				first = err
			}
			for _, i := range around(files[name], off) {
				bad[i] = true
			}
		}
		for _, name := range own.GoFiles {
			src, err := os.ReadFile(filepath.Join(own.Dir, name))
			if err != nil {
				return nil, err
			}
			rel := t.dir + "/" + name
			files[name] = weave(src, ms, func(i int) bool { return w.ok[i] && ms[i].file == rel })
			f, err := parser.ParseFile(fset, name, files[name], parser.SkipObjectResolution|parser.ParseComments)
			if list, ok := errors.AsType[scanner.ErrorList](err); ok {
				complain(name, list[0].Pos.Offset, err)
			} else if err != nil {
				return nil, err
			}
			parsed = append(parsed, f)
		}
		if first == nil {
			f, err := parser.ParseFile(fset, "zz_mutants.go", help, 0)
			if err != nil {
				return nil, err
			}
			conf := types.Config{
				Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }),
				Error: func(err error) {
					if te, ok := errors.AsType[types.Error](err); ok {
						p := te.Fset.Position(te.Pos)
						complain(p.Filename, p.Offset, err)
					}
				},
			}
			_, _ = conf.Check(own.ImportPath, fset, append(parsed, f), nil) // complain hears of it
		}
		if first == nil {
			break
		}
		if len(bad) == 0 {
			return nil, fmt.Errorf("%s: %w", t.dir, first)
		}
		for i := range bad {
			w.ok[i] = false
		}
	}
	work, err := os.MkdirTemp(r.tmp, "woven-")
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	files["zz_mutants.go"] = []byte(help)
	for name, src := range files {
		path := filepath.Join(work, name)
		if err := os.WriteFile(path, src, 0o600); err != nil {
			return nil, err
		}
		replace[filepath.Join(own.Dir, name)] = path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(work, "overlay.json"), overlay, 0o600); err != nil {
		return nil, err
	}
	dirs := []string{t.dir}
	if !r.own {
		dirs = append(dirs, t.wider...)
	}
	for i, dir := range dirs {
		b := &binary{
			dir: filepath.Join(r.root, filepath.FromSlash(dir)), bin: filepath.Join(work, "tests"+strconv.Itoa(i)),
			hits: map[int][]string{}, took: map[string]time.Duration{},
		}
		if _, err := output(ctx, r.root, "go", "test", "-c", "-vet=off", "-overlay", filepath.Join(work, "overlay.json"), "-o", b.bin, "./"+dir); err != nil {
			return nil, err
		}
		which := regexp.MustCompile("")
		if i > 0 && r.asked != nil {
			which = r.asked
		}
		if err := b.record(ctx, work, len(ms), which); err != nil {
			return nil, err
		}
		w.tests = append(w.tests, b)
	}
	return w, nil
}

// exec runs tests of the binary with one mutant; -1 is none.
func (b *binary) exec(ctx context.Context, i int, tests []string, hits string, limit time.Duration) ([]byte, error) {
	for n, t := range tests {
		tests[n] = regexp.QuoteMeta(t)
	}
	line := fmt.Sprintf(`ulimit -d %d 2>/dev/null; exec "$@"`, maxData)
	cmd := exec.CommandContext(ctx, "sh", "-c", line, "sh", b.bin, "-test.failfast", "-test.count=1", "-test.timeout="+limit.String(), "-test.run=^("+strings.Join(tests, "|")+")$")
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "SLUICE_MUTANT="+strconv.Itoa(i), "SLUICE_MUTANT_HITS="+hits)
	cmd.WaitDelay = 10 * time.Second
	return combinedOutput(cmd)
}

// record runs each test that is asked alone, and notes how long it takes and which of the
// mutants, n of them, it comes by.
func (b *binary) record(ctx context.Context, work string, n int, which *regexp.Regexp) error {
	cmd := exec.CommandContext(ctx, b.bin, "-test.list", "^(Test|Fuzz|Example)")
	cmd.Dir = b.dir
	raw, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", b.dir, err)
	}
	path := filepath.Join(work, "hits")
	var unfit []error
	for test := range strings.FieldsSeq(string(raw)) {
		if !which.MatchString(test) {
			continue
		}
		if err := os.WriteFile(path, make([]byte, n+1), 0o600); err != nil {
			return err
		}
		begun := time.Now()
		out, err := b.exec(ctx, -1, []string{test}, path, 10*time.Minute)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			unfit = append(unfit, fmt.Errorf("%s %s fails without a change: %w\n%s", b.dir, test, err, tail(out)))
			continue
		}
		b.took[test] = time.Since(begun)
		hits, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, hit := range hits[:n] {
			if hit != 0 {
				b.hits[i] = append(b.hits[i], test)
			}
		}
	}
	return errors.Join(unfit...) // without them mutants would live that the tests notice
}

// quick is how long a test may take to be among those that are asked first.
const quick = 500 * time.Millisecond

// try asks the package's own tests, then those of the wider ones.
func (w *woven) try(ctx context.Context, i int) (verdict, by string, err error) {
	for n, b := range w.tests {
		if verdict, by, err = b.try(ctx, i); err != nil || verdict != survived {
			if n > 0 {
				by = filepath.Base(b.dir) + " " + by
			}
			return verdict, by, err
		}
	}
	return verdict, by, nil
}

// try returns what became of the mutant with number i, and who noticed.
func (b *binary) try(ctx context.Context, i int) (verdict, by string, err error) {
	var fast, slow []string
	limit := 20 * time.Second
	for _, t := range b.hits[i] {
		limit += 5 * b.took[t]
		if b.took[t] < quick {
			fast = append(fast, t)
		} else {
			slow = append(slow, t)
		}
	}
	slices.SortFunc(slow, func(x, y string) int { return int(b.took[x] - b.took[y]) })
	for _, tests := range [][]string{fast, slow} {
		if len(tests) == 0 {
			continue
		}
		out, died := b.exec(ctx, i, tests, "", limit)
		if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
		if died != nil {
			return killed, failure(out), nil //nolint:nilerr // that is what is wanted
		}
	}
	if len(b.hits[i]) == 0 {
		return survived, "no test comes by", nil
	}
	return survived, "", nil
}

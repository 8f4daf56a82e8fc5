package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A mutant is one change of one file.
type mutant struct {
	target  *target
	id      string // of the change and what is around it, not of its line
	op      string
	file    string // relative to the module
	line    int
	fn      string // function or declaration it is in
	was, is string // the changed source, on one line each
	from    int    // byte offsets of the change in the file
	to      int
	text    string // what stands there in the mutant
	inserts []insert
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d %s %s: `%s` -> `%s`", m.file, m.line, m.fn, m.op, m.was, m.is)
}

// apply returns the source of the mutant.
func (m *mutant) apply(src []byte) []byte {
	out := append([]byte(nil), src[:m.from]...)
	out = append(out, m.text...)
	return append(out, src[m.to:]...)
}

// A pkg is what "go list" says of a package.
type pkg struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// load parses and checks the target's package below root and returns its mutants
// in the order of the source.
func load(root string, t *target, list func(dir string) ([]byte, error)) ([]*mutant, error) {
	raw, err := list("./" + t.dir)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var own pkg
	for dec := json.NewDecoder(strings.NewReader(string(raw))); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list %s: %w", t.dir, err)
		}
		if p.DepOnly {
			exports[p.ImportPath] = p.Export
		} else {
			own = p
		}
	}
	fset := token.NewFileSet()
	sources := map[string][]byte{}
	var files []*ast.File
	for _, name := range own.GoFiles {
		path := filepath.Join(own.Dir, name)
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil, err
		}
		sources[path], files = src, append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	if _, err := conf.Check(own.ImportPath, fset, files, info); err != nil {
		return nil, fmt.Errorf("check %s: %w", t.dir, err)
	}
	var out []*mutant
	for _, f := range files {
		path := fset.File(f.Pos()).Name()
		if ast.IsGenerated(f) || len(t.only) > 0 && !slices.Contains(t.only, filepath.Base(path)) {
			continue
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			out = append(out, ofDecl(fset, info, t, filepath.ToSlash(rel), sources[path], d)...)
		}
	}
	number(out)
	return out, nil
}

func ofDecl(fset *token.FileSet, info *types.Info, t *target, file string, src []byte, d ast.Decl) []*mutant {
	var out []*mutant
	for _, e := range edits(fset, info, d) {
		from, to := fset.Position(e.pos).Offset, fset.Position(e.end).Offset
		m := &mutant{
			target: t, op: e.op, file: file, line: fset.Position(e.pos).Line, fn: declName(d),
			was: oneLine(string(src[from:to])), is: oneLine(e.text), from: from, to: to, text: e.text,
			id: lineAt(src, from), // number makes the identity of it
		}
		for _, w := range e.wraps {
			m.inserts = append(m.inserts, insert{fset.Position(w.pos).Offset, fset.Position(w.end).Offset, w.pre, w.post})
		}
		out = append(out, m)
	}
	return out
}

// number gives each mutant its identity: the hash of file, function, operator, the
// line and the change. Equal ones in a function are counted. So an identity outlives
// lines that are added above it and ends when its own line changes.
func number(ms []*mutant) {
	seen := map[string]int{}
	for _, m := range ms {
		key := strings.Join([]string{m.file, m.fn, m.op, m.id, m.was, m.is}, "\x00")
		n := seen[key]
		seen[key]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, n))
		m.id = hex.EncodeToString(sum[:6])
	}
}

func declName(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && len(d.Recv.List) > 0 {
			return strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + d.Name.Name
		}
		return d.Name.Name
	case *ast.GenDecl:
		return d.Tok.String()
	}
	return ""
}

func lineAt(src []byte, off int) string {
	start := strings.LastIndexByte(string(src[:off]), '\n') + 1
	end := strings.IndexByte(string(src[off:]), '\n')
	if end < 0 {
		end = len(src) - off
	}
	return strings.TrimSpace(string(src[start : off+end]))
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 160 {
		s = s[:160] + "…"
	}
	return s
}

// sample orders the mutants by a hash of the seed and their identity, one package
// after the other, so that each package has its share and a seed means the same
// mutants as long as their code is the same.
func sample(byTarget [][]*mutant, seed string) []*mutant {
	rank := func(m *mutant) string {
		sum := sha256.Sum256([]byte(seed + "\x00" + m.id))
		return string(sum[:])
	}
	longest := 0
	for _, ms := range byTarget {
		slices.SortFunc(ms, func(a, b *mutant) int { return cmp.Compare(rank(a), rank(b)) })
		longest = max(longest, len(ms))
	}
	var out []*mutant
	for i := range longest {
		for _, ms := range byTarget {
			if i < len(ms) {
				out = append(out, ms[i])
			}
		}
	}
	return out
}

package docindex

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// packages are the packages of the module in the order of their paths, and the first
// sentence of what each says of itself.
func packages(t *testing.T) (paths []string, synopsis map[string]string) {
	t.Helper()
	synopsis = map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name()[0] == '.' || d.Name()[0] == '_'):
			return fs.SkipDir
		case d.IsDir():
			if _, err := os.Stat(filepath.Join(root, name, "go.mod")); err == nil {
				return fs.SkipDir // another module
			}
			return nil
		case path.Ext(name) != ".go":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil || ignored(file) {
			return err
		}
		dir := path.Dir(name)
		if _, ok := synopsis[dir]; !ok {
			paths = append(paths, dir)
		}
		if file.Doc != nil && (synopsis[dir] == "" || path.Base(name) == "doc.go") {
			says := new(doc.Package).Synopsis(file.Doc.Text())
			for _, prefix := range []string{"Package " + file.Name.Name + " ", "Command " + path.Base(dir) + " "} {
				says = strings.TrimPrefix(says, prefix)
			}
			synopsis[dir] = says
		} else {
			synopsis[dir] += ""
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths, synopsis
}

// ignored reports whether a file is a program of its own, which "go run FILE" runs.
func ignored(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if c.Text == "//go:build ignore" {
				return true
			}
		}
	}
	return false
}

// TestPackages: docs/packages.md has a row for each package of the tree, with the first
// sentence of its comment.
func TestPackages(t *testing.T) {
	paths, synopsis := packages(t)
	if len(paths) < 150 {
		t.Errorf("found %d packages", len(paths))
	}
	var b strings.Builder
	b.WriteString("# Packages\n\nEvery package of the tree, with the first sentence of its comment (`go test ./internal/docindex -update` writes this page). " +
		"How they fit together: [architecture](architecture.md); what may import what: `internal/layers`.\n")
	tree := ""
	for _, p := range paths {
		top, _, _ := strings.Cut(p, "/")
		if top != tree {
			tree = top
			b.WriteString("\n## " + tree + "\n\n| package | what it is |\n| --- | --- |\n")
		}
		says := synopsis[p]
		if says == "" {
			t.Errorf("%s: no package comment", p)
		}
		b.WriteString("| `" + p + "` | " + strings.ReplaceAll(says, "|", `\|`) + " |\n")
	}
	file := filepath.Join(root, "docs", "packages.md")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != b.String() {
		t.Errorf("docs/packages.md is not what the packages say (%v): go test ./internal/docindex -update", err)
	}
}

// TestTreesOfArchitecture: the picture of the packages names every tree, and only packages
// that are there.
func TestTreesOfArchitecture(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Packages\n")
	table, _, _ = strings.Cut(table, "\n## ")
	paths, _ := packages(t)
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 || !strings.Contains(cells[1], "`") {
			continue
		}
		tree := strings.Trim(strings.TrimSpace(cells[1]), "`")
		for i, name := range strings.Split(cells[2], "`") {
			if i%2 == 0 || strings.Contains(name, "…") {
				continue
			}
			named := path.Join(tree, name)
			if !slices.ContainsFunc(paths, func(p string) bool { return p == named || strings.HasPrefix(p, named+"/") }) {
				t.Errorf("docs/architecture.md names `%s` in the row of %s, which has no such package", name, tree)
			}
		}
	}
	for _, p := range paths {
		if top, _, _ := strings.Cut(p, "/"); !strings.Contains(table, "| `"+top) {
			t.Errorf("docs/architecture.md has no row for the tree of %s", p)
		}
	}
}

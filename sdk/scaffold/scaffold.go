package scaffold

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// Languages are those that a project can be made for.
func Languages() []string { return []string{"go", "rust", "c"} }

// Data is what a project is made for.
type Data struct {
	Name string // slug
	Kind string
}

// File is one file of a project.
type File struct {
	Path    string // slashed, relative
	Content []byte
}

// Files returns the files of a project in a language. It fails for a language that
// is not in Languages, or has no projects of the kind: auth plugins are written in Go.
func Files(language string, d Data) ([]File, error) {
	files, err := below("templates/"+language, d)
	if err != nil || d.Kind != "auth" && d.Kind != "workflow" {
		return files, err
	}
	own, err := below("templates/"+language+"-"+d.Kind, d)
	if err != nil {
		return nil, err
	}
	// The guest package and how it is built are the language's, the rest is the kind's.
	files = slices.DeleteFunc(files, func(f File) bool {
		return !strings.Contains(f.Path, "sluice") && !slices.Contains([]string{"go.mod", "Cargo.toml", "gitignore"}, f.Path)
	})
	return append(files, own...), nil
}

// below are the files of one directory of templates.
func below(root string, d Data) ([]File, error) {
	language := strings.TrimPrefix(root, "templates/")
	var files []File
	err := fs.WalkDir(templates, root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := templates.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(path, root+"/"), ".tmpl")
		if strings.Contains(name, "sluice") { // the guest package: no template
			files = append(files, File{name, raw})
			return nil
		}
		t, err := template.New(name).Parse(string(raw))
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, d); err != nil {
			return err
		}
		files = append(files, File{name, b.Bytes()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("no project for the language %q: %w", language, err)
	}
	return files, nil
}

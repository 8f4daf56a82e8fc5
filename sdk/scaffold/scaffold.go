package scaffold

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed templates
var templates embed.FS

// language is one that projects are made in.
type language struct {
	name, title string
	source      string   // the file that an author changes
	install     string   // what has to be installed, for the README
	keep        []string // files of the language's directory that projects of every kind have, beside the guest package
	guest       string   // directory with the guest package; "": the language's own
	// filter, workflow and auth tell that manifest and golden cases of these kinds are those
	// that languages share, in mask, in workflow and in auth.
	filter, workflow, auth bool
}

var languages = []language{
	{name: "go", title: "Go", source: "main.go", keep: []string{"go.mod"}, install: "Go 1.24 or newer builds it."},
	{
		name: "rust", title: "Rust", source: "src/lib.rs", keep: []string{"Cargo.toml"}, workflow: true, auth: true,
		install: "Rust builds it, with `rustup target add wasm32-unknown-unknown` once.",
	},
	{name: "c", title: "C", source: "plugin.c", filter: true, workflow: true, auth: true, install: "clang and lld build it: `apt-get install clang lld`."},
	{
		name: "cpp", title: "C++", source: "plugin.cc", guest: "c", filter: true, workflow: true, auth: true,
		install: "clang and lld build it: `apt-get install clang lld`. There are no exceptions and no library of C++.",
	},
	{
		name: "assemblyscript", title: "AssemblyScript", source: "plugin.ts", keep: []string{"package.json", "package-lock.json"}, filter: true, workflow: true, auth: true,
		install: "Node.js 20 or newer builds it; the first build gets the compiler from npm (15 MB), as package-lock.json names it.",
	},
	{
		name: "zig", title: "Zig", source: "plugin.zig", filter: true, workflow: true, auth: true,
		install: "Zig builds it: `pip install ziglang==0.17.1`, or https://ziglang.org/download.",
	},
	{
		name: "javascript", title: "JavaScript", source: "plugin.js", filter: true, workflow: true, auth: true,
		install: "Nothing has to be installed: `sluice` builds it. Libraries have to be bundled into `plugin.js`, as one ECMAScript module.",
	},
}

// Languages are those that a project can be made for.
func Languages() []string {
	names := make([]string, len(languages))
	for i, l := range languages {
		names[i] = l.name
	}
	return names
}

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
// is not in Languages.
func Files(name string, d Data) ([]File, error) {
	i := slices.IndexFunc(languages, func(l language) bool { return l.name == name })
	if i < 0 {
		return nil, fmt.Errorf("no project for the language %q", name)
	}
	l := languages[i]
	special := d.Kind == "auth" || d.Kind == "workflow"
	// Of a special kind the guest package and how it is built are the language's, the rest
	// is the kind's.
	dirs := []part{{dir: name, keep: func(path string) bool {
		return !special || strings.Contains(path, "sluice") || path == "gitignore" || slices.Contains(l.keep, path)
	}}}
	if l.guest != "" {
		dirs = append(dirs, part{l.guest, func(path string) bool { return strings.Contains(path, "sluice") }})
	}
	switch {
	case special:
		dirs = append(dirs, part{dir: name + "-" + d.Kind})
		if d.Kind == "workflow" && l.workflow {
			dirs = append(dirs, part{dir: "workflow"})
		}
		if d.Kind == "auth" && l.auth {
			dirs = append(dirs, part{dir: "auth"})
		}
	case l.filter:
		dirs = append(dirs, part{dir: "mask"})
	}
	dirs = append(dirs, part{dir: "readme"})
	var files []File
	for _, p := range dirs {
		some, err := below(p, project{d, l.title, l.source, l.install})
		if err != nil {
			return nil, fmt.Errorf("no project of the kind %s for the language %s: %w", d.Kind, name, err)
		}
		files = append(files, some...)
	}
	return files, nil
}

// part is a directory of templates, or some files of it.
type part struct {
	dir  string
	keep func(path string) bool // nil: all
}

// project is what templates can name.
type project struct {
	Data
	Language, Source, Install string
}

// replacer writes the project where the templates name it. Package text/template would keep
// every method of every type in the program: the linker cannot know which it calls.
func (p project) replacer() *strings.Replacer {
	deadline := "50"
	if p.Language == "JavaScript" {
		deadline = "500" // milliseconds: it is interpreted
	}
	return strings.NewReplacer("{{.Name}}", p.Name, "{{.Kind}}", p.Kind, "{{.Language}}", p.Language, "{{.Source}}", p.Source, "{{.Install}}", p.Install,
		"{{.Deadline}}", deadline)
}

// below are the files of one part.
func below(p part, d project) ([]File, error) {
	root := "templates/" + p.dir
	var files []File
	err := fs.WalkDir(templates, root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(path, root+"/"), ".tmpl")
		if p.keep != nil && !p.keep(name) {
			return nil
		}
		raw, err := templates.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(name, "sluice") { // the guest package: no template
			files = append(files, File{name, raw})
			return nil
		}
		files = append(files, File{name, []byte(d.replacer().Replace(string(raw)))})
		return nil
	})
	return files, err
}

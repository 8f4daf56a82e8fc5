package docindex

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "write docs/llms.txt")

const root = "../.."

// page is one page of the documentation.
type page struct {
	path    string // below the root, with slashes
	title   string
	first   string // the first sentence below the title; "": there is none
	anchors map[string]bool
	links   []string // as they are written
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code    = regexp.MustCompile("`[^`]*`")
	markup  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	named   = regexp.MustCompile(`<a id="([^"]+)">`)
	heading = regexp.MustCompile(`^(#{1,6}) +(.+?)\s*$`)
)

// read reads a page: its text outside of code.
func read(t *testing.T, name string) *page {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	p := &page{path: name, anchors: map[string]bool{}}
	seen, fenced, paragraph := map[string]int{}, false, []string{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			if p.title == "" {
				p.title = plain(m[2])
			}
			p.anchor(seen, m[2])
			continue
		}
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			p.anchors[m[1]] = true
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(line, ""), -1) {
			p.links = append(p.links, m[1])
		}
		if p.title != "" && p.first == "" {
			switch text := strings.TrimSpace(line); {
			case text != "" && !strings.ContainsAny(text[:1], "|<!#*-"):
				paragraph = append(paragraph, text)
			case len(paragraph) > 0:
				p.first = sentence(plain(strings.Join(paragraph, " ")))
			}
		}
	}
	if p.first == "" {
		p.first = sentence(plain(strings.Join(paragraph, " ")))
	}
	return p
}

// anchor adds the anchor that GitHub gives a heading.
func (p *page) anchor(seen map[string]int, text string) {
	id := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, plain(text))
	n := seen[id]
	seen[id]++
	if n > 0 {
		id += "-" + string(rune('0'+n))
	}
	p.anchors[id] = true
}

// plain is text without markup.
func plain(s string) string {
	return strings.NewReplacer("`", "", "**", "").Replace(markup.ReplaceAllString(s, "$1"))
}

func sentence(s string) string {
	if i := strings.Index(s, ". "); i > 0 {
		return s[:i+1]
	}
	return strings.TrimSuffix(s, ":")
}

// pages are README.md and those below docs, in the order of their paths.
func pages(t *testing.T) map[string]*page {
	t.Helper()
	out := map[string]*page{}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} {
		out[name] = read(t, name)
	}
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Ext(name) == ".md" {
			out[name] = read(t, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReadme: the first page is short, and each figure of its table has a command.
func TestReadme(t *testing.T) {
	const mostLines = 60
	b, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); n > mostLines {
		t.Errorf("README.md has %d lines, want at most %d: move something to docs", n, mostLines)
	}
	_, table, found := strings.Cut(string(b), "| measured | | repeat it |\n| --- | --- | --- |\n")
	rows, _, _ := strings.Cut(table, "\n\n")
	if !found || rows == "" {
		t.Fatal("README.md has no table of what was measured")
	}
	for row := range strings.Lines(rows) {
		if !strings.Contains(row, "](docs/") || !strings.Contains(row, "| `make ") {
			t.Errorf("README.md does not say where this is measured, or how: %s", row)
		}
	}
}

// TestLinks: each link to a file of the project leads to one, and to a heading that is there,
// and to each page of the documentation leads one, or one to its folder.
func TestLinks(t *testing.T) {
	all := pages(t)
	linked := map[string]bool{"README.md": true}
	for _, p := range all {
		for _, l := range p.links {
			if strings.Contains(l, "://") || strings.HasPrefix(l, "mailto:") {
				continue
			}
			target, anchor, _ := strings.Cut(l, "#")
			name := p.path
			if target != "" {
				name = path.Join(path.Dir(p.path), target)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
				t.Errorf("%s: the link %s leads nowhere", p.path, l)
				continue
			}
			if name != p.path {
				linked[name] = true
			}
			if q := all[name]; q != nil && anchor != "" && !q.anchors[anchor] {
				t.Errorf("%s: %s has no heading for the link %s", p.path, name, l)
			}
		}
	}
	for name := range all {
		if dir := path.Dir(name); dir != "." && !linked[name] && !linked[dir] {
			t.Errorf("no page links to %s", name)
		}
	}
}

// TestLLMs: docs/llms.txt lists the pages for users, with what each is about.
func TestLLMs(t *testing.T) {
	all := pages(t)
	var b strings.Builder
	b.WriteString("# Sluice\n\n> A gateway that turns APIs (OpenAPI specifications, MCP servers) into toolsets: tools at one URL that AI agents call over MCP, with small answers.\n" +
		"\nOne static binary, `sluice`, is the gateway, the admin API with its console, and the registry of plugins. Pages are Markdown; paths are relative to this file.\n")
	for _, s := range []struct{ title, dir string }{{"Use", "docs"}, {"Operate", "docs/operate"}, {"Write plugins", "docs/plugins"}} {
		b.WriteString("\n## " + s.title + "\n\n")
		var names []string
		for name := range all {
			if path.Dir(name) == s.dir {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			p := all[name]
			if p.title == "" {
				t.Errorf("%s has no title", name)
			}
			b.WriteString("- [" + p.title + "](" + strings.TrimPrefix(name, "docs/") + ")")
			if p.first != "" {
				b.WriteString(": " + p.first)
			}
			b.WriteString("\n")
		}
	}
	file := filepath.Join(root, "docs", "llms.txt")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != b.String() {
		t.Errorf("docs/llms.txt is not what the pages say (%v): go test ./internal/docindex -update", err)
	}
}

// TestLLMsFull: the file that docs/llms-full.sh prints has every page that llms.txt lists, whole.
func TestLLMsFull(t *testing.T) {
	out, err := exec.Command("bash", filepath.Join(root, "docs", "llms-full.sh")).Output()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for name, p := range pages(t) {
		if dir := path.Dir(name); dir != "docs" && dir != "docs/operate" && dir != "docs/plugins" {
			continue
		}
		count++
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(out, text) {
			t.Errorf("%s (%s) is not in it as it is", name, p.title)
		}
	}
	if count < 40 {
		t.Errorf("found %d pages", count)
	}
}

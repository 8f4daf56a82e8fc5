package catalog

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
)

// extension of the files of entries.
const extension = ".yaml"

// maxEntries of a folder.
const maxEntries = 2000

//go:embed entries/*.yaml
var entries embed.FS

//go:embed entry.schema.json
var schema []byte

// Schema is the JSON Schema (draft 2020-12) of entries, for editors. The caller owns it.
func Schema() []byte { return slices.Clone(schema) }

// Catalog is a set of entries. It never changes: any goroutine may read it.
type Catalog struct {
	entries []*Entry // by id
}

// BuiltIn is the catalog of the entries that come with the program, read once.
func BuiltIn() (*Catalog, error) { return builtIn() }

var builtIn = sync.OnceValues(func() (*Catalog, error) {
	dir, err := fs.Sub(entries, "entries")
	if err != nil {
		return nil, fmt.Errorf("opening the built-in catalog: %w", err)
	}
	list, faults := Read(dir)
	return &Catalog{entries: list}, errors.Join(faults...)
})

// Open reads the entries of a folder; the faults are those of single files, which are
// left out.
func Open(dir string) (list []*Entry, faults []error, err error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the catalog: %w", err)
	}
	if !info.IsDir() {
		return nil, nil, problem.New(problem.InvalidArgument, "the catalog %s is not a folder", dir)
	}
	root, err := os.OpenRoot(dir) // no link leads out of it
	if err != nil {
		return nil, nil, fmt.Errorf("opening the catalog: %w", err)
	}
	defer root.Close()
	list, faults = Read(root.FS())
	return list, faults, nil
}

// Read reads the *.yaml files of a folder, without those below it, and orders the entries
// by id. A file at fault is left out.
func Read(dir fs.FS) (list []*Entry, faults []error) {
	files, err := fs.Glob(dir, "*"+extension)
	if err != nil {
		return nil, []error{fmt.Errorf("listing the catalog: %w", err)}
	}
	if len(files) > maxEntries {
		return nil, []error{problem.New(problem.TooLarge, "the catalog has %d entries, the limit is %d", len(files), maxEntries).
			Fix("split it into several folders: --catalog may be given several times")}
	}
	for _, name := range files {
		e, err := readFile(dir, name)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		list = append(list, e)
	}
	faults = append(faults, misnamed(dir)...)
	// The order of files is another: asana-mcp.yaml is before asana.yaml.
	slices.SortFunc(list, func(a, b *Entry) int { return strings.Compare(a.ID, b.ID) })
	return list, faults
}

// misnamed are files that look like entries and are not read, because of the end of their names.
func misnamed(dir fs.FS) (faults []error) {
	for _, pattern := range []string{"[^.]*.[yY][mM][lL]", "[^.]*.[yY][aA][mM][lL]"} {
		files, _ := fs.Glob(dir, pattern) // the patterns are well-formed
		for _, name := range files[:min(len(files), maxEntries)] {
			if stem := strings.TrimSuffix(name, path.Ext(name)); path.Ext(name) != extension {
				faults = append(faults, problem.New(problem.InvalidArgument, "the file is not read: the files of entries end in %s", extension).At(name, 0, 0, "").Fix("rename it to %.80s%s", stem, extension))
			}
		}
	}
	return faults
}

// readFile reads one entry, and no more of the file than an entry may have.
func readFile(dir fs.FS, name string) (*Entry, error) {
	info, err := fs.Stat(dir, name) // before it is opened: who opens a pipe waits for its other end
	if link, lerr := fs.Lstat(dir, name); err != nil && lerr == nil && link.Mode()&fs.ModeSymlink != 0 {
		return nil, problem.New(problem.InvalidArgument, "the entry is a symbolic link that leads out of the folder, or to nothing").At(name, 0, 0, "").
			Fix("copy the file into the folder").Because(err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the entry %s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, problem.New(problem.InvalidArgument, "the entry is not a regular file").At(name, 0, 0, "").Fix("move it out of the folder")
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the entry %s: %w", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxEntryBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the entry %s: %w", name, err)
	}
	return Parse(name, data)
}

// With is the catalog with more entries; one whose id it has replaces that one.
func (c *Catalog) With(more []*Entry) *Catalog {
	out := &Catalog{entries: slices.Clone(c.entries)}
	for _, e := range more {
		if i, found := out.find(e.ID); found {
			out.entries[i] = e
		} else {
			out.entries = slices.Insert(out.entries, i, e)
		}
	}
	return out
}

// All are the entries by id. They are the catalog's own and must not be changed.
func (c *Catalog) All() []*Entry { return slices.Clone(c.entries) }

func (c *Catalog) find(id string) (int, bool) {
	return slices.BinarySearchFunc(c.entries, id, func(e *Entry, id string) int { return strings.Compare(e.ID, id) })
}

// Entry finds an entry; the fault names the one that was probably meant. The entry is the
// catalog's own and must not be changed.
func (c *Catalog) Entry(id string) (*Entry, error) {
	if i, found := c.find(id); found {
		return c.entries[i], nil
	}
	p := problem.New(problem.NotFound, "the catalog has no entry %.80q", id)
	if name := c.nearest(id); name != "" {
		return nil, p.Fix("did you mean %s?", name)
	}
	return nil, p.Fix("see: sluice catalog list")
}

// nearest is the id that was probably meant; "": none is close.
func (c *Catalog) nearest(id string) string {
	return nearest.Name(id, func(yield func(string) bool) {
		for _, e := range c.entries {
			if !yield(e.ID) {
				return
			}
		}
	})
}

// Bounds of a search.
const (
	maxQuery = 256 // bytes
	maxTerms = 16
)

// Search finds the entries that have words that begin with those of a query, in their
// name, category, summary or tools, or those words in what people ask of their tools: first
// those that have the most of them, and of those the ones where they weigh the most. An empty
// query finds all, by id; one that finds nothing finds the entry whose id is nearly it.
func (c *Catalog) Search(query string) []*Entry {
	terms := words(query[:min(len(query), maxQuery)])
	if len(terms) == 0 {
		return c.All()
	}
	if telling := slices.DeleteFunc(slices.Clone(terms), func(w string) bool { return idle[w] }); len(telling) > 0 {
		terms = telling
	}
	terms = terms[:min(len(terms), maxTerms)]
	type hit struct {
		e             *Entry
		terms, weight int
	}
	var hits []hit
	for _, e := range c.entries {
		h := hit{e: e}
		for _, term := range terms {
			w := e.weight(term)
			if w == 0 && e.asked(term) {
				w = 1
			}
			if w > 0 {
				h.terms, h.weight = h.terms+1, h.weight+w
			}
		}
		if h.terms > 0 {
			hits = append(hits, h)
		}
	}
	if len(hits) == 0 {
		if i, found := c.find(c.nearest(query)); found {
			return []*Entry{c.entries[i]}
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Or(b.terms-a.terms, b.weight-a.weight) })
	out := make([]*Entry, len(hits))
	for i := range hits {
		out[i] = hits[i].e
	}
	return out
}

// idle are words of a query that say nothing of what is looked for, unless there are no
// others.
var idle = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("a an and are as at be by can do does for from get has have how i in into is it its list me my of on or our own so that the their them then there these this those to use using want we what when where which who with you your") {
		m[w] = true
	}
	return m
}()

// weight is what it is worth that an entry has a word: most in its name.
func (e *Entry) weight(term string) (w int) {
	in := func(text string, whole, begins int) {
		for _, word := range words(text) {
			switch {
			case word == term, len(term) > 3 && word == strings.TrimSuffix(term, "s"): // refunds: create_refund
				w = max(w, whole)
			case len(term) > 2 && strings.HasPrefix(word, term):
				w = max(w, begins)
			}
		}
	}
	in(e.ID+" "+e.Name, 20, 10)
	in(e.Category, 8, 6)
	in(e.Summary, 5, 4)
	for i := range e.UseCases {
		in(e.UseCases[i].ID+" "+e.UseCases[i].Summary, 4, 3)
	}
	for i := range e.Tools {
		in(e.Tools[i].Name, 3, 2)
	}
	return w
}

// asked tells that somebody says a word who asks for a tool of the entry.
func (e *Entry) asked(term string) bool {
	said := func(text string) bool {
		return strings.Contains(strings.ToLower(text), term) && slices.Contains(words(text), term)
	}
	for i := range e.Tools {
		if slices.ContainsFunc(e.Tools[i].Examples, said) || slices.ContainsFunc(e.Tools[i].Asks, said) {
			return true
		}
	}
	return false
}

// words of a text, in lower case; e-mail is email.
func words(text string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(strings.ToLower(text), "e-mail", "email"), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 0x7f) })
}

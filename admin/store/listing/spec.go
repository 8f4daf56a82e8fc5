package listing

import (
	"iter"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
)

// Kind says how the values of a field are written and compared.
type Kind int

// The kinds.
const (
	Word   Kind = iota // an identifier or one of a few values: equal, or the beginning with *
	Text               // words of people: what contains it
	Number             // also compared
	Time               // also compared
	Bool               // true, false
	Label              // labels as JSON: name, or name=value
)

// Field is something that a list can be filtered by.
type Field struct {
	Name   string
	Kind   Kind
	Values []string // of a Word that has few
	Search bool     // q looks in it
	NoSort bool     // the list cannot be sorted by it
	Column string   // column or expression of the database; empty: the list is in memory
	// Parent ends a value that others begin with: a Word finds VALUE, and VALUE Parent ….
	Parent string
	// Scale is how many units of the database one unit of the field has. Default: 1
	Scale float64
}

// Unsorted is the field in a list that cannot be sorted by it.
func (f Field) Unsorted() Field { f.NoSort = true; return f }

// Within is the field whose values find what is below them, too.
func (f Field) Within(parent string) Field { f.Parent = parent; return f }

// Order is a part of how a list is sorted.
type Order struct {
	Field Field
	Desc  bool
}

// Spec is what can be done with a list.
type Spec struct {
	Fields []Field
	// Default is the order without orderBy. Its last part is unique and ends every
	// other order. Empty: the list has an order of its own.
	Default []Order
}

func (s *Spec) field(name string) (*Field, bool) {
	i := slices.IndexFunc(s.Fields, func(f Field) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		return nil, false
	}
	return &s.Fields[i], true
}

// Searched says whether q finds something in the list.
func (s *Spec) Searched() bool {
	return slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Search })
}

// Names are those of the fields that a filter takes.
func (s *Spec) Names() []string { return slices.Collect(s.names(func(*Field) bool { return true })) }

// Sorted are the names of the fields that a list can be sorted by.
func (s *Spec) Sorted() []string {
	return slices.Collect(s.names(func(f *Field) bool { return !f.NoSort }))
}

// SearchedNames are the names of the fields that q looks in.
func (s *Spec) SearchedNames() []string {
	return slices.Collect(s.names(func(f *Field) bool { return f.Search }))
}

func (s *Spec) names(take func(*Field) bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range s.Fields {
			if take(&s.Fields[i]) && !yield(s.Fields[i].Name) {
				return
			}
		}
	}
}

// unknown refuses a name that is none of names.
func unknown(what, parameter, name string, names []string) error {
	p := problem.New(problem.InvalidArgument, "%s: this list has no %s %.80q", parameter, what, name)
	if best := nearest.Name(name, slices.Values(names)); best != "" {
		return p.Fix("did you mean %s? %s takes: %s", best, parameter, strings.Join(names, ", "))
	}
	if len(names) == 0 {
		return p.Fix("leave %s out", parameter)
	}
	return p.Fix("%s takes: %s", parameter, strings.Join(names, ", "))
}

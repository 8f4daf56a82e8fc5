package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// ErrNotJSON means that a plugin made something else of a JSON document.
var ErrNotJSON = errors.New("its output is not JSON")

// CheckEffect checks that what a filter or projection made of a JSON document has the
// effect that its manifest says: a part of the document, or what follows the schema. Both
// are valid JSON; answer says that the document is the answer, of which the schema speaks.
// Its errors are for the plugin's author, and say nothing of the document's values.
func (p *Package) CheckEffect(in, out []byte, answer bool) error {
	effect, schema := p.Effect()
	switch {
	case effect == manifest.EffectSubset && !bytes.Equal(in, out):
		return subset(in, out)
	case effect == manifest.EffectReplace && answer:
		return p.follows(schema, out)
	}
	return nil
}

// CheckOffered checks that what a workflow made of its arguments, valid JSON, follows the
// outputSchema of the tool that it offers, when it has one. Errors are as of [Package.CheckEffect].
func (p *Package) CheckOffered(out []byte) error {
	if t := p.Manifest.Tool; t != nil && t.OutputSchema != nil {
		return p.follows(t.OutputSchema, out)
	}
	return nil
}

// follows checks a document against the one schema of answers that a package has.
func (p *Package) follows(schema json.RawMessage, out []byte) error {
	r := p.replaced
	if r == nil {
		r = &replaced{}
	}
	r.once.Do(func() { r.schema, r.err = CompileSchema(schema) })
	if r.err != nil { // it was published before schemas were checked
		return nil //nolint:nilerr // there is no schema to follow
	}
	if err := r.schema.Check(out); err != nil {
		return fmt.Errorf("its output does not follow its schema: %w", err)
	}
	return nil
}

// replaced is what a package promises of its answers, compiled at the first one.
type replaced struct {
	once   sync.Once
	schema *Schema
	err    error
}

// shape is what a document has at one place: of all items of a list together.
type shape struct {
	kinds   uint8 // a bit for each jsonscan.Kind
	longest int   // of lists here
	items   *shape
	members map[string]*shape
}

// add adds a value.
func (s *shape) add(v jsonscan.Value) {
	k := v.Kind()
	s.kinds |= 1 << k
	switch k {
	case jsonscan.Array:
		if s.items == nil {
			s.items = &shape{}
		}
		n := 0
		for it := v.Elements(); it.Next(); n++ {
			s.items.add(it.Value())
		}
		s.longest = max(s.longest, n)
	case jsonscan.Object:
		if s.members == nil {
			s.members = map[string]*shape{}
		}
		for it := v.Members(); it.Next(); {
			var room [64]byte
			name := it.KeyText(room[:0])
			m := s.members[string(name)]
			if m == nil {
				m = &shape{}
				s.members[string(name)] = m
			}
			m.add(it.Value())
		}
	}
}

// maxWhere is how much of the place of a fault is named.
const maxWhere = 200

// lacks says where a value has what the shape has not; "" for nowhere.
func (s *shape) lacks(v jsonscan.Value, at []byte) string {
	k := v.Kind()
	if s.kinds&(1<<k) == 0 {
		return fmt.Sprintf("%s is a value of the type %s, which nothing there was", place(at), k)
	}
	switch k {
	case jsonscan.Array:
		n := 0
		for it := v.Elements(); it.Next(); n++ {
			if fault := s.items.lacks(it.Value(), append(at, "/*"...)); fault != "" {
				return fault
			}
		}
		if n > s.longest {
			return fmt.Sprintf("%s has %d items, more than the %d that came", place(at), n, s.longest)
		}
	case jsonscan.Object:
		for it := v.Members(); it.Next(); {
			here := it.KeyText(append(at, '/'))
			m := s.members[string(here[len(at)+1:])]
			if m == nil {
				return place(here) + " is a member that did not come"
			}
			if fault := m.lacks(it.Value(), here); fault != "" {
				return fault
			}
		}
	}
	return ""
}

func place(at []byte) string {
	if len(at) == 0 {
		return "it"
	}
	return string(at[:min(len(at), maxWhere)])
}

// subset checks that a document is another without some of its members and items: what is
// there has a place and a type that came. Values and the order of items are not compared:
// they may be shortened, masked and sorted.
func subset(in, out []byte) error {
	from, err := jsonscan.Parse(in, 0)
	if err != nil {
		return nil //nolint:nilerr // it was not a document: there is nothing to compare with
	}
	made, err := jsonscan.Parse(out, 0)
	if err != nil {
		return ErrNotJSON
	}
	var s shape
	s.add(from)
	if fault := s.lacks(made, nil); fault != "" {
		return fmt.Errorf(`its output is no part of what it got, and its manifest says effect "subset": %s`, fault)
	}
	return nil
}

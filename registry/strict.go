package registry

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// maxFaults is how many faults of one document are reported; the rest adds
// nothing a person would read.
const maxFaults = 16

// faults collects what is wrong with a document.
type faults struct {
	kind  problem.Kind
	parts []*problem.Error
}

func (f *faults) full() bool { return len(f.parts) >= maxFaults }

func (f *faults) add(pointer, format string, args ...any) {
	if !f.full() {
		f.parts = append(f.parts, problem.New(f.kind, format, args...).At("", 0, 0, pointer))
	}
}

func (f *faults) check(ok bool, pointer, format string, args ...any) {
	if !ok {
		f.add(pointer, format, args...)
	}
}

func (f *faults) text(pointer, s string, lo, hi int) {
	f.check(validText(s, lo, hi), pointer, "the text must be %d to %d characters of UTF-8 without control characters", lo, hi)
}

// err is nil without faults, the fault itself when there is one, else an error
// with all of them as Parts.
func (f *faults) err(format string, args ...any) error {
	switch len(f.parts) {
	case 0:
		return nil
	case 1:
		return f.parts[0]
	}
	e := problem.New(f.kind, format, args...)
	e.Detail += ": " + f.parts[0].Error()
	e.Parts = f.parts
	return e
}

// maxDepth of a document: toolsets and releases nest five deep.
const maxDepth = 32

// decode reads exactly one JSON document into v, a pointer to a struct: at most
// limit bytes, UTF-8, no field that v does not have in exactly that spelling,
// none twice, nothing behind it. encoding/json alone takes "Revision" for
// "revision" and the last of two, so that another reader of the same signed
// bytes could see another document.
func decode(b []byte, v any, limit int, kind problem.Kind, what string) error {
	if len(b) > limit {
		return problem.New(kind, "the %s has %d bytes, the limit is %d", what, len(b), limit)
	}
	doc, err := jsonscan.Parse(b, maxDepth)
	if err != nil {
		return problem.New(kind, "the %s cannot be read: %s", what, err.Error()).Because(err)
	}
	if pointer, fault := spelling(doc, reflect.TypeOf(v)); fault != "" {
		return problem.New(kind, "the %s %s", what, fault).At("", 0, 0, pointer)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return problem.New(kind, "the %s cannot be read: %.200s", what, err.Error()).Because(err)
	}
	return nil
}

// spelling compares the member names of a document with the fields of the type
// it is meant for. It returns where and what the first fault is. Values of
// another kind than the type's are left to encoding/json.
func spelling(v jsonscan.Value, t reflect.Type) (pointer, fault string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice && v.Kind() == jsonscan.Array:
		i := 0
		for it := v.Elements(); it.Next(); i++ {
			if p, f := spelling(it.Value(), t.Elem()); f != "" {
				return "/" + strconv.Itoa(i) + p, f
			}
		}
	case t.Kind() == reflect.Map && v.Kind() == jsonscan.Object:
		seen := map[string]bool{}
		for it := v.Members(); it.Next(); {
			name := string(it.KeyText(nil))
			if seen[name] {
				return "", fmt.Sprintf("has the field %.80q twice", name)
			}
			seen[name] = true
			if p, fault := spelling(it.Value(), t.Elem()); fault != "" {
				return "/" + pointerTokens.Replace(name) + p, fault
			}
		}
	case t.Kind() == reflect.Struct && v.Kind() == jsonscan.Object && t != timeType:
		known := fieldsOf(t)
		var seen uint64 // our structs have under 64 fields
		var name []byte
		for it := v.Members(); it.Next(); {
			name = it.KeyText(name[:0])
			f, ok := known[string(name)]
			if !ok {
				return "", fmt.Sprintf("has a field %.80q this version does not know", name)
			}
			if seen&(1<<f.bit) != 0 {
				return "", fmt.Sprintf("has the field %q twice", name)
			}
			seen |= 1 << f.bit
			if p, fault := spelling(it.Value(), f.typ); fault != "" {
				return "/" + string(name) + p, fault
			}
		}
	}
	return "", ""
}

type field struct {
	bit uint
	typ reflect.Type
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	fieldCache sync.Map // reflect.Type → map[string]field
)

func fieldsOf(t reflect.Type) map[string]field {
	if m, ok := fieldCache.Load(t); ok {
		return m.(map[string]field)
	}
	m := make(map[string]field, t.NumField())
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if i >= 64 || name == "" {
			panic("BUG: " + t.String() + " does not suit strict reading")
		}
		m[name] = field{bit: uint(i), typ: t.Field(i).Type}
	}
	fieldCache.Store(t, m)
	return m
}

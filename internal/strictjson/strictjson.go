// Package strictjson decodes JSON documents that are signed, stored or written by
// somebody else into structs. Unlike encoding/json alone it refuses unknown members,
// member names in another case, members that occur twice, invalid UTF-8 and anything
// after the document, so that two readers of the same bytes see the same document.
package strictjson

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Error is the first fault of a document.
type Error struct {
	Pointer string   // JSON pointer to the value at fault; "" for the whole document
	Text    string   // reads after the name of the document: "has 9 bytes, the limit is 8"
	Member  string   // of the value at the pointer, when it is not known there; else ""
	Known   []string // the members that are known there, by name; with Member only
	Cause   error    // of the scanner or encoding/json, nil otherwise
}

// Error is a clause about the document, behind the pointer where there is one.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return "it " + e.Text
	}
	return e.Pointer + ": it " + e.Text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Decode decodes b, exactly one JSON document of at most size bytes and depth levels
// of nesting, into v, a pointer. A depth of zero means [jsonscan.DefaultMaxDepth].
// Fields of v's structs need a json tag with a name or "-". Types with an
// UnmarshalJSON method check their own members. Values of another kind than their
// field are left to encoding/json to refuse.
func Decode(b []byte, v any, size, depth int) *Error {
	if len(b) > size {
		return &Error{Text: fmt.Sprintf("has %d bytes, the limit is %d", len(b), size)}
	}
	doc, err := jsonscan.Parse(b, depth)
	if err != nil {
		return unreadable(err)
	}
	if e := check(doc, reflect.TypeOf(v)); e != nil {
		return e
	}
	if err := json.Unmarshal(b, v); err != nil {
		return unreadable(err)
	}
	return nil
}

func unreadable(err error) *Error {
	return &Error{Text: fmt.Sprintf("cannot be read: %.200s", err.Error()), Cause: err}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// check compares the member names of v with the fields of t. The pointer of a fault
// is built on the way back up, so that a document without one costs nothing for it.
func check(v jsonscan.Value, t reflect.Type) *Error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice && v.Kind() == jsonscan.Array && !scalar(t.Elem()):
		i := 0
		for it := v.Elements(); it.Next(); i++ {
			if e := check(it.Value(), t.Elem()); e != nil {
				return e.under(strconv.Itoa(i))
			}
		}
	case t.Kind() == reflect.Map && v.Kind() == jsonscan.Object:
		seen := map[string]bool{}
		for it := v.Members(); it.Next(); {
			name := string(it.KeyText(nil))
			if seen[name] {
				return &Error{Text: fmt.Sprintf("has the field %.80q twice", name)}
			}
			seen[name] = true
			if e := check(it.Value(), t.Elem()); e != nil {
				return e.under(name)
			}
		}
	case t.Kind() == reflect.Struct && v.Kind() == jsonscan.Object:
		known := fieldsOf(t)
		if known == nil {
			return nil
		}
		var seen uint64 // one bit for each field, see fieldsOf
		var name []byte
		for it := v.Members(); it.Next(); {
			name = it.KeyText(name[:0])
			f, ok := known[string(name)]
			if !ok {
				return &Error{Text: fmt.Sprintf("has a field %.80q this version does not know", name), Member: string(name), Known: slices.Sorted(maps.Keys(known))}
			}
			if seen&(1<<f.bit) != 0 {
				return &Error{Text: fmt.Sprintf("has the field %q twice", name)}
			}
			seen |= 1 << f.bit
			if e := check(it.Value(), f.typ); e != nil {
				return e.under(string(name))
			}
		}
	}
	return nil
}

func scalar(t reflect.Type) bool { return t.Kind() <= reflect.Float64 || t.Kind() == reflect.String }

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// EscapeToken returns a token as it stands in a JSON pointer (RFC 6901 §3).
func EscapeToken(token string) string { return escape.Replace(token) }

func (e *Error) under(token string) *Error {
	e.Pointer = "/" + EscapeToken(token) + e.Pointer
	return e
}

type field struct {
	bit uint
	typ reflect.Type
}

var fieldCache sync.Map // reflect.Type → map[string]field

// fieldsOf returns the fields of a struct by their JSON name, nil for one that reads
// itself.
func fieldsOf(t reflect.Type) map[string]field {
	if m, ok := fieldCache.Load(t); ok {
		return m.(map[string]field)
	}
	var m map[string]field
	if !reflect.PointerTo(t).Implements(unmarshaler) {
		m = make(map[string]field, t.NumField())
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if i >= 64 || name == "" {
				panic("BUG: " + t.String() + " does not suit strict reading")
			}
			if name != "-" {
				m[name] = field{bit: uint(i), typ: t.Field(i).Type}
			}
		}
	}
	fieldCache.Store(t, m)
	return m
}

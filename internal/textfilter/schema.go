package textfilter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Bounds of the texts in a JSON Schema that a server wrote. What agents read of all
// tools together is a part of their context.
const (
	MaxSchemaText  = 2 << 10  // bytes of one title or description; the longest useful ones have half
	MaxSchemaTexts = 16 << 10 // bytes of all of them in one schema
	MaxSchemaValue = 1 << 10  // bytes of one default or example
	maxSchemaDepth = 64       // nesting; real ones stay below 20
)

// Removed is a part of a schema that [AppendSchema] changed or left out.
type Removed struct {
	At     string // JSON pointer
	Reason Reason
	Quote  string // printable
}

// Reason is why something was changed or left out.
type Reason string

// The reasons.
const (
	HiddenCharacters  Reason = "hidden characters"
	TooLong           Reason = "too long"
	ExternalReference Reason = "external reference"
)

// errSchemaDepth says that a schema cannot be looked at to its end.
var errSchemaDepth = errors.New("its schema is nested deeper than " + strconv.Itoa(maxSchemaDepth) + " levels")

// AppendSchema appends a JSON Schema, which must be validated JSON, as agents may see
// it. Texts for people lose their hidden characters and what is over the bounds.
// Values that are sent to the server are never changed: a property, an enum value, a
// default or an example with hidden characters is left out; where the server needs it
// (a required property, a constant, the only values of an enum) the error says so.
// References that lead out of the document are left out.
func AppendSchema(dst, raw []byte) ([]byte, []Removed, error) {
	w := schemaWriter{b: dst}
	err := w.schema(jsonscan.Trusted(raw), "", 0)
	return w.b, w.removed, err
}

type schemaWriter struct {
	b       []byte
	removed []Removed
	texts   int // bytes of titles and descriptions so far
}

func (w *schemaWriter) note(at string, reason Reason, quote []byte) {
	if len(w.removed) < maxFindings {
		w.removed = append(w.removed, Removed{at, reason, Visible(string(quote), maxQuote)})
	}
}

// dirty reports hidden characters in any string of v.
func dirty(v jsonscan.Value) bool {
	return IndexJSON(v.Raw()) >= 0 && string(AppendJSON(nil, v.Raw())) != string(v.Raw())
}

func pointer(at, name string) string {
	return string(appendToken([]byte(at+"/"), []byte(Visible(name, maxQuote))))
}

func (w *schemaWriter) schema(v jsonscan.Value, at string, depth int) error {
	if depth > maxSchemaDepth {
		return errSchemaDepth
	}
	switch v.Kind() {
	case jsonscan.Array:
		return w.list(v, at, depth)
	case jsonscan.Object:
	case jsonscan.String:
		w.b = AppendJSON(w.b, v.Raw())
		return nil
	default:
		w.b = append(w.b, v.Raw()...)
		return nil
	}
	w.b = append(w.b, '{')
	mark := len(w.b)
	for m := v.Members(); m.Next(); {
		name := string(m.KeyText(nil))
		if Index([]byte(name)) >= 0 || halves(m.Key()) { // no keyword of any dialect
			w.note(at, HiddenCharacters, []byte(name))
			continue
		}
		before := len(w.b)
		if before > mark {
			w.b = append(w.b, ',')
		}
		w.b = append(append(append(w.b, '"'), m.Key()...), '"', ':')
		kept, err := w.keyword(name, m.Value(), pointer(at, name), depth)
		if err != nil {
			return err
		}
		if !kept {
			w.b = w.b[:before]
		}
	}
	w.b = append(w.b, '}')
	return nil
}

func (w *schemaWriter) list(v jsonscan.Value, at string, depth int) error {
	w.b = append(w.b, '[')
	i := 0
	for e := v.Elements(); e.Next(); i++ {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		if err := w.schema(e.Value(), at+"/"+strconv.Itoa(i), depth+1); err != nil {
			return err
		}
	}
	w.b = append(w.b, ']')
	return nil
}

// keyword writes the value of one keyword and reports whether it is kept.
func (w *schemaWriter) keyword(name string, v jsonscan.Value, at string, depth int) (kept bool, err error) {
	switch name {
	case "title", "description", "$comment":
		if v.Kind() == jsonscan.String {
			return w.text(v, at), nil
		}
	case "$ref", "$dynamicRef", "$recursiveRef":
		if text := v.AppendText(nil); v.Kind() != jsonscan.String || !strings.HasPrefix(string(text), "#") {
			w.note(at, ExternalReference, text)
			return false, nil
		}
	case "$id", "id", "$schema":
		if v.Kind() == jsonscan.String && (name == "$id" || dirty(v)) { // a base would lead every reference out
			if name == "$id" {
				return false, nil
			}
			w.note(at, HiddenCharacters, v.AppendText(nil))
			return false, nil
		}
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		if v.Kind() == jsonscan.Object {
			return true, w.properties(v, at, depth+1)
		}
	case "required":
		if dirty(v) {
			return false, fmt.Errorf("it requires a property with hidden characters in its name: %s", Visible(string(v.Raw()), maxQuote))
		}
	case "enum":
		if v.Kind() == jsonscan.Array {
			return w.values(v, at, true)
		}
	case "examples":
		if v.Kind() == jsonscan.Array {
			return w.values(v, at, false)
		}
	case "const":
		if dirty(v) {
			return false, fmt.Errorf("it requires a value with hidden characters: %s", Visible(string(v.Raw()), maxQuote))
		}
		w.b = append(w.b, v.Raw()...)
		return true, nil
	case "default", "example":
		switch {
		case dirty(v):
			w.note(at, HiddenCharacters, v.Raw())
			return false, nil
		case len(v.Raw()) > MaxSchemaValue:
			w.note(at, TooLong, v.Raw())
			return false, nil
		}
		w.b = append(w.b, v.Raw()...)
		return true, nil
	case "pattern", "format":
		if dirty(v) {
			w.note(at, HiddenCharacters, v.Raw())
			return false, nil
		}
	}
	return true, w.schema(v, at, depth+1)
}

// text writes a title or description.
func (w *schemaWriter) text(v jsonscan.Value, at string) bool {
	raw := v.AppendText(nil)
	clean := raw
	if dirty(v) {
		clean = Append(nil, raw)
		w.note(at, HiddenCharacters, raw)
	}
	if len(clean) > MaxSchemaText {
		w.note(at, TooLong, clean)
		clean = Cut(clean, MaxSchemaText)
	}
	if w.texts+len(clean) > MaxSchemaTexts {
		w.note(at, TooLong, clean)
		return false
	}
	w.texts += len(clean)
	if len(clean) == len(raw) {
		w.b = append(w.b, v.Raw()...)
	} else {
		w.b = jsonscan.AppendString(w.b, clean)
	}
	return true
}

// properties writes an object of schemas by name.
func (w *schemaWriter) properties(v jsonscan.Value, at string, depth int) error {
	w.b = append(w.b, '{')
	mark := len(w.b)
	for m := v.Members(); m.Next(); {
		name := m.KeyText(nil)
		here := pointer(at, string(name))
		if Index(name) >= 0 || halves(m.Key()) {
			w.note(here, HiddenCharacters, name)
			continue
		}
		if len(w.b) > mark {
			w.b = append(w.b, ',')
		}
		w.b = append(append(append(w.b, '"'), m.Key()...), '"', ':')
		if err := w.schema(m.Value(), here, depth); err != nil {
			return err
		}
	}
	w.b = append(w.b, '}')
	return nil
}

// values writes the values of an enum, or examples.
func (w *schemaWriter) values(v jsonscan.Value, at string, needed bool) (bool, error) {
	w.b = append(w.b, '[')
	mark, i := len(w.b), 0
	for e := v.Elements(); e.Next(); i++ {
		here := at + "/" + strconv.Itoa(i)
		if dirty(e.Value()) {
			w.note(here, HiddenCharacters, e.Value().Raw())
			continue
		}
		if !needed && len(e.Value().Raw()) > MaxSchemaValue {
			w.note(here, TooLong, e.Value().Raw())
			continue
		}
		if len(w.b) > mark {
			w.b = append(w.b, ',')
		}
		w.b = append(w.b, e.Value().Raw()...)
	}
	if len(w.b) == mark && i > 0 && needed {
		return false, fmt.Errorf("all values of an enum at %s have hidden characters", at)
	}
	w.b = append(w.b, ']')
	return len(w.b) > mark+1, nil
}

// Cut shortens text to at most n bytes, between characters, with an ellipsis.
func Cut(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return append(text[:n:n], "…"...)
}

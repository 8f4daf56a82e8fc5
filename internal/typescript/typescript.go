// Package typescript writes signatures of tools in TypeScript from their JSON Schemas: a
// model reads them in a fifth of the tokens.
//
// It is for reading, not for a compiler: formats, bounds and patterns of values are left
// out but for those that a caller trips over, null is left out of results, and what
// is too deep or too long becomes unknown. It resolves no references: schemas of tools
// have none. Equal types of several signatures are written once.
package typescript

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

const (
	// maxDepth of a type; what is deeper is unknown.
	maxDepth = 6
	// maxMembers of an object type and maxChoices of a union; the others are left out.
	maxMembers = 60
	maxChoices = 24
	// maxType is the longest type, bytes; a longer one is unknown.
	maxType = 8 << 10
	// maxDefault is the longest default that is written, bytes.
	maxDefault = 24
	// minNamed is the shortest type that is written once under a name, bytes.
	minNamed = 32
)

// Function is a tool.
type Function struct {
	Path   string // how it is called, such as tools.shop.get_order
	Text   string // a line that says what it does; "": none
	Input  []byte // JSON Schema of the arguments, an object
	Output []byte // JSON Schema of the answer; nil: not known, and no type is written
	Skip   string // an argument that is left out; "": none
}

// Append appends the signatures of functions, with the types that they share before
// them. The schemas are valid JSON.
func Append(dst []byte, functions []Function) []byte {
	w := writer{counts: map[string]int{}, names: map[string]string{}, used: map[string]bool{}}
	for i := range functions { // to see which types come more than once
		w.hint = functions[i].hint()
		w.function(nil, &functions[i])
	}
	w.naming = true
	var body []byte
	for i := range functions {
		w.hint = functions[i].hint()
		body = w.function(body, &functions[i])
	}
	return append(append(dst, w.types...), body...)
}

// hint names the type of an answer that has no name of its own.
func (f *Function) hint() string {
	name := f.Path[strings.LastIndexByte(f.Path, '.')+1:]
	if _, object, ok := strings.Cut(name, "_"); ok {
		name = object
	}
	return name
}

type writer struct {
	naming bool
	counts map[string]int    // of each object type, by its text without names
	names  map[string]string // of those that have one
	used   map[string]bool   // names
	types  []byte            // declarations
	hint   string
}

// function appends a signature, a line of two with its text.
func (w *writer) function(dst []byte, f *Function) []byte {
	if f.Text != "" {
		dst = append(append(append(dst, "// "...), f.Text...), '\n')
	}
	if f.Output == nil { // "async" says that it is a promise in fewer tokens than a type of it
		dst = append(dst, "async "...)
	}
	dst = append(append(dst, f.Path...), '(')
	input := jsonscan.Trusted(f.Input)
	if arguments := w.arguments(nil, input, f.Skip); len(arguments) > 0 {
		dst = append(dst, "args"...)
		if !hasItems(input.Get("required")) {
			dst = append(dst, '?')
		}
		dst = append(append(append(dst, ": {"...), arguments...), '}')
	}
	if f.Output == nil {
		return append(dst, ")\n"...)
	}
	dst = w.typ(append(dst, "): Promise<"...), jsonscan.Trusted(f.Output), w.hint, 0)
	return append(dst, ">\n"...)
}

func hasItems(v jsonscan.Value) bool { return v.Kind() == jsonscan.Array && v.Len() > 0 }

// arguments appends the members of an input, each with what its caller must keep to.
func (w *writer) arguments(dst []byte, schema jsonscan.Value, skip string) []byte {
	required := texts(schema.Get("required"))
	first := true
	for it := schema.Get("properties").Members(); it.Next(); {
		name := string(it.KeyText(nil))
		if name == skip {
			continue
		}
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		dst = appendName(dst, name)
		if !required[name] {
			dst = append(dst, '?')
		}
		dst = w.typ(append(dst, ": "...), it.Value(), name, 1)
		dst = appendRemarks(dst, it.Value())
	}
	return dst
}

// appendRemarks appends the default and the upper bound of an argument.
func appendRemarks(dst []byte, schema jsonscan.Value) []byte {
	var remarks []string
	if n, ok := schema.Get("maximum").Int64(); ok && n <= 1000 { // sizes of pages
		remarks = append(remarks, "≤ "+strconv.FormatInt(n, 10))
	}
	if v := schema.Get("default"); v.Exists() && len(v.Raw()) <= maxDefault && v.Kind() != jsonscan.Null && !bytes.Contains(v.Raw(), []byte("*/")) {
		remarks = append(remarks, "default "+string(v.Raw()))
	}
	if len(remarks) == 0 {
		return dst
	}
	return fmt.Appendf(dst, " /* %s */", strings.Join(remarks, ", "))
}

// texts is a list of strings as a set.
func texts(v jsonscan.Value) map[string]bool {
	out := map[string]bool{}
	if v.Kind() == jsonscan.Array {
		for it := v.Elements(); it.Next(); {
			out[string(it.Value().AppendText(nil))] = true
		}
	}
	return out
}

// typ appends the type of a schema.
func (w *writer) typ(dst []byte, schema jsonscan.Value, hint string, depth int) []byte {
	mark := len(dst)
	if dst = w.anyType(dst, schema, hint, depth); len(dst)-mark > maxType {
		return append(dst[:mark], "unknown"...)
	}
	return dst
}

func (w *writer) anyType(dst []byte, schema jsonscan.Value, hint string, depth int) []byte {
	if schema.Kind() != jsonscan.Object || depth > maxDepth {
		return append(dst, "unknown"...)
	}
	if v := schema.Get("const"); v.Exists() {
		return append(dst, v.Raw()...)
	}
	if v := schema.Get("enum"); hasItems(v) {
		return w.union(dst, v, func(dst []byte, v jsonscan.Value) []byte {
			if v.Kind() == jsonscan.Null {
				return dst
			}
			return append(dst, v.Raw()...)
		})
	}
	for _, key := range [...]string{"anyOf", "oneOf"} {
		if v := schema.Get(key); hasItems(v) {
			return w.union(dst, v, func(dst []byte, v jsonscan.Value) []byte {
				if v.Get("type").EqualText("null") {
					return dst
				}
				return w.typ(dst, v, hint, depth+1)
			})
		}
	}
	t := schema.Get("type")
	if hasItems(t) {
		return w.union(dst, t, func(dst []byte, v jsonscan.Value) []byte { return w.named(dst, schema, v, hint, depth) })
	}
	if !t.Exists() && schema.Get("properties").Kind() == jsonscan.Object {
		return w.object(dst, schema, hint, depth)
	}
	if !t.Exists() {
		if v := schema.Get("allOf"); hasItems(v) && v.Len() == 1 {
			it := v.Elements()
			it.Next()
			return w.typ(dst, it.Value(), hint, depth+1)
		}
	}
	return w.named(dst, schema, t, hint, depth)
}

// named appends a type by the name that JSON Schema has for it; nothing for null.
func (w *writer) named(dst []byte, schema, name jsonscan.Value, hint string, depth int) []byte {
	switch string(name.AppendText(nil)) {
	case "null":
		return dst
	case "string":
		return append(dst, "string"...)
	case "boolean":
		return append(dst, "boolean"...)
	case "integer", "number":
		return append(dst, "number"...)
	case "array":
		item := w.typ(nil, schema.Get("items"), strings.TrimSuffix(hint, "s"), depth+1)
		if bytes.ContainsRune(item, '|') && item[0] != '{' {
			return append(append(append(dst, '('), item...), ")[]"...)
		}
		return append(append(dst, item...), "[]"...)
	case "object":
		return w.object(dst, schema, hint, depth)
	}
	return append(dst, "unknown"...)
}

// union appends each different choice.
func (w *writer) union(dst []byte, choices jsonscan.Value, write func([]byte, jsonscan.Value) []byte) []byte {
	mark := len(dst)
	var seen []string
	n := 0
	for it := choices.Elements(); it.Next(); {
		text := string(write(nil, it.Value()))
		if text == "" || slices.Contains(seen, text) {
			continue
		}
		if n++; n > maxChoices {
			dst = append(dst, " | …"...)
			break
		}
		seen = append(seen, text)
		if len(dst) > mark {
			dst = append(dst, " | "...)
		}
		dst = append(dst, text...)
	}
	if len(dst) == mark {
		return append(dst, "null"...)
	}
	return dst
}

// object appends an object type, or its name when it comes more than once.
func (w *writer) object(dst []byte, schema jsonscan.Value, hint string, depth int) []byte {
	properties := schema.Get("properties")
	if properties.Kind() != jsonscan.Object || properties.Len() == 0 {
		dst = append(dst, "Record<string, "...)
		return append(w.typ(dst, schema.Get("additionalProperties"), hint, depth+1), '>')
	}
	if !w.naming {
		text := w.members(nil, properties, depth)
		w.counts[string(text)]++
		return append(dst, text...)
	}
	w.naming = false
	plain := string(w.uncounted(properties, depth))
	w.naming = true
	if w.counts[plain] < 2 || len(plain) < minNamed {
		return w.members(dst, properties, depth)
	}
	name, ok := w.names[plain]
	if !ok {
		name = w.newName(hint)
		w.names[plain] = name
		body := w.members(nil, properties, depth)
		w.types = fmt.Appendf(w.types, "type %s = %s\n", name, body)
	}
	return append(dst, name...)
}

// uncounted is the text of an object type without names.
func (w *writer) uncounted(properties jsonscan.Value, depth int) []byte {
	counts := w.counts
	w.counts = map[string]int{}
	text := w.members(nil, properties, depth)
	w.counts = counts
	return text
}

// members appends the body of an object type. Its members may be missing: an answer is
// what an upstream sends.
func (w *writer) members(dst []byte, properties jsonscan.Value, depth int) []byte {
	dst = append(dst, '{')
	n := 0
	for it := properties.Members(); it.Next(); n++ {
		if n == maxMembers {
			dst = append(dst, ", …"...)
			break
		}
		if n > 0 {
			dst = append(dst, ", "...)
		}
		name := string(it.KeyText(nil))
		dst = w.typ(append(appendName(dst, name), ": "...), it.Value(), name, depth+1)
	}
	return append(dst, '}')
}

// newName makes a name of a type.
func (w *writer) newName(hint string) string {
	var b strings.Builder
	upper := true
	for _, r := range hint {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && (b.Len() == 0 || !unicode.IsDigit(r)) {
			upper = true
			continue
		}
		if upper {
			r, upper = unicode.ToUpper(r), false
		}
		b.WriteRune(r)
	}
	base := b.String()
	if base == "" {
		base = "Value"
	}
	name := base
	for i := 2; w.used[name]; i++ {
		name = base + strconv.Itoa(i)
	}
	w.used[name] = true
	return name
}

// appendName appends the name of a member, quoted where it is not an identifier.
func appendName(dst []byte, name string) []byte {
	if IsIdentifier(name) {
		return append(dst, name...)
	}
	return jsonscan.AppendStringOf(dst, name)
}

// IsIdentifier reports whether a name can follow a dot in a program.
func IsIdentifier(name string) bool {
	for i, r := range name {
		if r != '_' && r != '$' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r))) {
			return false
		}
	}
	return name != ""
}

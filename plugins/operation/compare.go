package operation

import (
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// inEnum compares as JSON Schema does: numbers by value, strings by text, objects
// and arrays member by member.
func inEnum(enum []string, v jsonscan.Value) bool {
	for _, e := range enum {
		if string(v.Raw()) == e {
			return true
		}
	}
	for _, e := range enum {
		if equalValues(jsonscan.Trusted([]byte(e)), v) {
			return true
		}
	}
	return false
}

func equalValues(a, b jsonscan.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case jsonscan.Number:
		return compareDecimals(parseDecimal(a.Raw()), parseDecimal(b.Raw())) == 0
	case jsonscan.String:
		return string(a.AppendText(nil)) == string(b.AppendText(nil))
	case jsonscan.Array:
		x, y := a.Elements(), b.Elements()
		for x.Next() {
			if !y.Next() || !equalValues(x.Value(), y.Value()) {
				return false
			}
		}
		return !y.Next()
	case jsonscan.Object:
		if a.Len() != b.Len() {
			return false
		}
		// Looking members up one by one is quadratic: only small objects are compared
		// without regard to order.
		if len(a.Raw()) > maxUnordered {
			return string(jsonscan.AppendMinified(nil, a.Raw())) == string(jsonscan.AppendMinified(nil, b.Raw()))
		}
		for it := a.Members(); it.Next(); {
			if !equalValues(it.Value(), b.Get(string(it.KeyText(nil)))) {
				return false
			}
		}
		return true
	}
	return string(a.Raw()) == string(b.Raw())
}

// maxUnordered is the size in bytes up to which objects are equal in any order.
const maxUnordered = 4096

// maxPairwise is how many items of an array are compared each with each.
const maxPairwise = 32

// unique reports whether all items differ. Beyond maxPairwise items they are
// compared by their text, so that the cost stays linear.
func unique(v jsonscan.Value) bool {
	var items []jsonscan.Value
	for it := v.Elements(); it.Next(); {
		items = append(items, it.Value())
	}
	if len(items) <= maxPairwise {
		for i := range items {
			for j := range i {
				if equalValues(items[i], items[j]) {
					return false
				}
			}
		}
		return true
	}
	texts := make(map[string]struct{}, len(items))
	for _, x := range items {
		texts[string(jsonscan.AppendMinified(nil, x.Raw()))] = struct{}{}
	}
	return len(texts) == len(items)
}

// describe says what a schema wants: "integer", "one of "a", "b"", "array of string".
func describe(s *Schema) string {
	if s == nil {
		return "any value"
	}
	if isFile(s) {
		return "a file"
	}
	if len(s.Enum) > 0 {
		const most = 20
		shown := s.Enum[:min(most, len(s.Enum))]
		text := "one of " + strings.Join(shown, ", ")
		if len(s.Enum) == 1 {
			text = shown[0]
		} else if len(s.Enum) > most {
			text += ", …"
		}
		return text
	}
	t := typesOf(s)
	if t == 0 {
		return "any value"
	}
	var words []string
	for _, w := range [...]struct {
		t    Type
		name string
	}{
		{TypeString, "string"},
		{TypeInteger, "integer"},
		{TypeNumber, "number"},
		{TypeBoolean, "boolean"},
		{TypeArray, "array"},
		{TypeObject, "object"},
		{TypeNull, "null"},
	} {
		if t&w.t != 0 && (w.t != TypeInteger || t&TypeNumber == 0) {
			words = append(words, w.name)
		}
	}
	text := strings.Join(words, " or ")
	if t == TypeArray && s.Items != nil && typesOf(s.Items) != 0 {
		text += " of " + describe(s.Items)
	}
	return text
}

// got shows a value: its JSON, cut, with its kind where that does not show.
func got(v jsonscan.Value) string {
	const most = 64
	raw := jsonscan.AppendMinified(nil, v.Raw())
	text := string(raw)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	switch v.Kind() {
	case jsonscan.String, jsonscan.Array, jsonscan.Object:
		return v.Kind().String() + " " + text
	}
	return text
}

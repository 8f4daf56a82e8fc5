package operation

import (
	"bytes"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Healing: agents often write "5" for 5, "true" for true and "{\"a\":1}" for
// {"a":1}, and 5 where text is expected. Where the schema leaves one reading only,
// that is taken, and counted in [Request.Healed]. A string is never reinterpreted
// where a string is allowed.

// typesOf is the set of types a schema allows; 0 for any.
func typesOf(s *Schema) Type {
	if s == nil {
		return 0
	}
	if s.Type != 0 || len(s.AnyOf) == 0 {
		return s.Type
	}
	var union Type
	for _, branch := range s.AnyOf {
		t := typesOf(branch)
		if t == 0 {
			return 0
		}
		union |= t
	}
	return union
}

// fits reports whether a value's own type is among types.
func fits(types Type, v jsonscan.Value) bool {
	if types == 0 {
		return true
	}
	switch v.Kind() {
	case jsonscan.Null:
		return types&TypeNull != 0
	case jsonscan.Bool:
		return types&TypeBoolean != 0
	case jsonscan.Number:
		return types&TypeNumber != 0 || types&TypeInteger != 0 && parseDecimal(v.Raw()).integral()
	case jsonscan.String:
		return types&TypeString != 0
	case jsonscan.Array:
		return types&TypeArray != 0
	case jsonscan.Object:
		return types&TypeObject != 0
	}
	return false
}

// healed returns the value that was meant, and whether it differs from v. arena
// takes bytes of new values and is returned, grown.
func healed(s *Schema, v jsonscan.Value, arena []byte) (jsonscan.Value, bool, []byte) {
	types := typesOf(s)
	if fits(types, v) || isFile(s) {
		return listed(s, v, arena)
	}
	switch v.Kind() {
	case jsonscan.String:
		start := len(arena)
		arena = v.AppendText(arena)
		text := bytes.TrimSpace(arena[start:])
		if meant, ok := reread(types, text); ok {
			return meant, true, arena
		}
		arena = arena[:start]
	case jsonscan.Number, jsonscan.Bool:
		if types&^TypeNull == TypeString {
			start := len(arena)
			arena = append(arena, '"')
			arena = append(arena, v.Raw()...)
			arena = append(arena, '"')
			return jsonscan.Trusted(arena[start:]), true, arena
		}
	}
	return v, false, arena
}

// listed reads a text that is none of the listed values as the number or truth value
// that is: where text is possible too, {"enum": [1, "auto"]}, agents write "1".
func listed(s *Schema, v jsonscan.Value, arena []byte) (jsonscan.Value, bool, []byte) {
	if s == nil || len(s.Enum) == 0 || v.Kind() != jsonscan.String || s.Type&^TypeString == 0 || inEnum(s.Enum, v) {
		return v, false, arena
	}
	start := len(arena)
	arena = v.AppendText(arena)
	if meant, ok := reread(s.Type&^TypeString, bytes.TrimSpace(arena[start:])); ok && inEnum(s.Enum, meant) {
		return meant, true, arena
	}
	return v, false, arena[:start]
}

// reread reads text as one of the types.
func reread(types Type, text []byte) (jsonscan.Value, bool) {
	switch {
	case len(text) == 0:
		return jsonscan.Value{}, false
	case text[0] == '{' || text[0] == '[':
		if types&(TypeArray|TypeObject) == 0 {
			return jsonscan.Value{}, false
		}
		v, err := jsonscan.Parse(text, 0)
		return v, err == nil && fits(types, v)
	case string(text) == "true" || string(text) == "false" || isNumber(text):
		v := jsonscan.Trusted(text)
		return v, fits(types, v)
	}
	return jsonscan.Value{}, false
}

// heal is healed while a request is built.
func (b *builder) heal(s *Schema, v jsonscan.Value) jsonscan.Value {
	v, changed, arena := healed(s, v, b.r.arena)
	b.r.arena = arena
	if changed {
		b.r.Healed++
	}
	return v
}

// property is the schema of a member; nil when the schema says nothing of it.
func property(s *Schema, it *jsonscan.MemberIter) *Schema {
	if s == nil {
		return nil
	}
	for i := range s.Properties {
		if it.KeyEqual(s.Properties[i].Name) {
			return s.Properties[i].Schema
		}
	}
	for _, list := range [...][]*Schema{s.AnyOf, s.All} {
		for _, branch := range list {
			if p := property(branch, it); p != nil {
				return p
			}
		}
	}
	return s.Additional
}

// element is the schema of item i of an array; nil when nothing is said.
func element(s *Schema, i int) *Schema {
	if s == nil {
		return nil
	}
	if e := ownElement(s, i); e != nil {
		return e
	}
	for _, branch := range s.AnyOf {
		if e := element(branch, i); e != nil {
			return e
		}
	}
	return nil
}

// isFile reports whether a value of the schema is a file (docs/request-plans.md,
// "Files"): it has a media type that is not text or JSON.
func isFile(s *Schema) bool {
	return s != nil && s.Media != "" && !strings.HasPrefix(s.Media, "text/") && !isJSONType(s.Media)
}

package connector

import (
	"iter"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Show returns the head of a tool that lists only some of its arguments: those that are named, where
// "body.member" is a member of the object argument body, "body.list.member" one of the objects
// in its member list, and those that are required.
// What is not listed is not refused. A required object of which no member is named is
// listed whole. No names: h as it is.
func (h *Head) Show(names []string) Head {
	out := *h
	if len(names) == 0 {
		return out
	}
	out.InputSchema = appendShown(nil, jsonscan.Trusted(h.InputSchema), names)
	return out
}

// Lists reports whether a name is one that [Head.Show] finds.
func (h *Head) Lists(name string) bool { return lists(jsonscan.Trusted(h.InputSchema), name) }

func lists(s jsonscan.Value, name string) bool {
	if s.Get("properties").Get(name).Exists() {
		return true
	}
	for at, c := range name {
		if c == '.' && s.Get("properties").Get(name[:at]).Exists() && lists(s.Get("properties").Get(name[:at]), name[at+1:]) {
			return true
		}
	}
	if items := s.Get("items"); items.Exists() && lists(items, name) {
		return true
	}
	for _, key := range alternatives {
		for it := s.Get(key).Elements(); it.Next(); {
			if lists(it.Value(), name) {
				return true
			}
		}
	}
	return false
}

// ArgumentNames are the names that [Head.Lists] knows, those of an argument before those of its members.
func (h *Head) ArgumentNames() iter.Seq[string] {
	return func(yield func(string) bool) { eachName(jsonscan.Trusted(h.InputSchema), "", yield) }
}

// eachName reports whether yield wants more.
func eachName(s jsonscan.Value, prefix string, yield func(string) bool) bool {
	for it := s.Get("properties").Members(); it.Next(); {
		name := prefix + string(it.KeyText(nil))
		if !yield(name) || !eachName(it.Value(), name+".", yield) {
			return false
		}
	}
	if items := s.Get("items"); items.Exists() && !eachName(items, prefix, yield) {
		return false
	}
	for _, key := range alternatives {
		for it := s.Get(key).Elements(); it.Next(); {
			if !eachName(it.Value(), prefix, yield) {
				return false
			}
		}
	}
	return true
}

// Describe returns the head of a tool whose arguments have other descriptions, by names like those of
// [Head.Show]; "" takes the description away. What the tool does not list is passed over. No texts: h as it is.
func (h Head) Describe(texts map[string]string) Head {
	if len(texts) > 0 {
		h.InputSchema = appendDescribed(nil, jsonscan.Trusted(h.InputSchema), texts)
	}
	return h
}

// appendDescribed writes an object schema, or that of a list of objects, whose properties have those descriptions.
func appendDescribed(dst []byte, schema jsonscan.Value, texts map[string]string) []byte {
	whole := schema.Get("properties")
	property := func(dst []byte, key string, v jsonscan.Value) []byte {
		if v.Kind() != jsonscan.Object {
			return append(dst, v.Raw()...)
		}
		members := map[string]string{}
		for name, text := range texts {
			if member, ok := strings.CutPrefix(name, key+"."); ok && !whole.Get(name).Exists() {
				members[member] = text
			}
		}
		if text, ok := texts[key]; ok {
			v = jsonscan.Trusted(appendText(nil, v, text))
		}
		if len(members) > 0 {
			return appendDescribed(dst, v, members)
		}
		return append(dst, v.Raw()...)
	}
	return appendWith(dst, schema, func(dst []byte, key string, v jsonscan.Value) []byte {
		switch {
		case key == "properties":
			return appendWith(dst, v, property)
		case key == "items" && v.Kind() == jsonscan.Object:
			return appendDescribed(dst, v, texts)
		case slices.Contains(alternatives[:], key):
			dst = append(dst, '[')
			n := 0
			for it := v.Elements(); it.Next(); n++ {
				if n > 0 {
					dst = append(dst, ',')
				}
				dst = appendDescribed(dst, it.Value(), texts)
			}
			return append(dst, ']')
		}
		return append(dst, v.Raw()...)
	})
}

// appendText writes a schema with another description, or without one.
func appendText(dst []byte, schema jsonscan.Value, text string) []byte {
	mark := len(dst) + 1
	dst = appendWith(dst, schema, func(dst []byte, key string, v jsonscan.Value) []byte {
		if key == "description" {
			return nil
		}
		return append(dst, v.Raw()...)
	})
	if text == "" {
		return dst
	}
	return append(jsonscan.AppendMember(dst[:len(dst)-1], mark, []byte("description"), jsonscan.AppendStringOf(nil, text)), '}')
}

// alternatives are the keywords whose schemas have properties of an object.
var alternatives = [...]string{"anyOf", "oneOf", "allOf"}

// appendShown writes a schema with those properties only, and with required ones. Of a list
// they are the properties of its items.
func appendShown(dst []byte, schema jsonscan.Value, names []string) []byte {
	required := map[string]bool{}
	collectRequired(schema, required)
	whole := schema.Get("properties")
	return appendProperties(dst, schema, func(dst []byte, key string, v jsonscan.Value) []byte {
		var members []string
		for _, name := range names {
			if name == key {
				return append(dst, v.Raw()...)
			}
			if member, ok := strings.CutPrefix(name, key+"."); ok && !whole.Get(name).Exists() && lists(v, member) {
				members = append(members, member)
			}
		}
		switch {
		case len(members) > 0:
			return appendMembers(dst, v, members)
		case required[key]:
			return append(dst, v.Raw()...)
		}
		return nil
	})
}

// appendMembers is appendShown of an object or of the items of a list.
func appendMembers(dst []byte, schema jsonscan.Value, names []string) []byte {
	items := schema.Get("items")
	if !items.Exists() {
		return appendShown(dst, schema, names)
	}
	return appendWith(dst, schema, func(dst []byte, key string, v jsonscan.Value) []byte {
		if key == "items" {
			return appendMembers(dst, v, names)
		}
		return append(dst, v.Raw()...)
	})
}

// appendProperties writes a schema whose properties, and those of its alternatives, are as write has
// them; nil leaves one out.
func appendProperties(dst []byte, schema jsonscan.Value, write func(dst []byte, key string, v jsonscan.Value) []byte) []byte {
	return appendWith(dst, schema, func(dst []byte, key string, v jsonscan.Value) []byte {
		switch key {
		case "properties":
			return appendWith(dst, v, write)
		case "anyOf", "oneOf", "allOf":
			dst = append(dst, '[')
			n := 0
			for it := v.Elements(); it.Next(); n++ {
				if n > 0 {
					dst = append(dst, ',')
				}
				dst = appendProperties(dst, it.Value(), write)
			}
			return append(dst, ']')
		}
		return append(dst, v.Raw()...)
	})
}

// collectRequired gathers what a schema or one of its alternatives requires.
func collectRequired(schema jsonscan.Value, into map[string]bool) {
	for it := schema.Get("required").Elements(); it.Next(); {
		into[string(it.Value().AppendText(nil))] = true
	}
	for _, key := range alternatives {
		for it := schema.Get(key).Elements(); it.Next(); {
			collectRequired(it.Value(), into)
		}
	}
}

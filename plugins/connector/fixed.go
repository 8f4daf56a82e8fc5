package connector

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Fix gives the tool as it is for the model where fixed decides arguments, JSON texts
// by the names of the input schema, or "body.member" for a member of an argument that
// is an object; what the tool does not have is left out of account. t stays as it is,
// and is the answer when nothing of it is fixed. It fails with
// [problem.InvalidArgument] when the API would not accept a value.
func (t *Tool) Fix(fixed map[string]json.RawMessage) (*Tool, error) {
	head := t.Head.Fix(fixed)
	out := *t
	out.Head = head
	if t.Plan == nil {
		return &out, nil
	}
	var err error
	out.Plan, err = t.Plan.Fix(fixed)
	return &out, err
}

// Fix gives h with the arguments in fixed taken out of its input schema; h stays as it is.
func (h *Head) Fix(fixed map[string]json.RawMessage) Head {
	out := *h
	for name := range fixed {
		if out.Takes(name) {
			out.InputSchema = withoutArgument(out.InputSchema, name)
		}
	}
	return out
}

// Takes reports whether the tool has an argument of that name, or "body.member".
func (h *Head) Takes(name string) bool {
	if h.property(name).Exists() {
		return true
	}
	object, member, ok := strings.Cut(name, ".")
	return ok && hasMember(h.property(object), member)
}

func (h *Head) property(name string) jsonscan.Value {
	return jsonscan.Trusted(h.InputSchema).Get("properties").Get(name)
}

// hasMember reports a member of an object schema or of its alternatives.
func hasMember(s jsonscan.Value, name string) bool {
	if s.Get("properties").Get(name).Exists() {
		return true
	}
	for it := s.Get("anyOf").Elements(); it.Next(); {
		if hasMember(it.Value(), name) {
			return true
		}
	}
	return false
}

// withoutArgument takes an argument, or a member of one, out of a schema.
func withoutArgument(schema []byte, name string) []byte {
	root := jsonscan.Trusted(schema)
	object, member, nested := strings.Cut(name, ".")
	properties := root.Get("properties")
	if !nested || properties.Get(name).Exists() {
		return appendWithout(nil, root, name)
	}
	return appendWith(nil, root, func(dst []byte, key string, v jsonscan.Value) []byte {
		if key != "properties" {
			return append(dst, v.Raw()...)
		}
		return appendWith(dst, v, func(dst []byte, key string, v jsonscan.Value) []byte {
			if key != object {
				return append(dst, v.Raw()...)
			}
			return appendWithout(dst, v, member)
		})
	})
}

// appendWithout writes an object schema without one property, also of its
// alternatives.
func appendWithout(dst []byte, schema jsonscan.Value, name string) []byte {
	return appendWith(dst, schema, func(dst []byte, key string, v jsonscan.Value) []byte {
		switch key {
		case "properties":
			return appendWith(dst, v, func(dst []byte, key string, v jsonscan.Value) []byte {
				if key == name {
					return nil
				}
				return append(dst, v.Raw()...)
			})
		case "required":
			return appendOthers(dst, v, name)
		case "anyOf", "oneOf", "allOf":
			dst = append(dst, '[')
			n := 0
			for it := v.Elements(); it.Next(); n++ {
				if n > 0 {
					dst = append(dst, ',')
				}
				if it.Value().Kind() == jsonscan.Object {
					dst = appendWithout(dst, it.Value(), name)
				} else {
					dst = append(dst, it.Value().Raw()...)
				}
			}
			return append(dst, ']')
		}
		return append(dst, v.Raw()...)
	})
}

// appendOthers writes a list of strings without one of them; nil when none is left.
func appendOthers(dst []byte, v jsonscan.Value, name string) []byte {
	mark := len(dst)
	for it := v.Elements(); it.Next(); {
		if !it.Value().EqualText(name) {
			dst = append(append(dst, ','), it.Value().Raw()...)
		}
	}
	if len(dst) == mark {
		return nil
	}
	dst[mark] = '['
	return append(dst, ']')
}

// appendWith copies an object with each value as write has it; a member for which it
// gives nil is left out.
func appendWith(dst []byte, v jsonscan.Value, write func(dst []byte, key string, v jsonscan.Value) []byte) []byte {
	if v.Kind() != jsonscan.Object {
		return append(dst, v.Raw()...)
	}
	dst = append(dst, '{')
	mark := len(dst)
	for it := v.Members(); it.Next(); {
		if out := write(jsonscan.AppendKey(dst, mark, it.Key()), string(it.KeyText(nil)), it.Value()); out != nil {
			dst = out
		}
	}
	return append(dst, '}')
}

// FixArguments gives the arguments of a call of a tool of an MCP server with the fixed
// values that the tool takes, in the place of what was given for them. h is the head
// before [Head.Fix]; args is an object or missing.
func (h *Head) FixArguments(args jsonscan.Value, fixed map[string]json.RawMessage) jsonscan.Value {
	for _, name := range slices.Sorted(maps.Keys(fixed)) {
		if !h.Takes(name) {
			continue
		}
		value := []byte(fixed[name])
		object, member, nested := strings.Cut(name, ".")
		if nested && !h.property(name).Exists() {
			name, value = object, jsonscan.AppendSet(nil, args.Get(object), member, value)
		}
		args = jsonscan.Trusted(jsonscan.AppendSet(nil, args, name, value))
	}
	return args
}

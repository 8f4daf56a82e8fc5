package connector

import (
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Show returns the head of a tool that lists only some of its arguments: those that are named, where
// "body.member" is a member of the object argument body, and those that are required.
// What is not listed is not refused. A required object of which no member is named is
// listed whole. No names: h as it is.
func (h *Head) Show(names []string) Head {
	out := *h
	if len(names) == 0 {
		return out
	}
	shown := map[string][]string{}
	for _, name := range names {
		object, member, nested := strings.Cut(name, ".")
		if !nested || h.property(name).Exists() {
			shown[name] = append(shown[name], "")
			continue
		}
		shown[object] = append(shown[object], member)
	}
	out.InputSchema = appendShown(nil, jsonscan.Trusted(h.InputSchema), shown)
	return out
}

// appendShown writes an object schema with those properties only, and with required ones.
func appendShown(dst []byte, schema jsonscan.Value, shown map[string][]string) []byte {
	required := map[string]bool{}
	collectRequired(schema, required)
	return appendProperties(dst, schema, func(dst []byte, key string, v jsonscan.Value) []byte {
		members, named := shown[key]
		if !named && !required[key] {
			return nil
		}
		some := map[string][]string{}
		for _, member := range members {
			if member == "" {
				return append(dst, v.Raw()...)
			}
			some[member] = []string{""}
		}
		if len(some) == 0 {
			return append(dst, v.Raw()...)
		}
		return appendShown(dst, v, some)
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
	for _, key := range [...]string{"anyOf", "oneOf", "allOf"} {
		for it := schema.Get(key).Elements(); it.Next(); {
			collectRequired(it.Value(), into)
		}
	}
}

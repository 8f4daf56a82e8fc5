package answer

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// readEffects notes what the plugins of a tool make of its answers together, and of
// what schema a caller's mask is then.
func (a *Plan) readEffects(plugins []*guest.Package) {
	for _, p := range plugins {
		switch effect, schema := p.Effect(); effect {
		case manifest.EffectText:
			a.effect = effect
		case manifest.EffectReplace:
			a.effect = effect
			a.shape = sync.OnceValue(func() *shape { return readShape(schema) })
		default:
			if a.effect == "" {
				a.effect = effect
			}
		}
	}
}

// ResultSchema describes the JSON of an answer as a program gets it, whether or not there
// is structuredContent; nil: not known.
func (a *Plan) ResultSchema() json.RawMessage { return a.result() }

// pluginSchema is what an output schema is behind the plugins; nil: not known.
func (a *Plan) pluginSchema(schema json.RawMessage, plugins []*guest.Package) json.RawMessage {
	if a.Reshape != nil {
		return schema
	}
	for _, p := range plugins {
		switch effect, own := p.Effect(); effect {
		case manifest.EffectText:
			return nil
		case manifest.EffectReplace:
			if schema = nil; a.Structured || a.PassStructured {
				schema = objectSchema(own)
			}
		default:
			schema = withoutRequired(schema)
		}
	}
	return schema
}

// objectSchema is a schema as an output schema has to be: of an object. What is
// none is described as its member "result".
func objectSchema(schema json.RawMessage) json.RawMessage {
	if t := jsonscan.Trusted(schema).Get("type"); t.Kind() == jsonscan.String && string(t.AppendText(nil)) == "object" {
		return schema
	}
	out := append([]byte(`{"type":"object","properties":{"`+wrapped+`":`), schema...)
	return append(out, `},"required":["`+wrapped+`"]}`...)
}

// withoutRequired is a schema that asks for no member, at any depth: a plugin may
// have left it out. Of the wrapped answer that is not an object the wrapper stays.
func withoutRequired(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return schema
	}
	v := jsonscan.Trusted(schema)
	if props := v.Get("properties"); props.Len() == 1 && props.Get(wrapped).Exists() {
		return objectSchema(appendOptional(nil, props.Get(wrapped)))
	}
	return appendOptional(nil, v)
}

// optionalIn are the members of a schema that hold schemas.
var optionalIn = []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}

// optionalMaps hold schemas by name, or lists of them.
var optionalMaps = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "anyOf", "oneOf", "allOf", "prefixItems"}

func appendOptional(dst []byte, schema jsonscan.Value) []byte {
	if schema.Kind() != jsonscan.Object {
		return append(dst, schema.Raw()...)
	}
	dst = append(dst, '{')
	mark := len(dst)
	for it := schema.Members(); it.Next(); {
		key := string(it.KeyText(nil))
		if key == "required" || key == "minItems" || key == "minProperties" || key == "dependentRequired" {
			continue
		}
		dst = jsonscan.AppendKey(dst, mark, it.Key())
		switch {
		case slices.Contains(optionalIn, key):
			dst = appendOptional(dst, it.Value())
		case slices.Contains(optionalMaps, key):
			dst = appendOptionalEach(dst, it.Value())
		default:
			dst = append(dst, it.Value().Raw()...)
		}
	}
	return append(dst, '}')
}

func appendOptionalEach(dst []byte, v jsonscan.Value) []byte {
	switch v.Kind() {
	case jsonscan.Object:
		dst = append(dst, '{')
		mark := len(dst)
		for it := v.Members(); it.Next(); {
			dst = appendOptional(jsonscan.AppendKey(dst, mark, it.Key()), it.Value())
		}
		return append(dst, '}')
	case jsonscan.Array:
		dst = append(dst, '[')
		mark := len(dst)
		for it := v.Elements(); it.Next(); {
			if len(dst) > mark {
				dst = append(dst, ',')
			}
			dst = appendOptional(dst, it.Value())
		}
		return append(dst, ']')
	}
	return append(dst, v.Raw()...)
}

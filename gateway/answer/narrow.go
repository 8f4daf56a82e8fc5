package answer

import (
	"encoding/json"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

const (
	// maxNarrowDepth of a published schema is looked at; published ones end before.
	maxNarrowDepth = 16
	// maxShort is the members of what is called short: of so many, each would need some
	// kilobytes to pass the budget of [registry.DefaultTokenBudget].
	maxShort = 16
)

// Narrows reports whether there is anything to choose by fields in an answer, as far as
// the output schema of its tool tells: two values or more, or any number. What changes
// something and is not described answers with little. A caller may give fields all the
// same.
func Narrows(output json.RawMessage, readOnly bool) bool {
	if len(output) == 0 {
		return readOnly
	}
	return values(jsonscan.Trusted(output), 0) > 1
}

// values counts what a schema describes, up to two; what it leaves open counts as two.
func values(s jsonscan.Value, depth int) int {
	if depth > maxNarrowDepth {
		return 2
	}
	n, open := 0, true
	var types jsonscan.Value
	for it := s.Members(); it.Next() && n < 2; {
		switch v := it.Value(); {
		case it.KeyEqual("type"):
			types = v
		case it.KeyEqual("items"):
			n, open = n+values(v, depth+1), false
		case it.KeyEqual("properties"):
			for p := v.Members(); p.Next() && n < 2; {
				n, open = n+values(p.Value(), depth+1), false
			}
		case it.KeyEqual("anyOf"), it.KeyEqual("oneOf"), it.KeyEqual("allOf"):
			for e := v.Elements(); e.Next() && n < 2; {
				n, open = n+values(e.Value(), depth+1), false
			}
		case it.KeyEqual("additionalProperties"):
			if more, known := v.Bool(); more || !known {
				return 2
			}
		}
	}
	switch {
	case open && scalar(types, true):
		return 1
	case open:
		return 2
	}
	return min(n, 2)
}

// scalar reports whether types are those of texts, numbers and booleans only; without
// texts, of numbers and booleans.
func scalar(types jsonscan.Value, texts bool) bool {
	one := func(t jsonscan.Value) bool {
		return t.EqualText("string") && texts || t.EqualText("number") || t.EqualText("integer") || t.EqualText("boolean") || t.EqualText("null")
	}
	if types.Kind() != jsonscan.Array {
		return one(types)
	}
	some := false
	for it := types.Elements(); it.Next(); some = true {
		if !one(it.Value()) {
			return false
		}
	}
	return some
}

// MayBeLong reports whether an answer may be over the token budget, as far as the output
// schema of its tool tells. Of what changes something, one that is not described, or
// that is a few values, is not; of what reads, texts may be of any length.
func MayBeLong(output json.RawMessage, readOnly bool) bool {
	if len(output) == 0 {
		return readOnly
	}
	s, n := jsonscan.Trusted(output), 0
	for it := s.Get("properties").Members(); it.Next(); n++ {
		if n == maxShort || !scalar(it.Value().Get("type"), !readOnly) {
			return true
		}
	}
	return n == 0
}

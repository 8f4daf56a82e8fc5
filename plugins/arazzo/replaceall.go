package arazzo

import (
	"fmt"
	"maps"
	"slices"
)

// MaxReplaced is how many places of a body one replacement fills: a body is a request, not a
// table.
const MaxReplaced = 10_000

// replaceAll puts a value into a copy of a body wherever a JSONPath leads. A last name that
// is not there is none of them: a JSONPath finds what is there.
func replaceAll(body any, path *jsonPath, text string, v any) (any, error) {
	q := &querying{root: body, left: maxVisits}
	places := [][]any{nil}
	for i := range path.segments {
		var next [][]any
		for _, at := range places {
			var err error
			if next, err = q.places(&path.segments[i], at, valueAt(body, at), next); err != nil {
				return nil, err
			}
		}
		places = next
	}
	switch {
	case len(places) == 0:
		return nil, fmt.Errorf("the body has nothing at %.200q that could be replaced", text)
	case len(places[0]) == 0:
		return v, nil
	}
	body = copied(body)
	holders := make([]any, len(places)) // found before one is replaced, which may hold another
	for i, at := range places {
		holders[i] = valueAt(body, at[:len(at)-1])
	}
	for i, at := range places {
		switch n := holders[i].(type) {
		case []any:
			n[at[len(at)-1].(int)] = v
		case map[string]any:
			n[at[len(at)-1].(string)] = v
		}
	}
	return body, nil
}

var errReplaced = fmt.Errorf("the replacement leads to more than %d places of the body", MaxReplaced)

// places are where a segment leads from a value: keys of members, and indexes of items.
func (q *querying) places(s *pathSegment, at []any, n any, out [][]any) ([][]any, error) {
	if err := q.visit(); err != nil {
		return nil, err
	}
	for i := range s.selectors {
		keys, err := q.keys(&s.selectors[i], n)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			out = append(out, append(slices.Clone(at), k))
		}
	}
	if len(out) > MaxReplaced {
		return nil, errReplaced
	}
	if !s.descendant {
		return out, nil
	}
	for _, k := range keysOf(n) {
		var err error
		if out, err = q.places(s, append(slices.Clone(at), k), step(n, k), out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// keys are those that a selector finds below a value.
func (q *querying) keys(s *pathSelector, n any) ([]any, error) {
	all := keysOf(n)
	var out []any
	switch s.kind {
	case selectIndex, selectSlice:
		if _, list := n.([]any); list {
			return q.selects(s, all, nil) // the indexes, as the items of a list
		}
	case selectName:
		if m, ok := n.(map[string]any); ok {
			if _, has := m[s.name]; has {
				out = append(out, s.name)
			}
		}
	case selectAll:
		return all, nil
	case selectFilter:
		for _, k := range all {
			if err := q.visit(); err != nil {
				return nil, err
			}
			ok, err := s.filter.test(q, step(n, k))
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, k)
			}
		}
	}
	return out, nil
}

func keysOf(n any) []any {
	var out []any
	switch n := n.(type) {
	case []any:
		for i := range n {
			out = append(out, i)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(n)) {
			out = append(out, k)
		}
	}
	return out
}

func step(n, key any) any {
	switch n := n.(type) {
	case []any:
		return n[key.(int)]
	case map[string]any:
		return n[key.(string)]
	}
	return nil
}

func valueAt(n any, at []any) any {
	for _, k := range at {
		n = step(n, k)
	}
	return n
}

// copied is a value that shares no list and no object with another.
func copied(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = copied(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = copied(v[k])
		}
		return out
	}
	return v
}

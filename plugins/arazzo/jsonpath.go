package arazzo

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"
)

// JSONPath of RFC 9535. What a query may visit is counted: descendants in filters and
// several descendant segments are otherwise quadratic and worse in the size of an answer
// that nobody here has written.

const (
	// maxVisits of one evaluation: half a second, and far more than a path needs in the
	// largest answer that is accepted.
	maxVisits = 2_000_000
	// maxPathDepth is how deep filters may nest.
	maxPathDepth = 16
)

var errVisits = errors.New("the JSONPath visits too many values")

// jsonPath is a query. It may be shared by goroutines.
type jsonPath struct {
	segments []pathSegment
	root     bool // begins with $, not with @
}

type pathSegment struct {
	descendant bool
	selectors  []pathSelector
}

type selectorKind uint8

const (
	selectName selectorKind = iota
	selectIndex
	selectSlice
	selectAll
	selectFilter
)

type pathSelector struct {
	kind             selectorKind
	name             string
	index            int64
	start, end, step *int64
	filter           pathExpr
}

// singular reports whether a query finds one value at most.
func (p *jsonPath) singular() bool {
	for _, s := range p.segments {
		if s.descendant || len(s.selectors) != 1 || s.selectors[0].kind != selectName && s.selectors[0].kind != selectIndex {
			return false
		}
	}
	return true
}

// query finds what the path selects.
func (p *jsonPath) query(root any) ([]any, error) {
	q := &querying{root: root, left: maxVisits}
	return q.run(p, root)
}

// asks reports whether the path finds something, as a criterion. A filter that the path
// begins with is also asked about an object itself: so the specification's own examples
// are written, $[?count(@.pets) > 0].
func (p *jsonPath) asks(root any) (bool, error) {
	found, err := p.query(root)
	if err != nil || len(found) > 0 {
		return len(found) > 0, err
	}
	if _, object := root.(map[string]any); !object || len(p.segments) == 0 || p.segments[0].descendant || p.segments[0].selectors[0].kind != selectFilter {
		return false, nil
	}
	found, err = p.query([]any{root})
	return len(found) > 0, err
}

type querying struct {
	root any
	left int
}

func (q *querying) visit() error {
	if q.left--; q.left < 0 {
		return errVisits
	}
	return nil
}

func (q *querying) run(p *jsonPath, at any) ([]any, error) {
	if p.root {
		at = q.root
	}
	nodes := []any{at}
	for i := range p.segments {
		var next []any
		for _, n := range nodes {
			var err error
			if next, err = q.segment(&p.segments[i], n, next); err != nil {
				return nil, err
			}
		}
		nodes = next
	}
	return nodes, nil
}

func (q *querying) segment(s *pathSegment, n any, out []any) ([]any, error) {
	if err := q.visit(); err != nil {
		return nil, err
	}
	var err error
	for i := range s.selectors {
		if out, err = q.selects(&s.selectors[i], n, out); err != nil {
			return nil, err
		}
	}
	if !s.descendant {
		return out, nil
	}
	for _, child := range children(n) {
		if out, err = q.segment(s, child, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// children are the members or items of a value; members in the order of their names, so
// that a query has one result.
func children(n any) []any {
	switch n := n.(type) {
	case []any:
		return n
	case map[string]any:
		out := make([]any, 0, len(n))
		for _, k := range slices.Sorted(maps.Keys(n)) {
			out = append(out, n[k])
		}
		return out
	}
	return nil
}

func (q *querying) selects(s *pathSelector, n any, out []any) ([]any, error) {
	list, _ := n.([]any)
	switch s.kind {
	case selectName:
		if m, ok := n.(map[string]any); ok {
			if v, has := m[s.name]; has {
				out = append(out, v)
			}
		}
	case selectIndex:
		i := s.index
		if i < 0 {
			i += int64(len(list))
		}
		if i >= 0 && i < int64(len(list)) {
			out = append(out, list[i])
		}
	case selectSlice:
		return q.slice(s, list, out)
	case selectAll:
		for _, v := range children(n) {
			if err := q.visit(); err != nil {
				return nil, err
			}
			out = append(out, v)
		}
	case selectFilter:
		for _, v := range children(n) {
			if err := q.visit(); err != nil {
				return nil, err
			}
			ok, err := s.filter.test(q, v)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, v)
			}
		}
	}
	return out, nil
}

// slice is RFC 9535 §2.3.4.2.
func (q *querying) slice(s *pathSelector, list, out []any) ([]any, error) {
	n, step := int64(len(list)), int64(1)
	if s.step != nil {
		step = *s.step
	}
	if step == 0 || n == 0 {
		return out, nil
	}
	start, end := int64(0), n
	if step < 0 {
		start, end = n-1, -n-1
	}
	if s.start != nil {
		start = *s.start
	}
	if s.end != nil {
		end = *s.end
	}
	normal := func(i int64) int64 {
		if i < 0 {
			return n + i
		}
		return i
	}
	start, end = normal(start), normal(end)
	if step > 0 {
		for i := min(max(start, 0), n); i < min(max(end, 0), n); i += min(step, n) {
			if err := q.visit(); err != nil {
				return nil, err
			}
			out = append(out, list[i])
		}
		return out, nil
	}
	for i := min(max(start, -1), n-1); i > min(max(end, -1), n-1); i -= min(-step, n) {
		if err := q.visit(); err != nil {
			return nil, err
		}
		out = append(out, list[i])
	}
	return out, nil
}

// pathExpr is an expression of a filter.
type pathExpr interface {
	test(q *querying, at any) (bool, error)
}

// comparable values of a filter; nothing is what a query that finds nothing gives.
type nothing struct{}

type pathValue interface {
	value(q *querying, at any) (any, error)
}

type (
	pathOr      []pathExpr
	pathAnd     []pathExpr
	pathNot     struct{ of pathExpr }
	pathExists  struct{ path *jsonPath }
	pathCompare struct {
		op   string
		a, b pathValue
	}
	pathLiteral  struct{ v any }
	pathSingular struct{ path *jsonPath }
	pathCall     struct {
		name    string
		paths   []*jsonPath // of a list of nodes; nil where the argument is a value
		values  []pathValue
		pattern *regexp.Regexp // of match and search, where it is written out
	}
)

func (e pathOr) test(q *querying, at any) (bool, error) {
	for _, x := range e {
		if ok, err := x.test(q, at); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func (e pathAnd) test(q *querying, at any) (bool, error) {
	for _, x := range e {
		if ok, err := x.test(q, at); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (e pathNot) test(q *querying, at any) (bool, error) {
	ok, err := e.of.test(q, at)
	return !ok, err
}

func (e pathExists) test(q *querying, at any) (bool, error) {
	found, err := q.run(e.path, at)
	return len(found) > 0, err
}

func (e *pathCompare) test(q *querying, at any) (bool, error) {
	a, err := e.a.value(q, at)
	if err != nil {
		return false, err
	}
	b, err := e.b.value(q, at)
	if err != nil {
		return false, err
	}
	return q.compare(e.op, a, b)
}

// compare is RFC 9535 §2.3.5.2.2: unlike the simple conditions of Arazzo it converts
// nothing.
func (q *querying) compare(op string, a, b any) (bool, error) {
	switch op {
	case "==", "!=":
		same, err := q.same(a, b)
		return same == (op == "=="), err
	case "<=", ">=":
		if same, err := q.same(a, b); same || err != nil {
			return same, err
		}
	}
	if op[0] == '>' {
		a, b = b, a
	}
	switch x := a.(type) {
	case json.Number:
		if y, ok := b.(json.Number); ok {
			m, n, ok := numbers(x, y)
			return ok && m < n, nil
		}
	case string:
		if y, ok := b.(string); ok {
			return x < y, nil
		}
	}
	return false, nil
}

func (q *querying) same(a, b any) (bool, error) {
	_, isNothing := a.(nothing)
	if _, other := b.(nothing); isNothing || other {
		return isNothing && other, nil
	}
	switch a.(type) {
	case map[string]any, []any:
		if err := q.walk(a); err != nil {
			return false, err
		}
	}
	return equal(a, b), nil
}

// walk counts what a comparison of a structure costs.
func (q *querying) walk(v any) error {
	if err := q.visit(); err != nil {
		return err
	}
	for _, c := range children(v) {
		if err := q.walk(c); err != nil {
			return err
		}
	}
	return nil
}

func (e pathLiteral) value(*querying, any) (any, error) { return e.v, nil }

func (e pathSingular) value(q *querying, at any) (any, error) {
	found, err := q.run(e.path, at)
	if err != nil || len(found) == 0 {
		return nothing{}, err
	}
	return found[0], nil
}

// functions of RFC 9535 §2.4: whether their arguments are nodes, and whether they give a
// truth and not a value.
var functions = map[string]struct {
	arguments int
	nodes     bool
	logical   bool
}{
	"length": {1, false, false}, "count": {1, true, false}, "value": {1, true, false},
	"match": {2, false, true}, "search": {2, false, true},
}

func (e *pathCall) value(q *querying, at any) (any, error) {
	if e.paths != nil {
		found, err := q.run(e.paths[0], at)
		switch {
		case err != nil:
			return nil, err
		case e.name == "count":
			return numberOf(len(found)), nil
		case len(found) == 1:
			return found[0], nil
		}
		return nothing{}, nil
	}
	v, err := e.values[0].value(q, at)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		return numberOf(utf8.RuneCountInString(v)), nil
	case []any:
		return numberOf(len(v)), nil
	case map[string]any:
		return numberOf(len(v)), nil
	}
	return nothing{}, nil
}

func (e *pathCall) test(q *querying, at any) (bool, error) {
	a, err := e.values[0].value(q, at)
	if err != nil {
		return false, err
	}
	b, err := e.values[1].value(q, at)
	if err != nil {
		return false, err
	}
	text, ok := a.(string)
	pattern, also := b.(string)
	if !ok || !also {
		return false, nil
	}
	re := e.pattern
	if re == nil {
		// A pattern of the data is compiled for each value.
		for range len(pattern) {
			if err := q.visit(); err != nil {
				return false, err
			}
		}
		if re, err = e.compile(pattern); err != nil {
			return false, nil //nolint:nilerr // as the RFC says of what is not an I-Regexp
		}
	}
	if q.left -= len(text); q.left < 0 {
		return false, errVisits
	}
	return re.MatchString(text), nil
}

// compile makes an expression of an I-Regexp (RFC 9485).
func (e *pathCall) compile(pattern string) (*regexp.Regexp, error) {
	if e.name == "match" {
		pattern = `\A(?:` + pattern + `)\z`
	}
	return compileRegex(pattern)
}

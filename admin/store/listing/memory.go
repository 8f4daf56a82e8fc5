package listing

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// Memory is a list whose records are all at hand.
type Memory[R any] struct {
	Spec
	Key func(*R) string // unique
	// Get returns the value of a field by its name: a string, an int, a bool, a
	// [time.Time] or, of a Label, a map.
	Get func(r *R, field string) any
}

// Page returns the records that a query asks for, at most limit, after the one with a key
// (from the beginning for ""), and the key to go on after, or "". A record that is gone or
// does not match any more loses no other: its page goes on where it stands now. It fails
// with [problem.InvalidArgument] when the record of the key is gone.
func (m *Memory[R]) Page(all []R, q *Query, after string, limit int) (page []R, next string, err error) {
	sorted := slices.Clone(all)
	if len(q.Order) > 0 {
		slices.SortStableFunc(sorted, func(a, b R) int {
			for _, o := range q.Order {
				c := compareValues(m.value(&a, &o.Field), m.value(&b, &o.Field))
				if o.Desc {
					c = -c
				}
				if c != 0 {
					return c
				}
			}
			return cmp.Compare(m.Key(&a), m.Key(&b))
		})
	}
	if after != "" {
		i := slices.IndexFunc(sorted, func(r R) bool { return m.Key(&r) == after })
		if i < 0 {
			return nil, "", problem.New(problem.InvalidArgument, "the list has changed since the cursor was made").Fix("start again without cursor")
		}
		sorted = sorted[i+1:]
	}
	page = make([]R, 0, min(limit, len(sorted)))
	for i := range sorted {
		if !m.matches(&sorted[i], q) {
			continue
		}
		if len(page) == limit {
			return page, m.Key(&page[limit-1]), nil
		}
		page = append(page, sorted[i])
	}
	return page, "", nil
}

// value is that of a field: a string or a float64.
func (m *Memory[R]) value(r *R, f *Field) any {
	switch v := m.Get(r, f.Name).(type) {
	case string:
		return v
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	case bool:
		if v {
			return 1.0
		}
		return 0.0
	case time.Time:
		if v.IsZero() {
			return 0.0
		}
		return float64(v.UnixMilli())
	case map[string]string:
		b, _ := json.Marshal(v) // it cannot fail
		return string(b)
	}
	panic("BUG: the list has no field " + f.Name)
}

func compareValues(a, b any) int {
	if x, ok := a.(float64); ok {
		return cmp.Compare(x, b.(float64))
	}
	return cmp.Compare(strings.ToLower(a.(string)), strings.ToLower(b.(string)))
}

func (m *Memory[R]) matches(r *R, q *Query) bool {
	for i := range q.Terms {
		t, found := &q.Terms[i], false
		for j := range m.Fields {
			if f := &m.Fields[j]; t.Field == nil && f.Search || t.Field == f {
				v := m.value(r, f)
				found = found || slices.ContainsFunc(t.Any, func(x Test) bool { return x.holds(f, v) })
			}
		}
		if found == t.Not {
			return false
		}
	}
	return true
}

func (t *Test) holds(f *Field, v any) bool {
	if n, ok := v.(float64); ok {
		return t.compares(n) && (t.Other == nil || t.Other.compares(n))
	}
	text, want := strings.ToLower(v.(string)), strings.ToLower(t.Text)
	switch {
	case f.Kind == Label:
		return strings.Contains(text, strings.ToLower(LabelText(t.Text)))
	case t.Op == Contains:
		return strings.Contains(text, want)
	case t.Op == Begins:
		return strings.HasPrefix(text, want)
	}
	return text == want
}

func (t *Test) compares(n float64) bool {
	switch t.Op {
	case Less:
		return n < t.Number
	case AtMost:
		return n <= t.Number
	case More:
		return n > t.Number
	case AtLeast:
		return n >= t.Number
	}
	return n == t.Number
}

// LabelText is what the JSON text of labels contains when it has a label, written as NAME or
// NAME=VALUE.
func LabelText(label string) string {
	name, value, valued := strings.Cut(label, "=")
	text := quote(name) + ":"
	if valued {
		text += quote(value)
	}
	return text
}

func quote(s string) string {
	b, _ := json.Marshal(s) // it cannot fail
	return string(b)
}

package table

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store/listing"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestTime: a time is whole milliseconds in UTC, and no time is 0.
func TestTime(t *testing.T) {
	at := time.Date(2026, 11, 26, 12, 0, 0, 1_999_999, time.FixedZone("", 3600))
	for _, c := range []struct {
		time   time.Time
		column int64
		back   time.Time
	}{
		{time.Time{}, 0, time.Time{}},
		{at, at.UnixMilli(), at.Truncate(time.Millisecond).UTC()},
		{time.Unix(-1, 0), -1000, time.Unix(-1, 0).UTC()},
	} {
		v, err := Time{c.time}.Value()
		if err != nil || v != c.column {
			t.Errorf("%v is stored as %v, %v; want %d", c.time, v, err, c.column)
		}
		back := Time{at}
		if err := back.Scan(v); err != nil || back.Time != c.back {
			t.Errorf("%d is read as %v, %v; want %v", v, back, err, c.back)
		}
	}
	for _, v := range []any{nil, "1", []byte("1"), 1.5} {
		if err := new(Time).Scan(v); err == nil {
			t.Errorf("a time is read of %T", v)
		}
	}
}

// TestSize: a page has at least one record and at most MaxSize.
func TestSize(t *testing.T) {
	for limit, want := range map[int]int64{-1: DefaultSize, 0: DefaultSize, 1: 1, MaxSize: MaxSize, MaxSize + 1: MaxSize} {
		if got := (Page{Limit: limit}).Size(); got != want {
			t.Errorf("limit %d: %d records, want %d", limit, got, want)
		}
	}
}

// TestCut: only a page that more comes after has a key to continue after.
func TestCut(t *testing.T) {
	for n, want := range map[int]string{0: "", 2: "", 3: "", 4: "2"} {
		rows := make([]int, n)
		for i := range rows {
			rows[i] = i
		}
		got, next := cut(rows, Page{Limit: 3}, func(r *int) string { return strconv.Itoa(*r) })
		if len(got) != min(n, 3) || next != want {
			t.Errorf("%d rows: %d and %q, want %q", n, len(got), next, want)
		}
	}
}

// TestAfterKey: the condition of a next page compares column after column, and a key of
// another list is refused.
func TestAfterKey(t *testing.T) {
	id := listing.Order{Field: listing.Field{Kind: listing.Word, Column: "id"}}
	name := listing.Order{Field: listing.Field{Kind: listing.Text, Column: "name"}, Desc: true}
	at := listing.Order{Field: listing.Field{Kind: listing.Time, Column: "at"}}
	for _, c := range []struct {
		order []listing.Order
		key   string
		want  string
		args  []any
	}{
		{[]listing.Order{id}, "a", "((id > ?))", []any{"a"}},
		{[]listing.Order{at}, "12", "((at > ?))", []any{int64(12)}},
		{[]listing.Order{name, id}, `["N","i"]`, "((lower(name) < lower(?)) OR (lower(name) = lower(?) AND id > ?))", []any{"N", "N", "i"}},
		{[]listing.Order{at, id}, `["7","i"]`, "((at > ?) OR (at = ? AND id > ?))", []any{int64(7), int64(7), "i"}},
		{order: []listing.Order{at}, key: "a"},
		{order: []listing.Order{name, id}, key: "a"},
		{order: []listing.Order{name, id}, key: `["a"]`},
		{order: []listing.Order{name, id}, key: `["a","b","c"]`},
		{order: []listing.Order{at, id}, key: `["x","i"]`},
	} {
		got, args, err := afterKey(c.order, c.key)
		if got != c.want || !slices.Equal(args, c.args) || (c.want == "") != problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%s: %s %v, %v; want %s %v", c.key, got, args, err, c.want, c.args)
		}
	}
}

// TestCondition: what a person searches for is never a pattern of SQL.
func TestCondition(t *testing.T) {
	word := listing.Field{Name: "state", Kind: listing.Word, Column: "state"}
	actor := listing.Field{Name: "actor", Kind: listing.Word, Column: "actor_id", Parent: "/"}
	text := listing.Field{Name: "name", Kind: listing.Text, Search: true, Column: "name"}
	slow := listing.Field{Name: "ms", Kind: listing.Number, Column: "duration", Scale: 1000}
	label := listing.Field{Name: "label", Kind: listing.Label, Column: "labels"}
	spec := &listing.Spec{Fields: []listing.Field{word, actor, text, slow, label}, Default: []listing.Order{{Field: word}}}
	for _, c := range []struct {
		q, filter string
		want      string
		args      []any
	}{
		{q: "50%_!", want: "(lower(name) LIKE lower(?) ESCAPE '!')", args: []any{"%50!%!_!!%"}},
		{filter: "state:on", want: "(state = ?)", args: []any{"on"}},
		{filter: "-state:on", want: "NOT (state = ?)", args: []any{"on"}},
		{filter: "state:o_*", want: "(lower(state) LIKE lower(?) ESCAPE '!')", args: []any{"o!_%"}},
		{filter: "actor:a_b", want: "((actor_id = ? OR actor_id LIKE ? ESCAPE '!'))", args: []any{"a_b", "a!_b/%"}},
		{filter: "ms:>2", want: "(duration > ?)", args: []any{float64(2000)}},
	} {
		asked, err := listing.Parse(spec, c.q, c.filter, "", time.Now())
		if err != nil || len(asked.Terms) != 1 {
			t.Errorf("%s%s: %+v, %v", c.q, c.filter, asked, err)
			continue
		}
		got, args := condition(spec, &asked.Terms[0])
		if got != c.want || !slices.Equal(args, c.args) {
			t.Errorf("%s%s: %s %v, want %s %v", c.q, c.filter, got, args, c.want, c.args)
		}
	}
}

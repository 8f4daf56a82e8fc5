package table

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/listing"
	"github.com/sluicegate/sluice/internal/problem"
)

// Read reads a page of a list: q selects its rows into rows, without order and limit.
// It fails with [problem.InvalidArgument] when the page asks for what spec does not have.
func Read[T any](ctx context.Context, db bun.IDB, q *bun.SelectQuery, rows *[]T, spec *listing.Spec, p Page, what string) ([]T, string, error) {
	asked, err := listing.Parse(spec, p.Q, p.Filter, p.OrderBy, time.Now())
	if err != nil {
		return nil, "", err
	}
	for i := range asked.Terms {
		if text, args := condition(spec, &asked.Terms[i]); text != "" {
			q = q.Where(text, args...)
		}
	}
	order := asked.Order
	if len(order) == 0 {
		order = spec.Default
	}
	if p.After != "" {
		text, args, err := afterKey(order, p.After)
		if err != nil {
			return nil, "", err
		}
		q = q.Where(text, args...)
	}
	for i := range order {
		direction := " ASC"
		if order[i].Desc {
			direction = " DESC"
		}
		q = q.OrderExpr(sortedBy(&order[i].Field) + direction)
	}
	if err := q.Limit(p.Size() + 1).Scan(ctx); err != nil {
		return nil, "", fmt.Errorf("listing %s: %w", what, err)
	}
	out, next := cut(*rows, p, func(r *T) string { return keyOf(db, order, r) })
	return out, next, nil
}

// sortedBy is the expression that a field is sorted by: words of people without regard to
// capitals.
func sortedBy(f *listing.Field) string {
	if f.Kind == listing.Text {
		return "lower(" + f.Column + ")"
	}
	return f.Column
}

// numeric reports whether the database keeps numbers in a field.
func numeric(f *listing.Field) bool {
	return f.Kind == listing.Number || f.Kind == listing.Time || f.Kind == listing.Bool
}

// keyOf is what a row says to the order of a list, for the page that begins after it.
func keyOf[T any](db bun.IDB, order []listing.Order, row *T) string {
	table := db.Dialect().Tables().Get(reflect.TypeFor[*T]())
	values := make([]string, len(order))
	for i := range order {
		field, ok := table.FieldMap[order[i].Field.Column]
		if !ok {
			panic("BUG: a list is sorted by " + order[i].Field.Column + ", which is not a column of it")
		}
		switch v := field.Value(reflect.ValueOf(row).Elem()).Interface().(type) {
		case Time:
			if !v.IsZero() {
				values[i] = strconv.FormatInt(v.UnixMilli(), 10)
			} else {
				values[i] = "0"
			}
		case bool:
			values[i] = strconv.Itoa(map[bool]int{true: 1}[v])
		default:
			values[i] = fmt.Sprint(v)
		}
	}
	if len(values) == 1 {
		return values[0]
	}
	key, err := json.Marshal(values)
	if err != nil {
		panic("BUG: " + err.Error()) // texts can always be written
	}
	return string(key)
}

// afterKey is the condition of the rows that come after a key of keyOf.
func afterKey(order []listing.Order, key string) (string, []any, error) {
	values := []string{key}
	if len(order) > 1 {
		values = nil
		if err := json.Unmarshal([]byte(key), &values); err != nil || len(values) != len(order) {
			return "", nil, foreignCursor()
		}
	}
	var b strings.Builder
	var args []any
	for i := range order {
		if i > 0 {
			b.WriteString(" OR ")
		}
		b.WriteByte('(')
		for j := range i + 1 {
			op := " = "
			switch {
			case j < i:
			case order[j].Desc:
				op = " < "
			default:
				op = " > "
			}
			if j > 0 {
				b.WriteString(" AND ")
			}
			f := &order[j].Field
			b.WriteString(sortedBy(f) + op)
			if !numeric(f) {
				b.WriteString(strings.Replace(sortedBy(f), f.Column, "?", 1))
				args = append(args, values[j])
				continue
			}
			n, err := strconv.ParseInt(values[j], 10, 64)
			if err != nil {
				return "", nil, foreignCursor()
			}
			b.WriteByte('?')
			args = append(args, n)
		}
		b.WriteByte(')')
	}
	return "(" + b.String() + ")", args, nil
}

func foreignCursor() error {
	return problem.New(problem.InvalidArgument, "the cursor does not belong to this list").Fix("start again without cursor")
}

// condition is a term in SQL.
func condition(spec *listing.Spec, t *listing.Term) (string, []any) {
	var parts []string
	var args []any
	for i := range spec.Fields {
		f := &spec.Fields[i]
		if t.Field == nil && !f.Search || t.Field != nil && t.Field != f {
			continue
		}
		for j := range t.Any {
			text, values := comparison(f, &t.Any[j])
			parts, args = append(parts, text), append(args, values...)
		}
	}
	text := "(" + strings.Join(parts, " OR ") + ")"
	if t.Not {
		text = "NOT " + text
	}
	return text, args
}

func comparison(f *listing.Field, t *listing.Test) (string, []any) {
	if numeric(f) {
		text, args := f.Column+" "+string(t.Op)+" ?", []any{int64(t.Number)}
		if f.Kind == listing.Number {
			args = []any{t.Number * cmp.Or(f.Scale, 1)}
		}
		if t.Other != nil {
			more, values := comparison(f, t.Other)
			text, args = "("+text+" AND "+more+")", append(args, values...)
		}
		return text, args
	}
	const like = "lower(%s) LIKE lower(?) ESCAPE '!'"
	switch {
	case f.Kind == listing.Label:
		return fmt.Sprintf(like, f.Column), []any{"%" + escapeLike(listing.LabelText(t.Text)) + "%"}
	case t.Op == listing.Contains:
		return fmt.Sprintf(like, f.Column), []any{"%" + escapeLike(t.Text) + "%"}
	case t.Op == listing.Begins:
		return fmt.Sprintf(like, f.Column), []any{escapeLike(t.Text) + "%"}
	}
	if f.Parent != "" {
		return "(" + f.Column + " = ? OR " + f.Column + " LIKE ? ESCAPE '!')", []any{t.Text, escapeLike(t.Text+f.Parent) + "%"}
	}
	return f.Column + " = ?", []any{t.Text}
}

var likeEscaper = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

func escapeLike(s string) string { return likeEscaper.Replace(s) }

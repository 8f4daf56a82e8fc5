package listing

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// Bounds of what a request may ask of a list: far above what people write, far below
// what a database minds.
const (
	MaxTextBytes = 512 // of q, and of filter
	maxTerms     = 16  // words of q and terms of filter together
	maxValues    = 16  // of one term: a,b,c
	maxOrder     = 4   // fields of orderBy
)

// Query is what a request asks of a list.
type Query struct {
	Terms []Term
	Order []Order // empty: the list's own
}

// Term is one condition. All must hold.
type Term struct {
	Field *Field // nil: a word that one of the searched fields contains
	Not   bool
	Any   []Test // one must hold
}

// Op is how a value is compared.
type Op string

// The comparisons.
const (
	Is       Op = "="
	Begins   Op = "*" // of a Word
	Contains Op = "~"
	Less     Op = "<"
	AtMost   Op = "<="
	More     Op = ">"
	AtLeast  Op = ">="
)

// Test compares a field with a value: Text, or Number for numbers, truth values (1, 0) and
// times (milliseconds since 1970; 0: never).
type Test struct {
	Op     Op
	Text   string
	Number float64
	// Other bounds the value on the other side, too: 10..20 is at least 10, and Other at
	// most 20.
	Other *Test
}

// Parse reads the query parameters of a list. It fails with [problem.InvalidArgument].
func Parse(s *Spec, q, filter, orderBy string, now time.Time) (*Query, error) {
	out := new(Query)
	if q != "" && !s.Searched() {
		return nil, problem.New(problem.InvalidArgument, "q: this list cannot be searched").Fix("use filter: %s", strings.Join(s.Names(), ", "))
	}
	for _, x := range []struct {
		parameter, text string
		qualified       bool
	}{{"q", q, false}, {"filter", filter, true}} {
		if len(x.text) > MaxTextBytes {
			return nil, problem.New(problem.InvalidArgument, "%s has %d bytes, more than %d", x.parameter, len(x.text), MaxTextBytes)
		}
		words, err := split(x.parameter, x.text)
		if err != nil {
			return nil, err
		}
		for i := range words {
			if len(out.Terms) == maxTerms {
				return nil, problem.New(problem.InvalidArgument, "q and filter have more than %d terms", maxTerms).Fix("leave some out")
			}
			t, err := s.term(&words[i], x.qualified, now)
			if err != nil {
				return nil, err
			}
			out.Terms = append(out.Terms, t)
		}
	}
	if orderBy != "" {
		for part := range strings.SplitSeq(orderBy, ",") {
			name, desc := strings.CutPrefix(strings.TrimSpace(part), "-")
			f, ok := s.field(name)
			if !ok || f.NoSort {
				return nil, unknown("field to sort by", "orderBy", name, s.Sorted())
			}
			if len(out.Order) == maxOrder {
				return nil, problem.New(problem.InvalidArgument, "orderBy has more than %d fields", maxOrder)
			}
			out.Order = append(out.Order, Order{*f, desc})
		}
		if n := len(s.Default); n > 0 {
			out.Order = append(out.Order, s.Default[n-1])
		}
	}
	return out, nil
}

// word is a term as it was written: [-][key:]value, the value perhaps in quotes.
type word struct {
	text   string // as written
	not    bool
	key    string // "": none
	value  string
	quoted bool
}

// split takes a text apart at spaces that are in no quotes.
func split(parameter, text string) (out []word, err error) {
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			return out, nil
		}
		var w word
		begin := text
		w.not = strings.HasPrefix(text, "-") && len(text) > 1
		if w.not {
			text = text[1:]
		}
		if i := strings.IndexAny(text, ": \t\r\n\""); i > 0 && text[i] == ':' {
			w.key, text = text[:i], text[i+1:]
		}
		if strings.HasPrefix(text, `"`) {
			value, rest, closed := strings.Cut(text[1:], `"`)
			if !closed {
				return nil, problem.New(problem.InvalidArgument, `%s: a quote is not closed: %.80q`, parameter, text).Fix(`write "two words"`)
			}
			w.value, w.quoted, text = value, true, rest
		} else {
			i := strings.IndexAny(text, " \t\r\n")
			if i < 0 {
				i = len(text)
			}
			w.value, text = text[:i], text[i:]
		}
		w.text = begin[:len(begin)-len(text)]
		if w.value == "" && !w.quoted {
			return nil, problem.New(problem.InvalidArgument, "%s: %.80q has no value", parameter, w.text).Fix("write %s:VALUE", w.key)
		}
		out = append(out, w)
	}
}

func (s *Spec) term(w *word, qualified bool, now time.Time) (Term, error) {
	if !qualified || w.key == "" {
		if !s.Searched() {
			return Term{}, unknown("search in words", "filter", w.text, s.Names())
		}
		text := w.value
		if !qualified && w.key != "" { // q has no qualifiers: a colon is a colon
			text = w.key + ":" + text
		}
		return Term{Not: w.not, Any: []Test{{Op: Contains, Text: text}}}, nil
	}
	f, ok := s.field(w.key)
	if !ok {
		return Term{}, unknown("field", "filter", w.key, s.Names())
	}
	t := Term{Field: f, Not: w.not}
	values := []string{w.value}
	if !w.quoted {
		values = strings.Split(w.value, ",")
	}
	if len(values) > maxValues {
		return Term{}, problem.New(problem.InvalidArgument, "filter: %s has more than %d values", f.Name, maxValues)
	}
	for _, v := range values {
		test, err := f.test(v, w.quoted, now)
		if err != nil {
			return Term{}, err
		}
		t.Any = append(t.Any, test)
	}
	return t, nil
}

// None is the value of a field that has none.
const None = "none"

func (f *Field) test(v string, quoted bool, now time.Time) (Test, error) {
	switch f.Kind {
	case Number, Time:
		return f.compare(v, now)
	case Bool:
		switch strings.ToLower(v) {
		case "true", "yes":
			return Test{Op: Is, Number: 1}, nil
		case "false", "no":
			return Test{Op: Is}, nil
		}
		return Test{}, problem.New(problem.InvalidArgument, "filter: %s is true or false, not %.80q", f.Name, v)
	case Text:
		if v == None && !quoted {
			return Test{Op: Is}, nil
		}
		return Test{Op: Contains, Text: v}, nil
	case Label:
		if v == "" {
			return Test{}, problem.New(problem.InvalidArgument, "filter: %s wants NAME or NAME=VALUE", f.Name)
		}
		return Test{Op: Contains, Text: v}, nil
	}
	if v == None && !quoted {
		return Test{Op: Is}, nil
	}
	if begin, ok := strings.CutSuffix(v, "*"); ok && !quoted {
		return Test{Op: Begins, Text: begin}, nil
	}
	if len(f.Values) > 0 {
		for _, known := range f.Values {
			if strings.EqualFold(v, known) {
				return Test{Op: Is, Text: known}, nil
			}
		}
		return Test{}, unknown(f.Name, "filter", v, f.Values)
	}
	return Test{Op: Is, Text: v}, nil
}

var compared = regexp.MustCompile(`^(>=|<=|>|<)?(.+)$`)

// compare reads a number or a time with its comparison: 5, >5, >=5, 5..10.
func (f *Field) compare(v string, now time.Time) (Test, error) {
	if from, to, ok := strings.Cut(v, ".."); ok {
		low, _, err := f.number(from, now)
		if err != nil {
			return Test{}, err
		}
		high, width, err := f.number(to, now)
		return Test{Op: AtLeast, Number: low, Other: &Test{Op: AtMost, Number: high + width}}, err
	}
	m := compared.FindStringSubmatch(v)
	if m == nil {
		return Test{}, problem.New(problem.InvalidArgument, "filter: %s has no value", f.Name)
	}
	n, width, err := f.number(m[2], now)
	if err != nil {
		return Test{}, err
	}
	switch op := Op(m[1]); {
	case op == More, op == AtMost: // after the whole of a day, or up to its end
		return Test{Op: op, Number: n + width}, nil
	case op != "":
		return Test{Op: op, Number: n}, nil
	case width > 0:
		return Test{Op: AtLeast, Number: n, Other: &Test{Op: AtMost, Number: n + width}}, nil
	}
	return Test{Op: Is, Number: n}, nil
}

// number reads one number or time, and of a day how many milliseconds it has after its first.
func (f *Field) number(v string, now time.Time) (n, width float64, err error) {
	if f.Kind == Number {
		if n, err = strconv.ParseFloat(v, 64); err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return 0, 0, problem.New(problem.InvalidArgument, "filter: %s is a number, not %.80q", f.Name, v).Fix("write %s:5, %s:>=5 or %s:5..10", f.Name, f.Name, f.Name)
		}
		return n, 0, nil
	}
	if v == None || v == "never" {
		return 0, 0, nil
	}
	if t, err := time.Parse(time.DateOnly, v); err == nil {
		return float64(t.UnixMilli()), float64((24 * time.Hour).Milliseconds() - 1), nil
	}
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return float64(t.UnixMilli()), 0, nil
	}
	hours, text := 1, v
	if days, ok := strings.CutSuffix(v, "d"); ok {
		hours, text = 24, days+"h"
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 && d < maxAge/time.Duration(hours) {
		return float64(now.Add(-d * time.Duration(hours)).UnixMilli()), 0, nil
	}
	return 0, 0, problem.New(problem.InvalidArgument, "filter: %s is a time, not %.80q", f.Name, v).
		Fix("write a day (2026-11-01), a time (2026-11-01T08:00:00Z) or how long ago (24h, 7d): %s:>=24h is since then", f.Name)
}

// maxAge is how long ago a time may be that is written as a duration: what [time.Duration]
// can hold is less than 300 years.
const maxAge = 200 * 365 * 24 * time.Hour

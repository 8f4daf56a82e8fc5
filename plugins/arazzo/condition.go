package arazzo

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxConditionDepth is how deep a simple condition may nest.
const maxConditionDepth = 32

// condition is a part of a simple condition: $statusCode == 200 && !($inputs.dry == true).
type condition interface {
	eval(s scope) any
	expressions(visit func(*expression))
}

type (
	operand    struct{ value any }
	reference  struct{ e *expression }
	not        struct{ of condition }
	both       struct{ a, b condition }
	either     struct{ a, b condition }
	comparison struct {
		op   string
		a, b condition
	}
)

func (c operand) eval(scope) any       { return c.value }
func (c reference) eval(s scope) any   { return c.e.eval(s) }
func (c not) eval(s scope) any         { return !truth(c.of.eval(s)) }
func (c both) eval(s scope) any        { return truth(c.a.eval(s)) && truth(c.b.eval(s)) }
func (c either) eval(s scope) any      { return truth(c.a.eval(s)) || truth(c.b.eval(s)) }
func (c *comparison) eval(s scope) any { return compare(c.op, c.a.eval(s), c.b.eval(s)) }

func (c operand) expressions(func(*expression))         {}
func (c reference) expressions(visit func(*expression)) { visit(c.e) }
func (c not) expressions(visit func(*expression))       { c.of.expressions(visit) }
func (c both) expressions(visit func(*expression))      { c.a.expressions(visit); c.b.expressions(visit) }

func (c either) expressions(visit func(*expression)) { c.a.expressions(visit); c.b.expressions(visit) }

func (c *comparison) expressions(visit func(*expression)) {
	c.a.expressions(visit)
	c.b.expressions(visit)
}

// truth is what a value is as a condition: false, null and what does not exist are not
// met.
func truth(v any) bool {
	if b, ok := v.(bool); ok {
		return b
	}
	return v != nil
}

// compare compares as the specification says: text without regard to case, numbers by
// value, also where one side is the text of a number.
func compare(op string, a, b any) bool {
	if x, y, ok := numbers(a, b); ok {
		return ordered(op, x, y)
	}
	s, isText := a.(string)
	t, both := b.(string)
	if isText && both {
		if op == "==" || op == "!=" {
			return strings.EqualFold(s, t) == (op == "==")
		}
		if x, ok := number(s); ok { // texts of numbers, such as headers, are ordered as numbers
			if y, ok := number(t); ok {
				return ordered(op, x, y)
			}
		}
		return ordered(op, float64(strings.Compare(strings.ToLower(s), strings.ToLower(t))), 0)
	}
	switch op {
	case "==":
		return equal(a, b)
	case "!=":
		return !equal(a, b)
	}
	return false
}

func ordered(op string, x, y float64) bool {
	switch op {
	case "==":
		return x == y
	case "!=":
		return x != y
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	}
	return x >= y
}

// numbers are two values as numbers, if one is a number and the other can be one.
func numbers(a, b any) (x, y float64, ok bool) {
	m, isNumber := a.(json.Number)
	n, alsoNumber := b.(json.Number)
	if !isNumber && !alsoNumber {
		return 0, 0, false
	}
	if isNumber && m == n {
		return 0, 0, true
	}
	if isNumber && alsoNumber {
		i, integer := integerOf(m)
		j, also := integerOf(n)
		if integer && also {
			return float64(i.Cmp(j)), 0, true
		}
	}
	x, ok1 := number(a)
	y, ok2 := number(b)
	return x, y, ok1 && ok2
}

// integerOf is a number as an integer: identifiers are larger than float64 tells apart.
func integerOf(n json.Number) (*big.Int, bool) {
	if len(n) > maxDigits || strings.ContainsAny(string(n), ".eE") {
		return nil, false
	}
	return new(big.Int).SetString(string(n), 10)
}

// maxDigits of an integer that is compared exactly: its reading is quadratic.
const maxDigits = 100

func number(v any) (float64, bool) {
	var s string
	switch v := v.(type) {
	case json.Number:
		s = string(v)
	case string:
		s = strings.TrimSpace(v)
	default:
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsNaN(f)
}

// equal compares two JSON values; text in them is compared as it is.
func equal(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			if w, has := y[k]; !has || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case json.Number:
		y, ok := b.(json.Number)
		if !ok {
			return false
		}
		m, n, ok := numbers(x, y)
		return ok && m == n
	}
	switch b.(type) {
	case map[string]any, []any, json.Number:
		return false
	}
	return a == b
}

// parseCondition reads a simple condition.
func parseCondition(s string) (condition, error) {
	if len(s) > maxText {
		return nil, fmt.Errorf("the condition has %d bytes, at most %d", len(s), maxText)
	}
	p := &conditionParser{rest: s}
	c, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.rest != "" {
		return nil, fmt.Errorf("nothing is expected behind the condition, but there is %.40q", p.rest)
	}
	return c, nil
}

type conditionParser struct{ rest string }

func (p *conditionParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *conditionParser) take(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *conditionParser) or(depth int) (condition, error) {
	a, err := p.and(depth)
	for err == nil && p.take("||") {
		var b condition
		b, err = p.and(depth)
		a = either{a, b}
	}
	return a, err
}

func (p *conditionParser) and(depth int) (condition, error) {
	a, err := p.compared(depth)
	for err == nil && p.take("&&") {
		var b condition
		b, err = p.compared(depth)
		a = both{a, b}
	}
	return a, err
}

func (p *conditionParser) compared(depth int) (condition, error) {
	a, err := p.unary(depth)
	if err != nil {
		return nil, err
	}
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if p.take(op) {
			b, err := p.unary(depth)
			return &comparison{op, a, b}, err
		}
	}
	return a, nil
}

func (p *conditionParser) unary(depth int) (condition, error) {
	if depth > maxConditionDepth {
		return nil, fmt.Errorf("the condition nests deeper than %d", maxConditionDepth)
	}
	switch {
	case p.take("!"):
		c, err := p.unary(depth + 1)
		return not{c}, err
	case p.take("("):
		c, err := p.or(depth + 1)
		if err == nil && !p.take(")") {
			err = errors.New("a parenthesis is not closed")
		}
		return c, err
	}
	return p.operand()
}

func (p *conditionParser) operand() (condition, error) {
	if p.space(); p.rest == "" {
		return nil, errors.New("a value is expected where the condition ends")
	}
	switch c := p.rest[0]; {
	case c == '\'' || c == '"':
		return p.quoted(c)
	case c == '$' || strings.HasPrefix(p.rest, "{$"):
		braced := c == '{'
		if braced {
			p.rest = p.rest[1:]
		}
		n := expressionEnd(p.rest)
		e, err := parseExpression(p.rest[:n])
		if p.rest = p.rest[n:]; err == nil && braced && !p.take("}") {
			err = errors.New("a brace is not closed")
		}
		return reference{e}, err
	}
	n := strings.IndexAny(p.rest, " \t\r\n()=!<>&|")
	if n < 0 {
		n = len(p.rest)
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	switch word {
	case "true", "false":
		return operand{word == "true"}, nil
	case "null":
		return operand{nil}, nil
	}
	if f, err := strconv.ParseFloat(word, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) && !strings.ContainsAny(word, "xX_") {
		return operand{json.Number(word)}, nil
	}
	if word == "" {
		return nil, fmt.Errorf("a value is expected before %.40q", p.rest)
	}
	return nil, fmt.Errorf("%.40q is not a value: write an expression, a number, true, false, null or 'text'", word)
}

// quoted reads text in quotes, which are doubled inside it.
func (p *conditionParser) quoted(quote byte) (condition, error) {
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == quote && i+1 < len(p.rest) && p.rest[i+1] == quote:
			b.WriteByte(quote)
			i++
		case c == quote:
			p.rest = p.rest[i+1:]
			return operand{b.String()}, nil
		default:
			b.WriteByte(c)
		}
	}
	return nil, errors.New("a text is not closed")
}

// expressionEnd is where an expression ends inside a condition.
func expressionEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[':
			end := strings.IndexByte(s[i:], ']')
			if end < 0 {
				return len(s)
			}
			i += end
		case ' ', '\t', '\r', '\n', '(', ')', '=', '!', '<', '>', '&', '|', '}':
			return i
		}
	}
	return len(s)
}

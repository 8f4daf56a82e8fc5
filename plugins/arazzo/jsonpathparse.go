package arazzo

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxRegex is the length of a regular expression in bytes.
	maxRegex = 512
	// maxRegexProgram is how many instructions it may have: matching takes their number
	// times the length of the text.
	maxRegexProgram = 1000
)

// compileRegex compiles an expression with RE2, whose time is linear in the text.
func compileRegex(s string) (*regexp.Regexp, error) {
	if len(s) > maxRegex {
		return nil, fmt.Errorf("the regular expression has %d bytes, at most %d", len(s), maxRegex)
	}
	parsed, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%w (the syntax is RE2's: no look-around and no backreferences)", err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("compiling the regular expression: %w", err)
	}
	if len(prog.Inst) > maxRegexProgram {
		return nil, fmt.Errorf("the regular expression is too large: %d instructions, at most %d", len(prog.Inst), maxRegexProgram)
	}
	return regexp.Compile(s)
}

// parsePath reads a JSONPath of RFC 9535.
func parsePath(s string) (*jsonPath, error) {
	if len(s) > maxText {
		return nil, fmt.Errorf("the JSONPath has %d bytes, at most %d", len(s), maxText)
	}
	if !utf8.ValidString(s) {
		return nil, errors.New("the JSONPath is not UTF-8")
	}
	p := &pathParser{s: s}
	if !p.take("$") {
		return nil, p.fault("a JSONPath begins with $")
	}
	path, err := p.segments(&jsonPath{root: true})
	if err != nil {
		return nil, err
	}
	if p.i < len(p.s) {
		return nil, p.fault("nothing is expected here")
	}
	return path, nil
}

type pathParser struct {
	s     string
	i     int
	depth int
}

func (p *pathParser) fault(format string, a ...any) error {
	return fmt.Errorf("JSONPath, character %d: %s", utf8.RuneCountInString(p.s[:p.i])+1, fmt.Sprintf(format, a...))
}

func (p *pathParser) take(token string) bool {
	if strings.HasPrefix(p.s[p.i:], token) {
		p.i += len(token)
		return true
	}
	return false
}

func (p *pathParser) space() {
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.i]) >= 0 {
		p.i++
	}
}

func (p *pathParser) segments(path *jsonPath) (*jsonPath, error) {
	for {
		before := p.i
		p.space()
		switch {
		case p.take(".."):
			s := pathSegment{descendant: true}
			if err := p.segment(&s); err != nil {
				return nil, err
			}
			path.segments = append(path.segments, s)
		case p.take("."):
			var s pathSegment
			if strings.HasPrefix(p.s[p.i:], "[") {
				return nil, p.fault("expected a name or * behind the dot")
			}
			if err := p.segment(&s); err != nil {
				return nil, err
			}
			path.segments = append(path.segments, s)
		case strings.HasPrefix(p.s[p.i:], "["):
			var s pathSegment
			if err := p.segment(&s); err != nil {
				return nil, err
			}
			path.segments = append(path.segments, s)
		default:
			p.i = before
			return path, nil
		}
	}
}

func (p *pathParser) segment(s *pathSegment) error {
	if p.take("*") {
		s.selectors = []pathSelector{{kind: selectAll}}
		return nil
	}
	if !p.take("[") {
		name := p.name()
		if name == "" {
			return p.fault("expected a name, * or [")
		}
		s.selectors = []pathSelector{{kind: selectName, name: name}}
		return nil
	}
	for {
		p.space()
		sel, err := p.selector()
		if err != nil {
			return err
		}
		s.selectors = append(s.selectors, sel)
		p.space()
		if p.take("]") {
			return nil
		}
		if !p.take(",") {
			return p.fault("expected , or ]")
		}
	}
}

// name is a member-name-shorthand.
func (p *pathParser) name() string {
	begin := p.i
	for p.i < len(p.s) {
		r, n := utf8.DecodeRuneInString(p.s[p.i:])
		letter := r == '_' || r >= 0x80 || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (p.i == begin || r < '0' || r > '9') {
			break
		}
		p.i += n
	}
	return p.s[begin:p.i]
}

func (p *pathParser) selector() (pathSelector, error) {
	if p.i >= len(p.s) {
		return pathSelector{}, p.fault("a bracket is not closed")
	}
	switch c := p.s[p.i]; {
	case c == '\'' || c == '"':
		name, err := p.quoted()
		return pathSelector{kind: selectName, name: name}, err
	case c == '*':
		p.i++
		return pathSelector{kind: selectAll}, nil
	case c == '?':
		p.i++
		p.space()
		f, err := p.or()
		return pathSelector{kind: selectFilter, filter: f}, err
	}
	start, err := p.integer()
	if err != nil {
		return pathSelector{}, err
	}
	before := p.i
	p.space()
	if !p.take(":") {
		if p.i = before; start == nil {
			return pathSelector{}, p.fault("expected a name in quotes, an index, a slice, * or ?")
		}
		return pathSelector{kind: selectIndex, index: *start}, nil
	}
	s := pathSelector{kind: selectSlice, start: start}
	p.space()
	if s.end, err = p.integer(); err != nil {
		return s, err
	}
	p.space()
	if p.take(":") {
		p.space()
		s.step, err = p.integer()
	}
	return s, err
}

// integer reads an integer of I-JSON; nil when there is none.
func (p *pathParser) integer() (*int64, error) {
	begin := p.i
	p.take("-")
	digits := p.i
	for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
		p.i++
	}
	if text := p.s[digits:p.i]; text == "" && digits == begin {
		return nil, nil
	} else if text == "" || text[0] == '0' && (len(text) > 1 || digits > begin) {
		return nil, p.fault("%.40q is not an index", p.s[begin:p.i])
	}
	n, err := strconv.ParseInt(p.s[begin:p.i], 10, 64)
	if err != nil || n > 1<<53-1 || n < -(1<<53-1) {
		return nil, p.fault("the index %.40s is too large", p.s[begin:p.i])
	}
	return &n, nil
}

func (p *pathParser) quoted() (string, error) {
	quote := p.s[p.i]
	p.i++
	var b strings.Builder
	for p.i < len(p.s) {
		c := p.s[p.i]
		p.i++
		switch {
		case c == quote:
			return b.String(), nil
		case c < ' ':
			return "", p.fault("a control character has to be escaped")
		case c != '\\':
			b.WriteByte(c)
			continue
		}
		if p.i >= len(p.s) {
			break
		}
		c = p.s[p.i]
		p.i++
		switch {
		case c == quote || c == '\\' || c == '/':
			b.WriteByte(c)
		case strings.IndexByte("bfnrt", c) >= 0:
			b.WriteByte("\b\f\n\r\t"[strings.IndexByte("bfnrt", c)])
		case c == 'u':
			r, err := p.unicode()
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
		default:
			return "", p.fault("\\%c is not an escape", c)
		}
	}
	return "", p.fault("a text is not closed")
}

func (p *pathParser) unicode() (rune, error) {
	hex := func() (rune, bool) {
		if p.i+4 > len(p.s) {
			return 0, false
		}
		n, err := strconv.ParseUint(p.s[p.i:p.i+4], 16, 16)
		p.i += 4
		return rune(n), err == nil
	}
	r, ok := hex()
	if ok && utf16.IsSurrogate(r) {
		if ok = p.take("\\u"); ok {
			var low rune
			low, ok = hex()
			r = utf16.DecodeRune(r, low)
			ok = ok && r != utf8.RuneError
		}
	}
	if !ok {
		return 0, p.fault("\\u needs four hexadecimal digits, and a pair beyond U+FFFF")
	}
	return r, nil
}

func (p *pathParser) or() (pathExpr, error) {
	if p.depth++; p.depth > maxPathDepth {
		return nil, p.fault("filters nest deeper than %d", maxPathDepth)
	}
	defer func() { p.depth-- }()
	var list pathOr
	for {
		x, err := p.and()
		if err != nil {
			return nil, err
		}
		list = append(list, x)
		if p.space(); !p.take("||") {
			break
		}
		p.space()
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

func (p *pathParser) and() (pathExpr, error) {
	var list pathAnd
	for {
		x, err := p.basic()
		if err != nil {
			return nil, err
		}
		list = append(list, x)
		if p.space(); !p.take("&&") {
			break
		}
		p.space()
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

func (p *pathParser) basic() (pathExpr, error) {
	negated := false
	for p.take("!") {
		if p.space(); negated {
			return nil, p.fault("! stands once")
		}
		negated = true
	}
	var x pathExpr
	if p.take("(") {
		p.space()
		var err error
		if x, err = p.or(); err != nil {
			return nil, err
		}
		if p.space(); !p.take(")") {
			return nil, p.fault("expected )")
		}
	} else {
		a, err := p.comparable()
		if err != nil {
			return nil, err
		}
		p.space()
		op := ""
		for _, o := range []string{"==", "!=", "<=", ">=", "<", ">"} {
			if p.take(o) {
				op = o
				break
			}
		}
		if op != "" && negated {
			return nil, p.fault("a comparison behind ! needs parentheses")
		}
		if x, err = p.completed(a, op); err != nil {
			return nil, err
		}
	}
	if negated {
		x = pathNot{x}
	}
	return x, nil
}

// completed makes an expression of what was read first: a comparison, or a test.
func (p *pathParser) completed(a any, op string) (pathExpr, error) {
	if op == "" {
		switch a := a.(type) {
		case *jsonPath:
			return pathExists{a}, nil
		case *pathCall:
			if functions[a.name].logical {
				return a, nil
			}
			return nil, p.fault("the value of %s() has to be compared", a.name)
		}
		return nil, p.fault("a constant has to be compared")
	}
	x, err := p.operand(a)
	if err != nil {
		return nil, err
	}
	p.space()
	b, err := p.comparable()
	if err != nil {
		return nil, err
	}
	y, err := p.operand(b)
	return &pathCompare{op, x, y}, err
}

func (p *pathParser) operand(v any) (pathValue, error) {
	switch v := v.(type) {
	case *jsonPath:
		if !v.singular() {
			return nil, p.fault("only a path to one value can be compared")
		}
		return pathSingular{v}, nil
	case *pathCall:
		if functions[v.name].logical {
			return nil, p.fault("%s() is true or false, and cannot be compared", v.name)
		}
		return v, nil
	}
	return v.(pathLiteral), nil
}

// comparable reads a literal, a query or a function: *jsonPath, *pathCall or pathLiteral.
func (p *pathParser) comparable() (any, error) {
	if p.i >= len(p.s) {
		return nil, p.fault("the filter ends too early")
	}
	switch c := p.s[p.i]; {
	case c == '@' || c == '$':
		p.i++
		return p.segments(&jsonPath{root: c == '$'})
	case c == '\'' || c == '"':
		s, err := p.quoted()
		return pathLiteral{s}, err
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	word := p.name()
	switch word {
	case "true", "false":
		return pathLiteral{word == "true"}, nil
	case "null":
		return pathLiteral{nil}, nil
	case "":
		return nil, p.fault("expected a value")
	}
	if !p.take("(") {
		return nil, p.fault("%.40q is not a value", word)
	}
	return p.call(word)
}

func (p *pathParser) number() (any, error) {
	begin := p.i
	for p.i < len(p.s) && strings.IndexByte("+-.eE0123456789", p.s[p.i]) >= 0 {
		p.i++
	}
	text := p.s[begin:p.i]
	if !json.Valid([]byte(text)) {
		return nil, p.fault("%.40q is not a number", text)
	}
	return pathLiteral{json.Number(text)}, nil
}

func (p *pathParser) call(name string) (any, error) {
	f, known := functions[name]
	if !known {
		return nil, p.fault("there is no function %.40s", name)
	}
	if p.depth++; p.depth > maxPathDepth {
		return nil, p.fault("filters nest deeper than %d", maxPathDepth)
	}
	defer func() { p.depth-- }()
	c := &pathCall{name: name}
	for n := range f.arguments {
		p.space()
		if n > 0 {
			if !p.take(",") {
				return nil, p.fault("%s() has %d arguments", name, f.arguments)
			}
			p.space()
		}
		a, err := p.comparable()
		if err != nil {
			return nil, err
		}
		if f.nodes {
			path, ok := a.(*jsonPath)
			if !ok {
				return nil, p.fault("the argument of %s() is a path", name)
			}
			c.paths = append(c.paths, path)
			continue
		}
		v, err := p.operand(a)
		if err != nil {
			return nil, err
		}
		c.values = append(c.values, v)
	}
	if p.space(); !p.take(")") {
		return nil, p.fault("expected )")
	}
	if literal, ok := last(c.values).(pathLiteral); ok && f.logical {
		if pattern, ok := literal.v.(string); ok {
			re, err := c.compile(pattern)
			if err != nil {
				return nil, p.fault("%s", err)
			}
			c.pattern = re
		}
	}
	return c, nil
}

func last(values []pathValue) pathValue {
	if len(values) == 0 {
		return nil
	}
	return values[len(values)-1]
}

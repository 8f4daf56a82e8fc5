package engine

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/problem"
)

// Bounds of the text forms.
const (
	MaxText      = 8 << 10 // bytes of a mask or condition: people and models write them
	MaxTextDepth = 30      // nested names of a mask, nested brackets of a condition; below MaxOpDepth
)

// ParseMask reads a field mask (docs/response-programs.md §2) such as
// "items(id,name,owner.login)" or "-body". The node may be nil: keep all. Errors are
// *problem.Error of kind InvalidArgument with the column.
func ParseMask(s string) (*Node, error) {
	m, err := ReadMask(s)
	if err != nil {
		return nil, err
	}
	return m.Node(), nil
}

// ReadMask reads a field mask as [ParseMask] does and keeps it as a tree of names,
// for callers that check the names or lay the mask over a program.
func ReadMask(s string) (*Mask, error) {
	p := &textParser{s: s, what: "field mask"}
	if err := p.start(); err != nil {
		return nil, err
	}
	root := &Mask{}
	if err := p.mask(root, 0); err != nil {
		return nil, err
	}
	if p.space(); p.i < len(p.s) {
		return nil, p.fail("unexpected %q", p.rest())
	}
	return root, nil
}

// ParseWhere reads a condition on rows (docs/response-programs.md §2) such as
// `state == "open" and comments > 5`. Errors are as those of ParseMask.
func ParseWhere(s string) (*Predicate, error) {
	p := &textParser{s: s, what: "condition"}
	if err := p.start(); err != nil {
		return nil, err
	}
	w, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.i < len(p.s) {
		return nil, p.fail("unexpected %q, expected and, or, or the end", p.rest())
	}
	if err := checkPredicate(w, 1); err != nil {
		return nil, p.fail("%s", err)
	}
	return w, nil
}

type textParser struct {
	s    string
	i    int
	what string
}

func (p *textParser) fail(format string, args ...any) error {
	return problem.New(problem.InvalidArgument, p.what+": "+format, args...).At("", 1, p.i+1, "")
}

func (p *textParser) start() error {
	if len(p.s) > MaxText {
		return p.fail("%d bytes, at most %d", len(p.s), MaxText)
	}
	if !utf8.ValidString(p.s) {
		return p.fail("not UTF-8")
	}
	return nil
}

// rest is what follows, short enough for a message.
func (p *textParser) rest() string {
	r := []rune(p.s[p.i:])
	return string(r[:min(len(r), 20)])
}

func (p *textParser) space() {
	for p.i < len(p.s) && isSpace(p.s[p.i]) {
		p.i++
	}
}

// take skips white space and then tok, if it is there.
func (p *textParser) take(tok string) bool {
	p.space()
	if strings.HasPrefix(p.s[p.i:], tok) {
		p.i += len(tok)
		return true
	}
	return false
}

func isNameByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c >= utf8.RuneSelf || strings.IndexByte("_$@:-", c) >= 0
}

// word takes a keyword, in any case, not the start of a longer name.
func (p *textParser) word(w string) bool {
	p.space()
	end := p.i + len(w)
	if end > len(p.s) || !strings.EqualFold(p.s[p.i:end], w) || end < len(p.s) && isNameByte(p.s[end]) {
		return false
	}
	p.i = end
	return true
}

func (p *textParser) name() (string, error) {
	p.space()
	if p.take("`") {
		var b strings.Builder
		for {
			n := strings.IndexByte(p.s[p.i:], '`')
			if n < 0 {
				return "", p.fail("a name has no closing backquote")
			}
			b.WriteString(p.s[p.i : p.i+n])
			p.i += n + 1
			if !strings.HasPrefix(p.s[p.i:], "`") {
				break
			}
			b.WriteByte('`')
			p.i++
		}
		if b.Len() > MaxName {
			return "", p.fail("name of %d bytes, at most %d", b.Len(), MaxName)
		}
		return b.String(), nil
	}
	start := p.i
	for p.i < len(p.s) && isNameByte(p.s[p.i]) {
		p.i++
	}
	if p.i == start {
		if p.i == len(p.s) {
			return "", p.fail("expected a name, got the end")
		}
		return "", p.fail("expected a name, got %q", p.rest())
	}
	if p.i-start > MaxName {
		return "", p.fail("name of %d bytes, at most %d", p.i-start, MaxName)
	}
	return p.s[start:p.i], nil
}

func (p *textParser) mask(at *Mask, depth int) error {
	for {
		drop := p.take("-")
		if err := p.maskItem(at, drop, depth); err != nil {
			return err
		}
		if !p.take(",") {
			return nil
		}
	}
}

func (p *textParser) maskItem(at *Mask, drop bool, depth int) error {
	for {
		if depth++; depth > MaxTextDepth {
			return p.fail("nested deeper than %d", MaxTextDepth)
		}
		if p.take("*") {
			if at.any == nil {
				at.any = &Mask{}
			}
			at = at.any
		} else {
			name, err := p.name()
			if err != nil {
				return err
			}
			at = at.kid(name)
		}
		if !p.take(".") && !p.take("/") {
			break
		}
	}
	if p.take("(") {
		if drop {
			return p.fail("a dropped name has no brackets; write -name.inner for each")
		}
		if err := p.mask(at, depth); err != nil {
			return err
		}
		if !p.take(")") {
			return p.fail("expected , or )")
		}
		return nil
	}
	if drop {
		at.drop = true
	} else {
		at.whole = true
	}
	return nil
}

func (p *textParser) or(depth int) (*Predicate, error) {
	return p.list(depth, "or", (*textParser).and, func(l []*Predicate) *Predicate { return &Predicate{Or: l} })
}

func (p *textParser) and(depth int) (*Predicate, error) {
	return p.list(depth, "and", (*textParser).not, func(l []*Predicate) *Predicate { return &Predicate{And: l} })
}

func (p *textParser) list(depth int, word string, operand func(*textParser, int) (*Predicate, error), join func([]*Predicate) *Predicate) (*Predicate, error) {
	var all []*Predicate
	for {
		q, err := operand(p, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, q)
		if !p.word(word) {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return join(all), nil
}

func (p *textParser) not(depth int) (*Predicate, error) {
	if depth++; depth > MaxTextDepth {
		return nil, p.fail("nested deeper than %d", MaxTextDepth)
	}
	if p.word("not") {
		q, err := p.not(depth)
		if err != nil {
			return nil, err
		}
		return &Predicate{Not: q}, nil
	}
	if p.take("(") {
		q, err := p.or(depth)
		if err != nil {
			return nil, err
		}
		if !p.take(")") {
			return nil, p.fail("expected and, or, or )")
		}
		return q, nil
	}
	return p.test()
}

var operators = []struct {
	text string
	cmp  Cmp
	not  bool
}{{"==", CmpEq, false}, {"!=", CmpEq, true}, {"<=", CmpLe, false}, {">=", CmpGe, false}, {"=", CmpEq, false}, {"<", CmpLt, false}, {">", CmpGt, false}}

var operatorWords = []struct {
	text string
	cmp  Cmp
}{{"contains", CmpContains}, {"startswith", CmpPrefix}, {"matches", CmpGlob}}

func (p *textParser) test() (*Predicate, error) {
	var path []string
	for {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		if path = append(path, name); len(path) > MaxPath {
			return nil, p.fail("path of more than %d names", MaxPath)
		}
		if !p.take(".") {
			break
		}
	}
	leaf := func(c Cmp, value string) *Predicate { return &Predicate{Cmp: c, Path: path, Value: value} }
	for _, o := range operators {
		if p.take(o.text) {
			v, err := p.value()
			if err != nil {
				return nil, err
			}
			if q := leaf(o.cmp, v); !o.not {
				return p.checked(q)
			}
			return &Predicate{Not: leaf(o.cmp, v)}, nil
		}
	}
	for _, o := range operatorWords {
		if p.word(o.text) {
			v, err := p.value()
			if err != nil {
				return nil, err
			}
			return p.checked(leaf(o.cmp, v))
		}
	}
	switch {
	case p.word("exists"):
		return leaf(CmpExists, ""), nil
	case p.word("is"):
		not := p.word("not")
		if !p.word("null") {
			return nil, p.fail("expected null after is")
		}
		isNull := &Predicate{Or: []*Predicate{leaf(CmpEq, "null"), {Not: leaf(CmpExists, "")}}}
		if not {
			return &Predicate{Not: isNull}, nil
		}
		return isNull, nil
	case p.word("in"):
		return p.in(leaf)
	}
	return nil, p.fail("expected an operator (==, !=, <, <=, >, >=, in, contains, startswith, matches, exists, is null)")
}

func (p *textParser) in(leaf func(Cmp, string) *Predicate) (*Predicate, error) {
	if !p.take("(") {
		return nil, p.fail("expected ( after in")
	}
	var list []*Predicate
	for {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		if list = append(list, leaf(CmpEq, v)); len(list) > MaxOps {
			return nil, p.fail("more than %d values", MaxOps)
		}
		if p.take(")") {
			return &Predicate{Or: list}, nil
		}
		if !p.take(",") {
			return nil, p.fail("expected , or )")
		}
	}
}

func (p *textParser) checked(q *Predicate) (*Predicate, error) {
	if err := checkPredicate(q, 1); err != nil {
		return nil, p.fail("%s", err)
	}
	return q, nil
}

// value reads a literal and returns it as JSON.
func (p *textParser) value() (string, error) {
	p.space()
	for _, w := range []string{"true", "false", "null"} {
		if p.word(w) {
			return w, nil
		}
	}
	s := p.s[p.i:]
	switch {
	case strings.HasPrefix(s, `"`):
		end, _ := strictString([]byte(s), 1)
		if end < 0 {
			return "", p.fail("expected a JSON string, got %q", p.rest())
		}
		p.i += end
		return s[:end], nil
	case strings.HasPrefix(s, "'"):
		var b strings.Builder
		for p.i++; ; {
			n := strings.IndexByte(p.s[p.i:], '\'')
			if n < 0 {
				return "", p.fail("a string has no closing quote")
			}
			b.WriteString(p.s[p.i : p.i+n])
			p.i += n + 1
			if !strings.HasPrefix(p.s[p.i:], "'") {
				break
			}
			b.WriteByte('\'')
			p.i++
		}
		j, err := json.Marshal(b.String())
		return string(j), err
	}
	if end := numberEnd([]byte(s), 0); end > 0 && (end == len(s) || !isNameByte(s[end])) {
		p.i += end
		return s[:end], nil
	}
	return "", p.fail("expected a number, a quoted string, true, false or null, got %q", p.rest())
}

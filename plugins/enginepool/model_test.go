package enginepool

import (
	"bytes"
	"encoding/json"
	"math/big"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluicegate/sluice/plugins/engine"
)

// The model is the third implementation: it parses into a tree, reads the
// program's model instead of its table, and compares with encoding/json and
// math/big. It is only right for valid JSON that is not nested too deeply.

type tree struct {
	raw     []byte // of scalars
	kind    byte   // '{' '[' '"' or 's'
	names   [][]byte
	members []*tree // also elements
}

// parseTree parses bytes that json.Valid accepted.
func parseTree(b []byte) (*tree, []byte) {
	space := func() { b = bytes.TrimLeft(b, " \t\r\n") }
	str := func() []byte {
		i := 1
		for b[i] != '"' {
			if b[i] == '\\' {
				i++
			}
			i++
		}
		s := b[:i+1]
		b = b[i+1:]
		return s
	}
	space()
	switch c := b[0]; c {
	case '{', '[':
		t := &tree{kind: c}
		b = b[1:]
		for {
			space()
			if b[0] == c+2 {
				return t, b[1:]
			}
			if b[0] == ',' {
				b = b[1:]
				space()
			}
			if c == '{' {
				t.names = append(t.names, str())
				space()
				b = b[1:]
			}
			var m *tree
			m, b = parseTree(b)
			t.members = append(t.members, m)
		}
	case '"':
		return &tree{kind: '"', raw: str()}, b
	default:
		i := bytes.IndexAny(b, " \t\r\n,]}")
		if i < 0 {
			i = len(b)
		}
		return &tree{kind: 's', raw: b[:i]}, b[i:]
	}
}

func unquote(raw []byte) string {
	var s string
	if err := json.Unmarshal(bytes.ToValidUTF8(raw, []byte("?")), &s); err != nil {
		panic("BUG: " + err.Error())
	}
	return s
}

type model struct {
	unsure bool // met something that it treats in another way
}

func (m *model) write(dst []byte, t *tree, n *engine.Node, outer bool) []byte {
	switch t.kind {
	case '{':
		dst = append(dst, '{')
		seen := map[string]bool{}
		var lone []string
		first := true
		left := 0
		if n != nil {
			for _, f := range n.Fields {
				if !f.Drop {
					left++
				}
			}
		}
		for i, raw := range t.names {
			v := t.members[i]
			var child *engine.Node
			exempt := false
			var rules engine.Rules
			if n != nil {
				rules = n.Rules
				name := unquote(raw)
				if !utf8.Valid(raw) {
					m.unsure = true // encoding/json replaces what the engine compares and counts as it is
				}
				f := fieldOf(n, name)
				if f == nil && n.Rules&engine.KeyLinks != 0 && !n.DropRest && (name == "_links" || strings.HasSuffix(name, "_url")) && len(name) <= engine.MaxName {
					if name != "_links" && m.dropped(v, engine.DropURL) {
						lone = append(lone, string(raw)+":"+string(v.raw))
					}
					continue
				}
				if f != nil && (f.Drop || seen[name]) {
					continue
				}
				if f == nil && (n.DropRest || suffixed(n, name)) {
					if !n.DropRest && m.dropped(v, engine.DropURL) {
						lone = append(lone, string(raw)+":"+string(v.raw))
					}
					continue
				}
				if f != nil {
					seen[name] = true
					if child, exempt = f.Node, f.Exempt; f.KeepURL {
						rules &^= engine.DropURL
					}
					if f.NoPages {
						rules &^= engine.KeepPages
					}
				} else {
					child = n.Rest
				}
				if rules&(engine.KeepPages|engine.OnlyNamed) == engine.KeepPages|engine.OnlyNamed && (len(name) > engine.MaxName || !addressName.MatchString(name) || rules&engine.KeepAsked != 0 && (asked(name) || f == nil && own(name))) {
					rules &^= engine.DropURL
				}
				if !exempt && m.dropped(v, rules) {
					if m.dropped(v, engine.DropURL) {
						lone = append(lone, string(raw)+":"+string(v.raw))
					}
					continue
				}
			}
			val := m.write(nil, v, child, true)
			if n != nil && n.Rules&engine.DropEmpty != 0 && !exempt {
				if s := string(val); s == `""` || s == "[]" || s == "{}" {
					continue
				}
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(append(append(dst, raw...), ':'), val...)
		}
		if first && n != nil && n.Rules&engine.KeepLone != 0 {
			dst = append(dst, strings.Join(lone[:min(len(lone), engine.MaxLone)], ",")...)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		if n != nil && n.MaxNumbers > 0 && !(outer && (n.Where != nil || n.Offset != 0 || n.Limit != 0)) {
			if short := cutNumbers(t, int(n.MaxNumbers)); short != "" {
				return append(append(dst, short...), ']')
			}
		}
		first, passed := true, uint32(0)
		for _, e := range t.members {
			if n != nil && outer && (n.Where != nil || n.Offset != 0 || n.Limit != 0) {
				if n.Where != nil && !m.holds(n.Where, e) {
					continue
				}
				passed++
				if passed <= n.Offset || n.Limit != 0 && passed > n.Offset+n.Limit {
					continue
				}
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = m.write(dst, e, n, false)
		}
		return append(dst, ']')
	case '"':
		if n != nil && n.MaxString > 0 {
			return append(dst, m.cut(t.raw, int(n.MaxString))...)
		}
	}
	return append(dst, t.raw...)
}

func fieldOf(n *engine.Node, name string) *engine.Field {
	for i := range n.Fields {
		if n.Fields[i].Name == name {
			return &n.Fields[i]
		}
	}
	return nil
}

func suffixed(n *engine.Node, name string) bool {
	for _, s := range n.DropSuffixes {
		if strings.HasSuffix(name, s) && len(name) <= engine.MaxName {
			return true
		}
	}
	return false
}

func (m *model) dropped(t *tree, r engine.Rules) bool {
	switch {
	case string(t.raw) == "null":
		return r&engine.DropNull != 0
	case string(t.raw) == "false":
		return r&engine.DropFalse != 0
	case t.kind == '"' && r&engine.DropURL != 0:
		s := strings.ReplaceAll(string(t.raw[1:len(t.raw)-1]), `\/`, "/")
		if strings.ContainsAny(s, "\\ ") {
			return false
		}
		if !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
			return false
		}
		return r&engine.KeepPages == 0 || template.MatchString(s) || !pageHost.MatchString(s) && forPrograms.MatchString(s)
	}
	return false
}

// asked is what docs/response-programs.md says of names with words that people ask for.
func asked(name string) bool {
	ascii := func(c rune) bool { return c < 0x80 }
	name = acronym.ReplaceAllString(camel.ReplaceAllString(name, "$1 $2"), "$1 $2")
	for _, word := range strings.FieldsFunc(name, func(c rune) bool { return ascii(c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		if !strings.ContainsFunc(word, func(c rune) bool { return !ascii(c) }) && slices.Contains(strings.Fields(engine.AskedWords), strings.ToLower(word)) {
			return true
		}
	}
	return false
}

// own tells whether a name says which address it is, as docs/response-programs.md has it.
func own(name string) bool {
	all := strings.FieldsFunc(acronym.ReplaceAllString(camel.ReplaceAllString(name, "$1 $2"), "$1 $2"), func(c rune) bool { return c < 0x80 && !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	n := len(all)
	if n < 2 {
		return false
	}
	before := strings.ToLower(all[n-2])
	many := len(before) >= 4 && len(before) <= 16 && strings.HasSuffix(before, "s") && !strings.Contains("sui", before[len(before)-2:len(before)-1])
	return !many && !slices.ContainsFunc(all, ways.MatchString)
}

// What docs/response-programs.md says of addresses that programs follow, as patterns.
var (
	addressName = regexp.MustCompile(`(?s)([Uu][Rr][LlIi][Ss]?|[Ii][Rr][Ii]|[Hh][Rr][Ee][Ff][Ss]?|[Ll][Ii][Nn][Kk][Ss]?|[Ss][Ee][Ll][Ff]|[Rr][Ee][Ff]|@[Ii][Dd]|[Ff][Ii][Rr][Ss][Tt]|[Ll][Aa][Ss][Tt]|[Pp][Rr][Ee][Vv]([Ii][Oo][Uu][Ss])?|[Pp][Aa][Rr][Ee][Nn][Tt]|[Aa][Vv][Aa][Tt][Aa][Rr]|[Ii][Cc][Oo][Nn])$`)
	ways        = regexp.MustCompile(`(?i)^(api|association|avatar|collection|curies|edit|favicon|first|gravatar|icon|index|last|list|navigation|odata|page|parent|prev|previous|related|resource|self|up)$`)
	camel       = regexp.MustCompile(`([^A-Z])([A-Z])`)
	acronym     = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
	template    = regexp.MustCompile(`^https?://[^/?#]*[/?#]([^{}]*[{}])`)
	pageHost    = regexp.MustCompile(`^https?://(doc|develop|help|support)`)
	forPrograms = regexp.MustCompile(`^https?://(([^/?#]*[.:-])?(api([.:-][^/?#]*)?|(avatar|gravatar)[^/?#]*)([/?#]|$)` +
		`|[^/?#]*(/[^/?#]*)*\.json([?#]|$)` +
		`|[^/?#]*/((api|rest)([/?#]|$)|([^/?#]*/){0,2}(_apis([/?#]|$)|v\d{1,2}([.a-z][^/?#]*)?/)` +
		`|([^/?#]*/)?(api|rest)/(api|rest)([/?#]|$)|([^/?#]*/)?(api|rest)/\d{1,2}([.a-z][^/?#]*)?/))`)
)

// cutNumbers gives the inside of an array of numbers that is cut, "" where none is.
func cutNumbers(t *tree, most int) string {
	var b strings.Builder
	dropped := 0 // bytes, with the commas
	for i, e := range t.members {
		if e.kind != 's' || strings.ContainsAny(string(e.raw[:1]), "tfn") {
			return ""
		}
		if i < most {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(e.raw)
		} else {
			dropped += 1 + len(e.raw)
		}
	}
	mark := "…[+" + strconv.Itoa(len(t.members)-most) + "]"
	if len(t.members) <= most || dropped <= len(mark)+3 {
		return ""
	}
	return b.String() + `,"` + mark + `"`
}

// cut splits the text into units that stay together and keeps what fits.
func (m *model) cut(raw []byte, limit int) []byte {
	s := raw[1 : len(raw)-1]
	if len(s) <= limit {
		return raw
	}
	keep := 0
	for rest := s; len(rest) > 0; {
		n := 1
		switch {
		case rest[0] == '\\' && rest[1] == 'u':
			n = 6
			if len(rest) >= 12 && rest[6] == '\\' && rest[7] == 'u' {
				hi, _ := strconv.ParseUint(string(rest[2:6]), 16, 32)
				lo, _ := strconv.ParseUint(string(rest[8:12]), 16, 32)
				if hi >= 0xD800 && hi <= 0xDBFF && lo >= 0xDC00 && lo <= 0xDFFF {
					n = 12
				}
			}
		case rest[0] == '\\':
			n = 2
		case rest[0] >= 0xC0:
			for n < 4 && n < len(rest) && rest[n]&0xC0 == 0x80 {
				n++
			}
		}
		if keep+n > limit {
			break
		}
		keep += n
		rest = rest[n:]
	}
	out := `"` + string(s[:keep]) + "…[+" + strconv.Itoa(len(s)-keep) + `]"`
	if len(out) >= len(raw) {
		return raw
	}
	return []byte(out)
}

func (m *model) holds(p *engine.Predicate, t *tree) bool {
	switch {
	case p.And != nil:
		for _, q := range p.And {
			if !m.holds(q, t) {
				return false
			}
		}
		return true
	case p.Or != nil:
		for _, q := range p.Or {
			if m.holds(q, t) {
				return true
			}
		}
		return false
	case p.Not != nil:
		return !m.holds(p.Not, t)
	}
	return m.leaf(p, t, p.Path)
}

func (m *model) leaf(p *engine.Predicate, t *tree, at []string) bool {
	if t.kind == '[' {
		for _, e := range t.members {
			if m.leaf(p, e, at) {
				return true
			}
		}
		return false
	}
	if len(at) > 0 {
		for i, raw := range t.names {
			if unquote(raw) == at[0] {
				return m.leaf(p, t.members[i], at[1:])
			}
		}
		return false
	}
	if p.Cmp == engine.CmpExists {
		return true
	}
	if t.kind == '{' {
		return false
	}
	var order int
	switch {
	case p.Value[0] == '"':
		if t.kind != '"' {
			return false
		}
		if !utf8.Valid(t.raw) {
			m.unsure = true // encoding/json replaces what the engine compares as it is
		}
		s, want := unquote(t.raw), unquote([]byte(p.Value))
		switch p.Cmp {
		case engine.CmpContains:
			return strings.Contains(s, want)
		case engine.CmpPrefix:
			return strings.HasPrefix(s, want)
		case engine.CmpGlob:
			// path.Match stops at slashes and knows more: hide both.
			hide := strings.NewReplacer("/", "\x01", "[", "\x02", `\`, "\x03").Replace
			if strings.ContainsFunc(s, func(r rune) bool { return r > 126 }) {
				m.unsure = true // ? is a byte here, a rune there
			}
			ok, err := path.Match(hide(want), hide(s))
			return ok && err == nil
		}
		order = strings.Compare(s, want)
	case p.Value[0] == '-' || p.Value[0] <= '9':
		if t.kind != 's' || t.raw[0] != '-' && (t.raw[0] < '0' || t.raw[0] > '9') {
			return false
		}
		x, y := m.rat(string(t.raw)), m.rat(p.Value)
		if m.unsure {
			return false
		}
		order = x.Cmp(y)
	default:
		return string(t.raw) == p.Value
	}
	switch p.Cmp {
	case engine.CmpEq:
		return order == 0
	case engine.CmpLt:
		return order < 0
	case engine.CmpLe:
		return order <= 0
	case engine.CmpGt:
		return order > 0
	}
	return order >= 0
}

func (m *model) rat(s string) *big.Rat {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > 2000 || e < -2000 {
			m.unsure = true
			return new(big.Rat)
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic("BUG: " + s)
	}
	return r
}

// transform returns what the program must give for valid JSON.
func (m *model) transform(p *engine.Program, in []byte) []byte {
	t, _ := parseTree(in)
	return m.write(nil, t, p.Root, true)
}

package enginepool

import (
	"bytes"
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
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

// What docs/response-programs.md says of addresses that programs follow, as patterns.
var (
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

var names = []string{
	"a", "b", "c", "id", "url", "html_url", "_links", "name", "", "na\"me", "ключ", "exactly8", "ninebytes", "sixteen_bytes_16",
	"customer_billing_address_line", "customer_mailing_address_line", "repository_aa", "repository_bb", strings.Repeat("n", engine.MaxName), strings.Repeat("m", engine.MaxName+1),
}

var values = []string{
	`"a"`, `"open"`, `""`, `0`, `1`, `1.0`, `-2.50e1`, `25`, `12345678901234567890123`, `true`, `false`, `null`, `"é"`, `"https://x"`,
	`"https://api.x/a"`, `"https:\/\/x\/api\/3"`, `"https://x/v2/{id}"`, `"https://docs.x/api/v1/a"`, `"http://x/a/b.json?c"`,
}

func randomProgram(seed uint64) *engine.Program {
	r := rand.New(rand.NewPCG(seed, 1))
	nodes := make([]*engine.Node, 1+r.IntN(5))
	for i := range nodes {
		nodes[i] = &engine.Node{}
	}
	pick := func() *engine.Node {
		if r.IntN(2) == 0 {
			return nil
		}
		return nodes[r.IntN(len(nodes))]
	}
	for _, n := range nodes {
		used := map[string]bool{}
		for range r.IntN(6) {
			name := names[r.IntN(len(names)-1)]
			if !used[name] {
				used[name] = true
				n.Fields = append(n.Fields, engine.Field{Name: name, Drop: r.IntN(5) == 0, Exempt: r.IntN(4) == 0, KeepURL: r.IntN(3) == 0, NoPages: r.IntN(3) == 0, Told: r.IntN(3) == 0, Node: pick()})
			}
		}
		if r.IntN(12) == 0 {
			for i := range 100 {
				n.Fields = append(n.Fields, engine.Field{Name: "f" + strconv.Itoa(i)})
			}
		}
		n.Rest, n.DropRest = pick(), r.IntN(2) == 0
		if r.IntN(2) == 0 {
			n.Rules = engine.Rules(r.IntN(64))
			if r.IntN(3) == 0 {
				n.Rules |= engine.KeyLinks
			}
		}
		if r.IntN(4) == 0 {
			n.DropSuffixes = []string{"_url", "e"}[:1+r.IntN(2)]
		}
		if r.IntN(3) == 0 {
			n.Where = randomPredicate(r, 3)
		}
		if r.IntN(4) == 0 {
			n.Offset = uint32(r.IntN(3))
		}
		if r.IntN(4) == 0 {
			n.Limit = uint32(r.IntN(4))
		}
		if r.IntN(4) == 0 {
			n.MaxString = uint32(1 + r.IntN(20))
		}
		if r.IntN(4) == 0 {
			n.MaxNumbers = uint32(1 + r.IntN(3))
		}
	}
	p := &engine.Program{Root: nodes[0]}
	if r.IntN(20) == 0 {
		p.Root = nil
	}
	if r.IntN(6) == 0 {
		p.Documents = engine.DocumentStream
	}
	return p
}

func randomPredicate(r *rand.Rand, depth int) *engine.Predicate {
	if depth > 0 && r.IntN(2) == 0 {
		list := make([]*engine.Predicate, 1+r.IntN(3))
		for i := range list {
			list[i] = randomPredicate(r, depth-1)
		}
		switch r.IntN(3) {
		case 0:
			return &engine.Predicate{And: list}
		case 1:
			return &engine.Predicate{Or: list}
		}
		return &engine.Predicate{Not: list[0]}
	}
	p := &engine.Predicate{Cmp: engine.Cmp(1 + r.IntN(int(engine.CmpGlob)))}
	for range r.IntN(3) {
		p.Path = append(p.Path, names[r.IntN(len(names)-1)])
	}
	switch p.Cmp {
	case engine.CmpExists:
	case engine.CmpEq:
		p.Value = values[r.IntN(len(values))]
	case engine.CmpLt, engine.CmpLe, engine.CmpGt, engine.CmpGe:
		p.Value = values[r.IntN(9)]
	case engine.CmpGlob:
		p.Value = []string{`"*"`, `"o*n"`, `"?p*"`, `"*a*b*"`, `""`}[r.IntN(5)]
	default:
		p.Value = []string{`"a"`, `"en"`, `""`, `"é"`}[r.IntN(4)]
	}
	return p
}

// randomJSON writes JSON in many spellings, and sometimes breaks it.
func randomJSON(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	var b []byte
	space := func() {
		if r.IntN(6) == 0 {
			b = append(b, []string{" ", "\n  ", "\t", "\r\n"}[r.IntN(4)]...)
		}
	}
	str := func(s string) {
		b = append(b, '"')
		for _, c := range s {
			switch {
			case c == '"' || c == '\\':
				b = append(b, '\\', byte(c))
			case c == '/' && r.IntN(2) == 0:
				b = append(b, `\/`...)
			case c < 0x10000 && r.IntN(40) == 0:
				b = append(b, `\u`...)
				b = append(b, strconv.FormatInt(0x10000+int64(c), 16)[1:]...)
			default:
				b = append(b, string(c)...)
			}
		}
		b = append(b, '"')
	}
	texts := []string{"", "a", "open", "open and closed", "https://example.org/a/b", "http://x y", "é😀ж text that is a little longer than others", strings.Repeat("long ", 30), `say "hi" \ back`}
	numbers := []string{"0", "-0", "1", "1.0", "25", "-25", "2.5e1", "-2.5E+1", "12345678901234567890123", "0.00001", "1e-5", "1e400", "123456789012345678901230e-1"}
	var value func(depth int)
	value = func(depth int) {
		space()
		k := r.IntN(10)
		if depth <= 0 && k < 5 {
			k += 5
		}
		switch {
		case k < 3:
			b = append(b, '{')
			for i := range r.IntN(7) {
				if i > 0 {
					b = append(b, ',')
				}
				space()
				name := names[r.IntN(len(names))]
				if r.IntN(12) == 0 {
					name = "f" + strconv.Itoa(r.IntN(100))
				}
				str(name)
				space()
				b = append(b, ':')
				value(depth - 1)
			}
			space()
			b = append(b, '}')
		case k < 5:
			b = append(b, '[')
			count, only := r.IntN(6), r.IntN(3) == 0
			if only {
				count *= 3
			}
			for i := range count {
				if i > 0 {
					b = append(b, ',')
				}
				if only {
					space()
					b = append(b, numbers[r.IntN(len(numbers))]...)
					space()
					continue
				}
				value(depth - 1)
			}
			space()
			b = append(b, ']')
		case k < 7:
			if r.IntN(10) == 0 {
				b = append(b, `"\ud83d\ude00 \ud800 \udc00\n\t\u0000"`...)
			} else {
				str(texts[r.IntN(len(texts))])
			}
		case k < 8:
			b = append(b, numbers[r.IntN(len(numbers))]...)
		default:
			b = append(b, []string{"true", "false", "null"}[r.IntN(3)]...)
		}
		space()
	}
	value(1 + r.IntN(6))
	for r.IntN(8) == 0 && len(b) > 0 { // break it
		i := r.IntN(len(b))
		switch r.IntN(4) {
		case 0:
			b = b[:i]
		case 1:
			b[i] = byte(r.IntN(256))
		case 2:
			b = append(b[:i:i], b[i+1:]...)
		default:
			b = append(b[:i:i], append([]byte{`{}[]",:\ `[r.IntN(9)]}, b[i:]...)...)
		}
	}
	for r.IntN(12) == 0 {
		b = append(b, []string{" ", "\n", "1", "{}", "\x1e", "\"x\"", "null"}[r.IntN(7)]...)
	}
	return b
}

// agree runs all implementations and fails when two differ.
func agree(t *testing.T, h *Pool, p *engine.Program, in []byte, lim engine.Limits) {
	t.Helper()
	table, err := engine.Compile(p)
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	if err := engine.Check(table); err != nil {
		t.Fatalf("Check refuses what Compile wrote: %v", err)
	}
	ref, refStats, refErr := engine.Reference([]byte("x"), table, in, lim)
	h.limits = lim
	got, gotStats, gotErr := h.Transform([]byte("x"), table, in)
	if gotErr != refErr || !bytes.Equal(got, ref) || gotStats != refStats {
		t.Fatalf("input %q\nwasm      %q %v %+v\nreference %q %v %+v", in, got, gotErr, gotStats, ref, refErr, refStats)
	}
	if got[0] != 'x' {
		t.Fatalf("dst was overwritten: %q", got)
	}
	out := got[1:]
	if gotErr != nil {
		if len(out) != 0 {
			t.Fatalf("output %q with error %v", out, gotErr)
		}
		if json.Valid(in) && p.Documents == engine.OneDocument && gotErr == engine.ErrNotJSON {
			t.Fatalf("valid JSON %q was refused", in)
		}
		return
	}
	if !json.Valid(out) {
		t.Fatalf("input %q gives invalid JSON %q", in, out)
	}
	if len(out) > 2*len(in)+2 || p.Documents == engine.OneDocument && len(out) > len(in) {
		t.Fatalf("input of %d bytes gives %d", len(in), len(out))
	}
	if json.Valid(in) && p.Documents == engine.OneDocument {
		m := &model{}
		want := m.transform(p, in)
		if !m.unsure && !bytes.Equal(out, want) {
			t.Fatalf("input %q\ngot   %q\nmodel %q", in, out, want)
		}
	}
}

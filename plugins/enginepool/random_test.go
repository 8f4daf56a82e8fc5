package enginepool

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
)

var names = []string{
	"a", "b", "c", "id", "url", "html_url", "_links", "name", "", "na\"me", "ключ", "baseURI", "@id", "exactly8", "ninebytes", "sixteen_bytes_16",
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
			n.Rules = engine.Rules(r.IntN(256))
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

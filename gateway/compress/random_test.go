package compress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
)

// generator writes JSON as no API does: deep, wide, of few shapes and of many,
// with keys and strings that look like what table text is made of.
const maxRandom = 20 << 10 // bytes from which documents only end

type generator struct {
	*rand.Rand
	b      []byte
	words  []string // strings of this document: few, so that rules are found
	keys   []string
	spaces bool
}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 11))}
	g.spaces = g.IntN(4) == 0
	for range 1 + g.IntN(12) {
		g.words = append(g.words, g.word())
	}
	for range 1 + g.IntN(14) {
		if g.IntN(3) > 0 {
			g.keys = append(g.keys, []string{"id", "name", "url", "created_at", "state", "user", "items", "n", "html_url", "self", "tags", "type"}[g.IntN(12)])
		} else {
			g.keys = append(g.keys, g.word())
		}
	}
	return g
}

// word is the text of a string, escaped for JSON.
func (g *generator) word() string {
	odd := []string{
		"", " ", "null", "true", "-", "0", "1.0", "01", "1e5", "-1x", "=", "=a", "!", "#A", "#", "(", ")", "[]", "{}", "]", "}", "<id>", "<>", "<@t>", "<@u>", "a<b>", "a b", " a", "a ", "a:b",
		"a,b", "A", "B", "?", "\\u0000", "\\n", "\\t", "\\r", "\\\"", "\\\\", "\\/", "\\u0041", "\\ud83d\\ude00", "\\ud800", "\\u00e9", "é", "ключ", "日本語", "😀", "\u2028", "\u00a0", "\ufeff", "\x7f", "\u200d",
		"https://api.example.com/users/1", "https://x/{id}/a", "2026-01-02T03:04:05Z", "2026-01-02T03:04:06.5+02:00", "2026-99-99T99:99:99", "2026-01-02", "550e8400-e29b-41d4-a716-446655440000", "550E8400-E29B-41D4-A716-446655440000",
		"[cut: x]", "…[+5]",
	}
	switch g.IntN(9) {
	case 0:
		return strconv.Itoa(g.IntN(100000))
	case 1:
		return "https://api.example.com/repos/o/r" + strconv.Itoa(g.IntN(5)) + "/" + strconv.Itoa(g.IntN(3000))
	case 2:
		return fmt.Sprintf("2026-%02d-%02dT%02d:%02d:05Z", 1+g.IntN(12), 1+g.IntN(28), g.IntN(24), g.IntN(60))
	case 3:
		const hex = "0123456789abcdef"
		b := []byte("00000000-0000-0000-0000-000000000000")
		for i, c := range b {
			if c == '0' {
				b[i] = hex[g.IntN(16)]
			}
		}
		return string(b)
	case 4: // any characters
		var s strings.Builder
		for range g.IntN(12) {
			r := []rune{rune(0x20 + g.IntN(0x5f)), rune(0xa0 + g.IntN(0x500)), rune(0x4e00 + g.IntN(0x5000)), rune(0x1f300 + g.IntN(0x300))}[g.IntN(4)]
			if r == '"' || r == '\\' {
				s.WriteByte('\\')
			}
			s.WriteRune(r)
		}
		return s.String()
	case 5:
		return strings.Repeat([]string{"a", "ab ", "9", "é", " ", "-"}[g.IntN(6)], g.IntN(300))
	default:
		s := ""
		for range 1 + g.IntN(3) {
			s += odd[g.IntN(len(odd))]
		}
		return s
	}
}

func (g *generator) space() {
	if g.spaces && g.IntN(3) == 0 {
		g.b = append(g.b, " \n\t\r"[g.IntN(4)])
	}
}

func (g *generator) str(s string) { g.b = append(append(append(g.b, '"'), s...), '"') }

func (g *generator) scalar() {
	switch g.IntN(10) {
	case 0, 1, 2, 3, 4:
		g.str(g.words[g.IntN(len(g.words))])
	case 5:
		g.str(g.word())
	case 6, 7:
		g.b = append(g.b, []string{"0", "-0", "1", "1.0", "1E5", "-12.50e-3", "12345678901234567890123", "3", "42", "100000"}[g.IntN(10)]...)
	case 8:
		g.b = strconv.AppendInt(g.b, int64(g.IntN(1000000)), 10)
	default:
		g.b = append(g.b, []string{"null", "true", "false"}[g.IntN(3)]...)
	}
}

func (g *generator) value(depth int) {
	g.space()
	defer g.space()
	k := g.IntN(12)
	if depth <= 0 || len(g.b) > maxRandom {
		k = 11
	}
	switch {
	case k < 3:
		g.object(depth, g.shape())
	case k < 6: // objects of one shape or a few
		shapes := make([][]string, 1+g.IntN(3))
		for i := range shapes {
			shapes[i] = g.shape()
		}
		g.list(g.IntN(9), func() { g.object(depth, shapes[g.IntN(len(shapes))]) })
	case k < 8:
		g.list(g.IntN(6), func() { g.value(depth - 1) })
	case k == 8:
		g.list(g.IntN(8), g.scalar)
	default:
		g.scalar()
	}
}

func (g *generator) list(n int, f func()) {
	g.b = append(g.b, '[')
	for i := range n {
		if i > 0 {
			g.b = append(g.b, ',')
		}
		g.space()
		f()
	}
	g.b = append(g.b, ']')
}

func (g *generator) shape() []string {
	keys := make([]string, g.IntN(8))
	for i := range keys {
		keys[i] = g.keys[g.IntN(len(g.keys))]
	}
	return keys
}

// object has the keys of a shape, in its order mostly, some twice, some missing.
func (g *generator) object(depth int, shape []string) {
	missing, turned := g.IntN(6), g.IntN(10) == 0
	g.b = append(g.b, '{')
	first := true
	for i := range shape {
		k := shape[i]
		if turned {
			k = shape[len(shape)-1-i]
		}
		if missing == 0 && g.IntN(3) == 0 {
			continue
		}
		if !first {
			g.b = append(g.b, ',')
		}
		first = false
		g.space()
		g.str(k)
		g.space()
		g.b = append(g.b, ':')
		g.value(depth - 1)
	}
	g.b = append(g.b, '}')
}

// document is one of several kinds.
func (g *generator) document() []byte {
	switch g.IntN(20) {
	case 0: // deep
		n := g.IntN(jsonscan.DefaultMaxDepth)
		var end []byte
		for range n {
			if g.IntN(2) == 0 {
				g.b, end = append(g.b, '['), append(end, ']')
			} else {
				g.b = append(g.b, '{')
				g.str(g.keys[g.IntN(len(g.keys))])
				g.b, end = append(g.b, ':'), append(end, '}')
			}
		}
		g.scalar()
		for i := range end {
			g.b = append(g.b, end[len(end)-1-i])
		}
	case 1: // wide
		var keys []string
		for i := range g.IntN(700) {
			keys = append(keys, "k"+strconv.Itoa(i))
		}
		g.list(g.IntN(4), func() { g.object(1, keys) })
	case 2: // a map with data as keys
		g.b = append(g.b, '{')
		shape := g.shape()
		for i := range g.IntN(40) {
			if i > 0 {
				g.b = append(g.b, ',')
			}
			g.str(strconv.Itoa(i) + g.word())
			g.b = append(g.b, ':')
			g.object(2, shape)
		}
		g.b = append(g.b, '}')
	case 3: // many rows
		shape := g.shape()
		g.list(g.IntN(300), func() { g.object(1, shape) })
	default:
		g.value(1 + g.IntN(7))
	}
	return g.b
}

// TestRandom writes documents that nobody wrote, as table text and as TOON, and
// reads them back; no text that is chosen by exact counts costs more than JSON. SLUICE_RANDOM is how many,
// when more than the usual are wanted.
func TestRandom(t *testing.T) {
	n := uint64(150)
	if s := os.Getenv("SLUICE_RANDOM"); s != "" {
		var err error
		if n, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	tables := 0
	for seed := range n {
		doc := newGenerator(seed).document()
		if !json.Valid(doc) {
			t.Fatalf("seed %d: the generator wrote no JSON: %s", seed, doc)
		}
		roundTrip(t, doc)
		small := jsonscan.AppendMinified(nil, doc)
		text, form, _ := AppendForm(nil, small, Auto, Gauge{Count: tokens.Count})
		if form == JSON {
			if !bytes.Equal(text, small) {
				t.Fatalf("seed %d: %s\nis written as %s", seed, small, text)
			}
			continue
		}
		tables++
		if a, b := tokens.Count(text), tokens.Count(small); a > b {
			t.Errorf("seed %d: %d tokens, %d as JSON\n%.800s\n%.800s", seed, a, b, text, small)
		}
		if toon, err := AppendTOON(nil, small); err == nil {
			if back, err := DecodeTOON(nil, toon); err == nil {
				if !sameNumbers(back, small) {
					t.Fatalf("seed %d: %s\n%s\nstands for %s", seed, small, toon, back)
				}
			} else if !strings.Contains(err.Error(), "stands twice") {
				t.Fatalf("seed %d: %s\n%s\n%v", seed, small, toon, err)
			}
		}
	}
	if uint64(tables) < n/8 {
		t.Fatalf("only %d of %d documents were written as table text", tables, n)
	}
}

package jsonscan

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// skipSlowly is skipContainer one byte after the other.
func skipSlowly(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		c := b[i]
		if c == '"' {
			i = skipString(b, i+1)
			continue
		}
		i++
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

// TestMasks compares the masks of this processor with those that any has.
func TestMasks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []byte("\"\\[]{};:,'az09 \n\x02\x00\x1f\x80\xa2\xdc\xfb\xfd\xff\x7f[]{}\"\"\\\\")
	for range 2000 {
		var b [blockSize]byte
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		q, s, o, c := masksOf(&b)
		if wq, ws, wo, wc := masksIn(&b); q != wq || s != ws || o != wo || c != wc {
			t.Fatalf("masks of %q are %x %x %x %x, want %x %x %x %x", b, q, s, o, c, wq, ws, wo, wc)
		}
		ends := stopsOf(&b)
		if want := stopsIn(&b); ends != want {
			t.Fatalf("runs of %q end at %x, want %x", b, ends, want)
		}
		for i, x := range b {
			for _, m := range []struct {
				mask uint64
				want bool
			}{{q, x == '"'}, {s, x == '\\'}, {o, x == '[' || x == '{'}, {c, x == ']' || x == '}'}, {ends, x == '"' || x == '\\' || x < 0x20}} {
				if (m.mask>>i&1 == 1) != m.want {
					t.Fatalf("byte %d of %q: masks are %x %x %x %x", i, b, q, s, o, c)
				}
			}
		}
	}
}

// TestSkipContainer skips containers at every place of a block, with what follows them.
func TestSkipContainer(t *testing.T) {
	documents := []string{
		`[]`, `{}`, `[[],{}]`, `{"a":"]"}`, `{"a\"]":["}\\",{"b":"\\\""}]}`,
		`["` + strings.Repeat(`\\`, 70) + `",1]`, `["` + strings.Repeat(`\"`, 99) + `",{}]`, `["` + strings.Repeat(`x`, 61) + `\\","]"]`,
		strings.Repeat("[", 130) + strings.Repeat("]", 130), `{"` + strings.Repeat(`[`, 200) + `":"` + strings.Repeat(`}`, 200) + `"}`,
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		documents = append(documents, string(randomContainer(r, nil, 4)))
	}
	for _, doc := range documents {
		if _, err := Parse([]byte(doc), 1000); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		for _, before := range []int{0, 1, 7, 63, 64} {
			for _, behind := range []string{"", `,"]`, strings.Repeat(`]}"\`, 40)} {
				b := []byte(strings.Repeat(" ", before) + doc + behind)
				if got := skipContainer(b, before); got != before+len(doc) {
					t.Errorf("skipContainer(%q, %d) = %d, want %d", b, before, got, before+len(doc))
				}
			}
			// Whatever is cut off, it ends with the bytes.
			cut := []byte(strings.Repeat(" ", before) + doc[:len(doc)-1])
			if got := skipContainer(cut, before); got != len(cut) || got != skipSlowly(cut, before) {
				t.Errorf("skipContainer(%q, %d) = %d, want its end", cut, before, got)
			}
		}
	}
}

// randomContainer appends an array or object with strings full of what stands for something.
func randomContainer(r *rand.Rand, dst []byte, deep int) []byte {
	text := func() {
		dst = append(dst, '"')
		for range r.IntN(20) {
			dst = append(dst, [...]string{`\\`, `\"`, "[", "]", "{", "}", "a", ",", `\u005c`, "é"}[r.IntN(10)]...)
		}
		dst = append(dst, '"')
	}
	object := r.IntN(2) == 0
	dst = append(dst, "[{"[indexOf(object)])
	for i := range r.IntN(5) {
		if i > 0 {
			dst = append(dst, ',')
		}
		if object {
			text()
			dst = append(dst, ':')
		}
		switch {
		case deep > 0 && r.IntN(2) == 0:
			dst = randomContainer(r, dst, deep-1)
		case r.IntN(2) == 0:
			text()
		default:
			dst = append(dst, "-1.5e3"...)
		}
	}
	return append(dst, "]}"[indexOf(object)])
}

func indexOf(v bool) int {
	if v {
		return 1
	}
	return 0
}

func BenchmarkLongestList(b *testing.B) {
	item := []byte(`{"id":1017,"name":"item 17","status":"pending","price":27.19,"owner":{"email":"u17@acme.test","address":{"zip":"10629","city":"Lagos"}},"tags":["t2","t3"]}`)
	doc := append(append([]byte(`{"items":[`), bytes.Repeat(append(item, ','), 1580)...), `0],"next":null}`...)
	index := make([]Span, 0, 1<<13)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		LongestList(doc, 2, index, 1<<13)
	}
}

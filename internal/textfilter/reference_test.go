package textfilter

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// referenceIndex is IndexJSON from i, character by character.
func referenceIndex(raw []byte, i int) int {
	for {
		i = referenceRun(raw, i)
		if i >= len(raw) {
			return -1
		}
		switch c := raw[i]; {
		case c == '\\':
			if i+1 >= len(raw) {
				return -1
			}
			switch raw[i+1] {
			case 'b', 'f', 'r':
				return i
			case 'u':
				if r, n := escaped(raw[i:]); r < 0 || unseen(r) || isJoiner(r) || isStyle(r) {
					return i
				} else if n > 0 {
					i += n
					continue
				}
			}
			i += 2
		case c < 0x20: // white space between values
			i++
		case c == 0x7f:
			return i
		default:
			if suspect[c] {
				if r, n := utf8.DecodeRune(raw[i:]); n == 1 || unseen(r) || isJoiner(r) || isStyle(r) {
					return i
				}
			}
			i += width(c)
		}
	}
}

func referenceRun(b []byte, i int) int {
	for i < len(b) && b[i] >= 0x20 && b[i] < 0x7f && b[i] != '\\' {
		i++
	}
	return i
}

// The search in steps of many bytes finds what the one in single characters finds,
// wherever in a step it stands, also in what is not JSON.
func TestIndexJSONAsReference(t *testing.T) {
	parts := []string{
		`\u200b`, `\u00e9`, `\u001b`, `\uD83D\ude00`, `\ud83d`, `\uzzzz`, `\r`, `\b`, `\f`, `\n`, `\t`, `\"`, `\/`, `\\`, `\\\`, `\`, `\]`, "\\\x7f", "\\\xe2",
		"\x7f", "\u200b", "\u200d", "é", "東", "😀", "\U000e0041", "\xff", "\xc3", "\xe2\x80", "\x00", "\x04", "\x1f", "\n", "~", "b", "u", "f", "r", "v", "]", "_", `"`,
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 30000 {
		var s strings.Builder
		for range rnd.IntN(5) {
			s.WriteString(strings.Repeat("a", rnd.IntN(70)))
			s.WriteString(parts[rnd.IntN(len(parts))])
		}
		text := s.String()
		if rnd.IntN(50) == 0 {
			text = strings.Repeat("a", (chunk<<rnd.IntN(5))-rnd.IntN(80)) + text + strings.Repeat("b", rnd.IntN(80))
		}
		want := referenceIndex([]byte(text), 0)
		if got := IndexJSON([]byte(text)); got != want {
			t.Fatalf("%+q: %d, want %d", text, got, want)
		}
		if want >= 0 {
			found++
		}
	}
	if found < 5000 || found > 29000 {
		t.Errorf("%d texts have something", found)
	}
}

func FuzzIndexJSON(f *testing.F) {
	f.Add([]byte(`{"a":"\\u200b \\\u200b \n\r","b":"\ud83d\ude00"}`), uint16(3))
	f.Add([]byte("\\\xe2\x80\x8b\x7f"), uint16(chunk))
	f.Fuzz(func(t *testing.T, raw []byte, before uint16) {
		raw = append([]byte(strings.Repeat("a", int(before)%(2*maxChunk))), raw...)
		if got, want := IndexJSON(raw), referenceIndex(raw, 0); got != want {
			t.Fatalf("%+q: %d, want %d", raw, got, want)
		}
	})
}

// TestSuspect: the table of first bytes says what all characters say.
func TestSuspect(t *testing.T) {
	var want [256]bool
	for i := 0x80; i < 256; i++ {
		want[i] = i < 0xc2 || i > 0xf4
	}
	for r := rune(0x80); r <= utf8.MaxRune; r++ {
		if unseen(r) || isJoiner(r) || isStyle(r) {
			want[string(r)[0]] = true
		}
	}
	for i := range want {
		if suspect[i] != want[i] {
			t.Errorf("%#x: %v, want %v", i, suspect[i], want[i])
		}
	}
}

package tokens

import (
	"bytes"
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"
)

var update = flag.Bool("update", false, "write o200k_base.vocabulary from the library")

// oracle is the library that the vocabulary comes from.
var oracle = sync.OnceValue(codec.NewO200kBase)

func counted(t *testing.T, s string) int {
	t.Helper()
	n, err := oracle().Count(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestVocabulary: the file has the tokens of the library, each with its rank, and no other.
func TestVocabulary(t *testing.T) {
	const tokens = 199_998
	var lists [buckets][]byte
	longest := 0
	for r := range uint(tokens) {
		text, err := oracle().Decode([]uint{r})
		if err != nil || len(text) > longestToken {
			t.Fatalf("token %d has %d bytes: %v", r, len(text), err)
		}
		longest = max(longest, len(text))
		b := bucketOf(text)
		lists[b] = append(append(lists[b], byte(len(text)), byte(r), byte(r>>8), byte(r>>16)), text...)
	}
	if longest != longestToken {
		t.Errorf("the longest token has %d bytes", longest)
	}
	var file []byte
	at := 4 * (buckets + 1)
	for _, l := range lists {
		file = binary.LittleEndian.AppendUint32(file, uint32(at))
		at += len(l)
	}
	file = binary.LittleEndian.AppendUint32(file, uint32(at))
	for _, l := range lists {
		file = append(file, l...)
	}
	if *update {
		if err := os.WriteFile("o200k_base.vocabulary", file, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(file, []byte(vocabulary)) {
		t.Error("o200k_base.vocabulary is not what the library has; go test -run TestVocabulary -update")
	}
	for _, text := range []string{"", "<|endoftext|>", strings.Repeat(" ", longestToken), strings.Repeat(" ", longestToken+1), strings.Repeat("=", longestToken), "\x00\x00"} {
		r, ok := rank(text)
		if want := counted(t, text) == 1 && text != "<|endoftext|>"; ok != want || !ok && r != noRank {
			t.Errorf("rank(%q) = %d, %v", text, r, ok)
		}
	}
}

// takenApart are lines of nothing but blanks. The library's engine ends a piece before them,
// where the expression of o200k_base goes on to the last end of a line.
var takenApart = regexp.MustCompile(`[\r\n][\s\v\p{Z}\x{85}]*[\t\f\v\p{Z}\x{85}][\s\v\p{Z}\x{85}]*[\r\n]`)

// TestBlankLines holds pieces of blank lines to the expression as Go's engine reads it.
func TestBlankLines(t *testing.T) {
	want := regexp.MustCompile(`^\s*[\r\n]+`)
	for _, s := range []string{"\n \n", "\n\t\n", "\r\n  \r\n a", " \n \n\n  b", "\n \n \t"} {
		if got, want := s[:cut(s, 0)], want.FindString(s); got != want || !takenApart.MatchString(s) {
			t.Errorf("the first piece of %q is %q, want %q", s, got, want)
		}
	}
	for _, s := range []string{"\n \n", "\x7f"} {
		if n := CountString(s); n != 1 {
			t.Errorf("%q is %d tokens, the vocabulary has it", s, n)
		}
	}
}

// TestCountAsTheLibrary holds Count to the library on texts of all kinds of characters.
func TestCountAsTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	alphabet := []string{
		"a", "b", "Z", "Q", "é", "É", "ß", "ǅ", "ʰ", "ª", "日", "本", "ا", "ह", "\u0301", "\u094d", "\u20dd", "1", "23", "٣", "Ⅷ", "½", " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2028",
		"\u3000", "\v", "\u0085", "\u200b", "'", "'s", "'S", "'t", "'re", "'LL", "'ve", "'d", "'M", "'\u017f", "’s", "/", "//", "-", "_", "{\"", "\":", "…", "😀", "👩\u200d🚀", "\x00", "\ufffd", "word", "Word", "WORD", "the", " the", "https",
	}
	check := func(s string) {
		t.Helper()
		if takenApart.MatchString(s) {
			return
		}
		if got, want := CountString(s), counted(t, s); got != want {
			t.Fatalf("CountString(%q) = %d, the library counts %d", s, got, want)
		}
	}
	for range 60_000 {
		var b strings.Builder
		kinds, first := 1+r.IntN(len(alphabet)), r.IntN(len(alphabet))
		for range r.IntN(24) {
			b.WriteString(alphabet[(first+r.IntN(kinds))%len(alphabet)])
		}
		check(b.String())
	}
	for c := range rune(0x20000) { // characters between others of each kind; the library skips DEL
		if (c < 0x1000 || c%17 == 0) && (c < 0xd800 || c > 0xdfff) && c != 0x7f {
			check("a" + string(c) + "B" + string(c) + string(c) + "1 " + string(c) + "'s")
		}
	}
	check(strings.Repeat("ab", 5000) + strings.Repeat("é", 3000) + strings.Repeat(" ", 3000) + strings.Repeat("=", 3000) + "x")
}

// FuzzCount holds Count to the library.
func FuzzCount(f *testing.F) {
	for _, s := range []string{"", "It's THE'LL", " \u0301A1\r\n /", "日本語ABCdef", "\xff\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := strings.ToValidUTF8(s, "\uFFFD")
		if text != s || takenApart.MatchString(s) || strings.ContainsRune(s, 0x7f) {
			return // tested by TestCount, and TestBlankLines
		}
		if got, want := CountString(s), counted(t, s); got != want {
			t.Fatalf("CountString(%q) = %d, the library counts %d", s, got, want)
		}
	})
}

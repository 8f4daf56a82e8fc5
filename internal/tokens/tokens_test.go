package tokens

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Known counts of o200k_base, so that a codec that loads the wrong vocabulary
// or splits otherwise is seen.
func TestCount(t *testing.T) {
	f := func(in string, want int) {
		t.Helper()
		if got := CountString(in); got != want {
			t.Errorf("CountString(%q) = %d, want %d", in, got, want)
		}
		if got := Count([]byte(in)); got != want {
			t.Errorf("Count(%q) = %d, want %d", in, got, want)
		}
	}
	f("", 0)
	f("a", 1)
	f("hello world", 2)
	f("1234567", 3)                                                                  // digits go in threes
	f(`{"id":1,"name":"x"}`, 9)                                                      // {" id ": 1 ," name ":" x "}
	f("\xff", 1)                                                                     // counts as U+FFFD
	f(strings.Repeat("a", 100_000), 12_500)                                          // one piece: must not be quadratic
	f("<|endoftext|>", CountString("<|")+CountString("endoftext")+CountString("|>")) // no special tokens
}

func TestEstimateIsExactOnSimplePieces(t *testing.T) {
	f := func(in string) {
		t.Helper()
		if got, want := Estimate([]byte(in)), CountString(in); got != want {
			t.Errorf("Estimate(%q) = %d, want %d", in, got, want)
		}
	}
	f("")
	f("a")
	f("123456789")
	f(`{"id":12345}`)
	f("the cat sat on the mat")
	f("\n")
}

func TestEstimateErrorOnFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil || len(files) < 4 {
		t.Fatalf("testdata has %d files (%v), want at least 4", len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got, want := Estimate(b), Count(b)
		if e := math.Abs(float64(got-want)) / float64(want); e > 0.12 {
			t.Errorf("%s: Estimate = %d, Count = %d: error %.1f %%, want at most 12 %%", f, got, want, 100*e)
		}
	}
}

func FuzzEstimate(f *testing.F) {
	for _, s := range []string{"", "a", " ", "\n \n", `{"a":[1,2,{"b_c":"d"}]}`, "žluťoučký 日本語 🙂", "\xff\xfe", "   x", " {", "A1b2C3"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n := Estimate(b)
		// A token is at least one byte and an answer is never free.
		if len(b) > 0 && n < 1 || n > 3*len(b) {
			t.Fatalf("Estimate(%q) = %d for %d bytes", b, n, len(b))
		}
		// Every byte belongs to exactly one piece and pieces move forward.
		for i := 0; i < len(b); {
			end, _ := piece(b, i)
			if end <= i || end > len(b) {
				t.Fatalf("piece(%q, %d) ends at %d", b, i, end)
			}
			i = end
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	text, err := os.ReadFile("testdata/issues.json")
	if err != nil {
		b.Fatal(err)
	}
	for _, impl := range []struct {
		name string
		f    func([]byte) int
	}{{"baseline", Count}, {"sluice", Estimate}} {
		b.Run("impl="+impl.name, func(b *testing.B) {
			impl.f(text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				impl.f(text)
			}
		})
	}
}

// TestExceeds holds Exceeds and UpTo to Estimate at each number around it, also for bytes that are
// no text and cost most.
func TestExceeds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	alphabet := []string{"a", "B", "7", " ", "\n", "\t", `"`, ",", "_", "-", "word", "CAPITALS", "é", "日", "😀", "\xf0", "\x80", "…", `","`}
	for range 20_000 {
		var s []byte
		kinds := 1 + r.IntN(len(alphabet))
		first := r.IntN(len(alphabet))
		for range r.IntN(50) {
			s = append(s, alphabet[(first+r.IntN(kinds))%len(alphabet)]...)
		}
		n := Estimate(s)
		for _, limit := range []int{-1, 0, 1, n / 2, n - 1, n, n + 1, 2 * n, len(s)} {
			if got := Exceeds(s, limit); got != (n > limit) {
				t.Fatalf("Exceeds(%q, %d) = %v, the estimate is %d", s, limit, got, n)
			}
			if got, within := UpTo(s, limit); within != (n <= limit) || within && got != n {
				t.Fatalf("UpTo(%q, %d) = %d, %v, the estimate is %d", s, limit, got, within, n)
			}
		}
	}
}

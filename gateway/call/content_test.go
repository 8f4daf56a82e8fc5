package call

import (
	"math/rand/v2"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestMayBeDocument: whatever is a document once it is unescaped was taken for one
// before, however its first bytes are escaped.
func TestMayBeDocument(t *testing.T) {
	parts := []string{`{`, `[`, `}`, `]`, `\u007b`, `\u005B`, `\u007d`, `\u005d`, ` `, `\n`, `\t`, `\u0020`, `\"a\"`, `:`, `1`, `,`, `x`, `\u00a0`}
	r := rand.New(rand.NewPCG(1, 2))
	documents, left := 0, 0
	for range 200_000 {
		raw := []byte{'"'}
		for range r.IntN(5) {
			raw = append(raw, parts[r.IntN(len(parts))]...)
		}
		raw = append(raw, '"')
		v, err := jsonscan.Parse(raw, 0)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		switch is, may := isDocument(v.AppendText(nil)), mayBeDocument(v.Raw()); {
		case is && !may:
			t.Fatalf("%s is a document and was not taken for one", raw)
		case is:
			documents++
		case !may:
			left++
		}
	}
	if documents < 1000 || left < 1000 {
		t.Fatalf("%d documents, %d that need no look: the test says little", documents, left)
	}
}

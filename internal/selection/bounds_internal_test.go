package selection

import (
	"slices"
	"strings"
	"testing"
)

// TestMaxExample: of an example, and of a request that is compared with it, so many bytes
// are looked at.
func TestMaxExample(t *testing.T) {
	for n, want := range map[int]bool{maxExample: true, maxExample + 1: false} {
		text := strings.Repeat("x", n-len(" umbrella")) + " umbrella"
		x := Build([]Tool{{Name: "a", Examples: []Example{{Text: text, Weight: 1}}}, {Name: "b", Examples: []Example{{Text: "other words", Weight: 1}}}}, nil)
		found := slices.ContainsFunc(x.NewSearcher().Search("umbrella", 2), func(h Hit) bool { return h.Tool == 0 })
		if found != want {
			t.Errorf("a word that ends at byte %d of an example is known: %v, want %v", n, found, want)
		}
	}
}

// TestMaxLooked: vectors of so many different words of a request are looked at.
func TestMaxLooked(t *testing.T) {
	table := testTable(t)
	x := Build(shop(), table)
	for n, want := range map[int]bool{maxLooked: true, maxLooked + 1: false} {
		var q strings.Builder
		for i := range n - 1 {
			q.WriteString("zz" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + "q ") // words that the table does not know
		}
		s := x.NewSearcher()
		s.Search(q.String()+"weather", 3)
		if got := len(s.view.words) == table.Dim(); got != want {
			t.Errorf("word %d is looked at: %v, want %v (%d numbers)", n, got, want, len(s.view.words))
		}
	}
}

// TestMaxPieces: so many pieces of a text make its vector.
func TestMaxPieces(t *testing.T) {
	table := testTable(t)
	vector := func(text string) []float32 {
		v := make([]float32, table.Dim())
		table.vector(text, v, &pieces{})
		return v
	}
	same := vector(strings.Repeat("money ", maxPieces))
	for n, counts := range map[int]bool{maxPieces: true, maxPieces + 1: false} {
		if got := !slices.Equal(vector(strings.Repeat("money ", n-1)+"weather"), same); got != counts {
			t.Errorf("piece %d counts: %v, want %v", n, got, counts)
		}
	}
}

// TestMaxNeeded: so many tools are added because others need what they give.
func TestMaxNeeded(t *testing.T) {
	for n, want := range map[int]int{maxNeeded: maxNeeded, maxNeeded + 1: maxNeeded} {
		var tools []Tool
		var chosen []Choice
		for i := range n {
			thing := "thing" + string(rune('a'+i))
			tools = append(tools, Tool{Name: "get_" + thing, Method: "GET", Path: "/" + thing + "s/{" + thing + "_id}", Params: []Param{{Name: thing + "_id", Required: true}}})
			chosen = append(chosen, Choice{Tool: i, For: -1})
		}
		for i := range n {
			thing := "thing" + string(rune('a'+i))
			tools = append(tools, Tool{Name: "list_" + thing + "s", Method: "GET", Path: "/" + thing + "s"})
		}
		if got := len(Close(tools, chosen)) - n; got != want {
			t.Errorf("%d tools need another: %d are added, want %d", n, got, want)
		}
	}
}

// TestMaxTools: an index that says it is of more tools is refused.
func TestMaxTools(t *testing.T) {
	for n, want := range map[int]bool{maxTools: true, maxTools + 1: false} {
		x, err := Open(Build(nil, nil).Append(nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		x.n, x.verbs, x.nameEnds = n, make([]int8, n), make([]uint32, n)
		if got := x.valid(); got != want {
			t.Errorf("%d tools: valid %v, want %v", n, got, want)
		}
	}
}

// TestMaxAsked: so many written requests of a tool are compared one by one, and indexed.
func TestMaxAsked(t *testing.T) {
	var tool Tool
	for i := range maxAsked + 1 {
		tool.Examples = append(tool.Examples, Example{Text: "word" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + " weather", Weight: 1})
		tool.Examples = append(tool.Examples, Example{Text: "learned weather", Weight: .5}) // these are not written
	}
	for n, want := range map[int]int{1: 1, maxAsked: maxAsked, maxAsked + 1: maxAsked} {
		few := tool
		few.Examples = few.Examples[:2*n]
		if got := len(few.written()); got != want {
			t.Errorf("%d requests: %d are indexed, want %d", n, got, want)
		}
		table := testTable(t)
		x := Build([]Tool{few, {Name: "b"}}, table)
		if got := len(x.asked.vectors) / table.Dim(); got != want {
			t.Errorf("%d requests: %d vectors, want %d", n, got, want)
		}
	}
}

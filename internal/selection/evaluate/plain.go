package evaluate

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/sluicegate/sluice/internal/selection"
)

// The usual parameters of BM25 (Robertson and Zaragoza, 2009), those that libraries
// start with.
const (
	plainK1 = 1.5
	plainB  = .75
)

// plainStop are the stop words that libraries start with.
var plainStop = strings.Fields("a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with")

// RunPlain is Run with plain BM25: words in lower case without the commonest, one
// field of name, description and parameters, nothing split, stemmed or learned. It
// is what a search without this engine would be.
func RunPlain(set *Set) Score {
	type posting struct {
		tool int
		n    float64
	}
	index := map[string][]posting{}
	length := make([]float64, len(set.Tools))
	total := 0.0
	for i := range set.Tools {
		t := &set.Tools[i]
		var text strings.Builder
		text.WriteString(t.Name + " " + t.Description)
		for _, p := range t.Params {
			text.WriteString(" " + p.Name + " " + p.Description)
		}
		for _, w := range plainWords(text.String()) {
			if l := index[w]; len(l) == 0 || l[len(l)-1].tool != i {
				index[w] = append(l, posting{tool: i})
			}
			index[w][len(index[w])-1].n++
			length[i]++
		}
		total += length[i]
	}
	mean := total / float64(max(len(set.Tools), 1))
	var score Score
	points := make([]float64, len(set.Tools))
	for i := range set.Queries {
		q := &set.Queries[i]
		clear(points)
		var ranked []int
		for _, w := range plainWords(q.Text) {
			df := float64(len(index[w]))
			idf := math.Log(1 + (float64(len(set.Tools))-df+.5)/(df+.5))
			for _, p := range index[w] {
				if points[p.tool] == 0 {
					ranked = append(ranked, p.tool)
				}
				points[p.tool] += idf * p.n * (plainK1 + 1) / (p.n + plainK1*(1-plainB+plainB*length[p.tool]/mean))
			}
		}
		slices.Sort(ranked)
		slices.SortStableFunc(ranked, func(a, b int) int {
			switch {
			case points[a] > points[b]:
				return -1
			case points[a] < points[b]:
				return 1
			}
			return 0
		})
		score.Add(ranked, q)
	}
	score.Tools = len(set.Tools)
	score.Mean()
	return score
}

// plainWords are the runs of two and more letters, digits and underscores.
func plainWords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(words, func(w string) bool { return len(w) < 2 || slices.Contains(plainStop, w) })
}

// Unfit asks a set the requests of others and its own, up to limit of each set,
// and gives the share in percent for which the search says that nothing fits:
// rightly for those of the others, wrongly for its own.
func Unfit(set *Set, others []*Set, table *selection.Table, limit int) (rightly, wrongly float64) {
	s := selection.Build(set.Tools, table).NewSearcher()
	share := func(sets []*Set) float64 {
		none, all := 0, 0
		for _, o := range sets {
			step := max(1, (len(o.Queries)+limit-1)/limit)
			for i := 0; i < len(o.Queries); i += step {
				s.Search(o.Queries[i].Text, depth)
				if all++; !s.Fits() {
					none++
				}
			}
		}
		return 100 * float64(none) / float64(max(all, 1))
	}
	return share(others), share([]*Set{set})
}

// WithExamples splits the requests of a set: one of every parts, or those of the
// split "test" when parts is 0, are asked, the others become examples of the tools
// they need. plain is the same without the examples.
func WithExamples(set *Set, parts int) (taught, plain *Set) {
	tools := slices.Clone(set.Tools)
	var asked []Query
	for i := range set.Queries {
		q := &set.Queries[i]
		if parts > 0 && i%parts == 0 || parts == 0 && q.Split == "test" {
			asked = append(asked, *q)
			continue
		}
		for _, r := range q.Relevant {
			tools[r].Examples = append(tools[r].Examples, selection.Example{Text: q.Text, Weight: 1})
		}
	}
	return &Set{Name: set.Name, IDs: set.IDs, Tools: tools, Queries: asked}, &Set{Name: set.Name, IDs: set.IDs, Tools: set.Tools, Queries: asked}
}

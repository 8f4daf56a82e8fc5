package evaluate

import (
	"math"
	"slices"

	"github.com/sluicegate/sluice/internal/selection"
)

// depth is how many results count.
const depth = 10

// Score are the figures of a set, in percent, each the mean over its requests.
type Score struct {
	NDCG10     float64 `json:"ndcg10"`
	Recall5    float64 `json:"recall5"`
	Recall10   float64 `json:"recall10"`
	Hit1       float64 `json:"hit1"`
	Complete10 float64 `json:"complete10"`
	Queries    int     `json:"queries"`
	Tools      int     `json:"tools"`
}

// Report are the figures of many sets. Macro is their mean, each set counting the
// same; its Queries and Tools are sums.
type Report struct {
	Sets  map[string]Score `json:"sets"`
	Macro Score            `json:"macro"`
}

// gain is the discount of each position.
var gain = func() (g [depth]float64) {
	for i := range g {
		g[i] = 1 / math.Log2(float64(i)+2)
	}
	return g
}()

// Add counts one ranked list, best first, without repetitions.
func (s *Score) Add(ranked []int, q *Query) {
	ranked = ranked[:min(len(ranked), depth)]
	var dcg, ideal float64
	found, five := 0, 0
	for i, tool := range ranked {
		if _, ok := slices.BinarySearch(q.Relevant, tool); !ok {
			continue
		}
		dcg += gain[i]
		found++
		if i < 5 {
			five++
		}
		if i == 0 {
			s.Hit1++
		}
	}
	for i := range min(depth, q.Needed) {
		ideal += gain[i]
	}
	s.NDCG10 += dcg / ideal
	s.Recall5 += float64(five) / float64(q.Needed)
	s.Recall10 += float64(found) / float64(q.Needed)
	if found == q.Needed {
		s.Complete10++
	}
	s.Queries++
}

// Mean turns the sums that Add made into percent of the requests.
func (s *Score) Mean() {
	for _, f := range s.figures() {
		*f *= 100 / float64(max(s.Queries, 1))
	}
}

func (s *Score) figures() []*float64 {
	return []*float64{&s.NDCG10, &s.Recall5, &s.Recall10, &s.Hit1, &s.Complete10}
}

// Macro makes the report of the sets' figures.
func Macro(sets map[string]Score) Report {
	r := Report{Sets: sets}
	to := r.Macro.figures()
	for _, s := range sets {
		for i, f := range s.figures() {
			*to[i] += *f / float64(len(sets))
		}
		r.Macro.Queries += s.Queries
		r.Macro.Tools += s.Tools
	}
	return r
}

// Run asks every request of a set and returns the figures. weights nil: those of
// the package.
func Run(set *Set, table *selection.Table, weights *selection.Features) Score {
	s := selection.Build(set.Tools, table).NewSearcher()
	s.SetWeights(weights)
	return ask(set, s, func(*Query) bool { return true })
}

// ask asks the requests of a set that want accepts.
func ask(set *Set, s *selection.Searcher, want func(*Query) bool) Score {
	out := Score{Tools: len(set.Tools)}
	ranked := make([]int, 0, depth)
	for i := range set.Queries {
		q := &set.Queries[i]
		if !want(q) {
			continue
		}
		ranked = ranked[:0]
		for _, h := range s.Search(q.Text, depth) {
			ranked = append(ranked, h.Tool)
		}
		out.Add(ranked, q)
	}
	out.Mean()
	return out
}

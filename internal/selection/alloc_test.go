//go:build !race

package selection

import "testing"

func TestSearchAllocatesNothing(t *testing.T) {
	s := Build(catalogue(2000), testTable(t)).NewSearcher()
	for _, q := range queries {
		s.Search(q, 8) // warm-up: scratch grows, new words are stemmed
	}
	i := 0
	if n := testing.AllocsPerRun(100, func() {
		s.Search(queries[i%len(queries)], 8)
		i++
	}); n != 0 {
		t.Errorf("%v allocations a query", n)
	}
}

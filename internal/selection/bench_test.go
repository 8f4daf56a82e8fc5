package selection

import (
	"fmt"
	"testing"
)

// bruteForce is the baseline: every tool's text is split and compared on each
// query.
func bruteForce(tools []Tool, q string) int {
	want := map[string]bool{}
	eachWord(q, nil, func(w []byte) { want[string(w)] = true })
	best, at := 0, -1
	for i := range tools {
		n := 0
		eachWord(tools[i].Name+" "+tools[i].Description, nil, func(w []byte) {
			if want[string(w)] {
				n++
			}
		})
		if n > best {
			best, at = n, i
		}
	}
	return at
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{1000, 10_000, 40_000} {
		tools := catalogue(n)
		b.Run(fmt.Sprintf("tools=%d/impl=baseline", n), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				bruteForce(tools, queries[i%len(queries)])
				i++
			}
		})
		b.Run(fmt.Sprintf("tools=%d/impl=sluice", n), func(b *testing.B) {
			b.ReportAllocs()
			s := Build(tools, testTable(b)).NewSearcher()
			i := 0
			for b.Loop() {
				s.Search(queries[i%len(queries)], 8)
				i++
			}
		})
	}
}

// BenchmarkOpen compares loading an index with building it.
func BenchmarkOpen(b *testing.B) {
	tools, table := catalogue(10_000), testTable(b)
	stored := Build(tools, table).Append(nil)
	b.Run("impl=baseline", func(b *testing.B) {
		b.SetBytes(int64(len(stored)))
		b.ReportAllocs()
		for b.Loop() {
			Build(tools, table)
		}
	})
	b.Run("impl=sluice", func(b *testing.B) {
		b.SetBytes(int64(len(stored)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Open(stored, table); err != nil {
				b.Fatal(err)
			}
		}
	})
}

//go:build !race

package compress

import (
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestTableAllocates nothing, once an encoder has grown to what documents need.
func TestTableAllocates(t *testing.T) {
	docs := [][]byte{issues(30), issues(3), []byte(`{"a":1}`), []byte(`[]`)}
	for seed := range uint64(60) {
		docs = append(docs, jsonscan.AppendMinified(nil, newGenerator(seed).document()))
	}
	var out []byte
	for i, doc := range docs {
		f := func() { out, _, _ = AppendForm(out[:0], doc, Auto, Estimated) }
		f()
		if n := testing.AllocsPerRun(20, f); n != 0 {
			t.Errorf("document %d: %v allocations, want 0: %.300s", i, n, doc)
		}
	}
}

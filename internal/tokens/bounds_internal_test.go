package tokens

import (
	"bytes"
	"testing"
)

// TestMaxRun: a run counts up to the bound and nothing overflows beyond it: a text is never
// cheap because it is long.
func TestMaxRun(t *testing.T) {
	full := maxRun + len(bare) - 1 // the table has the costs of the first letters
	text := bytes.Repeat([]byte("a"), full+1024)
	cost := map[int]uint32{}
	for _, n := range []int{full - 1, full, full + 1, full + 1024} {
		end, c := word(text[:n], 0, 0)
		if cost[n] = c; end != n {
			t.Errorf("a run of %d ends at %d", n, end)
		}
	}
	if cost[full-1]+longLetter != cost[full] || cost[full+1] != cost[full] || cost[full+1024] != cost[full] {
		t.Errorf("costs around the bound: %v", cost)
	}
}

package node

import (
	"fmt"
	"testing"

	"github.com/sluicegate/sluice/gateway/snapshot"
)

// TestMaxOpenPreviews: so many previews are kept open; one more begins anew, and the one
// that was asked for last is there.
func TestMaxOpenPreviews(t *testing.T) {
	var p previews
	for n := 1; n <= maxOpenPreviews+1; n++ {
		id := fmt.Sprint(n)
		p.keep(id, &snapshot.Toolset{})
		want := n
		if n > maxOpenPreviews {
			want = 1
		}
		if len(p.open) != want || p.open[id] == nil {
			t.Fatalf("%d previews: %d are open, want %d", n, len(p.open), want)
		}
	}
	p.keep(fmt.Sprint(maxOpenPreviews+1), nil)
	if len(p.open) != 0 {
		t.Errorf("%d are open after it was forgotten", len(p.open))
	}
}

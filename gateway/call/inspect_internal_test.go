package call

import (
	"strconv"
	"testing"
)

// TestInspectedHeaders: of the headers of a request the first maxInspectedHeaders are kept.
func TestInspectedHeaders(t *testing.T) {
	for _, n := range []int{maxInspectedHeaders, maxInspectedHeaders + 1} {
		var i Inspection
		for h := range n {
			i.add("X-"+strconv.Itoa(h), "1")
		}
		if len(i.Headers) != maxInspectedHeaders || i.Headers[maxInspectedHeaders-1].Name != "X-"+strconv.Itoa(maxInspectedHeaders-1) {
			t.Errorf("of %d headers %d are kept", n, len(i.Headers))
		}
	}
}

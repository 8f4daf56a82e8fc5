package call

import (
	"strconv"
	"testing"

	"github.com/sluicegate/sluice/gateway/media"
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

// TestInspectedInputsAreBounded: of an answer of many parts the first ones are kept.
func TestInspectedInputsAreBounded(t *testing.T) {
	var i Inspection
	for n := range maxInspectedInputs + 1 {
		i.input(partAnswer, media.TypeText, []byte{byte('a' + n)})
		if want := min(n+1, maxInspectedInputs); len(i.Inputs) != want {
			t.Errorf("of %d parts %d are kept", n+1, len(i.Inputs))
		}
	}
	if last := i.Inputs[maxInspectedInputs-1]; string(last.Body) != string(rune('a'+maxInspectedInputs-1)) {
		t.Errorf("the last one is %q", last.Body)
	}
}

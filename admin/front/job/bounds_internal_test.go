package job

import (
	"fmt"
	"testing"
)

// TestMaxWait: a request may wait so long for its job, whatever it asks for.
func TestMaxWait(t *testing.T) {
	longest := int(maxWait.Seconds())
	for n, want := range map[int]int{longest - 1: longest - 1, longest: longest, longest + 1: longest, 1 << 62: longest} {
		if d, applied := waitOf(fmt.Sprint("respond-async, wait=", n)); int(d.Seconds()) != want || applied != fmt.Sprint("wait=", want) {
			t.Errorf("wait=%d: %s, %q", n, d, applied)
		}
	}
}

package admin

import (
	"fmt"
	"strings"
	"testing"
)

// TestHeaderBounds: what a request may say in its headers.
func TestHeaderBounds(t *testing.T) {
	for n, ok := range map[int]bool{maxIdempotencyKey: true, maxIdempotencyKey + 1: false} {
		if got := validKey(strings.Repeat("k", n)); got != ok {
			t.Errorf("an Idempotency-Key of %d characters: taken %v", n, got)
		}
	}
	longest := int(maxWait.Seconds())
	for n, want := range map[int]int{longest - 1: longest - 1, longest: longest, longest + 1: longest} {
		if d, applied := waitOf(fmt.Sprint("respond-async, wait=", n)); int(d.Seconds()) != want || applied != fmt.Sprint("wait=", want) {
			t.Errorf("wait=%d: %s, %q", n, d, applied)
		}
	}
}

package front

import (
	"strings"
	"testing"
)

// TestMaxIdempotencyKey: a key as long is taken, a character more is refused.
func TestMaxIdempotencyKey(t *testing.T) {
	for n, ok := range map[int]bool{MaxIdempotencyKey: true, MaxIdempotencyKey + 1: false} {
		if got := validKey(strings.Repeat("k", n)); got != ok {
			t.Errorf("a key of %d characters: taken %v", n, got)
		}
	}
}

package batch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestBatchIDIsBounded: an id has at most maxID characters.
func TestBatchIDIsBounded(t *testing.T) {
	for n, ok := range map[int]bool{0: false, 1: true, maxID: true, maxID + 1: false} {
		b, err := Read(jsonscan.Trusted(fmt.Appendf(nil, `{"calls":[{"tool":"a","id":"%s"}]}`, strings.Repeat("x", n))))
		if (err == nil) != ok || ok && len(b.Calls[0].ID) != n {
			t.Errorf("an id of %d characters: %v", n, err)
		}
	}
}

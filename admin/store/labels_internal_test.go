package store

import (
	"fmt"
	"testing"
)

// TestMaxLabels: so many labels an edge or a toolset may have.
func TestMaxLabels(t *testing.T) {
	for n, ok := range map[int]bool{MaxLabels: true, MaxLabels + 1: false} {
		l := map[string]string{}
		for i := range n {
			l[fmt.Sprint("l", i)] = "v"
		}
		if err := CheckLabels(l); (err == nil) != ok {
			t.Errorf("%d labels: %v", n, err)
		}
	}
}

package codecheck

import (
	"strings"
	"testing"
)

// TestFaults: the first faults of a script are told, and how many more there are.
func TestFaults(t *testing.T) {
	for n, want := range map[int]string{0: "", maxFaults: "a\nNothing was run", maxFaults + 1: "and 1 more"} {
		var f faults
		for range n {
			f.add("a")
		}
		if err := f.err(); (err == nil) != (n == 0) || err != nil && !strings.Contains(err.Error(), want) || err != nil && n == maxFaults && strings.Contains(err.Error(), "more") {
			t.Errorf("%d: %v, want %s", n, err, want)
		}
	}
}

//go:build !race

package tokens

import (
	"os"
	"testing"
)

func TestEstimateDoesNotAllocate(t *testing.T) {
	b, err := os.ReadFile("testdata/issues.json")
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { Estimate(b) }); n != 0 {
		t.Errorf("Estimate allocates %v times, want 0", n)
	}
}

//go:build !race

package operation

import "testing"

func TestNoAllocations(t *testing.T) {
	c := compile(t, benchPlan())
	args := parse(t, benchArgs)
	var r Request
	run := func() {
		if err := c.Check(args); err != nil {
			t.Fatal(err)
		}
		if err := c.Build(&r, args); err != nil {
			t.Fatal(err)
		}
	}
	run() // warm-up
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Fatalf("%v allocations, want 0", n)
	}
}

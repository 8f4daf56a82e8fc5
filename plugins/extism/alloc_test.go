//go:build !race

package extism

import (
	"bytes"
	"context"
	"testing"
)

// TestCallDoesNotAllocate: after warm-up, with input and output.
func TestCallDoesNotAllocate(t *testing.T) {
	h := newHost(t, Options{})
	p := load(t, h, Spec{Name: "speed", Code: ourPlugin(t, "speed.wasm")})
	in, ctx := bytes.Repeat([]byte("x"), 1000), context.Background()
	dst := make([]byte, 0, len(in))
	call := func() {
		out, err := p.Call(ctx, dst[:0], Call{Export: "echo", Input: in})
		if err != nil || len(out) != len(in) {
			t.Fatal(len(out), err)
		}
	}
	call()
	if n := testing.AllocsPerRun(100, call); n != 0 {
		t.Errorf("%v allocations per call, want 0", n)
	}
}

package extism

import (
	"context"
	"testing"
)

func newHost(t testing.TB, o Options) *Host {
	t.Helper()
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func load(t testing.TB, h *Host, s Spec) *Plugin {
	t.Helper()
	p, err := h.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestRest: instances at rest are freed, and the next call makes one from the code that
// stays.
func TestRest(t *testing.T) {
	h := newHost(t, Options{})
	p := load(t, h, Spec{Name: "echo", Code: ourPlugin(t, "speed.wasm")})
	for n := range 3 {
		if _, err := p.Call(t.Context(), nil, Call{Export: "nop"}); err != nil {
			t.Fatal(err)
		}
		if len(p.idle.list) != 1 || p.Stats().Instances != uint64(n+1) {
			t.Fatalf("%d idle, %d made", len(p.idle.list), p.Stats().Instances)
		}
		p.Rest()
		if len(p.idle.list) != 0 {
			t.Fatalf("%d idle at rest", len(p.idle.list))
		}
	}
}

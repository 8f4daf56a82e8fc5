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

package extism

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/module"
)

// TestCompileHoldsUpNobody: while a module is compiled that takes long, others are
// compiled and run, calls of it end with their context, and plugin and host close.
func TestCompileHoldsUpNobody(t *testing.T) {
	h, err := New(Options{Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	tiny := wasm(sec(1, "\x01\x60\x00\x00"), sec(3, "\x01\x00"), sec(7, "\x01\x01f\x00\x00"), sec(10, "\x01\x02\x00\x0b"))
	slow, other := load(t, h, Spec{Name: "slow", Code: rememberer}), load(t, h, Spec{Name: "other", Code: tiny})
	if _, work, err := module.Prepare(nil, tiny); err != nil || work > smallBuild {
		t.Fatalf("%v for nothing, %v", work, err)
	}
	h.small <- struct{}{} // a module is compiled, which ends when this test says so
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := slow.Call(ctx, nil, Call{Export: "f"})
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, ErrDeadline) {
		t.Errorf("a call whose caller gave up: %v", err)
	}
	h.large <- struct{}{}
	<-h.small
	if _, err := other.Call(t.Context(), nil, Call{Export: "f"}); err != nil {
		t.Errorf("a small module beside a large one: %v", err)
	}
	h.small <- struct{}{}
	late := load(t, h, Spec{Name: "late", Code: deepest()["small frames"]})
	go func() {
		_, err := late.Call(context.Background(), nil, Call{Export: "f"})
		ended <- err
	}()
	late.Close()
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("a call of a plugin that was closed: %v", err)
	}
	slow.Close()
	other.Close()
	if err := h.Close(t.Context()); err != nil {
		t.Errorf("the host: %v", err)
	}
	<-h.small
	<-h.large
}

package plugin

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

// callAs calls a plugin on behalf of a caller.
func (w *world) callAs(p *snapshot.Plugin, caller string) error {
	_, err := w.r.Transform(w.t.Context(), nil, []byte(`{"a":1}`), p, &guest.Context{Caller: caller})
	return err
}

// TestCallersAreJudgedApart: calls of one caller that make the plugin fail, or answers that
// cannot be used, leave it out of that caller's calls; others go on, until that is so for
// most callers.
func TestCallersAreJudgedApart(t *testing.T) {
	w := newWorld(t)
	p := moody(t, "fail", nil)
	failAs := func(caller string, most int) (n int) {
		for range most {
			if errors.Is(w.callAs(p, caller), ErrUnbound) {
				return n
			}
			n++
		}
		return n
	}
	if n := failAs("mallory", 20); n != 11 {
		t.Errorf("the plugin is left out after %d failed calls of a caller, want 11", n)
	}
	for _, caller := range []string{"ada", ""} {
		if errors.Is(w.callAs(p, caller), ErrUnbound) {
			t.Errorf("it is left out of the calls of %q, for what another's did", caller)
		}
	}
	for range 11 {
		_ = w.r.Check(p, "eve", func() error { return errors.New("no JSON") })
	}
	if !errors.Is(w.callAs(p, "eve"), ErrUnbound) || errors.Is(w.callAs(p, "ada"), ErrUnbound) {
		t.Error("answers that cannot be used do not count for the caller that got them")
	}
	for _, caller := range []string{"bob", "carol", "dan"} {
		if errors.Is(w.callAs(p, caller), ErrUnbound) {
			t.Errorf("it is left out of the calls of %q", caller)
		}
	}
	failAs("bob", 20) // three of six
	for _, caller := range []string{"ada", "carol", "", "somebody new"} {
		if !errors.Is(w.callAs(p, caller), ErrUnbound) {
			t.Errorf("it is left out for half of the callers, but not of the calls of %q", caller)
		}
	}
	want := []string{"in the calls of one caller only: 11 of 11", "in the calls of one caller only: 11 of 11", "in the calls of most callers; of one: 11 of"}
	if len(w.events) != len(want) {
		t.Fatalf("%d events, want %d: %+v", len(w.events), len(want), w.events)
	}
	for n, e := range w.events {
		if len(e.Reason) < len(want[n]) || e.Reason[:len(want[n])] != want[n] {
			t.Errorf("event %d says %q, want %q", n, e.Reason, want[n])
		}
	}
	w.pass(Unbound)
	if errors.Is(w.callAs(p, "mallory"), ErrUnbound) {
		t.Error("it stays left out")
	}
	if n := failAs("mallory", 20); n != 10 || w.events[len(w.events)-1].Until != w.r.o.Now().Add(2*Unbound).Unix() {
		t.Errorf("the second time it is left out after %d calls until %d", n, w.events[len(w.events)-1].Until)
	}
}

// TestCallersAreBounded: so many callers are judged apart, what further ones do counts
// together, and those that did not call lately make room.
func TestCallersAreBounded(t *testing.T) {
	w := newWorld(t)
	p := moody(t, "echo", &registry.UnbindLimits{ErrorPercent: 99})
	for n := range maxCallers {
		if err := w.callAs(p, fmt.Sprint("caller ", n)); err != nil {
			t.Fatal(err)
		}
	}
	e := w.r.entry(p, w.r.o.Now())
	now := w.r.o.Now()
	if e.records.of("caller 0", now) == &e.records.all || e.records.of("one more", now) != &e.records.all || len(e.records.named) != maxCallers {
		t.Errorf("%d callers are judged apart, want %d", len(e.records.named), maxCallers)
	}
	w.r.unbind(e, &e.records.all, p, now, "too slow")
	if len(w.events) != 1 || w.events[0].Reason != "too slow" {
		t.Errorf("taken out for all: %+v", w.events)
	}
	w.pass(Unbound + time.Second)
	if now = w.r.o.Now(); e.records.of("one more", now) == &e.records.all || len(e.records.named) != 1 {
		t.Errorf("%d callers stay, want one", len(e.records.named))
	}
}

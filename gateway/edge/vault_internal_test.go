package edge

import (
	"errors"
	"testing"
	"time"

	"github.com/sluicegate/sluice/registry"
)

// TestPrune: what nothing uses is kept for unusedGrace, and what is used again stays.
func TestPrune(t *testing.T) {
	v := &Vault{asked: make(chan struct{})}
	v.values.Store(&map[string]registry.EdgeCredential{"live": {}, "sent": {}, "next": {}, "gone": {}, "back": {}})
	start := time.Unix(1e9, 0)
	has := func(at time.Duration, want ...string) {
		t.Helper()
		v.prune(start.Add(at))
		got := *v.values.Load()
		if len(got) != len(want) {
			t.Errorf("after %s: %d credentials, want %v", at, len(got), want)
		}
		for _, id := range want {
			if _, ok := got[id]; !ok {
				t.Errorf("after %s: %s is gone", at, id)
			}
		}
	}
	all := []string{"live", "sent", "next", "gone", "back"}
	has(0, all...)
	has(24*time.Hour, all...) // no release is live: nobody knows what is used
	v.live = &needs{toolsets: map[string]string{"live": "t"}}
	has(0, all...)
	has(24*time.Hour, all...) // what was sent is of a former run
	v.sent, v.next = map[string]bool{"sent": true}, []*needs{{toolsets: map[string]string{"next": "t"}}}
	has(0, all...)
	has(unusedGrace-1, all...)
	v.sent["back"] = true
	has(unusedGrace, "live", "sent", "next", "back")
	v.next = nil
	delete(v.sent, "back")
	has(unusedGrace, "live", "sent", "next", "back")
	has(2*unusedGrace-1, "live", "sent", "next", "back")
	has(2*unusedGrace, "live", "sent")
	// What was dropped and is sent again is new: it is not measured by the time before.
	v.values.Store(&map[string]registry.EdgeCredential{"live": {}, "sent": {}, "gone": {}})
	has(3*unusedGrace, "live", "sent", "gone")
	has(4*unusedGrace, "live", "sent")
}

// TestVaultNews: it is news that credentials cannot be had, and that they can be again; that the
// fault is another one is none, and it is the newest that is told.
func TestVaultNews(t *testing.T) {
	one, other := errors.New("one"), errors.New("another")
	var v Vault
	for i, c := range []struct {
		err  error
		news bool
	}{{nil, false}, {one, true}, {one, false}, {other, false}, {nil, true}, {nil, false}, {other, true}} {
		if got := v.set(c.err); got != c.news || v.Fault() != c.err {
			t.Errorf("%d: news %t, want %t; fault %v, want %v", i, got, c.news, v.Fault(), c.err)
		}
	}
}

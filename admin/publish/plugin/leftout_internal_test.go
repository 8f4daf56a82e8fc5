package plugin

import (
	"strconv"
	"testing"
	"time"

	"github.com/sluicegate/sluice/registry"
)

// What is left out is reported for its toolset and version only, until its time, and is bounded.
func TestLeftOut(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var l leftOut
	mask := registry.PluginKey{Workspace: "w", Name: "mask", Version: "1.0.0"}
	p := leftOutPlugin{PluginKey: mask, toolset: "shop", reason: "slow", until: now.Add(time.Minute)}
	l.note(p, now)
	at := p
	at.edge, at.reason = "paris", "traps"
	l.note(at, now)
	p.until = now.Add(2 * time.Minute) // again
	l.note(p, now)
	if got := l.of(mask, "shop", now); len(got) != 2 || got[0].Edge != "" || !got[0].Until.Equal(p.until) || got[1].Edge != "paris" || got[1].Reason != "traps" {
		t.Errorf("left out %+v", got)
	}
	for _, other := range [][4]string{{"v", "shop", "mask", "1.0.0"}, {"w", "shop2", "mask", "1.0.0"}, {"w", "shop", "mask2", "1.0.0"}, {"w", "shop", "mask", "1.0.1"}} {
		if got := l.of(registry.PluginKey{Workspace: other[0], Name: other[2], Version: other[3]}, other[1], now); len(got) != 0 {
			t.Errorf("%v: %+v", other, got)
		}
	}
	if got := l.of(mask, "shop", at.until); len(got) != 1 {
		t.Errorf("when one has ended: %+v", got)
	}
	for i := range maxLeftOut {
		l.note(leftOutPlugin{PluginKey: mask, toolset: "t" + strconv.Itoa(i), until: now.Add(time.Hour)}, now)
	}
	if len(l.list) != maxLeftOut || len(l.of(mask, "shop", now)) != 0 || len(l.of(mask, "t0", now)) != 1 {
		t.Errorf("%d are kept", len(l.list))
	}
}

package admin

import (
	"strconv"
	"testing"
	"time"
)

// What is left out is told of its toolset and version only, until its time, and is bounded.
func TestLeftOut(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var l leftOut
	p := LeftOutPlugin{Workspace: "w", Toolset: "shop", Name: "mask", Version: "1.0.0", Reason: "slow", Until: now.Add(time.Minute)}
	l.note(p, now)
	at := p
	at.Edge, at.Reason = "paris", "traps"
	l.note(at, now)
	p.Until = now.Add(2 * time.Minute) // again
	l.note(p, now)
	if got := l.of("w", "shop", "mask", "1.0.0", now); len(got) != 2 || got[0].Edge != "" || !got[0].Until.Equal(p.Until) || got[1].Edge != "paris" || got[1].Reason != "traps" {
		t.Errorf("left out %+v", got)
	}
	for _, other := range [][4]string{{"v", "shop", "mask", "1.0.0"}, {"w", "shop2", "mask", "1.0.0"}, {"w", "shop", "mask2", "1.0.0"}, {"w", "shop", "mask", "1.0.1"}} {
		if got := l.of(other[0], other[1], other[2], other[3], now); len(got) != 0 {
			t.Errorf("%v: %+v", other, got)
		}
	}
	if got := l.of("w", "shop", "mask", "1.0.0", at.Until); len(got) != 1 {
		t.Errorf("when one has ended: %+v", got)
	}
	for i := range maxLeftOut {
		l.note(LeftOutPlugin{Workspace: "w", Toolset: "t" + strconv.Itoa(i), Name: "mask", Version: "1.0.0", Until: now.Add(time.Hour)}, now)
	}
	if len(l.list) != maxLeftOut || len(l.of("w", "shop", "mask", "1.0.0", now)) != 0 || len(l.of("w", "t0", "mask", "1.0.0", now)) != 1 {
		t.Errorf("%d are kept", len(l.list))
	}
}

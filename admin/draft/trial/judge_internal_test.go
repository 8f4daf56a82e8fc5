package trial

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/rollup"
	"github.com/sluicegate/sluice/registry"
)

// side is one side whose calls took that long, failed of which did.
func side(calls, failed int, took time.Duration) registry.TrialSide {
	var h rollup.Histogram
	for range calls {
		h.Add(took)
	}
	return registry.TrialSide{Calls: uint64(calls), Errors: uint64(failed), Duration: uint64(calls) * uint64(took.Microseconds()), Latency: h.AppendBinary(nil)}
}

// TestWorse: a canary is rolled back for its errors or its latency, by the thresholds, and
// not before both sides have the minimum of calls.
func TestWorse(t *testing.T) {
	for _, c := range []struct {
		name            string
		live, candidate registry.TrialSide
		percent         int64
		judged          bool
		want            string
	}{
		{"equal", side(500, 5, 10*time.Millisecond), side(50, 1, 10*time.Millisecond), 10, true, ""},
		{"too few of the candidate", side(500, 0, 10*time.Millisecond), side(49, 49, time.Second), 10, false, ""},
		{"too few of the live", side(49, 0, 10*time.Millisecond), side(500, 5, time.Second), 90, false, ""},
		{"too few of the live, fails", side(49, 0, 10*time.Millisecond), side(500, 500, time.Second), 90, false, "100.0 % of its 500 calls failed"},
		{"five points more", side(500, 0, 10*time.Millisecond), side(100, 5, 10*time.Millisecond), 10, true, ""},
		{"six points more", side(500, 0, 10*time.Millisecond), side(100, 6, 10*time.Millisecond), 10, true, "6.0 % of its 100 calls failed"},
		{"both fail", side(500, 250, 10*time.Millisecond), side(100, 50, 10*time.Millisecond), 10, true, ""},
		{"slower", side(500, 0, 100*time.Millisecond), side(100, 0, 200*time.Millisecond), 10, true, "95 % of its calls took up to"},
		{"a little slower", side(500, 0, 100*time.Millisecond), side(100, 0, 130*time.Millisecond), 10, true, ""},
		{"slower within the noise", side(500, 0, time.Millisecond), side(100, 0, 10*time.Millisecond), 10, true, ""},
		{"all callers, fails", registry.TrialSide{}, side(100, 6, time.Millisecond), 100, true, "6.0 % of its 100 calls failed"},
		{"all callers, slow", registry.TrialSide{}, side(100, 0, time.Second), 100, true, ""},
	} {
		th := RolloutThresholds{}
		if err := th.read(); err != nil {
			t.Fatal(err)
		}
		why, judged, err := th.worse(&registry.TrialCounts{Live: c.live, Candidate: c.candidate}, c.percent)
		if err != nil || judged != c.judged || (why == "") != (c.want == "") || !strings.Contains(why, c.want) {
			t.Errorf("%s: %q, judged %v, %v; want %q, %v", c.name, why, judged, err, c.want, c.judged)
		}
	}
}

// TestStartBounds: what a start may say, at the limit and one past it.
func TestStartBounds(t *testing.T) {
	for _, c := range []struct {
		name string
		in   StartRollout
		want bool
	}{
		{"shadow", StartRollout{Mode: registry.TrialShadow}, true},
		{"shadow with a share", StartRollout{Mode: registry.TrialShadow, Percent: 1}, false},
		{"shadow with a time", StartRollout{Mode: registry.TrialShadow, PromoteAfterSeconds: 1}, false},
		{"shadow with thresholds", StartRollout{Mode: registry.TrialShadow, Thresholds: RolloutThresholds{MinCalls: 50}}, false},
		{"canary", StartRollout{Mode: registry.TrialCanary}, true},
		{"least calls", StartRollout{Mode: registry.TrialCanary, Thresholds: RolloutThresholds{MinCalls: minMinCalls}}, true},
		{"fewer", StartRollout{Mode: registry.TrialCanary, Thresholds: RolloutThresholds{MinCalls: minMinCalls - 1}}, false},
		{"longest time", StartRollout{Mode: registry.TrialCanary, PromoteAfterSeconds: int64(MaxPromoteAfter / time.Second)}, true},
		{"longer", StartRollout{Mode: registry.TrialCanary, PromoteAfterSeconds: int64(MaxPromoteAfter/time.Second) + 1}, false},
	} {
		if err := c.in.read(); (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	in := StartRollout{Mode: registry.TrialCanary}
	if err := in.read(); err != nil || in.Percent != defaultPercent || in.Thresholds.MinCalls != defaultMinCalls {
		t.Errorf("%+v, %v", in, err)
	}
}

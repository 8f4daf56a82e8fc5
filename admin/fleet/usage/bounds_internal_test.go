package usage

import (
	"testing"
	"time"
)

// TestQueryBounds: how far back, and in how many points, usage may be asked for.
func TestQueryBounds(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	f := func(what string, length, step time.Duration, ok bool) {
		t.Helper()
		_, err := (&UsageInput{From: now.Add(-length), To: now, Step: step.String()}).query(now)
		if (err == nil) != ok {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("the longest range", maxUsageRange+24*time.Hour, 24*time.Hour, true) // and the day that has begun
	f("a nanosecond more", maxUsageRange+24*time.Hour+1, 24*time.Hour, false)
	f("as many points", maxUsagePoints*time.Minute, time.Minute, true)
	f("one point more", (maxUsagePoints+1)*time.Minute, time.Minute, false)
}

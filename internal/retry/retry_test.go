package retry_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/internal/retry"
)

// whole is a jitter that takes nothing off.
func whole(d time.Duration) time.Duration { return d }

// TestPausesDouble: from the first to the longest, and from the first again after a reset.
func TestPausesDouble(t *testing.T) {
	f := func(first, longest time.Duration, want ...time.Duration) {
		t.Helper()
		b := retry.Backoff{First: first, Longest: longest, Jitter: whole}
		for range 2 {
			var got []time.Duration
			for range want {
				got = append(got, b.Next())
			}
			if !slices.Equal(got, want) {
				t.Errorf("from %s to %s: %v, want %v", first, longest, got, want)
			}
			b.Reset()
		}
	}
	f(time.Second, 5*time.Second, 1*time.Second, 2*time.Second, 4*time.Second, 5*time.Second, 5*time.Second)
	f(time.Second, 4*time.Second, 1*time.Second, 2*time.Second, 4*time.Second, 4*time.Second)
	f(time.Second, time.Second, time.Second, time.Second)
	f(time.Minute, time.Second, time.Second, time.Second)
	f(math.MaxInt64/2, math.MaxInt64, math.MaxInt64/2, math.MaxInt64, math.MaxInt64)
}

// TestJitter: the default takes off up to half, and not always the same.
func TestJitter(t *testing.T) {
	b := retry.Backoff{First: time.Second, Longest: time.Second}
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := b.Next()
		if d < time.Second/2 || d > time.Second {
			t.Fatalf("a pause of %s, want %s to %s", d, time.Second/2, time.Second)
		}
		seen[d] = true
	}
	if len(seen) < 100 {
		t.Errorf("%d different pauses of 1000", len(seen))
	}
	for _, d := range []time.Duration{0, 1} {
		if got := retry.Half(d); got < 0 || got > d {
			t.Errorf("Half(%d) = %d", d, got)
		}
	}
}

// TestWait: it lasts as long as the pause, and ends with its context.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := retry.Backoff{First: time.Second, Longest: time.Hour, Jitter: whole}
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			began := time.Now()
			if err := b.Wait(t.Context()); err != nil || time.Since(began) != want {
				t.Errorf("%v after %s, want nil after %s", err, time.Since(began), want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := b.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("with a context of 1s: %v after %s", err, time.Since(began))
		}
	})
}

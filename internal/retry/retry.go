// Package retry paces attempts that follow a failure: pauses that double up to a
// longest one, with jitter, so that many nodes that lost the same server do not come
// back to it at once. Callers decide what is tried again and how often.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Jitter picks a pause of at most longest. It may be called by many goroutines.
type Jitter func(longest time.Duration) time.Duration

// Half is the Jitter of a Backoff without one: a random pause between half of longest
// and longest.
func Half(longest time.Duration) time.Duration {
	return longest/2 + rand.N(longest/2+1) //nolint:gosec // spreads load, keeps no secret
}

// Backoff is the pause before the next attempt. It belongs to one goroutine.
type Backoff struct {
	First   time.Duration // after the first failure, before jitter. Required
	Longest time.Duration // no pause is longer. Required
	Jitter  Jitter        // Default: Half

	next time.Duration // 0: First
}

// Next returns the pause after a failure, and doubles that of the next one.
func (b *Backoff) Next() time.Duration {
	d := min(max(b.next, b.First), b.Longest)
	if b.next = b.Longest; d < b.Longest/2 {
		b.next = 2 * d
	}
	if b.Jitter == nil {
		return Half(d)
	}
	return b.Jitter(d)
}

// Reset makes the next pause the first again, after an attempt that succeeded.
func (b *Backoff) Reset() { b.next = 0 }

// Wait sleeps for the next pause. It returns ctx's error when ctx ends before.
func (b *Backoff) Wait(ctx context.Context) error { return Sleep(ctx, b.Next()) }

// Sleep waits for d. It returns ctx's error when ctx ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

package access

import (
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/sluicegate/sluice/registry"
)

// limiter counts the requests of one caller, or of all callers of a toolset. The
// nil limiter limits nothing. It is safe for concurrent use and goes on from one
// policy of a toolset to the next.
type limiter struct {
	rate    atomic.Pointer[rate.Limiter] // nil: any rate
	most    atomic.Int64                 // at the same time; 0: any number
	running atomic.Int64
}

// newLimiter makes a limiter, or changes prev, whose counts go on.
func newLimiter(l *registry.RateLimits, prev *limiter) *limiter {
	if l == nil || l.RequestsPerMinute == 0 && l.Concurrent == 0 {
		return nil
	}
	out := prev
	if out == nil {
		out = &limiter{}
	}
	out.most.Store(int64(l.Concurrent))
	if l.RequestsPerMinute == 0 {
		out.rate.Store(nil)
		return out
	}
	perSecond, burst := rate.Limit(float64(l.RequestsPerMinute)/60), l.Burst
	if burst == 0 {
		burst = max(1, l.RequestsPerMinute/10)
	}
	if r := out.rate.Load(); r == nil {
		out.rate.Store(rate.NewLimiter(perSecond, burst))
	} else {
		r.SetLimit(perSecond)
		r.SetBurst(burst)
	}
	return out
}

// enter admits one request, which must leave, or says why not. whose is what the
// limit belongs to.
func (l *limiter) enter(whose string) *Refusal {
	if l == nil {
		return nil
	}
	if n, most := l.running.Add(1), l.most.Load(); most > 0 && n > most {
		l.running.Add(-1)
		return &Refusal{Status: 429, Reason: TooManyAtOne, Text: "too many requests of this " + whose + " are running", Retry: 1}
	}
	if r := l.rate.Load(); r != nil {
		now := time.Now()
		reservation := r.ReserveN(now, 1)
		if wait := reservation.DelayFrom(now); wait > 0 {
			reservation.CancelAt(now)
			l.running.Add(-1)
			return &Refusal{
				Status: 429, Reason: TooMany, Text: "too many requests of this " + whose,
				Retry: int(math.Ceil(min(wait, time.Hour).Seconds())),
			}
		}
	}
	return nil
}

func (l *limiter) leave() {
	if l != nil {
		l.running.Add(-1)
	}
}

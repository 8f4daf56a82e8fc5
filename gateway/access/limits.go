package access

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/registry"
)

// limiter counts the requests of one caller, or of all callers of a toolset. The
// nil limiter limits nothing. It is safe for concurrent use and goes on from one
// policy of a toolset to the next.
type limiter struct {
	rate    atomic.Pointer[rate.Limiter] // nil: any rate
	most    atomic.Int64                 // at the same time; 0: any number
	running atomic.Int64
	key     string // of whose requests are counted
	shared  Counter
}

// Counter counts the requests of all nodes of a pool together. See [pool.Store].
type Counter interface {
	Enter(ctx context.Context, whose string, l pool.Limit) (pool.Verdict, error)
	Leave(lease string)
}

// newLimiter makes a limiter of key, or changes prev, whose counts go on. shared may be
// nil: then this node counts alone.
func newLimiter(l *registry.RateLimits, prev *limiter, key string, shared Counter) *limiter {
	if l == nil || l.RequestsPerMinute == 0 && l.Concurrent == 0 {
		return nil
	}
	out := prev
	if out == nil {
		out = &limiter{key: key, shared: shared}
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

// enter admits one request, which must leave with the lease, or says why not. whose is
// what the limit belongs to. Where nodes share their counts and those cannot be had, this
// node's own hold.
func (l *limiter) enter(ctx context.Context, whose string) (lease string, refusal *Refusal) {
	if l == nil {
		return "", nil
	}
	n, r := l.running.Add(1), l.rate.Load()
	v, err := l.together(ctx, r)
	if l.shared == nil || err != nil {
		v = l.alone(n, r)
	}
	switch {
	case v.Crowded:
		l.running.Add(-1)
		return "", &Refusal{Status: 429, Reason: TooManyAtOne, Text: "too many requests of this " + whose + " are running", Retry: 1}
	case v.Wait > 0:
		l.running.Add(-1)
		return "", &Refusal{
			Status: 429, Reason: TooMany, Text: "too many requests of this " + whose,
			Retry: int(math.Ceil(min(v.Wait, time.Hour).Seconds())),
		}
	}
	return v.Lease, nil
}

// together asks the pool.
func (l *limiter) together(ctx context.Context, r *rate.Limiter) (pool.Verdict, error) {
	if l.shared == nil {
		return pool.Verdict{}, nil
	}
	limit := pool.Limit{Most: int(l.most.Load())}
	if r != nil {
		limit.Every, limit.Burst = 1e6/float64(r.Limit()), r.Burst()
	}
	return l.shared.Enter(ctx, l.key, limit)
}

// alone decides by what runs on this node, n with the new request, and its own bucket.
func (l *limiter) alone(n int64, r *rate.Limiter) (v pool.Verdict) {
	if most := l.most.Load(); most > 0 && n > most {
		v.Crowded = true
		return v
	}
	if r != nil {
		now := time.Now()
		reservation := r.ReserveN(now, 1)
		if v.Wait = reservation.DelayFrom(now); v.Wait > 0 {
			reservation.CancelAt(now)
		}
	}
	return v
}

func (l *limiter) leave(lease string) {
	if l == nil {
		return
	}
	l.running.Add(-1)
	if lease != "" {
		l.shared.Leave(lease)
	}
}

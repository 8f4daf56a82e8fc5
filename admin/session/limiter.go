package session

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// How many logins may fail. A login that succeeds costs nothing.
const (
	// An address may be that of a proxy with many people behind it: 30 at once, then one in
	// two seconds.
	addressBurst = 30
	addressEvery = 2 * time.Second
	// An account is one person's: 10 at once, then one in 30 seconds, which is 2,900 guesses
	// a day from all addresses together. More strictness would let a stranger lock them out.
	accountBurst = 10
	accountEvery = 30 * time.Second
)

// maxLimited is how many addresses or accounts are counted one by one: those beyond it share
// one count until others are forgotten.
const maxLimited = 10_000

// limiter counts failed attempts in buckets that fill up again.
type limiter struct {
	burst int
	every time.Duration
	now   func() time.Time

	mu      sync.Mutex
	buckets map[string]*bucket // guarded by mu
}

type bucket struct {
	left int
	at   time.Time // when left was right
}

func newLimiter(burst int, every time.Duration, now func() time.Time) *limiter {
	return &limiter{burst: burst, every: every, now: now, buckets: map[string]*bucket{}}
}

// take spends an attempt of key before it is made, so that many at the same time do not pass.
// It fails with [problem.RateLimited], as a [limitedError].
func (l *limiter) take(key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, now := l.bucketLocked(key), l.now()
	if b.left == 0 {
		return limited(b.at.Add(l.every).Sub(now))
	}
	if b.left == l.burst {
		b.at = now
	}
	b.left--
	return nil
}

// giveBack returns the attempt of one that succeeded.
func (l *limiter) giveBack(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucketLocked(key)
	b.left = min(b.left+1, l.burst)
}

// bucketLocked returns the bucket of key, filled up to now.
func (l *limiter) bucketLocked(key string) *bucket {
	now := l.now()
	if l.buckets[key] == nil && len(l.buckets) >= maxLimited {
		for k, b := range l.buckets {
			if l.fill(b, now); b.left == l.burst {
				delete(l.buckets, k)
			}
		}
		if len(l.buckets) >= maxLimited {
			key = "" // of all that are not counted one by one
		}
	}
	b := l.buckets[key]
	if b == nil {
		b = &bucket{left: l.burst, at: now}
		l.buckets[key] = b
	}
	l.fill(b, now)
	return b
}

func (l *limiter) fill(b *bucket, now time.Time) {
	if n := int(now.Sub(b.at) / l.every); n > 0 {
		b.left = min(b.left+n, l.burst)
		b.at = b.at.Add(time.Duration(n) * l.every)
	}
}

// addressKey is what is counted of a client's address: an IPv6 network, because one client
// has as many addresses of it as it likes.
func addressKey(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	if addr = addr.Unmap(); addr.Is6() {
		if p, err := addr.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}

// limitedError refuses an attempt for now. Its answer says for how long.
type limitedError struct {
	error
	wait time.Duration
}

func limited(wait time.Duration) error {
	seconds := int(max(wait, time.Second)+time.Second-1) / int(time.Second)
	return &limitedError{
		error: problem.New(problem.RateLimited, "too many logins failed").Fix("try again in %s", fmt.Sprintf("%d seconds", seconds)),
		wait:  time.Duration(seconds) * time.Second,
	}
}

// Unwrap returns the problem.
func (e *limitedError) Unwrap() error { return e.error }

// GetHeaders returns the headers of the answer.
func (e *limitedError) GetHeaders() http.Header {
	return http.Header{"Retry-After": {strconv.Itoa(int(e.wait / time.Second))}}
}

package ratelimit

import (
	"net/netip"
	"sync"
	"time"
)

// maxKeys is how many keys are counted one by one: those beyond it share one count until
// others are forgotten.
const maxKeys = 10_000

// Limiter counts attempts of keys. Make one with [New].
type Limiter struct {
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

// New makes a limiter: burst attempts of a key at once, then one in every.
func New(burst int, every time.Duration, now func() time.Time) *Limiter {
	return &Limiter{burst: burst, every: every, now: now, buckets: map[string]*bucket{}}
}

// Take spends an attempt of key before it is made, so that many at the same time do not pass.
// false: there is none, and the next one comes after wait.
func (l *Limiter) Take(key string) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, now := l.bucketLocked(key), l.now()
	if b.left == 0 {
		return b.at.Add(l.every).Sub(now), false
	}
	if b.left == l.burst {
		b.at = now
	}
	b.left--
	return 0, true
}

// GiveBack returns the attempt of one that is not to count.
func (l *Limiter) GiveBack(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucketLocked(key)
	b.left = min(b.left+1, l.burst)
}

// bucketLocked returns the bucket of key, filled up to now.
func (l *Limiter) bucketLocked(key string) *bucket {
	now := l.now()
	if l.buckets[key] == nil && len(l.buckets) >= maxKeys {
		for k, b := range l.buckets {
			if l.fill(b, now); b.left == l.burst {
				delete(l.buckets, k)
			}
		}
		if len(l.buckets) >= maxKeys {
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

func (l *Limiter) fill(b *bucket, now time.Time) {
	if n := int(now.Sub(b.at) / l.every); n > 0 {
		b.left = min(b.left+n, l.burst)
		b.at = b.at.Add(time.Duration(n) * l.every)
	}
}

// AddressKey is what is counted of a client's address: an IPv6 network, because one client
// has as many addresses of it as it likes.
func AddressKey(ip string) string {
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

package call

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cespare/xxhash/v2"
	"github.com/dgraph-io/ristretto/v2"
	"github.com/dgraph-io/ristretto/v2/z"
	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// DefaultCacheBytes is the memory for kept answers: 3,000 of 20 KB.
	DefaultCacheBytes = 64 << 20
	// entryBytes is what an entry costs beside its key and body.
	entryBytes = 512
	// maxEntryShare of the cache may one answer take; a larger one would push
	// everything else out.
	maxEntryShare = 8
)

// entry is a kept answer. It is immutable once stored.
type entry struct {
	key         []byte
	status      int
	contentType []byte
	link        []byte // Link header
	headers     []byte // as received.headers
	body        []byte
	expires     time.Time
}

// Header implements [headerReader], of what is kept.
func (e *entry) Header(name string) []byte {
	if name == fasthttp.HeaderLink {
		return e.link
	}
	return nil
}

// flight is an exchange that runs and that other calls wait for.
type flight struct {
	done chan struct{}
	e    *entry // set before done is closed; nil: nothing to share
}

// keeper keeps answers and shares exchanges that run. It is safe for concurrent
// use.
type keeper struct {
	store *ristretto.Cache[[]byte, *entry]
	most  int

	mu      sync.Mutex
	flights map[string]*flight // guarded by mu

	waiting              atomic.Int64 // calls that wait for a flight
	hits, misses, shared *metrics.Counter
}

func newKeeper(size int64, meter *metering.Meter) (*keeper, error) {
	k := &keeper{
		flights: map[string]*flight{},
		hits:    meter.Cache("hit"), misses: meter.Cache("miss"), shared: meter.Cache("shared"),
	}
	if size < 0 {
		return k, nil
	}
	if size == 0 {
		size = DefaultCacheBytes
	}
	k.most = int(size / maxEntryShare)
	var err error
	k.store, err = ristretto.NewCache(&ristretto.Config[[]byte, *entry]{
		NumCounters: max(size/2048, 1024) * 10, // ten for each entry of 2 KB, as the library asks
		MaxCost:     size,
		BufferItems: 64,
		// Without it the library boxes the key on every call. Both hashes and then
		// the whole key are compared, so no two requests share an answer.
		KeyToHash: func(key []byte) (uint64, uint64) { return z.MemHash(key), xxhash.Sum64(key) },
	})
	return k, err
}

func (k *keeper) close() {
	if k.store != nil {
		k.store.Close()
	}
}

func (k *keeper) get(key []byte, now time.Time) *entry {
	if k.store == nil {
		return nil
	}
	e, ok := k.store.Get(key)
	if !ok || !bytes.Equal(e.key, key) || !now.Before(e.expires) {
		return nil
	}
	return e
}

func (k *keeper) put(e *entry, ttl time.Duration) {
	if cost := len(e.key) + len(e.body) + entryBytes; k.store != nil && cost <= k.most {
		k.store.SetWithTTL(e.key, e, int64(cost), ttl)
	}
}

// join returns the exchange that runs for key, or starts one: then first is true
// and the caller must leave it.
func (k *keeper) join(key []byte) (f *flight, first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.flights[string(key)]; f != nil {
		return f, false
	}
	f = &flight{done: make(chan struct{})}
	k.flights[string(key)] = f
	return f, true
}

func (k *keeper) leave(key []byte, f *flight) {
	k.mu.Lock()
	delete(k.flights, string(key))
	k.mu.Unlock()
	close(f.done)
}

// lookUp finds a kept answer, or waits for an exchange for the same request that is
// running. flight is not nil when others wait for this call. Only safe methods of
// toolsets with a cache are looked up. The key holds everything the answer depends on:
// the toolset, the connector, the request with its headers, and which version of which
// credential asked.
func (x *exchange) lookUp() (kept *entry, own *flight, err error) {
	if x.ts.CacheTTL <= 0 || !x.ready.Safe {
		return nil, nil, nil
	}
	x.cacheKey = x.appendKey(x.cacheKey[:0])
	k := x.c.kept
	if e := k.get(x.cacheKey, x.start); e != nil {
		inc(k.hits)
		return e, nil, nil
	}
	f, first := k.join(x.cacheKey)
	if first {
		inc(k.misses)
		return nil, f, nil
	}
	k.waiting.Add(1)
	defer k.waiting.Add(-1)
	timer := time.NewTimer(time.Until(x.deadline))
	defer timer.Stop()
	select {
	case <-f.done:
		if f.e != nil {
			inc(k.shared)
		}
		return f.e, nil, nil // nil: nothing to share, the upstream is asked
	case <-timer.C:
		return nil, nil, problem.New(problem.Timeout, "the upstream did not answer in time").Fix("try again")
	case <-x.ctx.Done():
		if errors.Is(x.ctx.Err(), context.Canceled) {
			return nil, nil, x.gone()
		}
		return nil, nil, problem.New(problem.Timeout, "the call took too long").Because(x.ctx.Err())
	}
}

func inc(c *metrics.Counter) {
	if c != nil {
		c.Inc()
	}
}

func (x *exchange) appendKey(dst []byte) []byte {
	dst = append(dst, x.ts.ID...) // which addresses may be called depends on the toolset too
	dst = append(append(dst, 0), x.tool.Binding.Digest...)
	dst = append(append(dst, 0), x.ready.Method...)
	dst = append(append(dst, 0), x.url...)
	dst = append(append(dst, 0), x.built.Accept...)
	for i := range x.built.Header {
		dst = append(append(dst, 0), x.built.Header[i].Name...)
		dst = append(append(dst, ':'), x.built.Header[i].Value...)
	}
	if x.built.HasBody { // of QUERY, and of GET where a specification insists on one
		sum := sha256.Sum256(x.built.Body)
		dst = append(append(dst, 0), x.built.ContentType...)
		dst = append(append(dst, 0), sum[:]...)
	}
	if x.ready.Auth != nil {
		dst = append(append(dst, 0), x.ready.Auth.Key...)
	}
	for i, v := range x.bound.Values {
		rule := &x.bound.Rules[i]
		dst = append(append(dst, 0), rule.ID...)
		dst = binary.BigEndian.AppendUint64(append(dst, 0), v.Version)
		if rule.User { // versions of different callers may be the same
			dst = binary.BigEndian.AppendUint32(append(dst, 0), uint32(len(x.principalKey)))
			dst = append(dst, x.principalKey...)
		}
	}
	return dst
}

// remember keeps the answer of send, if the upstream's directives allow it, and
// hands it to the calls that wait.
func (x *exchange) remember(r *received) {
	if x.flight == nil || r.status != fasthttp.StatusOK || x.http.Redirects > 0 {
		return
	}
	ttl := freshness(r.header, x.ts.CacheTTL)
	if ttl <= 0 {
		return
	}
	e := &entry{
		key: bytes.Clone(x.cacheKey), status: r.status, contentType: bytes.Clone(r.contentType), body: bytes.Clone(r.body),
		link: bytes.Clone(r.header.Header(fasthttp.HeaderLink)), headers: bytes.Clone(r.headers),
		expires: time.Now().Add(ttl),
	}
	x.flight.e = e
	x.c.kept.put(e, ttl)
}

// freshness is how long an answer may be kept: the toolset's time, cut by what
// the upstream says (RFC 9111 §5.2.2, §5.3); 0: not at all. The cache is private
// to one credential, so private and s-maxage do not matter.
func freshness(h headerReader, ttl time.Duration) time.Duration {
	if bytes.Contains(h.Header("Vary"), []byte("*")) || len(h.Header("Set-Cookie")) > 0 {
		return 0
	}
	age, aged := false, time.Duration(0)
	for directive := range bytes.SplitSeq(h.Header("Cache-Control"), []byte(",")) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(directive), []byte("="))
		switch string(bytes.ToLower(name)) {
		case "no-store", "no-cache":
			return 0
		case "max-age":
			n, err := strconv.Atoi(string(bytes.Trim(value, `"`)))
			if err != nil || n < 0 {
				return 0 // RFC 9111 §4.2.1: an invalid freshness is stale
			}
			age, aged = true, time.Duration(min(n, 1<<31))*time.Second
		}
	}
	if age {
		if n, err := strconv.Atoi(string(h.Header("Age"))); err == nil && n > 0 {
			aged -= time.Duration(min(n, 1<<31)) * time.Second
		}
		return min(ttl, aged)
	}
	if expires := h.Header("Expires"); len(expires) > 0 {
		at, err := fasthttp.ParseHTTPDate(expires)
		if err != nil {
			return 0
		}
		now := time.Now()
		if date, err := fasthttp.ParseHTTPDate(h.Header("Date")); err == nil {
			now = date
		}
		return min(ttl, at.Sub(now))
	}
	return ttl
}

// WaitCache waits until answers that were given to the cache can be found in it:
// it takes them in the background. Tests and benchmarks need it.
func (c *Caller) WaitCache() {
	if c.kept.store != nil {
		c.kept.store.Wait()
	}
}

// Waiting is how many calls wait for another call's exchange.
func (c *Caller) Waiting() int { return int(c.kept.waiting.Load()) }

package call

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
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
	headers     []byte // as exchange.headers
	body        []byte
	expires     time.Time
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

// cache answers from what is kept, or from an exchange for the same request that
// is running. Only safe methods of toolsets that want it are looked up. The key
// holds everything the answer depends on: the toolset, the connector, the request with its
// headers, and which version of which credential asked.
func (x *exchange) cache() error {
	if x.ts.CacheTTL <= 0 || !x.ready.Safe {
		return nil
	}
	x.key = x.appendKey(x.key[:0])
	k := x.c.kept
	if x.hit = k.get(x.key, x.start); x.hit != nil {
		inc(k.hits)
		return nil
	}
	f, first := k.join(x.key)
	if first {
		inc(k.misses)
		x.flight = f
		return nil
	}
	k.waiting.Add(1)
	defer k.waiting.Add(-1)
	timer := time.NewTimer(time.Until(x.deadline))
	defer timer.Stop()
	select {
	case <-f.done:
		if f.e != nil {
			inc(k.shared)
			x.hit = f.e
		}
		return nil // nothing to share: ask the upstream itself
	case <-timer.C:
		return problem.New(problem.Timeout, "the upstream did not answer in time").Fix("try again")
	case <-x.ctx.Done():
		return problem.New(problem.Timeout, "the call was cancelled").Because(x.ctx.Err())
	}
}

func inc(c *metrics.Counter) {
	if c != nil {
		c.Inc()
	}
}

func (x *exchange) appendKey(dst []byte) []byte {
	b := x.tool.Binding
	dst = append(dst, x.ts.ID...) // which addresses may be called is a toolset's too
	dst = append(dst, 0)
	dst = append(dst, b.Digest...)
	dst = append(dst, 0)
	dst = append(dst, x.ready.Method...)
	dst = append(dst, 0)
	dst = append(dst, x.url...)
	dst = append(dst, 0)
	dst = append(dst, x.request.Accept...)
	for i := range x.request.Header {
		dst = append(dst, 0)
		dst = append(dst, x.request.Header[i].Name...)
		dst = append(dst, ':')
		dst = append(dst, x.request.Header[i].Value...)
	}
	if x.request.HasBody { // of QUERY, and of GET where a specification insists on one
		sum := sha256.Sum256(x.request.Body)
		dst = append(dst, 0)
		dst = append(dst, x.request.ContentType...)
		dst = append(dst, 0)
		dst = append(dst, sum[:]...)
	}
	if x.ready.Auth != nil {
		dst = append(dst, 0)
		dst = append(dst, x.ready.Auth.Key...)
	}
	for i := range x.creds {
		dst = append(dst, 0)
		dst = append(dst, x.rules[i].ID...)
		dst = append(dst, 0)
		dst = binary.BigEndian.AppendUint64(dst, x.creds[i].Version)
		if x.rules[i].User { // versions of different callers may be the same
			dst = append(dst, 0)
			dst = binary.BigEndian.AppendUint32(dst, uint32(len(x.principal)))
			dst = append(dst, x.principal...)
		}
	}
	return dst
}

// remember keeps the answer of send, if the upstream's directives allow it, and
// hands it to the calls that wait.
func (x *exchange) remember() {
	if x.flight == nil || x.status != fasthttp.StatusOK || x.http.Redirects > 0 {
		return
	}
	ttl := freshness(&x.http, x.ts.CacheTTL)
	if ttl <= 0 {
		return
	}
	e := &entry{
		key: bytes.Clone(x.key), status: x.status, contentType: bytes.Clone(x.contentType), body: bytes.Clone(x.body),
		link: bytes.Clone(x.http.Header(fasthttp.HeaderLink)), headers: bytes.Clone(x.headers),
		expires: time.Now().Add(ttl),
	}
	x.flight.e = e
	x.c.kept.put(e, ttl)
}

// header is what freshness reads of an answer.
type header interface{ Header(name string) []byte }

// freshness is how long an answer may be kept: the toolset's time, cut by what
// the upstream says (RFC 9111 §5.2.2, §5.3); 0: not at all. The cache is private
// to one credential, so private and s-maxage do not matter.
func freshness(h header, ttl time.Duration) time.Duration {
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

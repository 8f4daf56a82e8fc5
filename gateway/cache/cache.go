package cache

import (
	"bytes"
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
)

const (
	// DefaultBytes is the memory for kept answers: 3,000 of 20 KB.
	DefaultBytes = 64 << 20
	// entryBytes is what an Entry costs beside its key and body.
	entryBytes = 512
	// maxEntryShare of the cache may one answer take; a larger one would push
	// everything else out.
	maxEntryShare = 8
)

// Entry is an answer that is kept. It is immutable once stored.
type Entry struct {
	Key         []byte // everything that the answer depends on
	Status      int
	ContentType []byte
	Link        []byte // Link header
	Headers     []byte // that the agent reads: members of a JSON object
	Body        []byte
	Expires     time.Time
	Unfinished  bool // the beginning of a stream, for calls that wait for it only
}

// Header implements [Header] for what is kept.
func (e *Entry) Header(name string) []byte {
	if name == fasthttp.HeaderLink {
		return e.Link
	}
	return nil
}

// Flight is an exchange that runs and that other calls wait for.
type Flight struct {
	done chan struct{}
	e    *Entry // set before done is closed; nil: nothing to share
}

// Share gives the answer to the calls that wait. It is called before [Cache.Leave], at most once.
func (f *Flight) Share(e *Entry) { f.e = e }

// Done is closed when the exchange has ended.
func (f *Flight) Done() <-chan struct{} { return f.done }

// Entry is what the exchange shares, once it is done; nil: nothing.
func (f *Flight) Entry() *Entry { return f.e }

// Header is an answer over HTTP.
type Header interface{ Header(name string) []byte }

// Cache keeps answers and shares exchanges that run. It is safe for concurrent
// use.
type Cache struct {
	store atomic.Pointer[ristretto.Cache[[]byte, *Entry]] // nil until something is kept: its books take 2 MB
	size  int64                                           // 0 keeps nothing
	most  int
	pool  Pool // nil: other nodes do not know what is kept

	making  sync.Mutex // of the store
	mu      sync.Mutex
	flights map[string]*Flight // guarded by mu

	waiting                      atomic.Int64 // calls that wait for a flight
	hits, misses, shared, pooled *metrics.Counter
}

// New makes a cache of that many bytes: 0 is [DefaultBytes], and of a negative size nothing is
// kept, here or in the pool. It counts in meter. pool is nil where a node has none.
func New(size int64, pool Pool, meter *metering.Meter) *Cache {
	k := &Cache{
		flights: map[string]*Flight{},
		hits:    meter.Cache("hit"), misses: meter.Cache("miss"), shared: meter.Cache("shared"),
	}
	if size < 0 {
		return k
	}
	if pool != nil {
		k.pool, k.pooled = pool, meter.Cache("pool")
	}
	if size == 0 {
		size = DefaultBytes
	}
	k.size, k.most = size, int(size/maxEntryShare)
	return k
}

// filled is the store, which is made for the first answer; nil: nothing is kept.
func (k *Cache) filled() *ristretto.Cache[[]byte, *Entry] {
	if store := k.store.Load(); store != nil || k.size == 0 {
		return store
	}
	k.making.Lock()
	defer k.making.Unlock()
	if store := k.store.Load(); store != nil {
		return store
	}
	store, err := ristretto.NewCache(&ristretto.Config[[]byte, *Entry]{
		NumCounters: max(k.size/2048, 1024) * 10, // ten for each entry of 2 KB, as the library asks
		MaxCost:     k.size,
		BufferItems: 64,
		// Without it the library boxes the key on every call. Both hashes and then
		// the whole key are compared, so no two requests share an answer.
		KeyToHash: func(key []byte) (uint64, uint64) { return z.MemHash(key), xxhash.Sum64(key) },
	})
	if err != nil {
		panic("BUG: the settings of a cache: " + err.Error())
	}
	k.store.Store(store)
	return store
}

// Close frees the memory. Nothing may follow.
func (k *Cache) Close() {
	k.store.Load().Close() // none is closed
}

// Get returns the answer that is kept under a key and fresh, and counts it; nil: there is none.
func (k *Cache) Get(key []byte, now time.Time) *Entry {
	e, ok := k.store.Load().Get(key) // none has nothing
	if !ok || !bytes.Equal(e.Key, key) || !now.Before(e.Expires) {
		return nil
	}
	inc(k.hits)
	return e
}

// Put keeps an answer of a toolset for a time, unless it is unfinished or too large. The cache may take it in
// the background: see [Cache.Wait].
func (k *Cache) Put(toolset string, e *Entry, ttl time.Duration) {
	if !e.Unfinished {
		k.put(e, ttl)
		k.share(toolset, e, ttl)
	}
}

// put is Put at this node.
func (k *Cache) put(e *Entry, ttl time.Duration) {
	if cost := len(e.Key) + len(e.Body) + entryBytes; cost <= k.most {
		k.filled().SetWithTTL(e.Key, e, int64(cost), ttl)
	}
}

// Join returns the exchange that runs for key, or starts one: then first is true
// and the caller must leave it; the call is counted as one that nothing was kept for.
func (k *Cache) Join(key []byte) (f *Flight, first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.flights[string(key)]; f != nil {
		return f, false
	}
	inc(k.misses)
	f = &Flight{done: make(chan struct{})}
	k.flights[string(key)] = f
	return f, true
}

// Leave ends an exchange that [Cache.Join] started, and lets go who waits for it.
func (k *Cache) Leave(key []byte, f *Flight) {
	k.mu.Lock()
	delete(k.flights, string(key))
	k.mu.Unlock()
	close(f.done)
}

// Shared counts an answer of an exchange of another call.
func (k *Cache) Shared() { inc(k.shared) }

func inc(c *metrics.Counter) {
	if c != nil {
		c.Inc()
	}
}

// Waits counts a call that waits for an exchange of another, until done is called.
func (k *Cache) Waits() (done func()) {
	k.waiting.Add(1)
	return func() { k.waiting.Add(-1) }
}

// Waiting is how many calls wait for the exchange of another.
func (k *Cache) Waiting() int { return int(k.waiting.Load()) }

// Wait waits until all answers that were put into the cache can be found in it.
func (k *Cache) Wait() { k.store.Load().Wait() }

// Freshness is how long an answer may be kept: the toolset's time, cut by what
// the upstream says (RFC 9111 §5.2.2, §5.3); 0: not at all. The cache is private
// to one credential, so private and s-maxage do not matter.
func Freshness(h Header, ttl time.Duration) time.Duration {
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
				return 0 // RFC 9111 §4.2.1: an invalid Freshness is stale
			}
			age, aged = true, time.Duration(min(n, 1<<31))*time.Second
		}
	}
	if age {
		n, _ := strconv.Atoi(string(h.Header("Age"))) // 0 when it is not a number, the largest when it is too large
		return min(ttl, aged-time.Duration(min(max(n, 0), 1<<31))*time.Second)
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

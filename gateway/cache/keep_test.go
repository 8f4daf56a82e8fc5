package cache

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/metering"
)

func newCache(t *testing.T, size int64) *Cache {
	t.Helper()
	k := New(size, nil, metering.New())
	t.Cleanup(k.Close)
	return k
}

// TestKeep: an answer is found under its own key while it is fresh, and counted.
func TestKeep(t *testing.T) {
	k, now := newCache(t, 1<<20), time.Now()
	e := &Entry{Key: []byte("key"), Body: []byte("body"), Link: []byte("<next>"), Expires: now.Add(time.Minute)}
	k.Put("toolset", e, time.Minute)
	k.Wait()
	for after, fresh := range map[time.Duration]bool{0: true, time.Minute - 1: true, time.Minute: false, time.Hour: false} {
		if got := k.Get([]byte("key"), now.Add(after)); (got == e) != fresh || !fresh && got != nil {
			t.Errorf("after %v: %v", after, got)
		}
	}
	if got := k.Get([]byte("kez"), now); got != nil {
		t.Errorf("under another key: %v", got)
	}
	k.Put("toolset", &Entry{Key: []byte("stream"), Expires: now.Add(time.Minute), Unfinished: true}, time.Minute)
	k.Wait()
	if k.Get([]byte("stream"), now) != nil {
		t.Error("the beginning of a stream is kept as an answer")
	}
	// What the library finds under a key by its hashes is given only for the whole of it.
	other := &Entry{Key: []byte("other"), Expires: now.Add(time.Minute)}
	k.store.Load().SetWithTTL([]byte("stranger"), other, 1, time.Minute)
	k.Wait()
	if got := k.Get([]byte("stranger"), now); got != nil {
		t.Errorf("the answer to %q was given for another key", got.Key)
	}
	if hits, misses := k.hits.Get(), k.misses.Get(); hits != 2 || misses != 0 {
		t.Errorf("%d hits, %d misses", hits, misses)
	}
	k.Close()
	if k.Get([]byte("key"), now) != nil {
		t.Error("something is kept after Close")
	}
	if string(e.Header(fasthttp.HeaderLink)) != "<next>" || e.Header("Etag") != nil {
		t.Error("a kept answer has other headers than its link")
	}
}

// TestLargestEntry: one answer takes no more than its share, its key and what it costs
// beside them counted.
func TestLargestEntry(t *testing.T) {
	const size = 1 << 20
	k, now := newCache(t, size), time.Now()
	for over := range 2 {
		key := []byte("key" + strconv.Itoa(over))
		k.Put("toolset", &Entry{Key: key, Body: make([]byte, size/maxEntryShare-entryBytes-len(key)+over), Expires: now.Add(time.Minute)}, time.Minute)
		k.Wait()
		if got := k.Get(key, now); (got != nil) != (over == 0) {
			t.Errorf("an answer of %d bytes beyond the largest is kept: %v", over, got != nil)
		}
	}
	if k := newCache(t, 0); k.most != DefaultBytes/maxEntryShare || k.store.Load() != nil {
		t.Errorf("by default one answer may have %d bytes, and before the first one there is a store: %v", k.most, k.store.Load() != nil)
	}
}

// TestNothingKept: a cache of a negative size keeps nothing, and calls share exchanges all
// the same.
func TestNothingKept(t *testing.T) {
	k := newCache(t, -1)
	k.Put("toolset", &Entry{Key: []byte("key"), Expires: time.Now().Add(time.Minute)}, time.Minute)
	k.Wait()
	if k.Get([]byte("key"), time.Now()) != nil || k.store.Load() != nil {
		t.Error("something is kept")
	}
	if _, first := k.Join([]byte("key")); !first {
		t.Error("the first call does not begin")
	}
	New(-1, nil, nil).Shared() // without a meter nothing is counted
}

// TestFlights: calls of one key share an exchange until it ends, those of another do not.
func TestFlights(t *testing.T) {
	k := newCache(t, -1)
	f, first := k.Join([]byte("a"))
	again, second := k.Join([]byte("a"))
	other, third := k.Join([]byte("b"))
	if !first || second || again != f || !third || other == f {
		t.Errorf("first %v, second %v, another key %v", first, second, third)
	}
	select {
	case <-f.Done():
		t.Error("done before its end")
	default:
	}
	done := k.Waits()
	if k.Waiting() != 1 {
		t.Errorf("%d wait", k.Waiting())
	}
	done()
	e := &Entry{}
	f.Share(e)
	k.Leave([]byte("a"), f)
	<-f.Done()
	if f.Entry() != e || other.Entry() != nil || k.Waiting() != 0 {
		t.Error("the answer is not shared")
	}
	if again, first := k.Join([]byte("a")); !first || again == f {
		t.Error("an exchange that ended is joined")
	}
	if again, first := k.Join([]byte("b")); first || again != other {
		t.Error("the end of one exchange ended another")
	}
	k.Shared()
	if k.misses.Get() != 3 || k.shared.Get() != 1 || k.hits.Get() != 0 {
		t.Errorf("%d misses, %d shared, %d hits", k.misses.Get(), k.shared.Get(), k.hits.Get())
	}
}

// TestFreshnessAtItsBounds: what the upstream says counts to the second, and what cannot
// be read is stale.
func TestFreshnessAtItsBounds(t *testing.T) {
	const at, later = "Sun, 06 Nov 1994 08:49:07 GMT", "Sun, 06 Nov 1994 08:49:08 GMT"
	for _, c := range []struct {
		h    fields
		want time.Duration
	}{
		{fields{"Cache-Control": "max-age=1"}, time.Second},
		{fields{"Cache-Control": "max-age=59"}, 59 * time.Second},
		{fields{"Cache-Control": "max-age=60"}, time.Minute},
		{fields{"Cache-Control": "max-age=61"}, time.Minute},
		{fields{"Cache-Control": "max-age=-1"}, 0},
		{fields{"Cache-Control": "max-age"}, 0},
		{fields{"Cache-Control": "max-age=4294967296"}, time.Minute},
		{fields{"Cache-Control": "max-age=30", "Age": "1"}, 29 * time.Second},
		{fields{"Cache-Control": "max-age=30", "Age": "0"}, 30 * time.Second},
		{fields{"Cache-Control": "max-age=30", "Age": "-5"}, 30 * time.Second},
		{fields{"Cache-Control": "max-age=30", "Age": "old"}, 30 * time.Second},
		{fields{"Cache-Control": "max-age=30", "Age": "31"}, -time.Second},
		{fields{"Cache-Control": "max-age=0", "Age": "5"}, -5 * time.Second},
		{fields{"Age": "30"}, time.Minute},
		{fields{"Cache-Control": "no-cache"}, 0},
		{fields{"Cache-Control": "max-age=30 , no-store"}, 0},
		{fields{"Cache-Control": "max-age=30", "Vary": "*"}, 0},
		{fields{"Cache-Control": "max-age=30", "Set-Cookie": "a"}, 0},
		{fields{"Expires": later, "Date": at}, time.Second},
		{fields{"Expires": at, "Date": at}, 0},
		{fields{"Expires": at, "Date": later}, -time.Second},
		{fields{"Expires": "Sun, 06 Nov 1994 09:49:07 GMT", "Date": at}, time.Minute},
		{fields{"Expires": "never"}, 0},
	} {
		if got := Freshness(c.h, time.Minute); got != c.want {
			t.Errorf("%v: %v, want %v", c.h, got, c.want)
		}
	}
	in := time.Now().Add(30 * time.Second).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	if got := Freshness(fields{"Expires": in, "Date": "?"}, time.Minute); got < 20*time.Second || got > 30*time.Second {
		t.Errorf("without a date: %v", got)
	}
	// Both ends of the largest number that is read: the product does not turn negative.
	if got := Freshness(fields{"Cache-Control": "max-age=" + strings.Repeat("9", 18)}, time.Minute); got != time.Minute {
		t.Errorf("a long time: %v", got)
	}
	if got := Freshness(fields{"Cache-Control": "max-age=30", "Age": strings.Repeat("9", 18)}, time.Minute); got > 0 {
		t.Errorf("a great age: %v", got)
	}
	if got := Freshness(fields{"Cache-Control": "max-age=30", "Age": strings.Repeat("9", 20)}, time.Minute); got > 0 {
		t.Errorf("an age that is too large for a number: %v", got)
	}
}

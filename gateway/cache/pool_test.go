package cache

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/gateway/pool/pooltest"
	"github.com/sluicegate/sluice/internal/secrets"
)

// TestPool: what one node keeps another finds, of the same toolset and key only, gives it to the
// calls that wait, and keeps it, too; a node without a pool, or whose pool is away, finds nothing.
func TestPool(t *testing.T) {
	server := pooltest.Start(t)
	node := func(size int64) *Cache {
		p, err := pool.Open(pool.Options{URL: secrets.New(server.URL()), Key: func() []byte { return bytes.Repeat([]byte("k"), 32) }, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		k := New(size, p, metering.New())
		t.Cleanup(func() {
			k.Close()
			_ = p.Close()
		})
		return k
	}
	one, two, alone, off := node(0), node(0), newCache(t, 0), node(-1)
	ctx, now := t.Context(), time.Now()
	e := &Entry{Key: []byte("key"), Status: 200, Body: []byte("body"), Expires: now.Add(time.Minute).Truncate(time.Millisecond)}
	one.Put("ts_1", e, time.Minute)
	one.Put("ts_1", &Entry{Key: []byte("stream"), Expires: now.Add(time.Minute), Unfinished: true}, time.Minute)
	one.Wait()
	pooltest.Settle(t, one.pool)
	for _, c := range []struct {
		at           *Cache
		toolset, key string
		ttl          time.Duration
		found        bool
	}{
		{two, "ts_2", "key", time.Minute, false},
		{two, "ts_1", "kez", time.Minute, false},
		{two, "key", "ts_1", time.Minute, false},
		{two, "ts_1", "stream", time.Minute, false},
		{two, "ts_1", "key", 0, false}, // the toolset keeps nothing any more
		{alone, "ts_1", "key", time.Minute, false},
		{off, "ts_1", "key", time.Minute, false},
		{two, "ts_1", "key", time.Minute, true},
	} {
		f, _ := c.at.Join([]byte(c.key))
		got := c.at.Fetch(ctx, c.toolset, []byte(c.key), f, c.ttl)
		c.at.Leave([]byte(c.key), f)
		if (got != nil) != c.found || f.Entry() != got || c.found && !reflect.DeepEqual(got, e) {
			t.Errorf("%s %s for %v: %+v, shared %+v", c.toolset, c.key, c.ttl, got, f.Entry())
		}
		c.at.Wait()
		if kept := c.at.Get([]byte(c.key), now); kept != got {
			t.Errorf("%s %s is kept here as %+v", c.toolset, c.key, kept)
		}
	}
	if n := two.pooled.Get(); n != 1 {
		t.Errorf("%d answers of the pool are counted", n)
	}
	server.Kill()
	f, _ := one.Join([]byte("key"))
	if got := one.Fetch(ctx, "ts_1", []byte("key"), f, time.Minute); got != nil || f.Entry() != nil {
		t.Errorf("of a pool that is away: %+v", got)
	}
	if got := one.Get([]byte("key"), now); got != e {
		t.Errorf("what is kept here is gone with the pool: %+v", got)
	}
}

package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"time"
)

// Pool keeps answers for all nodes of a pool. See [pool.Store].
//
// [pool.Store]: https://pkg.go.dev/github.com/sluicegate/sluice/gateway/pool#Store
type Pool interface {
	PutAnswer(ctx context.Context, owner, key string, value []byte, ttl time.Duration) error
	Answer(ctx context.Context, owner, key string) ([]byte, error)
	Later(size int, run func(context.Context)) bool
}

// sharedHead is what stands before the body of an answer that is shared, with a line feed
// behind it.
type sharedHead struct {
	Status      int    `json:"status"`
	ContentType []byte `json:"contentType,omitempty"`
	Link        []byte `json:"link,omitempty"`
	Headers     []byte `json:"headers,omitempty"`
	Kept        int64  `json:"kept"`    // Unix time in milliseconds
	Expires     int64  `json:"expires"` // so, too
}

// shared is the answer without its key, which its name in the pool is made of.
func (e *Entry) shared(now time.Time) []byte {
	head, _ := json.Marshal(sharedHead{e.Status, e.ContentType, e.Link, e.Headers, now.UnixMilli(), e.Expires.UnixMilli()}) // cannot fail
	return append(append(head, '\n'), e.Body...)
}

// readShared is nil for what no node of this version wrote, and for what is no longer fresh at
// now where answers are kept for ttl.
func readShared(b, key []byte, now time.Time, ttl time.Duration) *Entry {
	head, body, ok := bytes.Cut(b, []byte{'\n'})
	var in sharedHead
	if !ok || json.Unmarshal(head, &in) != nil {
		return nil
	}
	e := &Entry{Key: bytes.Clone(key), Status: in.Status, ContentType: in.ContentType, Link: in.Link, Headers: in.Headers, Body: body, Expires: time.UnixMilli(in.Expires)}
	// The time of the toolset may have become shorter since.
	if end := time.UnixMilli(in.Kept).Add(ttl); end.Before(e.Expires) {
		e.Expires = end
	}
	if !now.Before(e.Expires) {
		return nil
	}
	return e
}

// Fetch is [Cache.Get] of what the other nodes of the pool keep, for a call that is the first
// one of f: those that wait for it get what is found, and it is kept here, too. ttl is how long
// the toolset lets answers be kept.
func (k *Cache) Fetch(ctx context.Context, toolset string, key []byte, f *Flight, ttl time.Duration) *Entry {
	if k.pool == nil {
		return nil
	}
	b, err := k.pool.Answer(ctx, toolset, string(key))
	if err != nil {
		return nil
	}
	now := time.Now()
	e := readShared(b, key, now, ttl)
	if e == nil {
		return nil
	}
	inc(k.pooled)
	f.Share(e)
	k.put(e, e.Expires.Sub(now))
	return e
}

// share gives an answer to the other nodes. No call waits for that.
func (k *Cache) share(toolset string, e *Entry, ttl time.Duration) {
	if k.pool == nil {
		return
	}
	value := e.shared(time.Now())
	k.pool.Later(len(value), func(ctx context.Context) {
		_ = k.pool.PutAnswer(ctx, toolset, string(e.Key), value, ttl) // the others ask the API
	})
}

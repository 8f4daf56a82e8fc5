package call

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/cache"
	"github.com/sluicegate/sluice/internal/problem"
)

// lookUp finds a kept answer, or waits for an exchange for the same request that is
// running. flight is not nil when others wait for this call. Only safe methods of
// toolsets with a cache are looked up. The key holds everything the answer depends on:
// the toolset, the connector, the request with its headers, and which version of which
// credential asked.
func (x *exchange) lookUp() (kept *cache.Entry, own *cache.Flight, err error) {
	if x.ts.CacheTTL <= 0 || !x.ready.Safe {
		return nil, nil, nil
	}
	x.cacheKey = x.appendKey(x.cacheKey[:0])
	k := x.c.kept
	if e := k.Get(x.cacheKey, x.start); e != nil {
		return e, nil, nil
	}
	f, first := k.Join(x.cacheKey)
	if first {
		return k.Fetch(x.ctx, x.ts.ID, x.cacheKey, f, x.ts.CacheTTL), f, nil
	}
	defer k.Waits()() //nolint:revive // it counts who waits until it is called
	timer := time.NewTimer(time.Until(x.deadline))
	defer timer.Stop()
	select {
	case <-f.Done():
		if f.Entry() != nil {
			k.Shared()
		}
		return f.Entry(), nil, nil // nil: nothing to share, the upstream is asked
	case <-timer.C:
		return nil, nil, problem.New(problem.Timeout, "the upstream did not answer in time").Fix("try again")
	case <-x.ctx.Done():
		if errors.Is(x.ctx.Err(), context.Canceled) {
			return nil, nil, x.gone()
		}
		return nil, nil, problem.New(problem.Timeout, "the call took too long").Because(x.ctx.Err())
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
// hands it to the calls that wait. It is kept as it came but for credentials: what shapes and
// filters answers runs behind the cache, in every call, as it is bound when that call is made.
func (x *exchange) remember(r *received) {
	if x.flight == nil || r.status != fasthttp.StatusOK || x.http.Redirects > 0 {
		return
	}
	ttl := cache.Freshness(r.header, x.ts.CacheTTL)
	if ttl <= 0 {
		return
	}
	e := &cache.Entry{
		Key: bytes.Clone(x.cacheKey), Status: r.status, ContentType: bytes.Clone(r.contentType), Body: bytes.Clone(r.body),
		Link: bytes.Clone(r.header.Header(fasthttp.HeaderLink)), Headers: bytes.Clone(r.headers),
		Expires: time.Now().Add(ttl), Unfinished: r.unfinished,
	}
	x.flight.Share(e)
	x.c.kept.Put(x.ts.ID, e, ttl)
}

// WaitCache waits until answers that were given to the cache can be found in it:
// it takes them in the background. Tests and benchmarks need it.
func (c *Caller) WaitCache() { c.kept.Wait() }

// Waiting is how many calls wait for another call's exchange.
func (c *Caller) Waiting() int { return c.kept.Waiting() }

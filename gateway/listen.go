package gateway

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/http1"
	"github.com/sluicegate/sluice/registry"
)

const (
	// maxListeners is how many subscriptions/listen streams may be open: each costs
	// about 6 KB here and a socket.
	maxListeners = 20_000
	// keepAlive is how often a silent stream gets a comment: proxies close
	// connections that are silent for a minute, some for half of one.
	keepAlive = 25 * time.Second
	// listenWrite bounds a write to one stream. What is written is small: a client
	// whose buffers have no room for it does not read.
	listenWrite = 200 * time.Millisecond
	// listenWriters write to the streams at the same time, so that some that do not
	// read hold up few of the others.
	listenWriters = 8
)

var errTooManyListeners = errors.New("too many streams are open")

// listeners are the open subscriptions/listen streams (MCP 2026-07-28
// "Subscriptions"). The connection of each was taken from the HTTP server; one
// small goroutine per stream waits for its end, the rest is done by Run.
type listeners struct {
	holder *snapshot.Holder
	open   atomic.Int64

	mu      sync.Mutex
	streams map[*listener]struct{} // guarded by mu
	closed  bool                   // guarded by mu
	readers sync.WaitGroup
}

// listener is one stream.
type listener struct {
	all     *listeners
	conn    net.Conn
	sub     *mcp.Subscription
	slug    string
	chunked bool
	preview *snapshot.Toolset // of a draft, which does not change; nil: it is live

	mu       sync.Mutex
	pass     access.Pass     // guarded by mu; as it was admitted
	id       string          // guarded by mu; of the toolset
	revision uint64          // guarded by mu; the one the client knows
	digest   registry.Digest // guarded by mu
	ended    bool            // guarded by mu
}

func newListeners(h *snapshot.Holder) *listeners {
	return &listeners{holder: h, streams: map[*listener]struct{}{}}
}

// take makes a stream of the connection of rc, once its handler returned.
func (a *listeners) take(rc *fasthttp.RequestCtx, ts *snapshot.Toolset, pass access.Pass, sub *mcp.Subscription, preview bool) error {
	if a.open.Add(1) > maxListeners {
		a.open.Add(-1)
		return errTooManyListeners
	}
	l := &listener{
		all: a, sub: sub, slug: ts.Slug, id: ts.ID, pass: pass, revision: ts.Revision, digest: ts.Digest,
		chunked: rc.Request.Header.IsHTTP11(),
	}
	if preview {
		l.preview = ts
	}
	head := l.head(&rc.Response.Header)
	rc.HijackSetNoResponse(true)
	rc.Hijack(func(c net.Conn) {
		if inner, ok := c.(interface{ UnsafeConn() net.Conn }); ok {
			c = inner.UnsafeConn() // lets the server have its buffers back
		}
		if framed, ok := c.(*http1.Conn); ok {
			framed.Detach() // whatever comes ends the stream
		}
		l.conn = c
		a.start(l, head)
	})
	return nil
}

// head is the status line and the headers, with those of CORS that are set.
func (l *listener) head(h *fasthttp.ResponseHeader) []byte {
	b := append([]byte(nil), "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache, no-transform\r\n"+
		"X-Accel-Buffering: no\r\nConnection: close\r\n"...)
	if l.chunked {
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	for k, v := range h.All() {
		if bytes.HasPrefix(k, []byte("Access-Control-")) || string(k) == fasthttp.HeaderVary {
			b = append(append(append(append(b, k...), ": "...), v...), "\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}

// start writes the first event and waits for the end in a goroutine of its own.
func (a *listeners) start(l *listener, head []byte) {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		_ = l.conn.Close()
		a.open.Add(-1)
		return
	}
	a.streams[l] = struct{}{}
	a.readers.Add(1)
	a.mu.Unlock()
	l.write(append(head, l.frame(l.sub.AppendAck(nil))...))
	l.follow(a.holder.Load()) // a release may have come before the stream was listed
	go l.wait()
}

// wait returns when the client closed the stream, or sends something, which it
// must not.
func (l *listener) wait() {
	defer l.all.readers.Done()
	var b [1]byte
	_, _ = l.conn.Read(b[:])
	l.all.mu.Lock()
	delete(l.all.streams, l)
	l.all.mu.Unlock()
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	_ = l.conn.Close()
	l.all.open.Add(-1)
}

// frame puts events into a chunk (RFC 9112 §7.1).
func (l *listener) frame(events []byte) []byte {
	if !l.chunked {
		return events
	}
	b := strconv.AppendInt(nil, int64(len(events)), 16)
	b = append(append(b, "\r\n"...), events...)
	return append(b, "\r\n"...)
}

// write sends b; a client that cannot take it loses the stream.
func (l *listener) write(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writeLocked(b)
}

func (l *listener) writeLocked(b []byte) {
	if l.ended {
		return
	}
	if l.conn.SetWriteDeadline(time.Now().Add(listenWrite)) != nil {
		return // it is closed, and wait sees it
	}
	if _, err := l.conn.Write(b); err != nil {
		l.ended = true
		_ = l.conn.Close() // wait sees it
	}
}

// endLocked ends the stream as the protocol wants it ended.
func (l *listener) endLocked() {
	b := l.frame(l.sub.AppendEnd(nil))
	if l.chunked {
		b = append(b, "0\r\n\r\n"...)
	}
	l.writeLocked(b)
	if !l.ended {
		l.ended = true
		_ = l.conn.Close()
	}
}

// follow tells the client what changed for it with a snapshot.
func (l *listener) follow(snap *snapshot.Snapshot) {
	ts := l.preview
	if ts == nil {
		ts = snap.Slug(l.slug)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if ts == nil || ts.ID != l.id {
		l.endLocked()
		return
	}
	pass, valid, same := ts.Access.Renew(l.pass)
	if !valid {
		l.endLocked() // its token was revoked, or the kind of access changed
		return
	}
	l.pass = pass
	if same && ts.Revision == l.revision && ts.Digest == l.digest {
		return
	}
	l.revision, l.digest = ts.Revision, ts.Digest
	if l.sub.Tools() {
		l.writeLocked(l.frame(l.sub.AppendChanged(nil)))
	}
}

// run tells the streams of new snapshots and keeps them alive, until ctx ends;
// then it ends them all and waits for their goroutines.
func (a *listeners) run(ctx context.Context) {
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	comment := []byte(":\n\n")
	for {
		changed := a.holder.Changed()
		snap := a.holder.Load()
		a.each(func(l *listener) { l.follow(snap) })
		for waiting := true; waiting; {
			select {
			case <-changed:
				waiting = false
			case <-tick.C:
				a.each(func(l *listener) {
					l.follow(snap) // tokens expire without a release
					l.write(l.frame(comment))
				})
			case <-ctx.Done():
				a.mu.Lock()
				a.closed = true
				a.mu.Unlock()
				a.each(func(l *listener) {
					l.mu.Lock()
					defer l.mu.Unlock()
					l.endLocked()
				})
				a.readers.Wait()
				return
			}
		}
	}
}

// each does something with every stream, several at a time.
func (a *listeners) each(do func(*listener)) {
	a.mu.Lock()
	list := make([]*listener, 0, len(a.streams))
	for l := range a.streams {
		list = append(list, l)
	}
	a.mu.Unlock()
	if len(list) == 0 {
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(listenWriters, len(list)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(list) {
					return
				}
				do(list[i])
			}
		})
	}
	wg.Wait()
}

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
	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/cdnloop"
	"github.com/sluicegate/sluice/internal/http1"
)

const (
	// maxListeners is how many such streams may be open: each costs
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

// listeners are the open streams that belong to no call: of subscriptions/listen (MCP
// 2026-07-28 "Subscriptions"), and of sessions (2025-11-25 "Listening for Messages from
// the Server"). The connection of each was taken from the HTTP server; one
// small goroutine per stream waits for its end, the rest is done by Run.
type listeners struct {
	holder *snapshot.Holder
	joined func(*listener) // is called with each of a session, when it is open
	left   func(*listener) // is called at the end of each
	open   atomic.Int64

	mu      sync.Mutex
	streams map[*listener]struct{} // guarded by mu
	closed  bool                   // guarded by mu
	readers sync.WaitGroup
}

// listener is one stream: of a subscription, or of a session.
type listener struct {
	all     *listeners
	sub     *mcp.Subscription // nil: the stream is that of sess
	sess    *session.Session
	resume  string // id of the last event that the client of sess has; "": it did not say
	call    bool   // the stream is the rest of that of a call
	slug    string
	caller  string // tells it from others where a trial draws some
	loop    *cdnloop.Request
	chunked bool
	preview *snapshot.Toolset // of a draft, which does not change; nil: it is live

	mu       sync.Mutex
	conn     net.Conn          // written only under mu, and once; nil: it is not open yet
	early    []string          // guarded by mu; resources that changed before it was open
	pass     access.Pass       // guarded by mu; as it was admitted
	id       string            // guarded by mu; of the toolset
	revision uint64            // guarded by mu; the one the client knows
	lists    snapshot.Versions // guarded by mu; of that revision
	ended    bool              // guarded by mu
}

func newListeners(h *snapshot.Holder, joined, left func(*listener)) *listeners {
	return &listeners{holder: h, joined: joined, left: left, streams: map[*listener]struct{}{}}
}

// hijack makes the connection of rc the stream l, once its handler returned.
func (a *listeners) hijack(rc *fasthttp.RequestCtx, ts *snapshot.Toolset, pass access.Pass, l *listener) error {
	if a.open.Add(1) > maxListeners {
		a.open.Add(-1)
		return errTooManyListeners
	}
	l.all, l.slug, l.id, l.pass, l.revision, l.lists = a, ts.Slug, ts.ID, pass, ts.Revision, ts.Versions()
	l.chunked = rc.Request.Header.IsHTTP11()
	head := l.head(&rc.Response.Header)
	rc.HijackSetNoResponse(true)
	rc.Hijack(func(c net.Conn) {
		if inner, ok := c.(interface{ UnsafeConn() net.Conn }); ok {
			c = inner.UnsafeConn() // lets the server have its buffers back
		}
		if framed, ok := c.(*http1.Conn); ok {
			framed.Detach() // whatever comes ends the stream
		}
		a.start(l, c, head)
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
func (a *listeners) start(l *listener, conn net.Conn, head []byte) {
	if l.sub != nil {
		head = append(head, l.frame(l.sub.AppendAck(nil))...)
	}
	l.open(conn, head)
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		l.End()
		a.open.Add(-1)
		a.left(l)
		return
	}
	a.streams[l] = struct{}{}
	a.readers.Add(1)
	a.mu.Unlock()
	switch {
	case l.sess == nil:
	case l.call:
		if !l.sess.Resume(l, l.resume) { // it was dropped meanwhile
			l.End()
		}
	case l.sess.Attach(l, l.resume):
		a.joined(l)
	default:
		l.End()
	}
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
	if l.sess != nil {
		l.sess.Detach(l)
	}
	l.all.left(l)
	l.all.open.Add(-1)
}

// open writes the head and what came before it could be written.
func (l *listener) open(conn net.Conn, head []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	for _, uri := range l.early {
		head = append(head, l.frame(l.sub.AppendUpdated(nil, uri))...)
	}
	l.early = nil
	l.writeLocked(head)
}

// updated implements [receiver], for a subscription.
func (l *listener) updated(uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		if len(l.early) < maxFollowed {
			l.early = append(l.early, uri)
		}
		return
	}
	l.writeLocked(l.frame(l.sub.AppendUpdated(nil, uri)))
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

// write sends b; a client that cannot take it loses the stream. It reports whether the
// connection took all.
func (l *listener) write(b []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writeLocked(b)
}

func (l *listener) writeLocked(b []byte) bool {
	if l.ended {
		return false
	}
	if l.conn.SetWriteDeadline(time.Now().Add(listenWrite)) != nil {
		return false // it is closed, and wait sees it
	}
	if _, err := l.conn.Write(b); err != nil {
		l.ended = true
		_ = l.conn.Close() // wait sees it
	}
	return !l.ended
}

// endLocked ends the stream as the protocol wants it ended.
func (l *listener) endLocked() {
	var b []byte
	if l.sub != nil {
		b = l.frame(l.sub.AppendEnd(nil))
	}
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
	changed, now := l.renew(snap)
	switch {
	case now == "", l.call: // nothing is said on the stream of a call that is not the call's
	case l.sess != nil: // what changed while no stream was open counts too
		changed |= now.Changed(snapshot.Versions(l.sess.Saw(string(now))))
		for _, message := range changed.Messages() {
			l.sess.Send(message)
		}
	case changed&l.sub.Lists() != 0:
		l.write(l.frame(l.sub.AppendChanged(nil, changed&l.sub.Lists())))
	}
}

// renew returns which lists of the client changed with a snapshot, and which they are
// now; "": the stream was ended.
func (l *listener) renew(snap *snapshot.Snapshot) (changed mcp.Lists, now snapshot.Versions) {
	ts := l.preview
	if ts == nil {
		ts = snap.Slug(l.slug).For(l.caller)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if ts == nil || ts.ID != l.id {
		l.endLocked()
		return 0, ""
	}
	pass, valid, same := ts.Access.Renew(l.pass)
	if !valid {
		l.endLocked() // its token was revoked, or the kind of access changed
		return 0, ""
	}
	l.pass = pass
	now = ts.Versions()
	changed = now.Changed(l.lists)
	if ts.Revision != l.revision {
		changed |= mcp.ListTools
	}
	if !same { // it may see others of them
		changed = ts.Card().Lists()
	}
	l.revision, l.lists = ts.Revision, now
	return changed, now
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

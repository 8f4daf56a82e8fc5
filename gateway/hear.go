package gateway

import (
	"maps"
	"time"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/upstream"
)

const (
	// maxHearing is how many clients of a toolset have a stream to one of its servers, half
	// of the sessions that a server may have: those that are kept by a stream make no room
	// for others.
	maxHearing = 2048
	// hearWait is how long the first call of a client at a server waits for that stream, on
	// which the server may ask during the call.
	hearWait = 2 * time.Second
	// hearSoon is how long it waits at a server whose stream was late for another client in the
	// last lateFor. Servers of the official Java SDK send nothing of a stream, not even its
	// headers, before there is something to say; asked on it they have it by then.
	hearSoon = 100 * time.Millisecond
	lateFor  = 10 * time.Minute
)

// heardKey is a server of a toolset.
type heardKey struct{ toolset, connector string }

func (f *feed) server() heardKey { return heardKey{f.owner.Toolset, f.key.connector} }

// hear lets the client of a session hear what the server of a connector says outside of its
// calls: requests, log messages, and what of its resources it subscribed to. A server has
// one such stream for a session (MCP 2025-11-25 "Listening for Messages from the Server"),
// so it is that of its subscriptions too. nil: there is nothing to hear, or no room.
func (a *feeds) hear(ts *snapshot.Toolset, pass access.Pass, sess *session.Session, connector string) *feed {
	tool, err := ts.Hearer(connector)
	if err != nil || tool == nil {
		return nil // a call shows what is wrong
	}
	f := a.keep(ts, pass, sess, connector)
	if f != nil && !sess.Listening() { // it may have ended before the feed was there to be ended
		f.unheard()
	}
	return f
}

// keep returns the feed of a session at a server, which stays without a subscription.
func (a *feeds) keep(ts *snapshot.Toolset, pass access.Pass, sess *session.Session, connector string) *feed {
	key := feedKey{client{sess}, connector}
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.open[key]
	if f != nil && !f.over() {
		f.mu.Lock()
		f.hears = true
		f.mu.Unlock()
		return f
	}
	owner := sessionOwner(ts, pass)
	if a.fullLocked(owner) || a.enoughLocked(ts.ID, connector) {
		return nil
	}
	f = &feed{all: a, key: key, owner: owner, sess: sess, slug: ts.Slug, pass: pass, uris: map[string]string{}, hears: true}
	a.startLocked(f)
	return f
}

// enoughLocked reports whether one more client that hears a server is too many: there, or
// of the node, whose other streams are for clients that ask for one.
func (a *feeds) enoughLocked(toolset, connector string) bool {
	return a.heard[heardKey{toolset, connector}] >= maxHearing || len(a.open) >= maxFeeds-maxOwnerFeeds
}

// toolLocked is in whose name the stream is opened; nil: there is nothing to hear.
func (f *feed) toolLocked(ts *snapshot.Toolset) (*snapshot.Tool, error) {
	if len(f.uris) == 0 {
		return ts.Hearer(f.key.connector)
	}
	return ts.Reader(f.key.connector)
}

// giveUp ends a feed whose server tells nothing, unless it was asked for more meanwhile.
func (f *feed) giveUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.uris) > f.asked && !f.ended {
		return false
	}
	f.ended = true
	return true
}

// unheard ends a feed that nobody would be told by: its client has no subscription, and
// closed its own stream. It reports whether it did. When the client listens again, so does
// the feed's successor.
func (f *feed) unheard() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sess == nil || len(f.uris) > 0 || f.sess.Listening() {
		return false
	}
	f.endLocked()
	return true
}

// hear is feeds.hear for a call: the first at a server waits until the stream is open.
func (x *request) hear(sess *session.Session) {
	if sess == nil || x.preview != nil || !x.tool.Remote() || !sess.Use(x.tool.Binding.Name) {
		return
	}
	if other := sess.Elsewhere(); other != "" {
		x.s.askNode(x.s.calls, other, sess, nodeQuestion{Do: doHear, Slug: x.ts.Slug, Connector: x.tool.Binding.Name}, hearWait)
		return
	}
	if !sess.Listening() {
		return
	}
	if f := x.s.feeds.hear(x.ts, x.pass, sess, x.tool.Binding.Name); f != nil {
		x.s.feeds.await(f, &x.cancel)
	}
}

// await waits until a feed is open, or failed to be, or is late.
func (a *feeds) await(f *feed, cancel *upstream.Cancel) {
	server, began, wait := f.server(), time.Now(), hearWait
	a.mu.Lock()
	if began.Before(a.late[server]) {
		wait = hearSoon
	}
	a.mu.Unlock()
	f.wait(cancel, began.Add(wait))
	f.mu.Lock()
	settled := f.settled
	f.mu.Unlock()
	now := time.Now()
	select {
	case <-settled:
		return
	default:
		if now.Sub(began) < hearWait { // the call was cancelled, or this is known
			return
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.late, func(_ heardKey, until time.Time) bool { return !now.Before(until) })
	a.late[server] = now.Add(lateFor)
}

// listens lets a client that opened its stream hear the servers that it called.
func (s *Server) listens(l *listener) {
	ts := s.opts.Holder.Load().Slug(l.slug)
	if ts == nil || ts.ID != l.id {
		return
	}
	l.mu.Lock()
	pass := l.pass
	l.mu.Unlock()
	s.refollow(ts, pass, l.sess)
	for _, connector := range l.sess.Used() {
		s.feeds.hear(ts, pass, l.sess, connector)
	}
}

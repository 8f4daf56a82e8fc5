package gateway

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/cdnloop"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
)

const (
	// maxFeeds bounds the streams to servers that are open for clients: each costs a
	// connection, three goroutines and, with its session here, about 94 KB.
	maxFeeds = 6000
	// maxOwnerFeeds of them may one caller at one toolset have. All clients of an open
	// toolset are one.
	maxOwnerFeeds = 2500
	// maxFollowed is how many resources the client of one session may subscribe to at
	// one server.
	maxFollowed = 64
	// feedWait is how long a subscription waits until the server's stream is open.
	feedWait = 5 * time.Second
	// feedFirst and feedLongest are the pauses before a stream that ended is opened again.
	feedFirst, feedLongest = 250 * time.Millisecond, time.Minute
)

var errTooManyFeeds = errors.New("too many subscriptions are open here")

// receiver is a client that is told what a server says outside of calls: that of a
// session, or of a stream of subscriptions/listen.
type receiver interface {
	// updated tells the client that a resource changed.
	updated(uri string)
}

// feedKey tells feeds apart: a client has one for each server.
type feedKey struct {
	to        receiver
	connector string
}

// feeds are the streams to servers that clients with subscriptions have.
type feeds struct {
	s *Server

	mu     sync.Mutex
	open   map[feedKey]*feed      // guarded by mu
	owners map[session.Owner]int  // guarded by mu
	heard  map[heardKey]int       // guarded by mu; clients with sessions that have a feed
	late   map[heardKey]time.Time // guarded by mu; until when, see hearSoon
	closed bool                   // guarded by mu
	work   sync.WaitGroup
}

// feed is the stream of one client to one server, opened again as long as the client has
// a use for it.
type feed struct {
	all   *feeds
	key   feedKey
	owner session.Owner
	sess  *session.Session // nil: the client has none
	slug  string
	moved bool // another node had it before
	pace  pace
	loop  *cdnloop.Request

	mu       sync.Mutex
	pass     access.Pass       // guarded by mu; as it was admitted
	uris     map[string]string // guarded by mu; what the client calls each of the server's
	cancel   *upstream.Cancel  // guarded by mu; of the stream that is open
	revision uint64            // guarded by mu; of the toolset that it is of
	settled  chan struct{}     // guarded by mu; closed when the stream is open, or failed to
	modern   bool              // guarded by mu; the server speaks 2026-07-28
	up       bool              // guarded by mu; it is open
	again    bool              // guarded by mu; to be opened at once, with other resources
	except   string            // guarded by mu; see mcpclient.Feed
	ended    bool              // guarded by mu
	hears    bool              // guarded by mu; it is kept without a resource, see hear
	asked    int               // guarded by mu; of how many resources the stream was opened
}

func newFeeds(s *Server) *feeds {
	return &feeds{s: s, open: map[feedKey]*feed{}, owners: map[session.Owner]int{}, heard: map[heardKey]int{}, late: map[heardKey]time.Time{}}
}

// join returns the feed of a client at the server of tool, which reports the resource own,
// that the client calls public. moved says that the client subscribed to it before, at another
// node.
func (a *feeds) join(to receiver, ts *snapshot.Toolset, pass access.Pass, sess *session.Session, tool *snapshot.Tool, own, public string, moved bool) (*feed, error) {
	key := feedKey{to, tool.Binding.Name}
	a.mu.Lock()
	f := a.open[key]
	if f == nil || f.over() {
		owner := sessionOwner(ts, pass)
		if a.fullLocked(owner) {
			a.mu.Unlock()
			return nil, errTooManyFeeds
		}
		f = &feed{all: a, key: key, owner: owner, sess: sess, slug: ts.Slug, pass: pass, uris: map[string]string{own: public}}
		if f.moved = moved; sess != nil && !moved {
			f.except = own
		}
		a.startLocked(f)
		a.mu.Unlock()
		return f, nil
	}
	a.mu.Unlock()
	return f, f.add(own, public)
}

func (a *feeds) startLocked(f *feed) {
	f.settled, f.pace.send, f.loop = make(chan struct{}), f.key.to.updated, loopOf(f)
	a.open[f.key] = f
	a.owners[f.owner]++
	if f.sess != nil {
		a.heard[f.server()]++
	}
	a.work.Go(f.run)
}

// fullLocked reports whether one more feed of an owner is too many.
func (a *feeds) fullLocked(o session.Owner) bool {
	return a.closed || len(a.open) >= maxFeeds || a.owners[o] >= maxOwnerFeeds
}

// find is the feed of a client at a server; nil: it has none.
func (a *feeds) find(to receiver, connector string) *feed {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[feedKey{to, connector}]
}

// leave ends the feeds of a client.
func (a *feeds) leave(to receiver) {
	a.each(func(f *feed) {
		if f.key.to == to {
			f.end()
		}
	})
}

// count is how many streams are open or being opened.
func (a *feeds) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open)
}

func (a *feeds) each(do func(*feed)) {
	a.mu.Lock()
	list := make([]*feed, 0, len(a.open))
	for _, f := range a.open {
		list = append(list, f)
	}
	a.mu.Unlock()
	for _, f := range list {
		do(f)
	}
}

// run lets the feeds follow the snapshots until ctx ends; then it ends them.
func (a *feeds) run(ctx context.Context) {
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		changed := a.s.opts.Holder.Changed()
		a.each((*feed).follow)
		select {
		case <-changed:
		case <-tick.C: // tokens expire without a release
		case <-ctx.Done():
			a.mu.Lock()
			a.closed = true
			a.mu.Unlock()
			a.each((*feed).end)
			a.work.Wait()
			return
		}
	}
}

// add lets the feed report one more resource.
func (f *feed) add(own, public string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, has := f.uris[own]; has {
		return nil
	}
	if f.ended || len(f.uris) >= maxFollowed {
		return errTooManyFeeds
	}
	f.uris[own] = public
	f.renewLocked()
	return nil
}

// remove lets it report one less; with the last it ends, unless its client hears more.
func (f *feed) remove(own string) {
	f.mu.Lock()
	delete(f.uris, own)
	last := len(f.uris) == 0
	if !last {
		f.renewLocked()
	}
	last = last && (!f.hears || f.modern)
	f.mu.Unlock()
	if last {
		f.end()
	}
}

// renewLocked opens the stream of a server of 2026-07-28 again, which tells only what its
// stream was opened for. Older servers are told by requests.
func (f *feed) renewLocked() {
	if f.cancel == nil || !f.modern {
		return
	}
	f.again, f.up, f.settled = true, false, make(chan struct{})
	f.cancel.Cancel()
}

// wait waits until the stream is open or failed to, and reports whether the server speaks
// 2026-07-28 and whether it is open.
func (f *feed) wait(cancel *upstream.Cancel, deadline time.Time) (modern, up bool) {
	f.mu.Lock()
	settled := f.settled
	f.mu.Unlock()
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	gone := make(chan struct{})
	forget := cancel.After(func() { close(gone) })
	defer forget()
	select {
	case <-settled:
	case <-timer.C:
	case <-gone:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.modern, f.up
}

// follow ends the feed when its client may not have it any more, and opens the stream
// again when the toolset has another revision: its server or credential may be others.
func (f *feed) follow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ts := f.renewPassLocked(); ts != nil && f.cancel != nil && ts.Revision != f.revision {
		f.cancel.Cancel()
	}
}

// renewPassLocked looks at the toolset as it is now; nil: the feed has ended.
func (f *feed) renewPassLocked() *snapshot.Toolset {
	ts := f.all.s.opts.Holder.Load().Slug(f.slug)
	if ts == nil || ts.ID != f.owner.Toolset {
		f.endLocked()
		return nil
	}
	pass, valid, _ := ts.Access.Renew(f.pass)
	if !valid || f.ended {
		f.endLocked()
		return nil
	}
	f.pass = pass
	return ts
}

func (f *feed) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endLocked()
}

func (f *feed) endLocked() {
	f.ended = true
	if f.cancel != nil {
		f.cancel.Cancel()
	}
}

// run keeps the stream open until the feed ends.
func (f *feed) run() {
	defer f.forget()
	ctx, stop := context.WithCancel(f.all.s.calls)
	defer stop()
	pause, before := retry.Backoff{First: feedFirst, Longest: feedLongest}, f.moved
	for !f.unheard() {
		opened, err := f.once(ctx, before)
		f.mu.Lock()
		ended, again := f.ended, f.again
		f.mu.Unlock()
		switch {
		case ended:
			return
		case problem.Is(err, problem.Unsupported), problem.Is(err, problem.NotFound):
			if f.giveUp() { // there is nothing to hear from this server
				return
			}
			continue
		case err != nil:
			f.all.s.log.LogAttrs(ctx, slog.LevelDebug, "an MCP server is not followed for a client", slog.String("toolset", f.slug), slog.String("connector", f.key.connector), slog.Any("error", err))
		}
		if before = before || opened; opened {
			pause.Reset()
		}
		if again {
			continue
		}
		waited, cancelled := context.WithCancel(ctx)
		f.mu.Lock()
		f.cancel = &upstream.Cancel{}
		undo := f.cancel.After(cancelled)
		if f.ended {
			cancelled()
		}
		f.mu.Unlock()
		_ = pause.Wait(waited) // the loop looks at f
		undo()
		cancelled()
		if ctx.Err() != nil {
			return
		}
	}
}

// once opens the stream and returns when it has ended.
func (f *feed) once(ctx context.Context, before bool) (opened bool, err error) {
	f.mu.Lock()
	ts := f.renewPassLocked()
	if ts == nil {
		f.mu.Unlock()
		return false, nil
	}
	tool, err := f.toolLocked(ts)
	settled := f.settled
	if err != nil || tool == nil {
		f.mu.Unlock()
		if err == nil {
			err = problem.New(problem.NotFound, "the toolset has no such server any more")
		}
		f.settle(settled, false, false)
		return false, err
	}
	f.cancel, f.revision, f.again = &upstream.Cancel{}, ts.Revision, false
	opt := call.FollowOptions{Principal: f.pass.Principal(), Cancel: f.cancel}
	if f.sess != nil {
		opt.Request = &mcp.CallParams{Session: f.sess}
	}
	opt.Hears, f.asked = f.sess != nil && tool.Speaks(), len(f.uris)
	opt.Feed.Except = f.except
	for own := range f.uris {
		opt.Feed.URIs = append(opt.Feed.URIs, own)
	}
	f.mu.Unlock()
	opt.Feed.Opened = func(modern bool) {
		opened = true
		f.settle(settled, true, modern)
		if before { // what changed between two streams nobody told
			f.missed(opt.Feed.URIs)
		}
	}
	opt.Feed.Notify = func(method string, params jsonscan.Value) { f.told(tool, method, params) }
	err = f.all.s.opts.Caller.Follow(cdnloop.With(ctx, f.loop), tool, opt)
	f.mu.Lock()
	modern := f.modern
	f.up = false
	f.mu.Unlock()
	f.settle(settled, false, modern)
	return opened, err
}

// settle says to who waits how opening went.
func (f *feed) settle(settled chan struct{}, up, modern bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.settled != settled {
		return // it is opened again already
	}
	f.except = ""
	f.up, f.modern = up, modern
	select {
	case <-settled:
	default:
		close(settled)
	}
}

func (f *feed) missed(uris []string) {
	for _, own := range uris {
		f.mu.Lock()
		public, has := f.uris[own]
		f.mu.Unlock()
		if has {
			f.pace.tell(public)
		}
	}
}

// told passes on what a server says of a resource that the client subscribed to, or of a
// part of it.
func (f *feed) told(tool *snapshot.Tool, method string, params jsonscan.Value) {
	if method != "notifications/resources/updated" {
		return
	}
	uri := params.Get("uri")
	if uri.Kind() != jsonscan.String {
		return
	}
	own := string(uri.AppendText(nil))
	f.mu.Lock()
	public, whole := f.uris[own]
	ended, part := f.ended, whole
	for above := range f.uris {
		part = part || len(own) > len(above) && own[:len(above)] == above
	}
	sees := f.pass.Sees
	f.mu.Unlock()
	if !whole && part {
		public = tool.PublicURI(own)
	}
	if part && !ended && sees(snapshot.ResourcePrefix+public) {
		f.pace.tell(public)
	}
}

// forget takes the feed out.
func (f *feed) forget() {
	f.end()
	f.pace.stop()
	a := f.all
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[f.key] == f { // another may have taken its place
		delete(a.open, f.key)
	}
	if a.owners[f.owner]--; a.owners[f.owner] == 0 {
		delete(a.owners, f.owner)
	}
	if f.sess == nil {
		return
	}
	if a.heard[f.server()]--; a.heard[f.server()] == 0 {
		delete(a.heard, f.server())
	}
}

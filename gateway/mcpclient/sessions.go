package mcpclient

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// maxSessions bounds the sessions of callers that are kept at all servers together.
	// Each costs about a kilobyte here and, over HTTP with SSE, a connection. They are
	// nearly as many as the sessions that clients have here: one that made room would lose
	// what its server remembers of it.
	maxSessions = 16_384
	// maxOwnerSessions of them may the callers of one owner at one server have, so that
	// no toolset pushes the sessions of others out.
	maxOwnerSessions = 4096
	// sessionIdle is how long a session is kept that its caller does not use: an agent
	// comes back within its task or not at all.
	sessionIdle = 15 * time.Minute
	// sharedIdle is that of a session that other nodes use, too: longer than that of the client,
	// with which it ends.
	sharedIdle = 75 * time.Minute
	// sweepEvery is how often idle sessions are looked for.
	sweepEvery = time.Minute
	// lookAgain is after how long a server that offered a client's session nothing is asked
	// again: it may be another by now, and costs a request.
	lookAgain = 10 * time.Minute
)

// session is what one caller has at a server that keeps sessions: what the server
// remembers of one caller no other caller may read.
type session struct {
	peer   *peer
	caller string
	once   bool          // it ends with the call
	kept   bool          // other nodes of a pool go on with it; set once nobody finds it
	turn   chan struct{} // held by who connects
	link   atomic.Pointer[link]

	// Guarded by Client.mu.
	target   Target // of the last call: who says goodbye, and with which credential
	running  int
	lastUsed time.Time
}

// visit is one call's hold on a server and, where that keeps sessions, on the session
// of its caller.
type visit struct {
	peer *peer
	own  *session // nil: not needed so far
}

// separate reports whether the callers of the owner must not share a session.
func (t *Target) separate() bool { return t.Caller != "" || t.Once }

// stateful reports whether the server keeps something between the calls of a link.
func (l *link) stateful() bool { return l.session != "" || l.stream != nil }

// alive is what was agreed, unless it has ended; nil: nothing is.
func alive(p *atomic.Pointer[link]) *link {
	if l := p.Load(); l != nil && !l.dead() {
		return l
	}
	return nil
}

// agreed is what the visit may use; nil: nothing.
func (v *visit) agreed() *link {
	if l := alive(&v.peer.link); l != nil {
		return l
	}
	if v.own != nil {
		return alive(&v.own.link)
	}
	return nil
}

// drop forgets an agreement, unless another was made meanwhile.
func (v *visit) drop(t *Target, l *link) {
	t.unshare(v.peer, l)
	v.peer.drop(l)
	if v.own != nil && v.own.link.CompareAndSwap(l, nil) {
		l.hangUp()
	}
}

// linkOf returns what was agreed with the server, connecting when nothing is. What a
// server remembers is kept for the caller alone; that it remembers nothing is found
// out by the first who connects, and then all callers of the owner share what was
// agreed.
func (c *Client) linkOf(v *visit, x *Exchange, t *Target) (*link, error) {
	if t.Shared != nil {
		if err := c.resumeShared(v, t); err != nil {
			return nil, err
		}
	}
	if l := v.agreed(); l != nil { // nearly every call of a server without sessions
		return l, nil
	}
	timer := time.NewTimer(time.Until(t.Deadline))
	defer timer.Stop()
	for {
		if l := v.agreed(); l != nil {
			return l, nil
		}
		turn := v.peer.turn
		own := t.separate() && v.peer.stateful.Load()
		if own {
			if err := c.sit(v, t); err != nil {
				return nil, err
			}
			turn = v.own.turn
		}
		select {
		case turn <- struct{}{}:
		case <-timer.C:
			return nil, problem.New(problem.Timeout, "%s did not answer in time", t.Endpoint.Name()).Fix("try again")
		}
		if !own && t.separate() && v.peer.stateful.Load() {
			<-turn // found out meanwhile
			continue
		}
		l, err := c.agree(v, x, t)
		<-turn
		return l, err
	}
}

// agree connects, unless another did meanwhile. The caller holds the turn.
func (c *Client) agree(v *visit, x *Exchange, t *Target) (*link, error) {
	if l := v.agreed(); l != nil {
		return l, nil
	}
	whole := *t
	if limit := time.Now().Add(connectTimeout); t.Deadline.After(limit) && !t.Endpoint.stdio { // a process takes its time to start
		whole.Deadline = limit
	}
	now := time.Now()
	whole.Session = t.Session && now.Sub(time.Unix(v.peer.without.Load(), 0)) >= lookAgain
	l, err := c.connect(x, &whole)
	if err != nil {
		return nil, err
	}
	if whole.Session && l.modern {
		v.peer.without.Store(now.Unix())
		if !l.stateful() {
			l.until = now.Add(lookAgain)
		}
	}
	t.notice(Notice{Agreed: l.version, SSE: l.stream != nil})
	if !t.separate() || !l.stateful() {
		v.peer.stateful.Store(l.stateful())
		v.peer.link.Store(l)
		return l, nil
	}
	v.peer.stateful.Store(true)
	if err := c.sit(v, t); err != nil {
		c.end(t, l)
		return nil, err
	}
	l.about.name, l.about.title, l.about.version, l.about.instructions, l.about.extensions = "", "", "", "", nil // there may be many
	if t.Shared != nil {
		l = c.share(v, t, l)
	}
	if !v.own.link.CompareAndSwap(nil, l) {
		old := v.own.link.Swap(l) // one that ended
		c.end(t, old)
	}
	return l, nil
}

// sit takes the caller's session, or makes one that is not connected yet.
func (c *Client) sit(v *visit, t *Target) error {
	if v.own != nil {
		return nil
	}
	now := time.Now()
	c.mu.Lock()
	s := v.peer.sessions[t.Caller]
	var gone *session
	if s == nil || t.Once {
		s = &session{peer: v.peer, caller: t.Caller, once: t.Once, turn: make(chan struct{}, 1)}
		if len(v.peer.sessions)+v.peer.onces >= maxOwnerSessions || c.sessions >= maxSessions {
			if gone = c.makeRoomLocked(v.peer); gone == nil {
				c.mu.Unlock()
				return problem.New(problem.Unavailable, "too many callers have a session at %s", t.Endpoint.Name()).Fix("try again in a few seconds")
			}
		}
		c.sessions++
		if t.Once {
			v.peer.onces++
		} else {
			if v.peer.sessions == nil {
				v.peer.sessions = map[string]*session{}
			}
			v.peer.sessions[t.Caller] = s
		}
		if c.sweeper == nil && !c.closed {
			c.sweeper = time.AfterFunc(sweepEvery, c.sweep)
		}
	}
	s.target, s.lastUsed = *t, now
	s.running++
	c.mu.Unlock()
	if v.own = s; gone != nil {
		c.leave(gone)
	}
	return nil
}

// makeRoomLocked takes out the session that was idle longest: of the owner at its
// bound, else of the owner with the most. nil: all are in use.
func (c *Client) makeRoomLocked(p *peer) *session {
	if len(p.sessions)+p.onces < maxOwnerSessions {
		for _, other := range c.peers {
			if len(other.sessions) > len(p.sessions) {
				p = other
			}
		}
	}
	var oldest *session
	for _, s := range p.sessions {
		if s.running == 0 && (oldest == nil || s.lastUsed.Before(oldest.lastUsed)) {
			oldest = s
		}
	}
	if oldest != nil {
		oldest.kept = true
		c.takeOutLocked(oldest)
	}
	return oldest
}

func (c *Client) takeOutLocked(s *session) {
	if s.peer.sessions[s.caller] == s {
		delete(s.peer.sessions, s.caller)
		c.sessions--
	}
}

// takeAllLocked takes out all sessions at a server.
func (c *Client) takeAllLocked(p *peer) []*session {
	out := make([]*session, 0, len(p.sessions))
	for _, s := range p.sessions {
		s.kept = true
		out = append(out, s)
		c.takeOutLocked(s)
	}
	return out
}

// EndCaller ends the sessions of a caller at all servers. A call that still runs in one
// ends it.
func (c *Client) EndCaller(caller string) { c.endCaller(caller, false) }

func (c *Client) endCaller(caller string, kept bool) {
	var gone []*session
	c.mu.Lock()
	for _, p := range c.peers {
		if s := p.sessions[caller]; s != nil {
			c.takeOutLocked(s)
			s.kept = s.kept || kept
			if s.running == 0 {
				gone = append(gone, s)
			}
		}
	}
	c.mu.Unlock()
	for _, s := range gone {
		c.leave(s)
	}
}

// release ends a visit.
func (c *Client) release(v *visit) {
	v.peer.running.Add(-1)
	s := v.own
	if s == nil {
		return
	}
	c.mu.Lock()
	s.running--
	s.lastUsed = time.Now()
	if s.once {
		c.sessions--
		s.peer.onces--
	}
	// A session that was removed during a call is ended here: no other code knows it.
	gone := s.once || s.running == 0 && s.peer.sessions[s.caller] != s
	c.mu.Unlock()
	if gone {
		c.leave(s)
	}
}

// leave ends the session at the server, or here where other nodes have it, too.
func (c *Client) leave(s *session) {
	switch l := s.link.Swap(nil); {
	case l == nil:
	case s.kept && l.shared != nil:
		l.hangUp()
	default:
		c.end(&s.target, l)
	}
}

// end ends what was agreed with a server that keeps something of it.
func (c *Client) end(t *Target, l *link) {
	if l == nil {
		return
	}
	if l.hangUp(); l.session != "" {
		c.sayGoodbye(t, l)
	}
}

// hangUp ends the streams of a link.
func (l *link) hangUp() {
	if l.stream != nil {
		l.stream.end()
	}
	if e := l.ear.Load(); e != nil {
		e.cancel.Cancel()
	}
}

// sweep ends the sessions that were idle for too long.
func (c *Client) sweep() {
	for _, s := range c.expire(time.Now()) {
		c.leave(s)
	}
}

// expire takes out the sessions that are idle too long at a time.
func (c *Client) expire(now time.Time) []*session {
	c.mu.Lock()
	defer c.mu.Unlock()
	var gone []*session
	for _, p := range c.peers {
		for _, s := range p.sessions {
			idle := sessionIdle
			if l := s.link.Load(); l != nil && l.shared != nil {
				idle = sharedIdle
			}
			if s.running == 0 && now.Sub(s.lastUsed) >= idle {
				s.kept = true
				gone = append(gone, s)
				c.takeOutLocked(s)
			}
		}
	}
	if c.sweeper = nil; c.sessions > 0 && !c.closed {
		c.sweeper = time.AfterFunc(sweepEvery, c.sweep)
	}
	return gone
}

// sayGoodbye ends a session (MCP 2025-11-25 "Session Management"): in the background,
// or here when too many goodbyes run, so that they never pile up.
func (c *Client) sayGoodbye(t *Target, l *link) {
	bye := func(x *Exchange, t *Target) { c.goodbye(x, t, l) }
	if !c.aside(t, bye) {
		own := *t
		own.Deadline, own.Cancel = time.Now().Add(partingTimeout), nil
		var x Exchange
		bye(&x, &own)
	}
}

func (c *Client) goodbye(x *Exchange, t *Target, l *link) {
	x.http.Request.Header.SetMethod(fasthttp.MethodDelete)
	t.setURL(x, t.Endpoint.target)
	x.http.Request.Header.Set("Mcp-Session-Id", l.session)
	x.http.Request.Header.Set("Mcp-Protocol-Version", l.version)
	_ = c.send(x, t) // a server need not know the method
}

// farewell says goodbye to servers when the client ends, for partingTimeout at most:
// a server ends unused sessions by itself.
func (c *Client) farewell(all []*session) {
	deadline := time.Now().Add(partingTimeout)
	next := make(chan *session)
	var work sync.WaitGroup
	for range min(maxParting, len(all)) {
		work.Go(func() {
			for s := range next {
				l := s.link.Swap(nil)
				if l == nil || l.session == "" || l.shared != nil || !time.Now().Before(deadline) { // other nodes go on with what is shared
					continue
				}
				t := s.target
				t.Deadline, t.Cancel = deadline, nil
				var x Exchange
				c.goodbye(&x, &t, l)
			}
		})
	}
	for _, s := range all {
		if l := s.link.Load(); l != nil {
			l.hangUp()
		}
		next <- s
	}
	close(next)
	work.Wait()
}

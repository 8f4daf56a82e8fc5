package gateway

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/upstream"
)

// The nodes of a pool serve the same sessions. One of them, the home of a session, has the
// stream of its client, and so the streams to servers by which the client is told: a server
// has one stream for a session. The others ask it.

// What a node asks the home of a session for.
const (
	doHear     = "hear"     // what a server says outside of calls
	doFollow   = "follow"   // changes of a resource
	doUnfollow = "unfollow" // no more of them
)

// nodeQuestion is what a node asks.
type nodeQuestion struct {
	Do        string `json:"do"`
	Slug      string `json:"slug"` // of the toolset
	Connector string `json:"connector,omitempty"`
	URI       string `json:"uri,omitempty"` // as the client calls it
}

// nodeAnswer is what the home answers.
type nodeAnswer struct {
	Known  bool `json:"known"`            // it could do as it was asked
	Modern bool `json:"modern,omitempty"` // the server speaks 2026-07-28
	None   bool `json:"none,omitempty"`   // there was no subscription
	Up     bool `json:"up,omitempty"`     // the stream is open
}

// askNode asks the home of a session; the zero answer: it is gone, or cannot.
func (s *Server) askNode(ctx context.Context, node string, sess *session.Session, q nodeQuestion, wait time.Duration) (a nodeAnswer) {
	b, err := json.Marshal(q)
	if err != nil {
		return a
	}
	if b = sess.AskNode(ctx, node, b, wait); json.Unmarshal(b, &a) != nil {
		return nodeAnswer{}
	}
	return a
}

// answerNode answers another node about a session whose home this one is.
func (s *Server) answerNode(sess *session.Session, what []byte) []byte {
	var q nodeQuestion
	if json.Unmarshal(what, &q) != nil {
		return nil
	}
	pass, ok := sess.Caller().(access.Pass)
	ts := s.opts.Holder.Load().Slug(q.Slug)
	if !ok || ts == nil || ts.ID != sess.Owner().Toolset {
		return nil
	}
	pass, valid, _ := ts.Access.Renew(pass)
	if !valid {
		return nil
	}
	out, _ := json.Marshal(s.doForNode(sess, ts, pass, &q)) // of booleans: cannot fail
	return out
}

func (s *Server) doForNode(sess *session.Session, ts *snapshot.Toolset, pass access.Pass, q *nodeQuestion) (a nodeAnswer) {
	var cancel upstream.Cancel
	if q.Do == doHear {
		sess.Use(q.Connector)
		if f := s.feeds.hear(ts, pass, sess, q.Connector); f != nil {
			s.feeds.await(f, &cancel)
		}
		a.Known = true
		return a
	}
	tool, own, err := ts.Resource(q.URI)
	if err != nil || tool == nil || !tool.Subscribes() || !pass.Sees(snapshot.ResourcePrefix+q.URI) {
		return a
	}
	var f *feed
	if q.Do == doUnfollow {
		a.Known = true
		if f = s.feeds.find(client{sess}, tool.Binding.Name); f == nil {
			a.None = true
			return a
		}
		a.Modern, a.Up = f.wait(&cancel, time.Now().Add(feedWait))
		f.remove(own)
		return a
	}
	if f, err = s.feeds.join(client{sess}, ts, pass, sess, tool, own, q.URI, false); err != nil {
		return a
	}
	a.Known = true
	a.Modern, a.Up = f.wait(&cancel, time.Now().Add(feedWait*9/10)) // who asks waits for feedWait
	return a
}

// subscribeAt is subscribe where another node is the home of the session; known is false when
// that does not answer.
func (x *request) subscribeAt(other string, p *mcp.CallParams) (more, known bool) {
	uri := x.permit[len(snapshot.ResourcePrefix):]
	q := nodeQuestion{Do: doFollow, Slug: x.ts.Slug, URI: uri}
	if p.Method == mcp.MethodUnsubscribe {
		q.Do = doUnfollow
		p.Session.Unfollow(uri)
	}
	a := x.s.askNode(x.s.calls, other, p.Session, q, feedWait)
	switch {
	case !a.Known, q.Do == doFollow && a.Modern && !a.Up:
		return false, false
	case a.None:
		return false, true // there was no subscription
	}
	if q.Do == doFollow {
		p.Session.Follow(uri)
	}
	return !a.Modern, true
}

// takeOver makes this node the home of a session whose home is gone.
func (s *Server) takeOver(ts *snapshot.Toolset, pass access.Pass, sess *session.Session) {
	sess.Move(s.calls)
	s.refollow(ts, pass, sess)
}

// refollow subscribes to what the client of a session subscribed to at other nodes.
func (s *Server) refollow(ts *snapshot.Toolset, pass access.Pass, sess *session.Session) {
	for _, uri := range sess.Followed() {
		tool, own, err := ts.Resource(uri)
		name := snapshot.ResourcePrefix + uri
		if err != nil || tool == nil || !tool.Subscribes() || !pass.Sees(name) || pass.MayCall(name, "") != nil {
			continue
		}
		_, _ = s.feeds.join(client{sess}, ts, pass, sess, tool, own, uri, true) // the client may subscribe again
	}
}

package gateway

import (
	"time"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/gateway/snapshot"
)

// client is that of a session, as it is notified of resources. It is comparable.
type client struct{ *session.Session }

func (c client) updated(uri string) { c.Send(mcp.AppendUpdated(nil, uri)) }

// codeTooMany is the error of one subscription too many.
const codeTooMany = -32603

// subscribe serves resources/subscribe and resources/unsubscribe of a session. Before a
// server of the older revisions is asked, the stream is open on which it tells; one of
// 2026-07-28 is asked by opening it. more is false when that is the whole answer.
func (x *request) subscribe(p *mcp.CallParams) (more bool, err error) {
	to := client{p.Session}
	if other := p.Session.Claim(); other != "" {
		if more, known := x.subscribeAt(other, p); known {
			return more, nil
		}
		x.s.takeOver(x.ts, x.pass, p.Session) // the other node is gone
	}
	if p.Method == mcp.MethodUnsubscribe {
		p.Session.Unfollow(x.permit[len(snapshot.ResourcePrefix):])
		f := x.s.feeds.find(to, x.tool.Binding.Name)
		if f == nil {
			return false, nil // there was no subscription
		}
		modern, _ := f.wait(&x.cancel, time.Now().Add(feedWait))
		f.remove(x.key)
		return !modern, nil
	}
	uri := x.permit[len(snapshot.ResourcePrefix):]
	f, err := x.s.feeds.join(to, x.ts, x.pass, p.Session, x.tool, x.key, uri, false)
	if err != nil {
		return false, &mcp.Error{Code: codeTooMany, Message: "too many subscriptions are open here: end others, or read the resource again from time to time"}
	}
	modern, up := f.wait(&x.cancel, time.Now().Add(feedWait))
	if modern && !up {
		return false, &mcp.Error{Code: codeTooMany, Message: "the MCP server does not report changes now: try again"}
	}
	p.Session.Follow(uri)
	return !modern, nil
}

// unsubscribed takes a subscription back that the server refused.
func (x *request) unsubscribed(p *mcp.CallParams) {
	if f := x.s.feeds.find(client{p.Session}, x.tool.Binding.Name); f != nil {
		f.remove(x.key)
	}
	if p.Session.Pooled() {
		uri := x.permit[len(snapshot.ResourcePrefix):]
		p.Session.Unfollow(uri)
		if other := p.Session.Elsewhere(); other != "" {
			x.s.askNode(x.s.calls, other, p.Session, nodeQuestion{Do: doUnfollow, Slug: x.ts.Slug, URI: uri}, feedWait)
		}
	}
}

// follow opens what a subscription of 2026-07-28 needs to be notified of resources, and keeps
// those in it of which its client will be told.
func (x *request) follow(sub *mcp.Subscription, l *listener) {
	type asked struct {
		f   *feed
		uri string
	}
	var all []asked
	for _, uri := range sub.URIs() {
		tool, own, err := x.ts.Resource(uri)
		name := snapshot.ResourcePrefix + uri
		if err != nil || tool == nil || !tool.Subscribes() || !x.pass.Sees(name) || x.pass.MayCall(name, "") != nil {
			continue
		}
		if f, err := x.s.feeds.join(l, x.ts, x.pass, nil, tool, own, uri, false); err == nil {
			all = append(all, asked{f, uri})
		}
	}
	var told []string
	deadline := time.Now().Add(feedWait)
	for _, a := range all {
		if _, up := a.f.wait(&x.cancel, deadline); up {
			told = append(told, a.uri)
		}
	}
	sub.Follow(told)
}

package mcpclient

import (
	"encoding/json"
)

// maxShared is the longest id of a session at a server that is shared, in bytes: those of the
// SDKs have 32 or 36.
const maxShared = 2 << 10

// Shared is where the nodes of a pool keep what was agreed with servers for one session of a
// client. See session.Session.
type Shared interface {
	// Link is what was agreed with a server; nil: nothing.
	Link(peer string) []byte
	// KeepLink keeps it, and returns what holds: another node may have been faster.
	KeepLink(peer string, link []byte) []byte
	// DropLink says that it holds no more.
	DropLink(peer string, link []byte)
	// Pin says that only this node can go on with a server.
	Pin()
}

// sharedLink is a link as other nodes know it: the session at the server, and what that
// declared.
type sharedLink struct {
	Version string `json:"version"`
	Session string `json:"session"`
	Has     uint32 `json:"has"`
}

// flags are what a server declared, in the order of the bits of sharedLink.Has, which only
// grows.
func (a *about) flags() []*bool {
	return []*bool{
		&a.tools, &a.prompts, &a.resources, &a.completions, &a.subscribe, &a.logging, &a.tasks, &a.makesTasks,
		&a.listChanged, &a.promptsChanged, &a.resourcesChanged,
	}
}

// share lets other nodes go on with a link for a caller's session, and returns the link that
// holds, which may be one of theirs. A link that only this node has pins the session to it.
func (c *Client) share(v *visit, t *Target, l *link) *link {
	if l.stream != nil || t.Endpoint.stdio || len(l.session) > maxShared {
		t.Shared.Pin()
		return l
	}
	out := sharedLink{Version: l.version, Session: l.session}
	for i, flag := range l.about.flags() {
		if *flag {
			out.Has |= 1 << i
		}
	}
	b, _ := json.Marshal(out) // of strings and a number: cannot fail
	holds := t.Shared.KeepLink(v.peer.key, b)
	if other := readShared(holds); other != nil && other.session != l.session {
		c.sayGoodbye(t, l)
		return other
	}
	l.shared = b
	return l
}

// readShared is nil for what no node of this version wrote.
func readShared(b []byte) *link {
	var in sharedLink
	if b == nil || json.Unmarshal(b, &in) != nil || in.Session == "" || !knownVersion(in.Version) {
		return nil
	}
	l := &link{version: in.Version, session: in.Session, shared: b}
	for i, flag := range l.about.flags() {
		*flag = in.Has&(1<<i) != 0
	}
	return l
}

// resumeShared takes the link over that another node of the pool agreed on for the caller's
// session.
func (c *Client) resumeShared(v *visit, t *Target) error {
	b := t.Shared.Link(v.peer.key)
	if b == nil {
		return nil
	}
	if err := c.sit(v, t); err != nil {
		return err
	}
	now := v.own.link.Load()
	if now != nil && string(now.shared) == string(b) {
		return nil
	}
	if l := readShared(b); l != nil && v.own.link.CompareAndSwap(now, l) {
		v.peer.stateful.Store(true)
		if now != nil {
			c.end(t, now) // what was agreed here meanwhile, while the pool did not answer
		}
	}
	return nil
}

// unshare forgets a link at all nodes: the server does not know it any more.
func (t *Target) unshare(p *peer, l *link) {
	if t.Shared != nil && l.shared != nil {
		t.Shared.DropLink(p.key, l.shared)
	}
}

// ForgetCaller forgets the sessions of a caller at all servers, which go on: other nodes of
// the pool have them, too.
func (c *Client) ForgetCaller(caller string) { c.endCaller(caller, true) }

package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/gateway/pool"
)

const (
	// staySpare is how much longer than idleTime the pool keeps a session: a node that
	// looks whether it is idle finds it, and ends it at servers.
	staySpare = 5 * time.Minute
	// touchEvery is how often the pool is told of a session that is in use without a
	// request.
	touchEvery = idleTime / 4
	// maxChanges is how many changes a record may have had since a node read it and still be
	// taken for the same one.
	maxChanges = 1 << 20
	// maxUntold is how many ends of sessions a node remembers that it could not tell the
	// pool of.
	maxUntold = 256
)

// What is shared of a session: fields of its record. Those with a name behind the colon are
// many.
const (
	fieldClient   = "client"    // what its client said in the handshake
	fieldLevel    = "level"     // of its log messages
	fieldRoots    = "roots"     // see Roots
	fieldSeen     = "seen"      // see Saw
	fieldHome     = "home"      // the node that has the stream of its client
	fieldPinned   = "pinned"    // the only node that can serve it
	fieldUsed     = "used:"     // a server that it called
	fieldTask     = "task:"     // a task that its client runs for a server
	fieldFollowed = "followed:" // a resource that its client subscribed to
	fieldLink     = "link:"     // what was agreed with a server
)

// shared is what other nodes of a pool know of a session, too. It is guarded by Session.mu.
type shared struct {
	version  string // of the record that this node knows; "": none
	touched  time.Time
	home     string            // node; "": its client never had a stream
	pinned   string            // node; "": any can serve it
	followed []string          // resources, by the names that the client has for them
	links    map[string][]byte // by what mcpclient calls the server
	late     bool              // something of it changed while the pool did not answer
}

// String is the owner as a name.
func (o Owner) String() string { return o.Workspace + "\x00" + o.Toolset + "\x00" + o.Caller }

// sharedClient is Client in a record.
type sharedClient struct {
	Version      string          `json:"version"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
}

// fieldsLocked is the record of the session.
func (s *Session) fieldsLocked() map[string][]byte {
	said, _ := json.Marshal(sharedClient{s.client.Version, s.client.Capabilities}) // it was JSON
	out := map[string][]byte{fieldClient: said}
	if s.seen != "" {
		out[fieldSeen] = []byte(s.seen)
	}
	if level := s.level.Load(); level != 0 {
		out[fieldLevel] = []byte{byte(level)}
	}
	if roots := s.roots.Load(); roots != 0 {
		out[fieldRoots] = strconv.AppendUint(nil, uint64(roots), 10)
	}
	if s.shared.home != "" {
		out[fieldHome] = []byte(s.shared.home)
	}
	if s.shared.pinned != "" {
		out[fieldPinned] = []byte(s.shared.pinned)
	}
	for _, server := range s.used {
		out[fieldUsed+server] = nil
	}
	for _, k := range s.tasks {
		out[k.field()] = nil
	}
	for _, uri := range s.shared.followed {
		out[fieldFollowed+uri] = nil
	}
	for peer, link := range s.shared.links {
		out[fieldLink+peer] = link
	}
	return out
}

// load takes over what the pool has; false: it is no session.
func (s *Session) load(r pool.Record) bool {
	var said sharedClient
	if json.Unmarshal(r.Fields[fieldClient], &said) != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client.Version == "" {
		s.client = Client{said.Version, said.Capabilities}.clipped()
	}
	level := uint32(0)
	if b := r.Fields[fieldLevel]; len(b) == 1 {
		level = uint32(b[0])
	}
	s.level.Store(level)
	roots, _ := strconv.ParseUint(string(r.Fields[fieldRoots]), 10, 32) // 0: never
	s.roots.Store(uint32(roots))
	s.seen, s.used, s.tasks = string(r.Fields[fieldSeen]), nil, nil
	s.shared = shared{version: r.Version, touched: time.Now(), home: string(r.Fields[fieldHome]), pinned: string(r.Fields[fieldPinned]), links: map[string][]byte{}}
	for name, value := range r.Fields {
		if server, ok := strings.CutPrefix(name, fieldUsed); ok && len(s.used) < maxUsed {
			s.used = append(s.used, server)
		} else if k, ok := taskOf(name); ok && len(s.tasks) < maxTasks {
			s.tasks = append(s.tasks, k)
		} else if uri, ok := strings.CutPrefix(name, fieldFollowed); ok {
			s.shared.followed = append(s.shared.followed, uri)
		} else if peer, ok := strings.CutPrefix(name, fieldLink); ok {
			s.shared.links[peer] = value
		}
	}
	slices.Sort(s.used)
	return true
}

// Share lets the other nodes of the pool serve the session, too. It is called when all is known
// of it that was said in the handshake.
func (s *Session) Share(ctx context.Context) {
	if s.Pooled() {
		_ = s.share(ctx) // else this node goes on alone, and shares it with the next request
	}
}

// share makes the record of the session where there is none.
func (s *Session) share(ctx context.Context) error {
	s.mu.Lock()
	fields := s.fieldsLocked()
	s.mu.Unlock()
	version, err := s.table.pool.Open(ctx, s.owner.String(), s.id, fields, idleTime+staySpare)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.shared.version, s.shared.touched = version, time.Now()
	s.mu.Unlock()
	return nil
}

// shareLost shares the sessions that the pool does not have, until one cannot be shared. They may
// be idle for as long again.
func (t *Table) shareLost(ctx context.Context) {
	var all []*Session
	t.mu.Lock()
	for _, s := range t.byID {
		if time.Since(s.lastUsed) < idleTime {
			all = append(all, s)
		}
	}
	t.mu.Unlock()
	for _, s := range all {
		if errors.Is(s.share(ctx), pool.ErrAway) {
			return
		}
	}
}

// Pooled reports whether other nodes may serve the session, too.
func (s *Session) Pooled() bool { return s.table.pool != nil }

// findShared is Find where the nodes of a pool share sessions; local is what this node knows. It
// asks the pool once.
func (t *Table) findShared(ctx context.Context, o Owner, id string, local *Session) *Session {
	known := ""
	if local != nil {
		local.mu.Lock()
		known = local.shared.version
		local.mu.Unlock()
	}
	r, err := t.touch(ctx, o, id, known, local == nil)
	switch {
	case errors.Is(err, pool.ErrEnded):
		if local != nil {
			t.remove(local, false)
		}
		return nil
	case errors.Is(err, pool.ErrNone):
		if local != nil { // the server lost it, or had no room, or never had it
			local.Share(ctx)
		}
		return local
	case err != nil:
		return local
	case local != nil && local.catchUp():
	case known != "" && r.Fields != nil && !follows(r.Version, known):
		local.complete()
		return t.findShared(ctx, o, id, local)
	case r.Fields == nil:
		local.mu.Lock()
		local.shared.touched = time.Now()
		local.mu.Unlock()
	default:
		if local == nil {
			local = t.adopt(o, id, r)
		} else if !local.load(r) {
			return local
		}
	}
	if local == nil || !local.elsewhere() {
		return local
	}
	t.remove(local, true)
	return nil
}

// touch says that a session is used, and returns what the pool has of it. One that this node does not
// know is waited for.
func (t *Table) touch(ctx context.Context, o Owner, id, known string, wait bool) (r pool.Record, err error) {
	ask := func() error {
		r, err = t.pool.Touch(ctx, o.String(), id, known, idleTime+staySpare)
		return err
	}
	if wait {
		err = t.pool.Await(ctx, ask)
	} else {
		err = ask()
	}
	return r, err
}

// catchUp tells the pool what changed here while it did not answer, and reports whether
// anything had.
func (s *Session) catchUp() bool {
	s.mu.Lock()
	late, fields := s.shared.late, map[string][]byte(nil)
	if late {
		s.shared.late, fields = false, s.fieldsLocked()
	}
	s.mu.Unlock()
	for name, value := range fields {
		s.set(name, value, name == fieldClient || name == fieldPinned || strings.HasPrefix(name, fieldLink))
	}
	return late
}

// complete tells the pool what is known here and lacking in a record that another node made anew,
// after the server lost the one that this node knows or the key of the pool was rotated: that node
// need not have known all. Then the record is to be read again.
func (s *Session) complete() {
	s.mu.Lock()
	fields := s.fieldsLocked()
	s.shared.version = ""
	s.mu.Unlock()
	listening := s.Listening()
	for name, value := range fields {
		s.set(name, value, name != fieldHome || !listening)
	}
}

// elsewhere reports whether only another node can serve the session.
func (s *Session) elsewhere() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shared.pinned != "" && s.shared.pinned != s.table.node
}

// adopt makes a session here that another node made; nil: there is no room.
func (t *Table) adopt(o Owner, id string, r pool.Record) *Session {
	s := &Session{id: id, owner: o, table: t}
	if !s.load(r) {
		return nil
	}
	if s.elsewhere() {
		return nil
	}
	t.mu.Lock()
	if other := t.byID[id]; other != nil { // of a request at the same time
		t.mu.Unlock()
		if other.owner != o {
			return nil
		}
		return other
	}
	gone, ok := t.insertLocked(s)
	t.mu.Unlock()
	return s.inPlaceOf(gone, ok)
}

// known reports whether the pool has the session.
func (s *Session) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shared.version != ""
}

// set changes a field of the record, without waiting where the pool does not answer: then
// all of it is shared later.
func (s *Session) set(name string, value []byte, once bool) (holds []byte) {
	t := s.table
	if t.pool == nil {
		return value
	}
	version, holds, err := t.pool.Set(context.Background(), s.owner.String(), s.id, name, value, once)
	if err != nil {
		s.mu.Lock()
		s.shared.late = true
		s.mu.Unlock()
		return value
	}
	s.advance(version)
	return holds
}

// advance says that the record has another version by a change of this node. When others
// changed it meanwhile it is read again with the next request.
func (s *Session) advance(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next(s.shared.version) == version {
		s.shared.version = version
	}
}

// next is the number behind one of the form that versions have.
func next(version string) string {
	b := []byte(version)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < '9' {
			b[i]++
			return string(b)
		}
		b[i] = '0'
	}
	return "1" + string(b)
}

// follows reports whether the record of the version now is the one of which another version is
// known, some changes later. Records begin at random numbers.
func follows(now, known string) bool {
	n, err := strconv.ParseInt(now, 10, 64)
	if err != nil {
		return false
	}
	k, err := strconv.ParseInt(known, 10, 64)
	return err == nil && n >= k && n-k < maxChanges
}

func (s *Session) unset(name string, value []byte) {
	if t := s.table; t.pool != nil {
		_ = t.pool.Unset(context.Background(), s.owner.String(), s.id, name, value) // it ends with the session else
	}
}

// Link is what was agreed with a server for the session, by this node or another; nil:
// nothing.
func (s *Session) Link(peer string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shared.links[peer]
}

// KeepLink keeps what was agreed with a server, and returns what holds: another node may have
// been faster.
func (s *Session) KeepLink(peer string, link []byte) []byte {
	holds := s.set(fieldLink+peer, link, true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared.links == nil {
		s.shared.links = map[string][]byte{}
	}
	s.shared.links[peer] = holds
	return holds
}

// DropLink says that something holds no more.
func (s *Session) DropLink(peer string, link []byte) {
	s.mu.Lock()
	if string(s.shared.links[peer]) == string(link) {
		delete(s.shared.links, peer)
	}
	s.mu.Unlock()
	s.unset(fieldLink+peer, link)
}

// Pin says that no other node can serve the session: a server keeps something of it that only
// this one reaches.
func (s *Session) Pin() {
	s.mu.Lock()
	pinned := s.shared.pinned != ""
	s.mu.Unlock()
	if pinned {
		return
	}
	holds := s.set(fieldPinned, []byte(s.table.node), true)
	s.mu.Lock()
	s.shared.pinned = string(holds)
	s.mu.Unlock()
}

// Follow keeps that the client subscribed to a resource, and Unfollow that it does no more.
func (s *Session) Follow(uri string) {
	if !s.Pooled() {
		return
	}
	s.mu.Lock()
	if !slices.Contains(s.shared.followed, uri) {
		s.shared.followed = append(s.shared.followed, uri)
	}
	s.mu.Unlock()
	s.set(fieldFollowed+uri, nil, false)
}

// Unfollow is the opposite of Follow.
func (s *Session) Unfollow(uri string) {
	if !s.Pooled() {
		return
	}
	s.mu.Lock()
	s.shared.followed = slices.DeleteFunc(s.shared.followed, func(is string) bool { return is == uri })
	s.mu.Unlock()
	s.unset(fieldFollowed+uri, nil)
}

// Followed are the resources that the client subscribed to at any node of the pool.
func (s *Session) Followed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.shared.followed)
}

// idle ends a session that nobody used for long enough, at all nodes, or forgets it here.
// See Table.Run.
func (t *Table) idle(ctx context.Context, s *Session) (kept bool) {
	if t.pool == nil || !s.known() {
		return false
	}
	ended, err := t.pool.End(ctx, s.owner.String(), s.id, idleTime, idleTime)
	return err != nil || !ended
}

// keepUp tells the pool of sessions that are in use without requests, and of ends that it was
// not told of.
func (t *Table) keepUp(ctx context.Context, all []*Session) {
	for _, s := range all {
		t.findShared(ctx, s.owner, s.id, s)
	}
	t.mu.Lock()
	untold := t.untold
	t.untold = nil
	t.mu.Unlock()
	for _, s := range untold {
		t.endShared(ctx, s)
	}
}

// endShared ends a session at the other nodes, now or later.
func (t *Table) endShared(ctx context.Context, s *Session) {
	_, err := t.pool.End(ctx, s.owner.String(), s.id, 0, idleTime)
	if err == nil {
		_ = t.tell(ctx, "", message{Kind: kindEnd, Session: s.id}) // with its next request else
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.untold) < maxUntold {
		t.untold = append(t.untold, s)
	}
}

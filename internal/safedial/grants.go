package safedial

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// grants are the addresses that single holders may dial though they are not public.
// The table of scopes is replaced, never changed, so that a call reads it without a
// lock.
type grants struct {
	mu     sync.Mutex // held while scopes is replaced
	scopes atomic.Pointer[map[string]*Scope]
}

// Scope is what one holder of grants may dial. Connections of one Scope must not be
// used for another holder, nor after [Dialer.Scope] returns another one. The nil Scope
// has no grants. It is safe for concurrent use.
type Scope struct {
	d     *Dialer
	set   *set             // of the holder; nil: none
	extra []netip.AddrPort // of one request, see [WithAddresses]
}

// set is what a holder was granted, and what is open because of it.
type set struct {
	mu      sync.Mutex
	allowed map[netip.AddrPort]struct{} // guarded by mu
	conns   map[*conn]struct{}          // guarded by mu
}

// conn is a connection that is open because of a grant.
type conn struct {
	net.Conn
	of *set
	at netip.AddrPort
}

// NetConn is what package tls has, too: the connection in it.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// Grant lets a holder dial one address that is not public, until [Dialer.Revoke]. The
// holder is named by whom asks for its [Dialer.Scope]; no other holder is helped. It
// fails with [problem.BlockedAddress] for an address that cannot be granted: of
// [Metadata], of the node's own listeners ([Dialer.Protect]), of no single machine.
func (d *Dialer) Grant(holder string, at netip.AddrPort) error {
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	if err := d.grantableAt(at.String(), at); err != nil {
		return err
	}
	d.grants.mu.Lock()
	defer d.grants.mu.Unlock()
	s := d.Scope(holder)
	if s == nil {
		s = &Scope{d: d, set: &set{allowed: map[netip.AddrPort]struct{}{}, conns: map[*conn]struct{}{}}}
		d.grants.put(holder, s)
	}
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	s.set.allowed[at] = struct{}{}
	return nil
}

// Revoke takes a grant back at once: connections that it opened are closed, and
// connections that are kept for the holder are not used again.
func (d *Dialer) Revoke(holder string, at netip.AddrPort) {
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	d.revoke(holder, func(a netip.AddrPort) bool { return a == at })
}

// RevokeAll takes all grants of a holder back, as [Dialer.Revoke] does.
func (d *Dialer) RevokeAll(holder string) {
	d.revoke(holder, func(netip.AddrPort) bool { return true })
}

func (d *Dialer) revoke(holder string, gone func(netip.AddrPort) bool) {
	d.grants.mu.Lock()
	defer d.grants.mu.Unlock()
	s := d.Scope(holder)
	if s == nil {
		return
	}
	s.set.mu.Lock()
	maps.DeleteFunc(s.set.allowed, func(a netip.AddrPort, _ struct{}) bool { return gone(a) })
	left := len(s.set.allowed)
	var open []*conn
	for c := range s.set.conns {
		if gone(c.at) {
			open = append(open, c)
		}
	}
	s.set.mu.Unlock()
	// Another Scope, so that no pool of connections of the old one is looked into.
	if left == 0 {
		d.grants.put(holder, nil)
	} else {
		d.grants.put(holder, &Scope{d: d, set: s.set})
	}
	for _, c := range open {
		_ = c.Close() // whoever uses it sees that it is closed
	}
}

// put replaces the scope of a holder. g.mu is held.
func (g *grants) put(holder string, s *Scope) {
	next := map[string]*Scope{}
	if now := g.scopes.Load(); now != nil {
		next = maps.Clone(*now)
	}
	if next[holder] = s; s == nil {
		delete(next, holder)
	}
	g.scopes.Store(&next)
}

// Scope returns what a holder may dial; nil when it has no grants.
func (d *Dialer) Scope(holder string) *Scope {
	now := d.grants.scopes.Load()
	if now == nil {
		return nil
	}
	return (*now)[holder]
}

// DialTimeout dials "host:port" as [Dialer.DialTimeout] does, with the grants of s.
func (s *Scope) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	ctx := context.Background()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	return s.d.dial(ctx, "tcp", addr, s)
}

func (s *Scope) has(at netip.AddrPort) bool {
	if s == nil {
		return false
	}
	if slices.Contains(s.extra, at) {
		return true
	}
	if s.set == nil {
		return false
	}
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	_, ok := s.set.allowed[at]
	return ok
}

// keep makes a new connection end with the grant that it was opened by.
func (s *Scope) keep(c net.Conn, at netip.AddrPort, addr string) (net.Conn, error) {
	if s == nil || s.set == nil || s.d.allowPrivate || s.d.refused(at.Addr()) == "" || slices.Contains(s.extra, at) {
		return c, nil
	}
	kept := &conn{Conn: c, of: s.set, at: at}
	s.set.mu.Lock()
	_, ok := s.set.allowed[at]
	if ok {
		s.set.conns[kept] = struct{}{}
	}
	s.set.mu.Unlock()
	if !ok { // revoked while it was dialed
		_ = c.Close()
		return nil, s.d.blocked(addr, at, s.d.refused(at.Addr()))
	}
	return kept, nil
}

// Seen returns the addresses that "host:port" has now and that need a grant to be
// dialed; none when all are permitted. It fails with [problem.BlockedAddress] when
// they cannot be granted (see [Dialer.Grant]), or when the name has public addresses
// too: that is how a rebinding attack looks. Other errors are of name resolution.
func (d *Dialer) Seen(ctx context.Context, hostport string) ([]netip.AddrPort, error) {
	scope := d.ScopeOf(ctx)
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	addrs, err := d.lookup(ctx, "tcp", hostport)
	if err != nil {
		return nil, err
	}
	var out []netip.AddrPort
	public := 0
	for _, a := range addrs {
		switch {
		case d.refused(a.Addr()) == "":
			public++
		case d.allowPrivate && !Metadata(a.Addr()), scope.has(a), slices.Contains(out, a):
		default:
			if err := d.grantableAt(hostport, a); err != nil {
				return nil, err
			}
			out = append(out, a)
		}
	}
	if public > 0 && len(out) > 0 {
		return nil, mixed(hostport, out[0])
	}
	return out, nil
}

// grantableAt says why an address cannot be granted; nil: it can.
func (d *Dialer) grantableAt(addr string, at netip.AddrPort) error {
	a, reason := at.Addr(), Blocked(at.Addr())
	switch {
	case !at.IsValid() || at.Port() == 0:
		return problem.New(problem.InvalidArgument, "%q is not an address and a port", clip(addr)).Fix("write it as 10.1.2.3:8080 or [fd00::1]:8080")
	case Metadata(a):
		return problem.New(problem.BlockedAddress, "%s is %s, %s, where clouds keep the credentials of machines", clip(addr), a, reason).
			Fix("if you are sure, start with --allow-private-upstreams=%s", a)
	case d.own.has(at):
		return ownListener(addr, at)
	case a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || embedded(a) != a:
		return problem.New(problem.BlockedAddress, "%s is %s, %s, which cannot be granted", clip(addr), a, reason).Fix("use the address of the machine itself")
	}
	return nil
}

func ownListener(addr string, at netip.AddrPort) error {
	return problem.New(problem.BlockedAddress, "%s is %s, a listener of this node, which no toolset may call", clip(addr), at).
		Fix("use the address of another service")
}

// own are the listeners of this node.
type own struct {
	interfaces func() ([]net.Addr, error)
	mu         sync.RWMutex
	ports      map[uint16]bool // guarded by mu; true: never dialed, whatever is allowed
}

// Protect names a listener of this node. Its port can be granted under no address of
// this machine, whichever of them it listens on.
func (d *Dialer) Protect(listener net.Addr) { d.own.add(listener, false) }

// Forbid is Protect for a listener that no toolset may call where private addresses are
// allowed, either: what it answers this machine is for the operator.
func (d *Dialer) Forbid(listener net.Addr) { d.own.add(listener, true) }

func (o *own) add(listener net.Addr, never bool) {
	t, ok := listener.(*net.TCPAddr)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ports == nil {
		o.ports = map[uint16]bool{}
	}
	o.ports[uint16(t.Port)] = never
}

// has reports whether a listener of this node may answer at an address.
func (o *own) has(at netip.AddrPort) bool {
	o.mu.RLock()
	_, ok := o.ports[at.Port()]
	o.mu.RUnlock()
	return ok && o.here(at)
}

// forbids reports whether a listener that is never dialed may answer at an address.
func (o *own) forbids(at netip.AddrPort) bool {
	o.mu.RLock()
	never := o.ports[at.Port()]
	o.mu.RUnlock()
	return never && o.here(at)
}

// here reports whether an address is one of this machine.
func (o *own) here(at netip.AddrPort) bool {
	a := embedded(at.Addr())
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	addrs, err := o.interfaces()
	if err != nil {
		return true // which addresses are this machine's is not known
	}
	return slices.ContainsFunc(addrs, func(i net.Addr) bool {
		n, ok := i.(*net.IPNet)
		if !ok {
			return false
		}
		mine, ok := netip.AddrFromSlice(n.IP)
		return ok && mine.Unmap() == a.WithZone("")
	})
}

type contextKey struct{}

// named is what a context names.
type named struct {
	holder string
	extra  []netip.AddrPort
}

// WithHolder returns a context whose dials use the grants of a holder.
func WithHolder(ctx context.Context, holder string) context.Context {
	n, _ := ctx.Value(contextKey{}).(named)
	n.holder = holder
	return context.WithValue(ctx, contextKey{}, n)
}

// WithAddresses returns a context whose dials may reach these addresses as well, as if
// they were granted. They come of [Dialer.Seen] and end with the context: for what
// must leave no grant behind.
func WithAddresses(ctx context.Context, addrs []netip.AddrPort) context.Context {
	n, _ := ctx.Value(contextKey{}).(named)
	n.extra = slices.Concat(n.extra, addrs)
	return context.WithValue(ctx, contextKey{}, n)
}

// ScopeOf returns what a context may dial; nil when it names no grants. Two calls may
// return different values for equal grants.
func (d *Dialer) ScopeOf(ctx context.Context) *Scope {
	n, _ := ctx.Value(contextKey{}).(named)
	s := d.Scope(n.holder)
	if len(n.extra) == 0 {
		return s
	}
	out := &Scope{d: d, extra: n.extra}
	if s != nil {
		out.set = s.set
	}
	return out
}

package safedial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/sock"
)

// DefaultTimeout bounds one dial, name resolution included.
const DefaultTimeout = 10 * time.Second

// perAddress is how long one of several addresses may take before the next is
// tried: a dead IPv6 route must not eat the whole deadline.
const perAddress = 3 * time.Second

// maxAddresses is how many addresses of a name are looked at. A name that
// resolves to thousands is an attack on us or on them; browsers try a handful.
const maxAddresses = 16

// Resolver looks names up; [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options configures a Dialer.
type Options struct {
	// AllowPrivate permits private addresses too, but not those where clouds keep
	// the credentials of machines (see [Metadata]). Default: false, only public ones.
	AllowPrivate bool
	// Allow are networks that are permitted though they are not public.
	Allow []netip.Prefix
	// Grantable says that addresses can be granted on this node (see [Dialer.Grant]):
	// the error of a refused address names that remedy too. Default: false.
	Grantable bool
	// Interfaces lists the addresses of this machine. Default: those of
	// [net.InterfaceAddrs].
	Interfaces func() ([]net.Addr, error)
	// Timeout bounds one dial. Default: [DefaultTimeout].
	Timeout time.Duration
	// Resolver looks names up. Default: [net.DefaultResolver].
	Resolver Resolver
}

// Dialer dials checked addresses. It is safe for concurrent use.
type Dialer struct {
	allowPrivate bool
	allow        []netip.Prefix
	timeout      time.Duration
	resolver     Resolver
	grantable    bool
	net          net.Dialer
	own          own
	grants       grants
}

// New makes a Dialer. Its error is always nil; the signature leaves room for
// options that can be wrong.
func New(o Options) (*Dialer, error) {
	d := &Dialer{
		allowPrivate: o.AllowPrivate, allow: slices.Clone(o.Allow), timeout: o.Timeout,
		resolver: o.Resolver, grantable: o.Grantable, own: own{interfaces: o.Interfaces},
	}
	if d.own.interfaces == nil {
		d.own.interfaces = net.InterfaceAddrs
	}
	if d.timeout <= 0 {
		d.timeout = DefaultTimeout
	}
	if d.resolver == nil {
		d.resolver = net.DefaultResolver
	}
	d.net = net.Dialer{KeepAlive: 30 * time.Second}
	return d, nil
}

// Check resolves host and says whether a dial to "host:port" would be permitted,
// without dialing. It fails as [Dialer.DialContext] does.
func (d *Dialer) Check(ctx context.Context, hostport string) error {
	scope := d.ScopeOf(ctx)
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	_, err := d.resolve(ctx, "tcp", hostport, scope)
	return err
}

// DialContext dials "host:port" over tcp, tcp4 or tcp6, with the grants that ctx
// names (see [WithHolder]). A name with one address that is not permitted is refused
// as a whole: mixing a public and a private address is how a rebinding attack looks.
// It fails with [problem.BlockedAddress], [problem.Unreachable] or [problem.Timeout].
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d.dial(ctx, network, addr, d.ScopeOf(ctx))
}

func (d *Dialer) dial(ctx context.Context, network, addr string, scope *Scope) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	addrs, err := d.resolve(ctx, network, addr, scope)
	if err != nil {
		return nil, err
	}
	var first error
	for i, a := range addrs {
		actx, acancel := ctx, context.CancelFunc(func() {})
		if i < len(addrs)-1 {
			actx, acancel = context.WithTimeout(ctx, perAddress)
		}
		conn, err := d.net.DialContext(actx, network, a.String())
		acancel()
		if err == nil {
			return scope.keep(sock.New(conn), a, addr)
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, unreachable(addr, first)
}

// Dial is DialContext over tcp without a context, the form fasthttp wants.
func (d *Dialer) Dial(addr string) (net.Conn, error) {
	return d.DialContext(context.Background(), "tcp", addr)
}

// DialTimeout is Dial with a shorter bound than the Dialer's own.
func (d *Dialer) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	if timeout <= 0 {
		return d.Dial(addr)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, "tcp", addr)
}

// resolve returns the permitted addresses of addr in the order to try them.
func (d *Dialer) resolve(ctx context.Context, network, addr string, scope *Scope) ([]netip.AddrPort, error) {
	addrs, err := d.lookup(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	public := false
	for _, a := range addrs {
		public = public || d.refused(a.Addr()) == ""
	}
	for _, a := range addrs {
		reason := d.refused(a.Addr())
		switch {
		case d.own.forbids(a):
			return nil, ownListener(addr, a)
		case reason == "":
		case Metadata(a.Addr()):
			return nil, problem.New(problem.BlockedAddress, "%s is %s, %s, where clouds keep the credentials of machines, and only public addresses are dialed", clip(addr), a.Addr(), reason).
				Fix("if you are sure, start with --allow-private-upstreams=%s", a.Addr())
		case d.allowPrivate:
		case d.own.has(a):
			return nil, ownListener(addr, a)
		case scope.has(a):
		case public:
			return nil, mixed(addr, a)
		default:
			return nil, d.blocked(addr, a, reason)
		}
	}
	return addrs, nil
}

// mixed is the error of a name with public addresses and one that is not.
func mixed(addr string, a netip.AddrPort) error {
	return problem.New(problem.BlockedAddress, "the name of %s has public addresses and %s, which is %s: that is how a rebinding attack looks",
		clip(addr), a.Addr(), Blocked(a.Addr())).
		Fix("correct the name; or if you are sure, an operator allows the address itself: sluice grant create TOOLSET %s; or start with --allow-private-upstreams=%s",
			a, network24(a.Addr()))
}

// blocked is the error of an address that nobody allowed.
func (d *Dialer) blocked(addr string, a netip.AddrPort, reason string) error {
	p := problem.New(problem.BlockedAddress, "%s is %s, %s, and only public addresses are dialed", clip(addr), a.Addr(), reason)
	if d.grantable && a.Addr().Zone() == "" {
		return p.Fix("if you trust it, an operator allows it for one toolset: sluice grant create TOOLSET %s; or for the whole node: start with --allow-private-upstreams=%s",
			a, network24(a.Addr()))
	}
	return p.Fix("start with --allow-private-upstreams, or --allow-private-upstreams=%s for this network, if you trust it", network24(a.Addr()))
}

// lookup returns the addresses of "host:port", whatever they are.
func (d *Dialer) lookup(ctx context.Context, network, addr string) ([]netip.AddrPort, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, problem.New(problem.Unreachable, "%q is not a host and a port", clip(addr)).Because(err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return nil, problem.New(problem.Unreachable, "%q has no valid port", clip(addr))
	}
	var family string
	switch network {
	case "tcp":
		family = "ip"
	case "tcp4":
		family = "ip4"
	case "tcp6":
		family = "ip6"
	default:
		return nil, problem.New(problem.Unreachable, "network %q is not dialed", clip(network))
	}
	var addrs []netip.Addr
	if a, perr := netip.ParseAddr(host); perr == nil {
		addrs = []netip.Addr{a}
	} else {
		addrs, err = d.resolver.LookupNetIP(ctx, family, host)
		if err != nil {
			return nil, unresolved(host, err)
		}
		if len(addrs) == 0 {
			return nil, unresolved(host, errors.New("no addresses"))
		}
		addrs = addrs[:min(len(addrs), maxAddresses)]
	}
	out := make([]netip.AddrPort, len(addrs))
	for i, a := range addrs {
		out[i] = netip.AddrPortFrom(a.Unmap(), uint16(port))
	}
	return out, nil
}

func (d *Dialer) refused(a netip.Addr) string {
	for _, p := range d.allow {
		if p.Contains(a) {
			return ""
		}
	}
	return Blocked(a)
}

// network24 suggests the smallest network a person would grant.
func network24(a netip.Addr) string {
	bits := 24
	if a.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(a.WithZone(""), bits).Masked().String()
}

func unresolved(host string, err error) error {
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsTimeout || errors.Is(err, context.DeadlineExceeded) {
		return problem.New(problem.Timeout, "the name %s could not be resolved in time", clip(host)).
			Fix("check the DNS server of this machine").Because(err)
	}
	return problem.New(problem.Unreachable, "the name %s does not resolve", clip(host)).
		Fix("check the host name and the DNS of this machine").Because(err)
}

func unreachable(addr string, err error) error {
	var nerr net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &nerr) && nerr.Timeout() {
		return problem.New(problem.Timeout, "connecting to %s took too long", clip(addr)).
			Fix("check that the host is up and that no firewall drops the connection").Because(err)
	}
	return problem.New(problem.Unreachable, "%s does not accept connections", clip(addr)).
		Fix("check that the service is running and that host and port are right").Because(err)
}

// clip bounds text from outside before it enters an error.
func clip(s string) string {
	const most = 253 // the longest DNS name
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

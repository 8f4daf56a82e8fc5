package safedial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
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
	// Grants are "host:port" pairs that may have private addresses; see
	// [Dialer.Grant].
	Grants []string
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
	net          net.Dialer

	mu     sync.RWMutex
	grants map[string]struct{} // guarded by mu; canonical host:port
}

// New makes a Dialer. It fails with [problem.InvalidArgument] on a grant that is
// not a host and a port.
func New(o Options) (*Dialer, error) {
	d := &Dialer{
		allowPrivate: o.AllowPrivate, allow: slices.Clone(o.Allow), timeout: o.Timeout,
		resolver: o.Resolver, grants: map[string]struct{}{},
	}
	if d.timeout <= 0 {
		d.timeout = DefaultTimeout
	}
	if d.resolver == nil {
		d.resolver = net.DefaultResolver
	}
	d.net = net.Dialer{KeepAlive: 30 * time.Second}
	for _, g := range o.Grants {
		if err := d.Grant(g); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Grant permits dialing exactly this "host:port" at private addresses too, until
// [Dialer.Revoke]. An address of [Metadata] stays refused: only a network in
// Options.Allow permits it, since whoever controls the name could point it there.
// A grant holds for this Dialer only and is not kept anywhere.
func (d *Dialer) Grant(hostport string) error {
	key, err := canonical(hostport)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.grants[key] = struct{}{}
	return nil
}

// Revoke takes a grant back. Connections that are open stay open.
func (d *Dialer) Revoke(hostport string) {
	key, err := canonical(hostport)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.grants, key)
}

// Grants returns the granted "host:port" pairs, sorted.
func (d *Dialer) Grants() []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := make([]string, 0, len(d.grants))
	for g := range d.grants {
		out = append(out, g)
	}
	slices.Sort(out)
	return out
}

func (d *Dialer) granted(host, port string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	_, ok := d.grants[net.JoinHostPort(canonicalHost(host), port)]
	return ok
}

// Check resolves host and says whether a dial to "host:port" would be permitted,
// without dialing. It fails as [Dialer.DialContext] does.
func (d *Dialer) Check(ctx context.Context, hostport string) error {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	_, _, err := d.resolve(ctx, "tcp", hostport)
	return err
}

// DialContext dials "host:port" over tcp, tcp4 or tcp6. A name with one address
// that is not permitted is refused as a whole: mixing a public and a private
// address is how a rebinding attack looks. It fails with
// [problem.BlockedAddress], [problem.Unreachable] or [problem.Timeout].
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	addrs, port, err := d.resolve(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	var first error
	for i, a := range addrs {
		actx, acancel := ctx, context.CancelFunc(func() {})
		if i < len(addrs)-1 {
			actx, acancel = context.WithTimeout(ctx, perAddress)
		}
		conn, err := d.net.DialContext(actx, network, netip.AddrPortFrom(a, port).String())
		acancel()
		if err == nil {
			return conn, nil
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
func (d *Dialer) resolve(ctx context.Context, network, addr string) ([]netip.Addr, uint16, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, 0, problem.New(problem.Unreachable, "%q is not a host and a port", clip(addr)).Because(err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return nil, 0, problem.New(problem.Unreachable, "%q has no valid port", clip(addr))
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
		return nil, 0, problem.New(problem.Unreachable, "network %q is not dialed", clip(network))
	}
	var addrs []netip.Addr
	if a, perr := netip.ParseAddr(host); perr == nil {
		addrs = []netip.Addr{a}
	} else {
		addrs, err = d.resolver.LookupNetIP(ctx, family, host)
		if err != nil {
			return nil, 0, unresolved(host, err)
		}
		if len(addrs) == 0 {
			return nil, 0, unresolved(host, errors.New("no addresses"))
		}
		addrs = addrs[:min(len(addrs), maxAddresses)]
	}
	granted := d.allowPrivate || d.granted(host, portText)
	out := make([]netip.Addr, 0, len(addrs))
	for _, a := range addrs {
		a = a.Unmap()
		if reason := d.refused(a); reason != "" && (!granted || Metadata(a)) {
			if granted {
				return nil, 0, problem.New(problem.BlockedAddress, "%s is %s, %s, where clouds keep the credentials of machines",
					clip(net.JoinHostPort(host, portText)), a, reason).
					Fix("if you are sure, start with --allow-private-upstreams=%s", a)
			}
			return nil, 0, problem.New(problem.BlockedAddress, "%s is %s, %s, and only public addresses are dialed",
				clip(net.JoinHostPort(host, portText)), a, reason).
				Fix("start with --allow-private-upstreams, or --allow-private-upstreams=%s for this network, if you trust it", network24(a))
		}
		out = append(out, a)
	}
	return out, uint16(port), nil
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
	p, err := a.WithZone("").Prefix(bits)
	if err != nil {
		return a.String()
	}
	return p.String()
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

func canonical(hostport string) (string, error) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil || host == "" {
		return "", problem.New(problem.InvalidArgument, "%q is not a host and a port", clip(hostport)).Fix("write it as host:port")
	}
	if p, perr := strconv.ParseUint(port, 10, 16); perr != nil || p == 0 {
		return "", problem.New(problem.InvalidArgument, "%q has no valid port", clip(hostport)).Fix("write it as host:port")
	}
	return net.JoinHostPort(canonicalHost(host), port), nil
}

func canonicalHost(host string) string {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// clip bounds text from outside before it enters an error.
func clip(s string) string {
	const most = 253 // the longest DNS name
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

package access

import (
	"bytes"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// Options configures a Guard.
type Options struct {
	// Loopback says that the listener is bound to the loopback interface, where
	// only local names are accepted as Host: a web page whose name was rebound to
	// 127.0.0.1 still sends its own name.
	Loopback bool
	// Hosts are further accepted Host names, without port. On a listener that is
	// not loopback an empty list accepts every Host.
	Hosts []string
	// Origins are accepted Origin values ("https://app.example"). Requests without
	// Origin are not from a browser's page and pass. On a loopback listener local
	// origins are accepted too.
	Origins []string
}

// Guard checks Host and Origin of every request.
type Guard struct {
	loopback bool
	hosts    map[string]struct{}
	origins  map[string]struct{}
}

// NewGuard makes a Guard. It fails with [problem.InvalidArgument] on an origin
// that is none.
func NewGuard(o Options) (*Guard, error) {
	g := &Guard{loopback: o.Loopback, hosts: map[string]struct{}{}, origins: map[string]struct{}{}}
	for _, h := range o.Hosts {
		g.hosts[strings.ToLower(strings.TrimSuffix(h, "."))] = struct{}{}
	}
	for _, s := range o.Origins {
		u, err := url.Parse(s)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
			return nil, problem.New(problem.InvalidArgument, "%.80q is not an origin", s).Fix("write it as https://app.example, without a path")
		}
		g.origins[strings.ToLower(s)] = struct{}{}
	}
	return g, nil
}

// Host reports whether a request with this Host header may be served.
func (g *Guard) Host(host []byte) bool {
	name := HostName(host)
	if g.loopback && local(name) {
		return true
	}
	if !g.loopback && len(g.hosts) == 0 {
		return true
	}
	_, ok := g.hosts[string(name)]
	if !ok && len(g.hosts) > 0 {
		_, ok = g.hosts[strings.ToLower(string(name))]
	}
	return ok
}

// Origin reports whether a request with this Origin header may be served; empty
// means that there was none.
func (g *Guard) Origin(origin []byte) bool {
	if len(origin) == 0 {
		return true
	}
	if _, ok := g.origins[strings.ToLower(string(origin))]; ok {
		return true
	}
	if !g.loopback {
		return false
	}
	rest, ok := bytes.CutPrefix(origin, []byte("http://"))
	if !ok {
		rest, ok = bytes.CutPrefix(origin, []byte("https://"))
	}
	return ok && !bytes.ContainsAny(rest, "/@?#") && local(HostName(rest))
}

// HostName is the name of a "host:port" without port, brackets and final dot.
func HostName(host []byte) []byte {
	if len(host) > 0 && host[0] == '[' {
		if i := bytes.IndexByte(host, ']'); i > 0 {
			return host[1:i]
		}
		return nil
	}
	if i := bytes.LastIndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	return bytes.TrimSuffix(host, []byte("."))
}

// local reports whether a name always means this machine: localhost and its
// subdomains (RFC 6761 §6.3) and the loopback addresses.
func local(name []byte) bool {
	if len(name) >= len("localhost") && bytes.EqualFold(name[len(name)-len("localhost"):], []byte("localhost")) {
		return len(name) == len("localhost") || name[len(name)-len("localhost")-1] == '.'
	}
	if string(name) == "127.0.0.1" {
		return true
	}
	a, err := netip.ParseAddr(string(name))
	return err == nil && a.Unmap().IsLoopback()
}

// IsLoopback reports whether a listener's address is bound to the loopback
// interface only.
func IsLoopback(addr net.Addr) bool {
	t, ok := addr.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// Package forwarded determines the client of a request that came through a reverse proxy:
// by X-Forwarded-For, X-Forwarded-Proto and Forwarded (RFC 7239), which are believed only
// from the proxies that an operator names, because everybody can write them.
//
// It is not about where requests go, and believes no X-Forwarded-Host.
package forwarded

import (
	"net/netip"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// private is the word for the networks of privateNetworks.
	private = "private"
	// maxProxies in a list, which every request of a proxy is compared with.
	maxProxies = 64
	// maxHops are looked at: nobody has as many proxies in a row.
	maxHops = 16
)

// privateNetworks are those of this machine and of organisations (RFC 1918, RFC 4193).
var privateNetworks = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("fc00::/7"),
}

// Proxies are the addresses whose headers are believed. The zero value believes nobody.
// It may be used by many goroutines.
type Proxies struct{ networks []netip.Prefix }

// Parse reads networks (10.0.0.0/8), addresses, and the word private for this machine
// and the private networks. It fails with [problem.InvalidArgument].
func Parse(list []string) (Proxies, error) {
	var p Proxies
	for _, text := range list {
		text = strings.TrimSpace(text)
		if text == private {
			p.networks = append(p.networks, privateNetworks...)
			continue
		}
		n, err := netip.ParsePrefix(text)
		if err != nil {
			a, aerr := netip.ParseAddr(text)
			if aerr != nil || a.Zone() != "" {
				return Proxies{}, problem.New(problem.InvalidArgument, "%.60q is not an address of a proxy", text).Fix("write a network such as 10.0.0.0/8, an address, or private")
			}
			n = netip.PrefixFrom(a, a.BitLen())
		}
		if n = unmapped(n.Masked()); n.Bits() == 0 {
			return Proxies{}, problem.New(problem.InvalidArgument, "%s would believe everybody", n).Fix("name the networks that the proxies are in")
		}
		p.networks = append(p.networks, n)
	}
	if len(p.networks) > maxProxies {
		return Proxies{}, problem.New(problem.InvalidArgument, "%d networks of proxies are more than %d", len(p.networks), maxProxies).Fix("name the networks that they are in")
	}
	return p, nil
}

// unmapped is an IPv4 network that was written as an IPv6 one.
func unmapped(n netip.Prefix) netip.Prefix {
	if n.Addr().Is4In6() && n.Bits() >= 96 {
		return netip.PrefixFrom(n.Addr().Unmap(), n.Bits()-96)
	}
	return n
}

// Empty reports whether nobody is believed.
func (p Proxies) Empty() bool { return len(p.networks) == 0 }

// Has reports whether an address is one of a proxy.
func (p Proxies) Has(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, n := range p.networks {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// Origin is who sent a request.
type Origin struct {
	Client  netip.Addr // the nearest address that is not one of a proxy
	HTTPS   bool       // the proxy was asked over https
	Proxied bool       // a proxy that is believed says so
}

// Of returns who sent a request that came from peer; header returns the values of a
// header, in their order. Of the addresses that proxies added, the right-most that is
// not one of a proxy is the client: what is left of it the client may have written. Where
// X-Forwarded-For and Forwarded name different clients, one of them is not the proxy's,
// and neither is believed.
func (p Proxies) Of(peer netip.Addr, header func(name string) []string) Origin {
	o := Origin{Client: peer.Unmap().WithZone("")}
	if !p.Has(peer) {
		return o
	}
	byList, listed := p.client(o.Client, lists(header("X-Forwarded-For")))
	hops, protocol := elements(header("Forwarded"))
	byElements, has := p.client(o.Client, hops)
	o.Proxied = listed || has
	switch {
	case listed && has && byList != byElements:
	case listed:
		o.Client = byList
	case has:
		o.Client = byElements
	}
	if values := lists(header("X-Forwarded-Proto")); len(values) > 0 {
		protocol = values[len(values)-1]
	}
	o.HTTPS = strings.EqualFold(protocol, "https")
	return o
}

// client walks the hops from the last to the first; false: there are none.
func (p Proxies) client(peer netip.Addr, hops []string) (netip.Addr, bool) {
	if len(hops) == 0 {
		return peer, false
	}
	client := peer
	for i := len(hops) - 1; i >= max(0, len(hops)-maxHops); i-- {
		a, ok := node(hops[i])
		if !ok {
			break // "unknown", or a name: the proxy that says so is all that is known
		}
		if client = a; !p.Has(a) {
			break
		}
	}
	return client, true
}

// lists splits the values of a header at their commas.
func lists(values []string) (out []string) {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.Trim(part, " \t"); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

// elements reads Forwarded (RFC 7239 §4): the hops, and the protocol that the last proxy
// was asked with. An element without for is a hop that is not known.
func elements(values []string) (hops []string, protocol string) {
	for _, v := range values {
		for _, element := range split(v, ',') {
			hop, proto := "unknown", ""
			for _, pair := range split(element, ';') {
				name, value, _ := strings.Cut(pair, "=")
				value = strings.Trim(strings.Trim(value, " \t"), `"`)
				switch name = strings.Trim(name, " \t"); {
				case strings.EqualFold(name, "for"):
					hop = value
				case strings.EqualFold(name, "proto"):
					proto = value
				}
			}
			hops, protocol = append(hops, hop), proto
		}
	}
	return hops, protocol
}

// split splits at a separator that is not in quotes.
func split(s string, at byte) (out []string) {
	quoted, begin := false, 0
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == at && !quoted:
			out, begin = append(out, s[begin:i]), i+1
		}
	}
	if rest := s[begin:]; strings.Trim(rest, " \t") != "" {
		out = append(out, rest)
	}
	return out
}

// node is the address of a hop, with or without a port.
func node(s string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	return a.Unmap().WithZone(""), err == nil
}

package safedial

import (
	"net/netip"
	"slices"
	"strings"
)

// special are the ranges that are not public, with the reason a person reads.
// IPv4 ranges are checked after an IPv4 address is taken out of an IPv6 one.
// First match wins.
var special = []struct {
	prefix netip.Prefix
	reason string
}{
	// RFC 1122 §3.2.1.3; Linux connects 0.0.0.0 to the machine itself.
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},              // RFC 1918
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier-grade NAT address"}, // RFC 6598; also Alibaba's metadata 100.100.100.200
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},            // RFC 1122
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},       // RFC 3927; cloud metadata 169.254.169.254
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},           // RFC 1918
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},           // RFC 6890; Oracle's metadata 192.0.0.192
	{netip.MustParsePrefix("192.0.2.0/24"), "a documentation address"},      // RFC 5737
	{netip.MustParsePrefix("192.31.196.0/24"), "a reserved address"},        // RFC 7535, AS112
	{netip.MustParsePrefix("192.52.193.0/24"), "a reserved address"},        // RFC 7450, AMT
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay address"},       // RFC 7526
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},          // RFC 1918
	{netip.MustParsePrefix("192.175.48.0/24"), "a reserved address"},        // RFC 7534, AS112
	{netip.MustParsePrefix("198.18.0.0/15"), "a benchmarking address"},      // RFC 2544
	{netip.MustParsePrefix("198.51.100.0/24"), "a documentation address"},
	{netip.MustParsePrefix("203.0.113.0/24"), "a documentation address"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"}, // RFC 5771
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},  // RFC 1112 §4, with 255.255.255.255
	// Azure's wire server: a public address that only answers from inside.
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud metadata address"},

	{netip.MustParsePrefix("::/128"), "an unspecified address"},
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("::/96"), "a reserved address"},           // IPv4-compatible, deprecated by RFC 4291
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "a reserved address"}, // IPv4-translated, RFC 2765
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a private address"},   // local-use NAT64, RFC 8215
	{netip.MustParsePrefix("100::/64"), "a discard address"},         // RFC 6666
	{netip.MustParsePrefix("100:0:0:1::/64"), "a reserved address"},  // RFC 9780
	{netip.MustParsePrefix("2001::/23"), "a reserved address"},       // RFC 2928, Teredo among them
	{netip.MustParsePrefix("2001:db8::/32"), "a documentation address"},
	{netip.MustParsePrefix("2620:4f:8000::/48"), "a reserved address"}, // RFC 7534
	{netip.MustParsePrefix("3fff::/20"), "a documentation address"},    // RFC 9637
	{netip.MustParsePrefix("5f00::/16"), "a reserved address"},         // RFC 9602, segment routing
	{netip.MustParsePrefix("fc00::/7"), "a private address"},           // RFC 4193; AWS metadata fd00:ec2::254
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("fec0::/10"), "a site-local address"}, // RFC 3879
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
}

var (
	nat64   = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	sixTo4  = netip.MustParsePrefix("2002::/16")    // RFC 3056
	global6 = netip.MustParsePrefix("2000::/3")     // the only space IANA has assigned for unicast
)

// metadata are the addresses where clouds answer with a machine's credentials, and
// the ranges they lie in that no upstream of ours uses.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"), // most clouds: 169.254.169.254
	netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("192.0.0.192/32"),
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("fd00:ec2::/32"),
	netip.MustParsePrefix("fe80::/10"),
}

// Metadata reports whether a cloud may keep the credentials of machines at a. IPv4
// addresses inside IPv6 ones (mapped, NAT64, 6to4) are judged as what they reach.
func Metadata(a netip.Addr) bool {
	a = embedded(a.WithZone("").Unmap())
	return slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(a) })
}

// embedded is the IPv4 address that an IPv6 address of NAT64 or 6to4 reaches; a itself
// when it is another.
func embedded(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return a
	}
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixTo4.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}

// Blocked says why an address is not public, or "" when it is. IPv4 addresses
// inside IPv6 ones (mapped, NAT64, 6to4) are judged as what they reach.
func Blocked(a netip.Addr) string {
	if !a.IsValid() {
		return "not an address"
	}
	if a.Zone() != "" {
		return "an address with a zone"
	}
	a = a.Unmap()
	if v4 := embedded(a); v4 != a {
		return Blocked(v4)
	}
	for i := range special {
		if special[i].prefix.Contains(a) {
			return special[i].reason
		}
	}
	if a.Is6() && !global6.Contains(a) {
		return "a reserved address"
	}
	return ""
}

// Loopback reports whether a host of a URL is this machine's loopback interface, by its
// address or as "localhost". No name is looked up.
func Loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.Unmap().IsLoopback()
}

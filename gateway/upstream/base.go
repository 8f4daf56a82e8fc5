package upstream

import (
	"cmp"
	"net"
	"net/url"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Base is a parsed base URL: where the requests of a connector go.
type Base struct {
	origin string // scheme://host[:port], as sent
	key    string // as [registry.OriginOf] writes it
	addr   string // host:port to dial
	name   string // what people are told; "": addr
	path   string // without trailing slash; may be empty
	tls    bool
}

// ParseBase parses an absolute http or https URL without credentials, query or
// fragment. It fails with [problem.InvalidArgument] and does not repeat the URL,
// which may hold what should not be shown.
func ParseBase(s string) (Base, error) {
	u, err := url.Parse(s)
	fault := ""
	switch {
	case err != nil:
		fault = "cannot be parsed"
	case u.Scheme != "http" && u.Scheme != "https":
		fault = "must start with http:// or https://"
	case u.Hostname() == "" || strings.ContainsAny(u.Host, " \t\r\n@/\\"):
		fault = "has no valid host"
	case u.User != nil:
		fault = "must not hold credentials"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		fault = "must not have a query or fragment"
	case strings.ContainsAny(s, "{}"):
		fault = "has variables that are not filled in"
	}
	if fault != "" {
		return Base{}, problem.New(problem.InvalidArgument, "the base URL %s", fault).
			Fix("set the base URL of the toolset, for example https://api.example.com/v1")
	}
	b := Base{tls: u.Scheme == "https", path: strings.TrimRight(u.EscapedPath(), "/")}
	port := u.Port()
	if port == "" {
		port = "80"
		if b.tls {
			port = "443"
		}
	}
	b.addr = net.JoinHostPort(u.Hostname(), port)
	b.origin = u.Scheme + "://" + u.Host
	if b.key, err = registry.OriginOf(b.origin); err != nil {
		return Base{}, err
	}
	return b, nil
}

// StdioBase is the place of a command: its address is dialed by the client of commands
// only, and no URL that a person or a specification names leads there.
func StdioBase(id string) Base {
	origin := registry.SchemeStdio + "://" + id
	return Base{origin: origin, key: origin, addr: id, name: "the command of the MCP server"}
}

// Zero reports whether b is the zero Base, which has no place to send to.
func (b *Base) Zero() bool { return b.origin == "" }

// Addr is the "host:port" that is dialed.
func (b *Base) Addr() string { return b.addr }

// Name is what people read of it: the address, except where that is not a place they know.
func (b *Base) Name() string { return cmp.Or(b.name, b.addr) }

// Origin is scheme, host and port, without path.
func (b *Base) Origin() string { return b.origin }

// Key is Origin in the form in which credentials name where they may be sent.
func (b *Base) Key() string { return b.key }

// AppendURL appends the absolute URL of a target, which starts with "/" and is
// already encoded.
func (b *Base) AppendURL(dst, target []byte) []byte {
	dst = append(dst, b.origin...)
	dst = append(dst, b.path...)
	return append(dst, target...)
}

package registry

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// MaxOrigins of one credential: the servers of one API. The largest specification
// that was seen names nine.
const MaxOrigins = 64

// Origins are the places that a credential may be sent to: scheme, host and port of
// each in the serialization of RFC 6454 §6.2, such as "https://api.example.com" or
// "http://127.0.0.1:8080". The default port of the scheme is left out and letters
// are lower case. No origins at all is nowhere, never anywhere.
type Origins []string

// SchemeStdio begins the address of an MCP server that is a process of the node that has
// it: "stdio://" and the id of its command. It is its own origin, and nothing but that
// node's client of MCP servers reaches it.
const SchemeStdio = "stdio"

// IsStdio reports whether an address is that of a command.
func IsStdio(address string) bool { return strings.HasPrefix(address, SchemeStdio+"://") }

// OriginOf returns the origin of an absolute http or https URL, or the address of a
// command. It fails with
// [problem.InvalidArgument] and does not repeat the URL, which may hold what should
// not be shown.
func OriginOf(absolute string) (string, error) {
	u, err := url.Parse(absolute)
	bad := err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != SchemeStdio || u.Hostname() == "" || strings.ContainsAny(u.Host, " \t\r\n@/\\{}")
	if bad {
		return "", problem.New(problem.InvalidArgument, "the address is not an http or https URL with a host").
			Fix("use an address such as https://api.example.com")
	}
	host := strings.ToLower(u.Host)
	return u.Scheme + "://" + string(withoutDefaultPort(u.Scheme, []byte(host))), nil
}

// withoutDefaultPort cuts ":443" of https and ":80" of http, and a colon without a
// port (RFC 3986 §6.2.3).
func withoutDefaultPort(scheme string, host []byte) []byte {
	port := ":80"
	if scheme == "https" {
		port = ":443"
	}
	if cut := len(host) - len(port); cut > 0 && string(host[cut:]) == port {
		return host[:cut]
	}
	return bytes.TrimSuffix(host, []byte{':'})
}

// Allow reports whether a request to host, which may have a port, may carry the
// credential. Both are in lower case. It allocates nothing.
func (o Origins) Allow(scheme, host []byte) bool {
	if string(scheme) == "https" {
		host = withoutDefaultPort("https", host)
	} else {
		host = withoutDefaultPort("http", host)
	}
	for _, a := range o {
		n := len(scheme)
		if len(a) == n+len("://")+len(host) && a[:n] == string(scheme) && a[n:n+3] == "://" && a[n+3:] == string(host) {
			return true
		}
	}
	return false
}

// Has reports whether an origin, as [OriginOf] returns it, is one of o.
func (o Origins) Has(origin string) bool { return slices.Contains(o, origin) }

// Missing returns the origins of wanted that are not in o; nil: there are none.
func (o Origins) Missing(wanted Origins) Origins {
	var out Origins
	for _, a := range wanted {
		if !o.Has(a) {
			out = append(out, a)
		}
	}
	return out
}

// With returns the sorted union of o and more.
func (o Origins) With(more ...string) Origins {
	out := append(slices.Clone(o), more...)
	slices.Sort(out)
	return slices.Compact(out)
}

// String lists the origins for people.
func (o Origins) String() string {
	if len(o) == 0 {
		return "no address"
	}
	return strings.Join(o, ", ")
}

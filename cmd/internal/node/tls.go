package node

import (
	"crypto/x509"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/tlsfiles"
)

// openTLS reads the certificate of a listener, which is followed while the node runs.
func (n *Node) openTLS(name string, files tlsfiles.Files, changed func(*x509.Certificate)) (*tlsfiles.Source, error) {
	s, err := tlsfiles.Open(tlsfiles.Options{Files: files, Name: name, Changed: changed, Logger: n.o.Logger})
	if err != nil {
		return nil, err
	}
	n.follows, n.sources = append(n.follows, s), append(n.sources, s)
	n.meter.Gauge(metering.Series("sluice_certificate_expiry_timestamp_seconds", "listener", strings.TrimPrefix(name, "the ")),
		func() float64 { return float64(s.Leaf().NotAfter.Unix()) })
	return s, nil
}

// certificateFault is what is wrong with the first certificate of a file that clients refuse, or that
// cannot be served.
func (n *Node) certificateFault() error {
	for _, s := range n.sources {
		if err := s.Fault(time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// certifiedURL is where clients reach a listener that shows a certificate: by a name that
// the certificate is for, that of this machine if it is.
func certifiedURL(at net.Addr, leaf *x509.Certificate) string {
	address := reachable(at)
	host, port, err := net.SplitHostPort(address)
	if err != nil || leaf.VerifyHostname(host) == nil {
		return "https://" + address
	}
	names := tlsfiles.Names(leaf)
	for _, name := range names {
		if name == "localhost" || !strings.Contains(name, "*") && !safedial.Loopback(name) {
			return "https://" + net.JoinHostPort(name, port)
		}
	}
	return "https://" + address
}

// localNames are the names of a certificate by which a gateway on loopback is called, by
// a proxy that passes TLS on or over a tunnel. Elsewhere all names are served.
func localNames(listen string, leaf *x509.Certificate) []string {
	host, _, err := net.SplitHostPort(listen)
	if err != nil || !safedial.Loopback(host) {
		return nil
	}
	return slices.DeleteFunc(tlsfiles.Names(leaf), func(name string) bool { return strings.Contains(name, "*") })
}

// listensLocally reports whether an address to listen on is on loopback.
func listensLocally(listen string) bool {
	a, err := net.ResolveTCPAddr("tcp", listen)
	return err == nil && a.IP.IsLoopback()
}

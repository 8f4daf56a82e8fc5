package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tlsfault"
)

// errOtherCertificate: the node of a data directory showed another certificate than it
// wrote down there.
var errOtherCertificate = errors.New("the admin API shows another certificate than the node of the data directory has")

// caFile is the file of an authority to trust besides those of the machine; "" none.
func (a *app) caFile() (string, error) {
	if name := first(a.flags.ca, a.env.ca); name != "" {
		return name, nil
	}
	c, err := a.chosenContext()
	return c.CA, err
}

// rootsWith are the authorities of the machine and those of a file in PEM.
func rootsWith(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "the file of the certificate authority cannot be read").At(file, 0, 0, "").Because(err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a machine without authorities
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, problem.New(problem.InvalidArgument, "the file of the certificate authority holds no certificate in PEM").At(file, 0, 0, "").
			Fix("give the certificate that signed the server's, as -----BEGIN CERTIFICATE-----")
	}
	return roots, nil
}

// tlsUnreachable says what is wrong with the certificate of the server of a request that
// failed; nil when it is something else.
func tlsUnreachable(err error) *problem.Error {
	if errors.Is(err, errOtherCertificate) {
		return problem.New(problem.Unreachable, "%s", errOtherCertificate).Fix("see that the node of this data directory runs, and nothing else on its port").Because(err)
	}
	server := "the server"
	if uerr, ok := errors.AsType[*url.Error](err); ok {
		if u, perr := url.Parse(uerr.URL); perr == nil && u.Hostname() != "" {
			server = u.Hostname()
		}
	}
	return tlsfault.Of(err, server, "--ca", time.Now())
}

// readEndpoint reads an endpoint file, and which certificate its node shows; pin is ""
// without TLS.
func (a *app) readEndpoint(path string) (at, pin string, err error) {
	s, err := a.readSecretFile(path)
	if err != nil {
		return "", "", err
	}
	if at = s.Reveal(); !strings.HasPrefix(at, "https:") {
		return at, "", nil
	}
	p, err := a.readSecretFile(path + datadir.PinSuffix)
	if err != nil || !strings.HasPrefix(p.Reveal(), datadir.PinPrefix) {
		return at, "", nil //nolint:nilerr // of a node before this version: its certificate is verified as any
	}
	return at, p.Reveal(), nil
}

// pin makes a client trust exactly one server certificate, whatever names it has.
func pin(hc *http.Client, digest string) {
	t, ok := hc.Transport.(*http.Transport)
	if !ok {
		panic("BUG: the HTTP client has another transport")
	}
	t.TLSClientConfig = &tls.Config{
		MinVersion: tls.VersionTLS12,
		//nolint:gosec // what is verified instead is stricter: the very certificate
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || datadir.Pin(s.PeerCertificates[0].Raw) != digest {
				return errOtherCertificate
			}
			return nil
		},
	}
}

// dialable is where a listening address is reached on this machine.
func dialable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

package client

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"

	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/internal/problem"
)

// pinSuffix is of the file beside an endpoint file with the digest of the certificate
// that the node shows, by which commands on this machine know it whatever its names are;
// pinPrefix begins its line.
const (
	PinSuffix = ".pin"
	PinPrefix = "sha256:"
)

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

// Pin makes a client trust exactly one server certificate, whatever names it has.
func Pin(hc *http.Client, digest string) {
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
				return exit.ErrOtherCertificate
			}
			return nil
		},
	}
}

// Dialable is where a listening address is reached on this machine.
func Dialable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

package tlsfault_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tlsfault"
)

// serverWith runs a server with a certificate of an own authority.
func serverWith(t *testing.T, from, to time.Time, names ...string) (url string, roots *x509.CertPool) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Own Authority"}, NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, NotBefore: from, NotAfter: to, DNSNames: names}
	if names == nil {
		leaf.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	root, err := x509.CreateCertificate(rand.Reader, authority, authority, public, private)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, authority, public, private)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(root)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(parsed)
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}, MinVersion: tls.VersionTLS12}
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, roots
}

func TestOf(t *testing.T) {
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	good, roots := serverWith(t, past, future)
	other, otherRoots := serverWith(t, past, future, "control.example", "b.example")
	old, oldRoots := serverWith(t, past.Add(-time.Hour), past)
	early, earlyRoots := serverWith(t, future, future.Add(time.Hour))
	for _, c := range []struct {
		name, url string
		roots     *x509.CertPool
		want, fix string
	}{
		{"good", good, roots, "", ""},
		{"unknown authority", good, x509.NewCertPool(), "signed by “CN=Own Authority”", "--ca FILE"},
		{"another name", other, otherRoots, "is for another name: it has control.example, b.example", "use a name that it has"},
		{"expired", old, oldRoots, "expired on " + past.UTC().Format("2006-01-02"), "renew it"},
		{"too early", early, earlyRoots, "not valid before", "set the clock"},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), roots, "does not speak TLS", "http://"},
		{"nobody listens", "https://127.0.0.1:1", roots, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			hc := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12}}}
			defer hc.CloseIdleConnections()
			resp, err := hc.Get(c.url)
			if err == nil {
				_ = resp.Body.Close()
			}
			p := tlsfault.Of(err, "127.0.0.1", "--ca", time.Now())
			switch {
			case c.want == "" && p != nil:
				t.Errorf("%v is %v", err, p)
			case c.want != "" && (p == nil || p.Kind != problem.Unreachable || !strings.Contains(p.Detail, c.want) || !strings.Contains(p.Remedy, c.fix)):
				t.Errorf("%v is %+v", err, p)
			}
		})
	}
}

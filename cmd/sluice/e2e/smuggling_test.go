package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/http1/http1test"
)

// TestSmuggling sends every request that servers disagree about to the three
// listeners of a control plane's node and of an edge's.
func TestSmuggling(t *testing.T) {
	t.Run("listener=admin", func(t *testing.T) {
		n := startSluice(t, "--demo")
		http1test.Check(t, http1test.Target{Addr: n.admin, Host: "localhost", Path: "/v1/toolsets", Next: "/livez", Head: "Content-Type: application/json\r\n"})
		t.Run("listener=gateway", func(t *testing.T) {
			http1test.Check(t, http1test.Target{Addr: n.gateway, Host: "localhost", Path: "/t/demo", Next: "/livez", Head: "Content-Type: application/json\r\n"})
		})
	})
	t.Run("listener=admin with TLS", func(t *testing.T) {
		certificate, key, client := selfSigned(t)
		n := startSluice(t, "--demo", "--admin-tls-cert", certificate, "--admin-tls-key", key)
		http1test.Check(t, http1test.Target{Addr: n.admin, TLS: client, Host: "localhost", Path: "/v1/toolsets", Next: "/livez", Head: "Content-Type: application/json\r\n"})
	})
	t.Run("listener=operations", func(t *testing.T) {
		p := startPlane(t)
		e := p.edge("one", p.join)
		http1test.Check(t, http1test.Target{Addr: e.ops, Host: "localhost", Path: "/metrics", Next: "/livez"})
	})
}

// selfSigned writes a certificate for localhost and its key into files.
func selfSigned(t *testing.T) (certificate, key string, client *tls.Config) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	write := func(name, kind string, b []byte) string {
		name = filepath.Join(t.TempDir(), name)
		p := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b})
		if err := os.WriteFile(name, p, 0o600); err != nil {
			t.Fatal(err)
		}
		roots.AppendCertsFromPEM(p)
		return name
	}
	certificate, key = write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", text)
	return certificate, key, &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12}
}

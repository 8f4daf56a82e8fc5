// Package tlsfilestest issues certificates for tests, by an authority of each test's own.
package tlsfilestest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	PEM         []byte
	Roots       *x509.CertPool // with it alone
	key         *ecdsa.PrivateKey
}

// New makes an authority.
func New(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &Authority{key: key, Roots: x509.NewCertPool()}
	now := time.Now()
	der, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(1000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	if a.Certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	a.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	a.Roots.AddCert(a.Certificate)
	return a, nil
}

// Must makes an authority, or fails the test.
func Must(t testing.TB, name string) *Authority {
	t.Helper()
	a, err := New(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Issued is a certificate with its key, in PEM.
type Issued struct{ Certificate, Key []byte }

// Issue signs a certificate for servers and clients that ends after a time, for names
// and addresses.
func (a *Authority) Issue(life time.Duration, names ...string) (Issued, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Issued{}, err
	}
	end := time.Now().Add(life)
	c := &x509.Certificate{
		NotBefore: end.Add(-100 * 24 * time.Hour), NotAfter: end, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	if len(names) > 0 {
		c.Subject.CommonName = names[0]
	}
	der, err := sign(c, a.Certificate, &key.PublicKey, a.key)
	if err != nil {
		return Issued{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	return Issued{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}, err
}

// Must is Issue, or fails the test.
func (a *Authority) Must(t testing.TB, life time.Duration, names ...string) Issued {
	t.Helper()
	i, err := a.Issue(life, names...)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// Pair is the certificate for crypto/tls.
func (i Issued) Pair(t testing.TB) tls.Certificate {
	t.Helper()
	p, err := tls.X509KeyPair(i.Certificate, i.Key)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Write writes the files NAME.pem and NAME.key into a directory.
func (i Issued) Write(t testing.TB, dir, name string) (certificate, key string) {
	t.Helper()
	certificate, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for file, b := range map[string][]byte{certificate: i.Certificate, key: i.Key} {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}

func sign(c, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		return nil, err
	}
	if c.SerialNumber = serial; parent == nil {
		parent = c
	}
	return x509.CreateCertificate(rand.Reader, c, parent, public, key)
}

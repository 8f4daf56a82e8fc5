package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// tlsShape is the answer of the calls: that of most of them.
const tlsShape = "object.2k"

// benchTLS compares calls of two nodes that differ in nothing but --tls-cert, over kept
// connections. The client pays for TLS too, on the same processors.
func benchTLS(ctx context.Context, b *bench) error {
	dir, err := os.MkdirTemp("", "sluice-bench-tls-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cert, key, client, err := writeCertificate(dir)
	if err != nil {
		return err
	}
	r := &restRig{b: b, measure: restDuration}
	defer r.Close()
	if r.up, err = b.role(ctx, "rest-upstream"); err != nil {
		return err
	}
	spec := filepath.Join(dir, "openapi.json")
	doc, err := restSpecification("http://" + r.up.addr)
	if err != nil {
		return err
	}
	if err := os.WriteFile(spec, doc, 0o600); err != nil {
		return err
	}
	for _, secure := range []*tls.Config{nil, client} {
		args, name := []string{spec, "--slug", "acme"}, "plain"
		if secure != nil {
			args, name = append(args, "--tls-cert", cert, "--tls-key", key), "tls"
		}
		n, err := b.node(filepath.Join(dir, name), args...)
		if err != nil {
			return err
		}
		r.nodes = append(r.nodes, restServer{profile: name, child: n.child, addr: n.gateway, tls: secure})
		if secure != nil {
			n.scheme, n.client.Transport = "https://", &http.Transport{TLSClientConfig: secure}
		}
		if err := n.ready(ctx); err != nil {
			return err
		}
		if err := n.poll(ctx, func() error { _, err := n.list(ctx, "acme"); return err }); err != nil {
			return err
		}
	}
	shape := restShapes[slices.IndexFunc(restShapes, func(s restShape) bool { return s.name == tlsShape })]
	figures := make([][]restFigures, len(r.nodes))
	for range b.count {
		for i, n := range r.nodes {
			f, err := r.round(ctx, n, shape)
			if err != nil {
				return fmt.Errorf("%s: %w", n.profile, err)
			}
			figures[i] = append(figures[i], f)
		}
	}
	rate := func(f restFigures) float64 { return f.rate }
	cpu := func(f restFigures) float64 { return f.cpu }
	b.report("tls.call.vs_plain", medianRatio(figures[1], figures[0], rate), fmt.Sprintf("%.0f over %.0f requests/s, %s over %s of processor time each",
		medianOf(figures[1], rate), medianOf(figures[0], rate), nanoseconds(medianOf(figures[1], cpu)*1e9), nanoseconds(medianOf(figures[0], cpu)*1e9)))
	return nil
}

// writeCertificate writes a certificate of this machine and its key, and returns how a
// client speaks to it.
func writeCertificate(dir string) (cert, key string, client *tls.Config, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(100 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return "", "", nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", nil, err
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(cert, text, 0o600); err != nil {
		return "", "", nil, err
	}
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600); err != nil {
		return "", "", nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return cert, key, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}, nil
}

package tlsfiles

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

const (
	// maxFileBytes of a chain, a key or a list of authorities: all public authorities
	// of the web have a quarter of that.
	maxFileBytes = 1 << 20
	// maxChain certificates are sent in each handshake: a client that gets more than
	// it needs waits for it.
	maxChain = 10
)

// suites of TLS 1.2 that are offered: with forward secrecy and authenticated
// encryption. Those of TLS 1.3 are not to be chosen, and all are like that.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// Config is the TLS of a listener, still without a certificate.
func Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: suites, NextProtos: []string{"http/1.1"}}
}

// load reads the files.
func load(o Options) (*loaded, error) {
	pair, err := loadPair(o)
	if err != nil {
		return nil, err
	}
	c := Config()
	c.Certificates = []tls.Certificate{pair}
	if o.ClientCA != "" {
		if c.ClientCAs, err = authorities(o); err != nil {
			return nil, err
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
		// A resumed session is not asked again: a client whose authority was taken out
		// of the file would stay.
		c.SessionTicketsDisabled = true
	}
	return &loaded{leaf: pair.Leaf, config: c}, nil
}

func loadPair(o Options) (pair tls.Certificate, err error) {
	chain, err := read(o, "certificate", o.Certificate)
	if err != nil {
		return pair, err
	}
	key, err := read(o, "private key", o.Key)
	if err != nil {
		return pair, err
	}
	defer clear(key)
	certificates, keys := blocks(chain)
	switch {
	case certificates == 0 && keys > 0:
		return pair, invalid(o.Certificate, "the file of the certificate of %s holds a private key and no certificate", o.Name).Fix("certificate and key may have been given the wrong way round")
	case certificates == 0:
		return pair, invalid(o.Certificate, "the file of the certificate of %s holds no certificate in PEM", o.Name).Fix("give the chain, -----BEGIN CERTIFICATE-----, its own certificate first")
	case certificates > maxChain:
		return pair, invalid(o.Certificate, "the file of the certificate of %s holds %d certificates, more than %d", o.Name, certificates, maxChain).Fix("leave what signs no other of them out")
	}
	if _, keys = blocks(key); keys == 0 {
		return pair, invalid(o.Key, "the file of the private key of %s holds no private key in PEM", o.Name).Fix("give the key, -----BEGIN PRIVATE KEY-----")
	}
	if encrypted(key) {
		return pair, invalid(o.Key, "the private key of %s has a passphrase", o.Name).Fix("keep it without one, readable for the user of sluice only: openssl pkey -in FILE -out NEW")
	}
	if pair, err = tls.X509KeyPair(chain, key); err != nil {
		why := strings.TrimPrefix(err.Error(), "tls: ")
		file := o.Certificate
		if strings.Contains(why, "private key") {
			file = o.Key
		}
		if strings.Contains(why, "does not match") {
			why = fmt.Sprintf("the private key is not that of the certificate in %s", o.Certificate)
		}
		return pair, invalid(file, "the certificate of %s cannot be used: %s", o.Name, why).Fix("give the key that the certificate was issued for").Because(err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return pair, invalid(o.Certificate, "the certificate of %s cannot be read", o.Name).Because(err)
		}
	}
	return pair, nil
}

// authorities reads those of client certificates.
func authorities(o Options) (*x509.CertPool, error) {
	b, err := read(o, "authority of client certificates", o.ClientCA)
	if err != nil {
		return nil, err
	}
	pool, n := x509.NewCertPool(), 0
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			return nil, invalid(o.ClientCA, "the file of the authorities of client certificates of %s holds something that is not a certificate", o.Name).Fix("give certificates in PEM only").Because(err)
		}
		if !c.IsCA {
			return nil, invalid(o.ClientCA, "the file of the authorities of client certificates of %s holds the certificate of “%.100s”, which may sign no others", o.Name, c.Subject.CommonName).
				Fix("give the certificate of the authority that signs those of the clients")
		}
		pool.AddCert(c)
		n++
	}
	if n == 0 {
		return nil, invalid(o.ClientCA, "the file of the authorities of client certificates of %s holds no certificate in PEM", o.Name)
	}
	return pool, nil
}

// read reads a file of at most maxFileBytes.
func read(o Options, what, file string) ([]byte, error) {
	f, err := os.Open(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, invalid(file, "the file of the %s of %s is missing", what, o.Name).Because(err)
	case errors.Is(err, fs.ErrPermission):
		return nil, invalid(file, "the file of the %s of %s may not be read by the user that sluice runs as", what, o.Name).Fix("let that user read it, and nobody else: chown, chmod 600").Because(err)
	case err != nil:
		return nil, invalid(file, "the file of the %s of %s cannot be read", what, o.Name).Because(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, invalid(file, "the file of the %s of %s cannot be read", what, o.Name).Because(err)
	}
	if len(b) > maxFileBytes {
		return nil, invalid(file, "the file of the %s of %s is larger than %d bytes", what, o.Name, maxFileBytes)
	}
	return b, nil
}

// blocks counts the certificates and the private keys of a file in PEM.
func blocks(b []byte) (certificates, keys int) {
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			return certificates, keys
		}
		switch {
		case block.Type == "CERTIFICATE":
			certificates++
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			keys++
		}
	}
}

// encrypted reports whether the key of a file has a passphrase (PKCS #8, RFC 7468 §11,
// and the older form of OpenSSL).
func encrypted(b []byte) bool {
	return bytes.Contains(b, []byte("BEGIN ENCRYPTED PRIVATE KEY")) || bytes.Contains(b, []byte("Proc-Type: 4,ENCRYPTED"))
}

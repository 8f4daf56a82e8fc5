package tlsfiles_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tlsfiles"
	"github.com/sluicegate/sluice/internal/tlsfiles/tlsfilestest"
)

const fresh = 50 * 24 * time.Hour

// shake makes a handshake between a client and the source, and returns the certificate
// that the client was shown.
func shake(t *testing.T, s *tlsfiles.Source, client *tls.Config) (*x509.Certificate, error) {
	t.Helper()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", s.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if nc, err := ln.Accept(); err == nil {
			_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = io.WriteString(nc, "x") // what fails is seen by the client
			_ = nc.Close()
		}
	}()
	d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: client}
	nc, err := d.DialContext(t.Context(), "tcp", ln.Addr().String())
	var leaf *x509.Certificate
	if err == nil {
		_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
		_, err = io.ReadFull(nc, make([]byte, 1)) // with TLS 1.3 the server judges the client's certificate after the handshake
		leaf = nc.(*tls.Conn).ConnectionState().PeerCertificates[0]
		_ = nc.Close()
	}
	<-done
	return leaf, err
}

func write(t *testing.T, file string, b []byte) {
	t.Helper()
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	// Whatever the clock of the file system: another time than before.
	ticks++
	at := time.Now().Add(time.Duration(ticks) * time.Second)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

var ticks int

// TestSwappedFolder: a link that leads to another folder, as mounted volumes are swapped, is
// noticed also when the files there have the size and the time of those before.
func TestSwappedFolder(t *testing.T) {
	ca, dir := tlsfilestest.Must(t, "authority"), t.TempDir()
	at := time.Unix(1, 0)
	for _, name := range []string{"a.example", "b.example"} {
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		issued := ca.Must(t, fresh, name)
		for file, content := range map[string][]byte{"tls.crt": issued.Certificate, "tls.key": issued.Key} {
			file = filepath.Join(folder, file)
			padded := append(content, bytes.Repeat([]byte("\n"), 2000-len(content))...)
			if err := errors.Join(os.WriteFile(file, padded, 0o600), os.Chtimes(file, at, at)); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := filepath.Join(dir, "..data")
	swap := func(name string) {
		t.Helper()
		if err := errors.Join(os.Symlink(name, link+".new"), os.Rename(link+".new", link)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	swap("a.example")
	s, err := tlsfiles.Open(tlsfiles.Options{Files: tlsfiles.Files{Certificate: filepath.Join(link, "tls.crt"), Key: filepath.Join(link, "tls.key")}, Name: "the gateway"})
	if err != nil {
		t.Fatal(err)
	}
	swap("b.example")
	s.Poll(time.Now())
	if got := s.Leaf().DNSNames[0]; got != "b.example" {
		t.Errorf("the certificate of %s is served", got)
	}
}

// TestReload: what replaces the files is served from the next handshake on, what cannot
// be used is not and is said once, and a change of both files that is seen halfway is
// said to nobody.
func TestReload(t *testing.T) {
	ca, dir := tlsfilestest.Must(t, "authority"), t.TempDir()
	first, second := ca.Must(t, fresh, "a.example"), ca.Must(t, fresh, "b.example")
	cert, key := first.Write(t, dir, "gw")
	var log bytes.Buffer
	var changed []string
	s, err := tlsfiles.Open(tlsfiles.Options{
		Files: tlsfiles.Files{Certificate: cert, Key: key}, Name: "the gateway", Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Changed: func(c *x509.Certificate) { changed = append(changed, c.DNSNames...) },
	})
	if err != nil {
		t.Fatal(err)
	}
	serves := func(name string) {
		t.Helper()
		got, err := shake(t, s, &tls.Config{RootCAs: ca.Roots, ServerName: name, MinVersion: tls.VersionTLS12})
		if err != nil || got.DNSNames[0] != name || s.Leaf().DNSNames[0] != name {
			t.Fatalf("want the certificate of %s: %v, %v", name, got, err)
		}
	}
	poll := func() { s.Poll(time.Now()) }
	serves("a.example")
	poll()
	// Halfway: the new certificate and the old key.
	write(t, cert, second.Certificate)
	poll()
	serves("a.example")
	if s.Fault(time.Now()) == nil || log.Len() > 0 {
		t.Fatalf("halfway: %v, %s", s.Fault(time.Now()), &log)
	}
	write(t, key, second.Key)
	poll()
	serves("b.example")
	if s.Fault(time.Now()) != nil || strings.Contains(log.String(), "level=ERROR") || len(changed) != 1 || changed[0] != "b.example" {
		t.Fatalf("%v, changed %q: %s", s.Fault(time.Now()), changed, &log)
	}
	// For good.
	log.Reset()
	for file, content := range map[string]string{cert: "nonsense", key: "nonsense"} {
		write(t, file, []byte(content))
	}
	for range 5 {
		poll()
		serves("b.example")
	}
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		poll()
	}
	serves("b.example")
	if got := strings.Count(log.String(), "level=ERROR"); got != 2 || !strings.Contains(log.String(), "holds no certificate in PEM") || !strings.Contains(log.String(), "is missing") {
		t.Errorf("%d errors are logged, want one of each state: %s", got, &log)
	}
	write(t, cert, first.Certificate)
	write(t, key, first.Key)
	poll()
	serves("a.example")
	// One that has expired does not replace one that has not.
	log.Reset()
	old := ca.Must(t, time.Hour, "old.example")
	write(t, cert, old.Certificate)
	write(t, key, old.Key)
	for range 2 {
		s.Poll(time.Now().Add(2 * time.Hour))
	}
	serves("a.example")
	if s.Fault(time.Now()) == nil || !strings.Contains(log.String(), "the certificate of the gateway expired on ") {
		t.Errorf("%v: %s", s.Fault(time.Now()), &log)
	}
}

// TestRun: files are followed while it runs.
func TestRun(t *testing.T) {
	ca, dir := tlsfilestest.Must(t, "authority"), t.TempDir()
	cert, key := ca.Must(t, fresh, "a.example").Write(t, dir, "gw")
	changed := make(chan string, 1)
	s, err := tlsfiles.Open(tlsfiles.Options{
		Files: tlsfiles.Files{Certificate: cert, Key: key}, Name: "the gateway", Changed: func(c *x509.Certificate) { changed <- c.DNSNames[0] },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	second := ca.Must(t, fresh, "b.example")
	write(t, cert, second.Certificate)
	write(t, key, second.Key)
	if got := <-changed; got != "b.example" {
		t.Errorf("changed to %s", got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestExpiryIsLogged: soon, past, and not yet, and not with every look.
func TestExpiryIsLogged(t *testing.T) {
	ca, dir := tlsfilestest.Must(t, "authority"), t.TempDir()
	cert, key := ca.Must(t, fresh, "a.example").Write(t, dir, "gw")
	var log bytes.Buffer
	s, err := tlsfiles.Open(tlsfiles.Options{Files: tlsfiles.Files{Certificate: cert, Key: key}, Name: "the gateway", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if log.Len() > 0 {
		t.Fatalf("a new one: %s", &log)
	}
	day := 24 * time.Hour
	for _, c := range []struct {
		at   time.Duration
		want string
	}{
		{-15 * day, ""},
		{-13 * day, "expires soon"},
		{-13*day + time.Hour, ""},
		{-12 * day, "expires soon"},
		{time.Hour, "has expired"},
	} {
		log.Reset()
		s.Poll(s.Leaf().NotAfter.Add(c.at))
		if got := log.String(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s from its end: want %q, got %q", c.at, c.want, got)
		}
		if err := s.Fault(s.Leaf().NotAfter.Add(c.at)); (err != nil) != (c.at > 0) {
			t.Errorf("%s from its end: %v", c.at, err)
		}
	}
	log.Reset()
	cert, key = ca.Must(t, 200*day, "later.example").Write(t, dir, "later") // it begins in 100 days
	later, err := tlsfiles.Open(tlsfiles.Options{Files: tlsfiles.Files{Certificate: cert, Key: key}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := later.Fault(later.Leaf().NotBefore.Add(-time.Second)); err == nil || !strings.Contains(err.Error(), "clock") || later.Fault(later.Leaf().NotBefore) != nil {
		t.Errorf("one that begins later: %v", err)
	}
	if !strings.Contains(log.String(), "not valid yet") {
		t.Errorf("one that begins later: %s", &log)
	}
}

// TestFaults: each names the file and what to do.
func TestFaults(t *testing.T) {
	ca, dir := tlsfilestest.Must(t, "authority"), t.TempDir()
	one, two := ca.Must(t, fresh, "a.example"), ca.Must(t, fresh, "b.example")
	cert, key := one.Write(t, dir, "one")
	_, otherKey := two.Write(t, dir, "two")
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	missing := filepath.Join(dir, "missing")
	locked := file("encrypted", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
	authority := file("ca", string(ca.PEM))
	for name, c := range map[string]struct {
		files tlsfiles.Files
		at    string
		want  string
	}{
		"no certificate file":    {tlsfiles.Files{Certificate: missing, Key: key}, missing, "the certificate of the gateway is missing"},
		"no key file":            {tlsfiles.Files{Certificate: cert, Key: missing}, missing, "the private key of the gateway is missing"},
		"another's key":          {tlsfiles.Files{Certificate: cert, Key: otherKey}, otherKey, "is not that of the certificate in " + cert},
		"the wrong way round":    {tlsfiles.Files{Certificate: key, Key: cert}, key, "holds a private key and no certificate"},
		"certificate as key":     {tlsfiles.Files{Certificate: cert, Key: cert}, cert, "holds no private key"},
		"nonsense":               {tlsfiles.Files{Certificate: file("nonsense", "x"), Key: key}, filepath.Join(dir, "nonsense"), "holds no certificate"},
		"key with a passphrase":  {tlsfiles.Files{Certificate: cert, Key: locked}, locked, "has a passphrase"},
		"a directory":            {tlsfiles.Files{Certificate: dir, Key: key}, dir, "cannot be read"},
		"no client authority":    {tlsfiles.Files{Certificate: cert, Key: key, ClientCA: missing}, missing, "is missing"},
		"client CA is not a CA":  {tlsfiles.Files{Certificate: cert, Key: key, ClientCA: cert}, cert, "may sign no others"},
		"client CA is a key":     {tlsfiles.Files{Certificate: cert, Key: key, ClientCA: key}, key, "something that is not a certificate"},
		"client CA is empty":     {tlsfiles.Files{Certificate: cert, Key: key, ClientCA: file("empty", "")}, filepath.Join(dir, "empty"), "no certificate in PEM"},
		"client CA, wrong order": {tlsfiles.Files{Certificate: authority, Key: key, ClientCA: authority}, key, "is not that of the certificate"},
	} {
		_, err := tlsfiles.Open(tlsfiles.Options{Files: c.files, Name: "the gateway"})
		p := problem.As(err)
		if p == nil || p.Kind != problem.InvalidArgument || p.Place.File != c.at || !strings.Contains(p.Detail, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if os.Getuid() != 0 {
		if err := os.Chmod(key, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := tlsfiles.Open(tlsfiles.Options{Files: tlsfiles.Files{Certificate: cert, Key: key}, Name: "the gateway"}); err == nil || !strings.Contains(err.Error(), "may not be read by the user") || !strings.Contains(err.Error(), key) {
			t.Errorf("a key that may not be read: %v", err)
		}
	}
}

// TestOpenKey: a key that every user of the machine reads is served, and said.
func TestOpenKey(t *testing.T) {
	cert, key := tlsfilestest.Must(t, "authority").Must(t, fresh, "a.example").Write(t, t.TempDir(), "gw")
	for mode, want := range map[os.FileMode]bool{0o644: true, 0o640: false, 0o600: false} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		if _, err := tlsfiles.Open(tlsfiles.Options{Files: tlsfiles.Files{Certificate: cert, Key: key}, Logger: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), "can read the private key"); got != want {
			t.Errorf("mode %o: %s", mode, &log)
		}
	}
}

// TestModern: versions before TLS 1.2 and its suites without forward secrecy or
// authenticated encryption are refused.
func TestModern(t *testing.T) {
	ca := tlsfilestest.Must(t, "authority")
	cert, key := ca.Must(t, fresh, "a.example").Write(t, t.TempDir(), "gw")
	s, err := tlsfiles.Open(tlsfiles.Options{Files: tlsfiles.Files{Certificate: cert, Key: key}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		min, max uint16
		suites   []uint16
		ok       bool
	}{
		"TLS 1.3":       {tls.VersionTLS13, tls.VersionTLS13, nil, true},
		"TLS 1.2":       {tls.VersionTLS12, tls.VersionTLS12, nil, true},
		"TLS 1.1":       {tls.VersionTLS11, tls.VersionTLS11, nil, false},
		"TLS 1.0":       {tls.VersionTLS10, tls.VersionTLS10, nil, false},
		"CBC":           {tls.VersionTLS12, tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}, false},
		"ChaCha20 only": {tls.VersionTLS12, tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256}, true},
	} {
		_, err := shake(t, s, &tls.Config{RootCAs: ca.Roots, ServerName: "a.example", MinVersion: c.min, MaxVersion: c.max, CipherSuites: c.suites})
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestClientCertificates: clients show one of the authority, also after that was replaced.
func TestClientCertificates(t *testing.T) {
	ca, clients, others := tlsfilestest.Must(t, "servers"), tlsfilestest.Must(t, "clients"), tlsfilestest.Must(t, "others")
	dir := t.TempDir()
	cert, key := ca.Must(t, fresh, "a.example").Write(t, dir, "gw")
	file := filepath.Join(dir, "clients")
	write(t, file, clients.PEM)
	s, err := tlsfiles.Open(tlsfiles.Options{Files: tlsfiles.Files{Certificate: cert, Key: key, ClientCA: file}})
	if err != nil {
		t.Fatal(err)
	}
	sessions := tls.NewLRUClientSessionCache(4)
	try := func(version uint16, shown ...tls.Certificate) error {
		_, err := shake(t, s, &tls.Config{RootCAs: ca.Roots, ServerName: "a.example", MinVersion: version, MaxVersion: version, Certificates: shown, ClientSessionCache: sessions})
		return err
	}
	mine, theirs := clients.Must(t, fresh, "me").Pair(t), others.Must(t, fresh, "them").Pair(t)
	past := clients.Must(t, -time.Hour, "past").Pair(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for name, c := range map[string]struct {
			shown []tls.Certificate
			ok    bool
		}{"of the authority": {[]tls.Certificate{mine}, true}, "of another": {[]tls.Certificate{theirs}, false}, "none": {nil, false}, "expired": {[]tls.Certificate{past}, false}} {
			if err := try(version, c.shown...); (err == nil) != c.ok {
				t.Errorf("version %x, %s: %v", version, name, err)
			}
		}
	}
	write(t, file, others.PEM)
	s.Poll(time.Now())
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		if err := try(version, mine); err == nil {
			t.Errorf("version %x: a client of the authority before is let in", version)
		}
		if err := try(version, theirs); err != nil {
			t.Errorf("version %x: %v", version, err)
		}
	}
}

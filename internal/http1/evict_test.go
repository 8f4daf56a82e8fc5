package http1

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// given is a listener of connections that are there already.
type given struct{ conns chan net.Conn }

func (g given) Accept() (net.Conn, error) {
	c, ok := <-g.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (given) Close() error   { return nil }
func (given) Addr() net.Addr { return &net.TCPAddr{} }

// stuck is a connection whose client reads nothing once it is stuck.
type stuck struct {
	net.Conn
	stuck  atomic.Bool
	writes atomic.Int64
}

func (s *stuck) Write(p []byte) (int, error) {
	if s.stuck.Load() {
		s.writes.Add(1)
		return 0, errors.New("the client does not read")
	}
	return s.Conn.Write(p)
}

// TestEvictionWritesNothing: making room must not wait for the client that goes, as
// the alert with which TLS ends would.
func TestEvictionWritesNothing(t *testing.T) {
	srv := httptest.NewUnstartedServer(nil)
	srv.StartTLS() // for its certificate
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	g := given{make(chan net.Conn, 2)}
	l := Listen(g, Options{HeadBytes: 1 << 10, HeadTime: 10 * time.Second, Bodies: true, Conns: 1, TLS: &tls.Config{Certificates: srv.TLS.Certificates, MinVersion: tls.VersionTLS12}})
	client, server := net.Pipe()
	first := &stuck{Conn: server}
	g.conns <- first
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	shaken := make(chan error, 1)
	go func() {
		c := tls.Client(client, &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12})
		err := c.HandshakeContext(t.Context())
		_, _ = c.Read(make([]byte, 1)) // takes what comes behind the handshake
		shaken <- err
	}()
	if s := nc.(*tlsConn).ConnectionState(); !s.HandshakeComplete {
		t.Fatal("no handshake was made")
	}
	first.stuck.Store(true)
	_, second := net.Pipe()
	g.conns <- second
	if _, err := l.Accept(); err != nil {
		t.Fatal(err)
	}
	if n := first.writes.Load(); n != 0 || l.Open() != 1 {
		t.Errorf("%d writes to the connection that made room; %d are open", n, l.Open())
	}
	if err := <-shaken; err != nil {
		t.Error(err)
	}
}

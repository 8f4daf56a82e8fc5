package upstream

import (
	"bufio"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/sock"
)

// TestServerClosesKept: a request that may not be repeated is not sent on a connection that
// the server has closed since, without having said that it would.
func TestServerClosesKept(t *testing.T) {
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	closed := make(chan struct{})
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
			}
			_ = c.Close()
			closed <- struct{}{}
		}
	}()
	c, base := newClient(t, Options{}), mustBase(t, "http://"+ln.Addr().String())
	for i := range 10 {
		if status, body, err := do(t, c, base, http.MethodPost, "/", Limits{}, nil); err != nil || status != 200 || body != "ok" {
			t.Fatalf("call %d: %d %q %v", i, status, body, err)
		}
		<-closed
		for end := time.Now().Add(restAfter); time.Now().Before(end); {
			runtime.Gosched()
		}
	}
}

// TestUsable: a connection on which something came is used up, over TLS too; one that rested
// for a moment only is not looked at.
func TestUsable(t *testing.T) {
	more := make(chan struct{})
	srv := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(srv.Close)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: srv.TLS.Certificates, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		if c.(*tls.Conn).HandshakeContext(t.Context()) == nil { //nolint:forcetypeassert // of tls.Listen
			<-more
			_, _ = c.Write([]byte("HTTP/1.1 408 Request Timeout\r\n\r\n"))
			more <- struct{}{}
		}
	}()
	plain, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn := tls.Client(sock.New(plain), &tls.Config{InsecureSkipVerify: true})
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Second)
	if !usable(long, conn) {
		t.Error("a quiet connection is not usable")
	}
	more <- struct{}{}
	<-more
	for last, want := range map[time.Time]bool{long: false, {}: true, time.Now().Add(time.Minute): true} {
		if got := usable(last, conn); got != want {
			t.Errorf("last used %v: %v, want %v", last, got, want)
		}
	}
	if _, isTCP := plain.(*net.TCPConn); isTCP {
		if err := plain.Close(); err != nil || usable(long, plain) {
			t.Errorf("a closed connection is usable (%v)", err)
		}
	}
	if a, _ := net.Pipe(); !usable(long, a) {
		t.Error("what is no TCP connection is not usable")
	}
}

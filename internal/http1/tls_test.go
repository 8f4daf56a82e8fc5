package http1_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/http1"
	"github.com/sluicegate/sluice/internal/http1/http1test"
)

// serveTLS runs a handler behind a Listener that speaks TLS, and returns how a
// client speaks to it.
func serveTLS(t testing.TB, o http1.Options, h http.Handler) (ln *http1.Listener, client *tls.Config) {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	srv.StartTLS() // for its certificate
	t.Cleanup(srv.Close)
	o.Bodies, o.TLS = true, &tls.Config{Certificates: srv.TLS.Certificates, MinVersion: tls.VersionTLS12}
	ln = listen(t, o)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	return serveOn(t, ln, &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ConnState: http1.ConnState}),
		&tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12}
}

// whole answers every request once its body was read, with the protocol of TLS.
var whole = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if r.TLS == nil || !r.TLS.HandshakeComplete {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if r.URL.Path != "/next" && r.Header.Get("X-Refuse") != "" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxBody)); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, "%s over %q", r.Proto, r.TLS.NegotiatedProtocol)
})

// TestSmugglingOverTLS: what TLS carries is read as strictly as what comes in the
// clear.
func TestSmugglingOverTLS(t *testing.T) {
	ln, client := serveTLS(t, options(true), whole)
	for _, head := range []string{"", "X-Refuse: 1\r\n"} {
		http1test.Check(t, http1test.Target{Addr: ln.Addr().String(), TLS: client, Host: "gw.example", Path: "/echo", Next: "/next", Head: head})
	}
}

// TestProtocolsOverTLS: HTTP/1.1 is spoken with clients that can also speak HTTP/2,
// and a client that speaks nothing else is turned away in the handshake.
func TestProtocolsOverTLS(t *testing.T) {
	ln, client := serveTLS(t, options(true), whole)
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: true}}
	defer hc.CloseIdleConnections()
	res, err := hc.Post("https://"+ln.Addr().String()+"/echo", "text/plain", strings.NewReader(strings.Repeat("x", 100_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != `HTTP/1.1 over "http/1.1"` {
		t.Errorf("%d %s, %v", res.StatusCode, b, err)
	}
	only := client.Clone()
	only.NextProtos = []string{"h2"}
	if c, err := tls.Dial("tcp", ln.Addr().String(), only); err == nil {
		_ = c.Close()
		t.Error("a client of HTTP/2 alone was let in")
	}
	// No TLS at all.
	if got := http1test.Talk(t, ln.Addr().String(), "GET /next HTTP/1.1\r\nHost: h\r\n\r\n"); len(got) != 1 || got[0].Status != http.StatusBadRequest || !strings.Contains(got[0].Body, "HTTPS") {
		t.Errorf("without TLS: %+v", got)
	}
}

func dialRaw(t testing.TB, ln net.Listener) net.Conn {
	t.Helper()
	nc, err := net.DialTimeout("tcp", ln.Addr().String(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return nc
}

// ask sends a request on a connection and returns the answer.
func ask(t testing.TB, nc net.Conn, path string) *http.Response {
	t.Helper()
	if _, err := io.WriteString(nc, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res
}

// TestHandshakesHoldUpNobody: clients that begin no handshake, or do not end it, take
// the places of strangers only, and are closed when their time is over.
func TestHandshakesHoldUpNobody(t *testing.T) {
	o := options(true)
	o.Strangers = 4
	ln, client := serveTLS(t, o, whole)
	var silent []net.Conn
	for i := range o.Strangers {
		nc := dialRaw(t, ln)
		if i%2 == 1 {
			if _, err := io.WriteString(nc, "\x16\x03\x01\x02\x00\x01"); err != nil { // the beginning of a ClientHello
				t.Fatal(err)
			}
		}
		silent = append(silent, nc)
	}
	if res := ask(t, tls.Client(dialRaw(t, ln), client), "/next"); res.StatusCode != http.StatusOK {
		t.Errorf("behind clients that are silent: %d", res.StatusCode)
	}
	ended := 0
	for _, nc := range silent {
		_ = nc.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err := io.ReadAll(nc); !isTimeout(err) {
			ended++
		}
	}
	if ended != 1 {
		t.Errorf("%d connections of strangers were closed, want one", ended)
	}

	o.HeadTime = 50 * time.Millisecond
	ln, _ = serveTLS(t, o, whole)
	for _, sent := range []string{"", "\x16\x03\x01\x02\x00\x01"} {
		nc := dialRaw(t, ln)
		if _, err := io.WriteString(nc, sent); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(nc); isTimeout(err) {
			t.Errorf("a handshake of %d bytes waits for ever", len(sent))
		}
	}
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// TestBudgetsOverTLS: connections are counted as those in the clear are, and who
// finds no room is told so.
func TestBudgetsOverTLS(t *testing.T) {
	for name, set := range map[string]func(*http1.Options){
		"of all":         func(o *http1.Options) { o.Conns = 2 },
		"of one address": func(o *http1.Options) { o.ConnsPerAddress = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			o := options(true)
			set(&o)
			var refused atomic.Int64
			o.Refused = func(r http1.Reason) {
				if r == http1.Connections || r == http1.Address {
					refused.Add(1)
				}
			}
			release, served := make(chan struct{}), make(chan struct{}, o.Conns+o.ConnsPerAddress)
			ln, client := serveTLS(t, o, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/wait" {
					served <- struct{}{}
					<-release
				}
			}))
			var busy []net.Conn
			for range 2 {
				nc := tls.Client(dialRaw(t, ln), client)
				if _, err := io.WriteString(nc, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				<-served
				busy = append(busy, nc)
			}
			if n := ln.Open(); n != 2 {
				t.Errorf("%d are open, want 2", n)
			}
			res := ask(t, tls.Client(dialRaw(t, ln), client), "/next")
			if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || refused.Load() != 1 {
				t.Errorf("one past the bound: %d, Retry-After %q, %d refused", res.StatusCode, res.Header.Get("Retry-After"), refused.Load())
			}
			close(release)
			for _, nc := range busy {
				if res, err := http.ReadResponse(bufio.NewReader(nc), nil); err != nil || res.StatusCode != http.StatusOK {
					t.Errorf("a request within the bound: %v", err)
				}
			}
			// Both wait, as soon as the server knows that they were answered: one makes room.
			for res.StatusCode != http.StatusOK {
				res = ask(t, tls.Client(dialRaw(t, ln), client), "/next")
			}
			if n := ln.Open(); n > 2 {
				t.Errorf("%d are open, want 2", n)
			}
		})
	}
}

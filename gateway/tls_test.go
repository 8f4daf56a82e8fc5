package gateway_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/http1/http1test"
	"github.com/sluicegate/sluice/internal/tlsfiles/tlsfilestest"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/registry"
)

// overBoth runs a test in the clear and over TLS, which [http.DefaultClient] then trusts.
func overBoth(t *testing.T, test func(*testing.T, gatewaytest.Options)) {
	t.Run("plain", func(t *testing.T) { test(t, gatewaytest.Options{}) })
	t.Run("tls", func(t *testing.T) {
		server, roots := certified(t)
		trust(t, roots)
		test(t, gatewaytest.Options{TLS: server})
	})
}

// certified is TLS of a gateway on this machine, and the authority of its certificate.
func certified(t testing.TB) (*tls.Config, *x509.CertPool) {
	t.Helper()
	ca := tlsfilestest.Must(t, "authority")
	pair := ca.Must(t, 24*time.Hour, "localhost", "127.0.0.1").Pair(t)
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, ca.Roots
}

// trust makes the client that the tests share trust an authority until the test ends.
func trust(t testing.TB, roots *x509.CertPool) {
	t.Helper()
	before := http.DefaultClient.Transport
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		t.Fatal("the default transport is another")
	}
	transport = transport.Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	http.DefaultClient.Transport = transport
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		http.DefaultClient.Transport = before
	})
}

// TestSmugglingOverTLS: what TLS carries is framed as strictly as what comes in the clear.
func TestSmugglingOverTLS(t *testing.T) {
	server, roots := certified(t)
	for name, doc := range map[string]*registry.AccessDocument{"open": nil, "token": tokens(tokenGrant("a"))} {
		t.Run("access="+name, func(t *testing.T) {
			_, _, addr := door(t, gatewaytest.Options{TLS: server}, doc)
			http1test.Check(t, http1test.Target{
				Addr: addr, Host: "localhost", Path: "/t/acme", Next: "/livez", Head: jsonHead,
				TLS: &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12},
			})
		})
	}
}

// TestNotTLS: a client that speaks something else is told what is wrong, or nothing, and
// the listener goes on.
func TestNotTLS(t *testing.T) {
	server, roots := certified(t)
	_, _, addr := door(t, gatewaytest.Options{TLS: server}, nil)
	for name, c := range map[string]struct{ send, want string }{
		"GET":              {"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		"a large POST":     {"POST /t/acme HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n" + strings.Repeat("x", 60000), "HTTP/1.1 400 Bad Request"},
		"garbage":          {"\x00\x01\x02garbage that is not a record of TLS\r\n\r\n", ""},
		"HTTP/2":           {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ""},
		"SSH":              {"SSH-2.0-OpenSSH_9.9\r\n", ""},
		"a large record":   {"\x16\x03\x01\xff\xff" + strings.Repeat("x", 0xffff), ""},
		"half a hello":     {"\x16\x03\x01\x00\x05\x01\x00\x00\xff", ""},
		"nothing":          {"", ""},
		"an alert":         {"\x15\x03\x01\x00\x02\x02\x28", ""},
		"application data": {"\x17\x03\x03\x00\x05hello", ""},
	} {
		p := dial(t, addr, "127.0.0.1")
		_, _ = io.WriteString(p.Conn, c.send) // what is not TLS may be closed before it was all sent
		if tcp, ok := p.Conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		got, err := io.ReadAll(p.r)
		if isTimeout(err) || c.want != "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.want != "" && (!strings.HasPrefix(string(got), c.want) || !strings.Contains(string(got), "HTTP request to an HTTPS server")) || c.want == "" && strings.Contains(string(got), "HTTP/1") {
			t.Errorf("%s: %.200q", name, got)
		}
	}
	trust(t, roots)
	if status, body := get(t, "https://"+addr+"/livez"); status != http.StatusOK {
		t.Errorf("after all of them: %d %s", status, body)
	}
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// TestOldTLS: versions that are not safe are refused in the handshake.
func TestOldTLS(t *testing.T) {
	server, roots := certified(t)
	_, _, addr := door(t, gatewaytest.Options{TLS: server}, nil)
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11} {
		c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: version, MaxVersion: version})
		if err == nil {
			_ = c.Close()
			t.Errorf("version %x is spoken", version)
		} else if alert, ok := errors.AsType[tls.AlertError](err); ok && alert != 70 {
			t.Errorf("version %x: %v, want the alert protocol_version", version, err)
		}
	}
}

// TestIdleHandshakes: a thousand clients that begin no handshake, or half of one, hold up
// nobody: one that ends it is served, and connections are not above their bound.
func TestIdleHandshakes(t *testing.T) {
	server, roots := certified(t)
	s, _, addr := door(t, gatewaytest.Options{TLS: server, MaxConns: 200}, nil)
	for i := range 1000 {
		nc, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		if i%2 == 0 {
			_, _ = io.WriteString(nc, "\x16\x03\x01\x02\x00\x01") // it may be closed by now, for another
		}
	}
	trust(t, roots)
	if status, body := get(t, "https://"+addr+"/livez"); status != http.StatusOK {
		t.Errorf("behind a thousand: %d %s", status, body)
	}
	var b strings.Builder
	s.Gateway.WritePrometheus(&b)
	for line := range strings.Lines(b.String()) {
		if n, ok := strings.CutPrefix(line, `sluice_http_connections{listener="gateway"} `); ok && len(strings.TrimSpace(n)) > 3 {
			t.Errorf("%s connections are open, the bound is 200", n)
		}
	}
}

// TestResourceOverTLS: what tokens must be issued for has the scheme that clients use.
func TestResourceOverTLS(t *testing.T) {
	server, roots := certified(t)
	s := start(t, gatewaytest.Options{TLS: server})
	keys, err := access.NewKeys(access.KeysOptions{HTTP: http.DefaultClient})
	if err != nil {
		t.Fatal(err)
	}
	doc := &registry.AccessDocument{Mode: registry.AccessJWT, JWT: &registry.JWTGrant{Issuer: "https://issuer.example", JWKSURL: "https://issuer.example/keys", Scopes: []registry.ScopeGrant{{Scope: "read", Tools: []string{"*"}}}}}
	snap, err := snapshot.Compile(snapshot.Input{Keys: keys, Toolsets: []snapshot.ToolsetInput{guarded(t, upstreamtest.New(t), 1, doc, getItem())}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Holder.Store(snap)
	trust(t, roots)
	base := strings.TrimSuffix(s.URL("/"), "/")
	resp := request(t, http.MethodPost, s.URL("acme"), "{}")
	if got := resp.Header.Get("Www-Authenticate"); !strings.Contains(got, base+"/.well-known/oauth-protected-resource/t/acme") {
		t.Errorf("%d %q", resp.StatusCode, got)
	}
	if _, body := get(t, s.URL("/.well-known/oauth-protected-resource/t/acme")); !strings.Contains(body, `"`+base+`/t/acme"`) {
		t.Errorf("the metadata names %s", body)
	}
}

// TestPrograms: curl and OpenSSL call a tool, where this machine has them.
func TestPrograms(t *testing.T) {
	ca := tlsfilestest.Must(t, "authority")
	issued := ca.Must(t, 24*time.Hour, "localhost", "127.0.0.1")
	dir := t.TempDir()
	tlsfilestest.Issued{Certificate: ca.PEM}.Write(t, dir, "ca")
	s, up, addr := door(t, gatewaytest.Options{TLS: &tls.Config{Certificates: []tls.Certificate{issued.Pair(t)}, MinVersion: tls.VersionTLS12}}, nil)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	body := callBody("get_item", `{"id":7}`)
	if _, err := exec.LookPath("curl"); err == nil {
		for _, version := range [][]string{{"--tlsv1.3"}, {"--tls-max", "1.2"}} {
			args := append([]string{"-sS", "--cacert", dir + "/ca.pem", "-H", "Content-Type: application/json", "-d", body, s.URL("acme")}, version...)
			out, err := exec.CommandContext(ctx, "curl", args...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "9007199254740993") {
				t.Errorf("curl %s: %v, %s", version, err, out)
			}
		}
	}
	if _, err := exec.LookPath("openssl"); err == nil {
		cmd := exec.CommandContext(ctx, "openssl", "s_client", "-connect", addr, "-servername", "localhost", "-CAfile", dir+"/ca.pem", "-verify_return_error", "-quiet", "-alpn", "h2,http/1.1")
		cmd.Stdin = strings.NewReader("GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		out, err := cmd.Output()
		if resp, rerr := http.ReadResponse(bufio.NewReader(strings.NewReader(string(out))), nil); rerr != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("openssl: %v, %v, %s", err, rerr, out)
		} else {
			_ = resp.Body.Close()
		}
	}
}

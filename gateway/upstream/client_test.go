package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/upstreamtest"
)

func newClient(t testing.TB, o Options) *Client {
	t.Helper()
	if o.Dial == nil {
		d, err := safedial.New(safedial.Options{AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		o.Dial = d.DialTimeout
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func mustBase(t testing.TB, s string) *Base {
	t.Helper()
	b, err := ParseBase(s)
	if err != nil {
		t.Fatal(err)
	}
	return &b
}

// do sends one request and returns status and body.
func do(t testing.TB, c *Client, base *Base, method, target string, lim Limits, strip Stripper) (int, string, error) {
	t.Helper()
	var x Exchange
	defer x.Reset()
	x.Request.Header.SetMethod(method)
	x.Request.SetRequestURIBytes(base.AppendURL(nil, []byte(target)))
	x.Request.Header.Set("X-Key", "s3cr3t")
	if method == http.MethodPost || target == "/there?body" {
		x.Request.SetBodyString("body")
	}
	if lim.Deadline.IsZero() {
		lim.Deadline = time.Now().Add(5 * time.Second)
	}
	err := c.Do(&x, base, lim, strip)
	return x.Status(), string(x.Body()), err
}

type stripKey struct{}

func (stripKey) Strip(r *fasthttp.Request) { r.Header.Del("X-Key") }

func TestParseBase(t *testing.T) {
	f := func(in, origin, addr, url string) {
		t.Helper()
		b, err := ParseBase(in)
		if err != nil || b.Origin() != origin || b.Addr() != addr || string(b.AppendURL(nil, []byte("/x?y"))) != url {
			t.Fatalf("ParseBase(%q) = %+v, %v", in, b, err)
		}
	}
	f("https://api.example.com", "https://api.example.com", "api.example.com:443", "https://api.example.com/x?y")
	f("http://h:8080/v1/", "http://h:8080", "h:8080", "http://h:8080/v1/x?y")
	f("http://[::1]:8080/a%2Fb", "http://[::1]:8080", "[::1]:8080", "http://[::1]:8080/a%2Fb/x?y")
	for _, bad := range []string{"", "api.example.com", "ftp://h", "http://", "http://u:p@h", "http://h?a", "http://h#a", "http://{host}/", "http://h/{v}", "http://h/}", "http://h/{", "http://h\nx", "http://h:x"} {
		if _, err := ParseBase(bad); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("ParseBase(%q) = %v", bad, err)
		} else if strings.Contains(err.Error(), "u:p") {
			t.Errorf("credentials in %v", err)
		}
	}
	if !(&Base{}).Zero() {
		t.Error("the zero Base is not Zero")
	}
}

func TestDo(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/echo/", upstreamtest.Echo())
	up.Handle("GET /fail", upstreamtest.JSON(500, `{"message":"boom"}`))
	c, base := newClient(t, Options{}), mustBase(t, up.URL+"/echo")
	f := func(method, target, want string) {
		t.Helper()
		status, body, err := do(t, c, base, method, target, Limits{}, nil)
		if err != nil || status != 200 || !strings.Contains(body, want) {
			t.Fatalf("%s %s = %d %s, %v; want %s", method, target, status, body, err, want)
		}
	}
	// The target arrives byte for byte: neither %2F nor /../ is touched.
	f("GET", "/a%2Fb/%2E%2E/c?x=%20+&y", `"target":"/echo/a%2Fb/%2E%2E/c?x=%20+&y"`)
	f("GET", "/a;b=1/(c)!$", `"target":"/echo/a;b=1/(c)!$"`)
	f("POST", "/p", `"body":"body"`)
	f("DELETE", "/p", `"method":"DELETE"`)
	f("PATCH", "/p", `"method":"PATCH"`)
	status, body, err := do(t, c, mustBase(t, up.URL), "GET", "/fail", Limits{}, nil)
	if err != nil || status != 500 || body != `{"message":"boom"}` {
		t.Fatalf("an error status is an answer: %d %s %v", status, body, err)
	}
}

func TestFailures(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/stall", up.Stall())
	up.Handle("/drip", up.Drip(time.Millisecond))
	up.Handle("/truncate", upstreamtest.Truncate(100, `{"a":`))
	up.Handle("/close", upstreamtest.Close())
	up.Handle("/reset", upstreamtest.Reset())
	up.Handle("/ssh", upstreamtest.Bytes("SSH-2.0-OpenSSH_9\r\n\r\n"))
	up.Handle("/limit", upstreamtest.Huge(1<<20, false))
	up.Handle("/limit-chunked", upstreamtest.Huge(1<<20, true))
	up.Handle("/over", upstreamtest.Huge(1<<20+1, false))
	up.Handle("/over-chunked", upstreamtest.Huge(1<<20+1, true))
	up.Handle("/100mb", upstreamtest.Huge(100<<20, false))
	up.Handle("/100mb-chunked", upstreamtest.Huge(100<<20, true))
	up.Handle("/gzip", upstreamtest.Bomb(1<<20, "gzip"))
	up.Handle("/gzip-bomb", upstreamtest.Bomb(1<<20+1, "gzip"))
	up.Handle("/deflate", upstreamtest.Bomb(1<<20, "deflate"))
	up.Handle("/deflate-bomb", upstreamtest.Bomb(64<<20, "deflate"))
	up.Handle("/not-gzip", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write([]byte("pl\x00ain"))
	}))
	up.Handle("/zstd", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "zstd")
		_, _ = w.Write([]byte("pl\x00ain"))
	}))
	c, base := newClient(t, Options{}), mustBase(t, up.URL)
	f := func(path string, want problem.Kind) {
		t.Helper()
		lim := Limits{MaxBody: 1 << 20, Deadline: time.Now().Add(10 * time.Second)}
		if want == problem.Timeout {
			lim.Deadline = time.Now().Add(100 * time.Millisecond)
		}
		_, body, err := do(t, c, base, "GET", path, lim, nil)
		if want == "" {
			if err != nil || len(body) != 1<<20 {
				t.Fatalf("GET %s: %d bytes, %v", path, len(body), err)
			}
			return
		}
		if !problem.Is(err, want) || problem.As(err).Remedy == "" && want != problem.UpstreamMalformed {
			t.Fatalf("GET %s: %v, want %s with a remedy", path, err, want)
		}
	}
	f("/stall", problem.Timeout)
	f("/drip", problem.Timeout)
	f("/truncate", problem.UpstreamMalformed)
	f("/close", problem.Unreachable)
	f("/reset", problem.Unreachable)
	f("/ssh", problem.UpstreamMalformed)
	f("/limit", "")
	f("/limit-chunked", "")
	f("/over", problem.UpstreamTooLarge)
	f("/over-chunked", problem.UpstreamTooLarge)
	f("/100mb", problem.UpstreamTooLarge)
	f("/100mb-chunked", problem.UpstreamTooLarge)
	f("/gzip", "")
	f("/gzip-bomb", problem.UpstreamTooLarge)
	f("/deflate", "")
	f("/deflate-bomb", problem.UpstreamTooLarge)
	f("/not-gzip", problem.UpstreamMalformed)
	f("/zstd", problem.UpstreamMalformed)
}

func TestDialFailures(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free again at once
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	_ = l.Close()
	up := upstreamtest.New(t)
	d, err := safedial.New(safedial.Options{})
	if err != nil {
		t.Fatal(err)
	}
	guarded := newClient(t, Options{Dial: d.DialTimeout})
	f := func(c *Client, base string, want problem.Kind) {
		t.Helper()
		if _, _, err := do(t, c, mustBase(t, base), "GET", "/", Limits{}, nil); !problem.Is(err, want) {
			t.Fatalf("GET %s: %v, want %s", base, err, want)
		}
	}
	f(newClient(t, Options{}), closed, problem.Unreachable)
	f(guarded, up.URL, problem.BlockedAddress)
	f(newClient(t, Options{}), strings.Replace(up.URL, "http://", "https://", 1), problem.Unreachable)
	if n := len(up.Requests()); n != 0 {
		t.Fatalf("%d requests arrived through the guard", n)
	}
}

func TestTLS(t *testing.T) {
	up := upstreamtest.NewTLS(t)
	up.Handle("/", upstreamtest.JSON(200, `{}`))
	roots := x509.NewCertPool()
	roots.AddCert(up.Certificate())
	if _, _, err := do(t, newClient(t, Options{}), mustBase(t, up.URL), "GET", "/", Limits{}, nil); !problem.Is(err, problem.Unreachable) ||
		!strings.Contains(err.Error(), "authority this machine does not trust") {
		t.Fatalf("unknown authority: %v", err)
	}
	good := newClient(t, Options{TLS: &tls.Config{RootCAs: roots}})
	if status, _, err := do(t, good, mustBase(t, up.URL), "GET", "/", Limits{}, nil); err != nil || status != 200 {
		t.Fatalf("trusted: %d, %v", status, err)
	}
	wrong := strings.Replace(up.URL, "127.0.0.1", "localhost", 1)
	if _, _, err := do(t, good, mustBase(t, wrong), "GET", "/", Limits{}, nil); !problem.Is(err, problem.Unreachable) ||
		!strings.Contains(err.Error(), "host name") {
		t.Fatalf("wrong name: %v", err)
	}
}

func TestRedirects(t *testing.T) {
	other := upstreamtest.New(t)
	other.Handle("/", upstreamtest.JSON(200, `{"other":true}`))
	up := upstreamtest.New(t)
	up.Handle("/here", upstreamtest.Redirect(302, "/echo?a=%2F"))
	up.Handle("/echo", upstreamtest.Echo())
	up.Handle("/there", upstreamtest.Redirect(302, other.URL+"/x"))
	up.Handle("/keep", upstreamtest.Redirect(307, "/echo"))
	up.Handle("/keep-there", upstreamtest.Redirect(307, other.URL+"/x"))
	up.Handle("/see", upstreamtest.Redirect(303, "/echo"))
	up.Handle("/post302", upstreamtest.Redirect(302, "/echo"))
	up.Handle("/loop", upstreamtest.Redirect(302, "/loop"))
	up.Handle("/file", upstreamtest.Redirect(302, "file:///etc/passwd"))
	up.Handle("/bare", upstreamtest.Text(302, "text/plain", "no location"))
	c, base := newClient(t, Options{}), mustBase(t, up.URL)
	f := func(method, target string, wantStatus int, want string) {
		t.Helper()
		up.Forget()
		other.Forget()
		status, body, err := do(t, c, base, method, target, Limits{}, stripKey{})
		if err != nil || status != wantStatus || !strings.Contains(body, want) {
			t.Fatalf("%s %s = %d %s, %v; want %d %s", method, target, status, body, err, wantStatus, want)
		}
	}
	f("GET", "/here", 200, `"target":"/echo?a=%2F"`)
	if got := up.Requests(); got[1].Header.Get("X-Key") != "s3cr3t" {
		t.Fatal("the key did not follow to the same origin")
	}
	f("GET", "/there", 200, `"other":true`)
	if got := other.Requests(); len(got) != 1 || got[0].Header.Get("X-Key") != "" {
		t.Fatalf("the key went to another origin: %+v", got)
	}
	f("POST", "/keep", 200, `"method":"POST","target":"/echo","authorization":"","contentType":"","body":"body"`)
	f("POST", "/keep-there", 307, "")
	if got := other.Requests(); len(got) != 0 {
		t.Fatalf("a body went to another origin: %+v", got)
	}
	f("GET", "/there?body", 302, "")
	if got := other.Requests(); len(got) != 0 {
		t.Fatalf("the body of a GET went to another origin: %+v", got)
	}
	f("POST", "/see", 200, `"method":"GET"`)
	f("POST", "/post302", 302, "")
	f("GET", "/bare", 302, "no location")
	for _, target := range []string{"/loop", "/file"} {
		if _, _, err := do(t, c, base, "GET", target, Limits{}, nil); !problem.Is(err, problem.UpstreamMalformed) {
			t.Fatalf("GET %s: %v", target, err)
		}
	}
	up.Forget()
	_, _, _ = do(t, c, base, "GET", "/loop", Limits{}, nil)
	if n := len(up.Requests()); n != maxRedirects+1 {
		t.Fatalf("%d requests, want %d", n, maxRedirects+1)
	}
}

// TestRedirectToAnotherOrigin: what proves who calls, and a body, stay with the origin
// that they were meant for. Host, port and scheme make an origin.
func TestRedirectToAnotherOrigin(t *testing.T) {
	const host = "api.example"
	f := func(status int, method, from, to string, wantBody string, wantKept bool) {
		t.Helper()
		var x Exchange
		defer x.Reset()
		x.Request.SetRequestURI(from)
		x.Request.Header.SetMethod(method)
		x.Request.SetBodyString("body")
		x.Request.Header.SetContentType("text/plain")
		if method == http.MethodGet {
			x.Request.ResetBody()
		}
		headers := []string{"Authorization", "Cookie", "Proxy-Authorization", "X-Key"}
		for _, h := range headers {
			x.Request.Header.Set(h, "a=b")
		}
		x.response.SetStatusCode(status)
		x.response.Header.Set("Location", to)
		again, err := x.redirect(false, stripKey{})
		if err != nil || !again {
			t.Fatalf("%d from %s to %s: %v, %v", status, from, to, again, err)
		}
		for _, h := range headers {
			if got := string(x.Request.Header.Peek(h)); (got == "a=b") != wantKept {
				t.Errorf("%d from %s to %s: %s is %q, kept: want %v", status, from, to, h, got, wantKept)
			}
		}
		if got := string(x.Request.Body()); got != wantBody {
			t.Errorf("%d from %s to %s: the body is %q, want %q", status, from, to, got, wantBody)
		}
		if wantBody == "" && (len(x.Request.Header.Peek("Content-Length")) != 0 || method == http.MethodPost && string(x.Request.Header.Method()) != http.MethodGet) {
			t.Errorf("%d from %s to %s: %s", status, from, to, &x.Request.Header)
		}
	}
	base := "http://" + host
	f(302, "GET", base+"/a", "/b", "", true)
	f(302, "GET", base+"/a", "http://API.example/b", "", true)
	f(302, "GET", base+"/a", "http://other.example/b", "", false)
	f(302, "GET", base+"/a", "http://"+host+":8080/b", "", false)
	f(302, "GET", base+"/a", "https://"+host+"/b", "", false)
	f(303, "POST", base+"/a", "/b", "", true)
	f(303, "POST", base+"/a", "http://other.example/b", "", false)
	f(303, "POST", base+"/a", "https://"+host+"/b", "", false)
	f(307, "POST", base+"/a", "/b", "body", true)

	// A body is not handed on to the same host under another scheme either.
	var x Exchange
	defer x.Reset()
	x.Request.SetRequestURI(base + "/a")
	x.Request.Header.SetMethod(http.MethodPost)
	x.Request.SetBodyString("body")
	x.response.SetStatusCode(307)
	x.response.Header.Set("Location", "https://"+host+"/a")
	if again, err := x.redirect(false, nil); again || err != nil {
		t.Errorf("a body to another scheme: %v, %v", again, err)
	}
	// From https to http there is no way.
	x.Request.Header.SetMethod(http.MethodGet)
	x.Request.ResetBody()
	x.Request.SetRequestURI("https://" + host + "/a")
	x.response.Header.Set("Location", base+"/a")
	if again, err := x.redirect(true, nil); again || !problem.Is(err, problem.UpstreamMalformed) {
		t.Errorf("from https to http: %v, %v", again, err)
	}
}

// TestRedirectIsDialedThroughTheGuard: only the first host is granted.
func TestRedirectIsDialedThroughTheGuard(t *testing.T) {
	inner := upstreamtest.New(t)
	up := upstreamtest.New(t)
	up.Handle("/", upstreamtest.Redirect(302, inner.URL+"/latest/meta-data"))
	d, err := safedial.New(safedial.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Grant("x", netip.MustParseAddrPort(up.Addr())); err != nil {
		t.Fatal(err)
	}
	_, _, err = do(t, newClient(t, Options{Dial: d.DialTimeout}), mustBase(t, up.URL), "GET", "/", Limits{Scope: d.Scope("x")}, nil)
	if !problem.Is(err, problem.BlockedAddress) || len(inner.Requests()) != 0 {
		t.Fatalf("%v, %d requests inside", err, len(inner.Requests()))
	}
}

func TestDowngrade(t *testing.T) {
	plain := upstreamtest.New(t)
	up := upstreamtest.NewTLS(t)
	up.Handle("/", upstreamtest.Redirect(302, plain.URL+"/"))
	roots := x509.NewCertPool()
	roots.AddCert(up.Certificate())
	_, _, err := do(t, newClient(t, Options{TLS: &tls.Config{RootCAs: roots}}), mustBase(t, up.URL), "GET", "/", Limits{}, nil)
	if !problem.Is(err, problem.UpstreamMalformed) || len(plain.Requests()) != 0 {
		t.Fatalf("https to http: %v", err)
	}
}

// TestRetries: what is idempotent survives a connection that was closed under it,
// what is not is sent exactly once.
func TestRetries(t *testing.T) {
	f := func(method string, wantErr bool, wantRequests int) {
		t.Helper()
		up := upstreamtest.New(t)
		up.Handle("/", upstreamtest.Sequence(upstreamtest.Close(), upstreamtest.JSON(200, `{}`)))
		_, _, err := do(t, newClient(t, Options{}), mustBase(t, up.URL), method, "/", Limits{}, nil)
		if (err != nil) != wantErr || len(up.Requests()) != wantRequests {
			t.Fatalf("%s: %v, %d requests; want %d", method, err, len(up.Requests()), wantRequests)
		}
	}
	f("GET", false, 2)
	f("PUT", false, 2)
	f("DELETE", false, 2)
	f("POST", true, 1)
	f("PATCH", true, 1)

	up := upstreamtest.New(t)
	up.Handle("/", upstreamtest.Close())
	_, _, err := do(t, newClient(t, Options{}), mustBase(t, up.URL), "GET", "/", Limits{}, nil)
	if !problem.Is(err, problem.Unreachable) || len(up.Requests()) != maxAttempts {
		t.Fatalf("%v after %d attempts, want %d", err, len(up.Requests()), maxAttempts)
	}
}

// TestConcurrencyPerHost: no more requests are at a host than connections are allowed; the
// others wait for their turn.
func TestConcurrencyPerHost(t *testing.T) {
	const most, all = 2, 20
	up := upstreamtest.New(t)
	var now, peak atomic.Int64
	up.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
		}
		time.Sleep(2 * time.Millisecond) // so that others would come meanwhile
		now.Add(-1)
		w.WriteHeader(http.StatusNoContent)
	}))
	c, base := newClient(t, Options{MaxConns: most}), mustBase(t, up.URL)
	errs := make(chan error, all)
	for range all {
		go func() {
			_, _, err := do(t, c, base, "POST", "/", Limits{Deadline: time.Now().Add(time.Minute)}, nil)
			errs <- err
		}()
	}
	for range all {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := peak.Load(); n > most || len(up.Requests()) != all {
		t.Errorf("%d requests ran at once, want at most %d; %d of %d came", n, most, len(up.Requests()), all)
	}
}

func TestClass(t *testing.T) {
	for limit, want := range map[int64]int{1: 1 << 20, 1 << 20: 1 << 20, 1<<20 + 1: 2 << 20, 16 << 20: 16 << 20, 64 << 20: 64 << 20} {
		if got := class(limit); got != want {
			t.Errorf("class(%d) = %d, want %d", limit, got, want)
		}
	}
}

func TestEviction(t *testing.T) {
	c := newClient(t, Options{Dial: func(string, time.Duration) (net.Conn, error) { return nil, errors.New("never") }})
	for i := range maxHosts + 10 {
		if _, err := c.host(hostKey{addr: string(rune(i)), class: 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.hosts); n != maxHosts {
		t.Fatalf("%d pools, want %d", n, maxHosts)
	}
}

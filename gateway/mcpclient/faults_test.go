package mcpclient

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/plugins/manifest"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// TestNoServer: what is not an MCP server is told apart, with what to do about it.
func TestNoServer(t *testing.T) {
	f := func(kind problem.Kind, text, remedy string, h http.HandlerFunc) {
		t.Helper()
		c := newClient(t, safedial.Options{AllowPrivate: true})
		var x Exchange
		_, err := c.List(&x, target(t, serve(t, h)+"/mcp?key=hidden"))
		p := problem.As(err)
		if p == nil || p.Kind != kind || !strings.Contains(p.Detail, text) || !strings.Contains(p.Remedy, remedy) || strings.Contains(p.Error(), "hidden") {
			t.Fatalf("got %v, want %s: %s (%s)", err, kind, text, remedy)
		}
	}
	status := func(code int, media, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	f(problem.CannotConnectMCP, "HTTP 404 Not Found: no such page", "most servers are at /mcp or /sse", status(404, "text/plain", "no such page"))
	f(problem.CannotConnectMCP, "HTTP 200 OK", "a web page", status(200, "text/html", "<html>hello"))
	f(problem.CannotConnectMCP, "HTTP 405", "takes no POST", status(405, "text/plain", ""))
	f(problem.CannotConnectMCP, "HTTP 500", "log of the server", status(500, "text/plain", "oops"))
	f(problem.CannotConnectMCP, "refused the handshake: HTTP 200 OK: go away", "log of the server", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"go away"}}`)
	})
	f(problem.Unauthenticated, "wants a bearer token (HTTP 401)", "set the authentication", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	f(problem.Unauthenticated, "wants an OAuth login (HTTP 401)", "set the authentication", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://x"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	f(problem.CannotConnectMCP, `speaks protocol "1999-01-01"`, "update", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(b), `"initialize"`) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"1999-01-01"}}`)
	})
	// A server of the old transport that fails has no wrong path.
	for post, want := range map[int]string{400: "HTTP 503", 404: "HTTP 503", 405: "HTTP 503", 418: "HTTP 418"} {
		f(problem.CannotConnectMCP, want, "", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.WriteHeader(post)
		})
	}
	// The stream of the old transport must not send us, with the credential, elsewhere.
	f(problem.CannotConnectMCP, "posted to another origin", "correct the address", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: https://elsewhere.example/messages\n\n")
	})
}

// TestGuard: a private address is refused when it is dialed, also behind a redirect.
func TestGuard(t *testing.T) {
	reached := false
	inner := serve(t, func(http.ResponseWriter, *http.Request) { reached = true })
	c := newClient(t, safedial.Options{})
	var x Exchange
	if _, err := c.List(&x, target(t, inner)); !problem.Is(err, problem.BlockedAddress) {
		t.Fatalf("directly: %v", err)
	}
	outer := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(inner, "127.0.0.1", "localhost", 1), http.StatusTemporaryRedirect)
	})
	addr := strings.TrimPrefix(outer, "http://")
	d, err := safedial.New(safedial.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Grant("x", netip.MustParseAddrPort(addr)); err != nil {
		t.Fatal(err)
	}
	granted := target(t, outer)
	granted.Scope = d.Scope("x")
	if _, err := c.List(&x, granted); err == nil {
		t.Fatal("a redirect to another origin was followed")
	}
	if reached {
		t.Fatal("the private address was called")
	}
}

// legacyServer forgets its session when told to, in the ways servers do.
func TestForgottenSession(t *testing.T) {
	for name, forget := range map[string]func(w http.ResponseWriter){
		"404": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"400 with a text": func(w http.ResponseWriter) {
			http.Error(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`, http.StatusBadRequest)
		},
	} {
		t.Run(name, func(t *testing.T) {
			sessions, calls := 0, 0
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				switch body := string(b); {
				case strings.Contains(body, `"initialize"`):
					sessions++
					w.Header().Set("Mcp-Session-Id", fmt.Sprint(sessions))
					_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}}}}`, idOf(body))
				case strings.Contains(body, "notifications/"):
					w.WriteHeader(http.StatusAccepted)
				case r.Header.Get("Mcp-Session-Id") != "2": // the first one is lost at once
					forget(w)
				default:
					calls++
					_, _ = fmt.Fprintf(w, `[{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}]`, idOf(body))
				}
			})
			c := newClient(t, safedial.Options{AllowPrivate: true})
			tg := target(t, url)
			tg.Hint = manifest.MCPServer{Transport: manifest.TransportStreamable, Protocol: "2025-03-26"}
			if got, err := call(c, tg, &Call{Tool: "x"}); err != nil || got != `{"content":[]}` || sessions != 2 || calls != 1 {
				t.Fatalf("got %s, %v after %d handshakes and %d calls", got, err, sessions, calls)
			}
		})
	}
}

func idOf(body string) string {
	_, rest, _ := strings.Cut(body, `"id":`)
	id, _, _ := strings.Cut(rest, ",")
	return id
}

// TestBrokenAnswers: what is not an answer is an error that says so.
func TestBrokenAnswers(t *testing.T) {
	f := func(media, body string, kind problem.Kind, text string) {
		t.Helper()
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			if strings.Contains(string(b), "server/discover") {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"]}}`, idOf(string(b)))
				return
			}
			w.Header().Set("Content-Type", media)
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", idOf(string(b))))
		})
		c := newClient(t, safedial.Options{AllowPrivate: true})
		tg := target(t, url)
		tg.MaxBody = 2000
		_, err := call(c, tg, &Call{Tool: "x"})
		if p := problem.As(err); p == nil || p.Kind != kind || !strings.Contains(p.Detail, text) {
			t.Fatalf("%s: got %v, want %s: %s", body, err, kind, text)
		}
	}
	f("application/json", `{"jsonrpc":"2.0"`, problem.UpstreamMalformed, "not valid JSON-RPC")
	f("application/json", `{"jsonrpc":"2.0","id":99,"result":{}}`, problem.UpstreamMalformed, "the id of another request")
	f("application/json", `{"jsonrpc":"2.0","id":ID,"result":7}`, problem.UpstreamMalformed, "not valid JSON-RPC")
	f("application/json", ``, problem.UpstreamMalformed, "without a result")
	f("text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n", problem.UpstreamMalformed, "without a result")
	f("text/event-stream", "data: "+strings.Repeat("x", 3000)+"\n\n", problem.UpstreamTooLarge, "larger than 2000 bytes")
	f("application/json", strings.Repeat(" ", 3<<20), problem.UpstreamTooLarge, "larger than")
}

func TestEndpoint(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		e, err := ParseEndpoint(in)
		if err != nil || e.URL() != want {
			t.Fatalf("%s: %v, %v; want %s", in, e, err, want)
		}
	}
	f("https://x.example", "https://x.example/")
	f("https://x.example/mcp/", "https://x.example/mcp/")
	f("http://x.example:8080/a%2Fb?c=d", "http://x.example:8080/a%2Fb?c=d")
	for _, bad := range []string{"", "x.example/mcp", "ftp://x.example", "https://u:p@x.example/", "https://x.example/#a", "https://{h}/"} {
		if e, err := ParseEndpoint(bad); !problem.Is(err, problem.InvalidArgument) || bad != "" && strings.Contains(err.Error(), bad) {
			t.Fatalf("%q: %v, %v", bad, e, err)
		}
	}
}

// TestBreaker: after five failures in a row calls fail at once; one at a time may see
// whether the server is back, ever later.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b breaker
		enter := func() error { _, err := b.enter("x:1", time.Now()); return err }
		for i := range breakAfter {
			if err := enter(); err != nil {
				t.Fatalf("attempt %d: %v", i, err)
			}
			b.leave(0, false, time.Now())
		}
		for _, pause := range []time.Duration{breakFirst, 2 * breakFirst, 4 * breakFirst} {
			if err := enter(); !problem.Is(err, problem.Unavailable) {
				t.Fatalf("in the pause: %v", err)
			}
			time.Sleep(pause)
			if err := enter(); err != nil {
				t.Fatalf("the probe after %s: %v", pause, err)
			}
			if err := enter(); !problem.Is(err, problem.Unavailable) {
				t.Fatalf("beside the probe: %v", err)
			}
			b.leave(0, false, time.Now())
		}
		time.Sleep(breakMost)
		if err := enter(); err != nil {
			t.Fatal(err)
		}
		b.leave(0, true, time.Now())
		for range 3 {
			if err := enter(); err != nil {
				t.Fatalf("after a success: %v", err)
			}
		}
	})
}

// TestBreakerAndCallsAtOnce: calls that fail beside one that reaches the server do not stop
// calls to it; as many that began afterwards do.
func TestBreakerAndCallsAtOnce(t *testing.T) {
	var b breaker
	now := time.Now()
	var entered [2 * breakAfter]uint64
	for i := range entered {
		entered[i], _ = b.enter("x:1", now)
	}
	b.leave(entered[0], true, now)
	for _, e := range entered[1:] {
		b.leave(e, false, now)
	}
	if b.open() {
		t.Error("calls that began before the server was reached stopped the next")
	}
	later, err := b.enter("x:1", now)
	if err != nil {
		t.Fatal(err)
	}
	for range breakAfter {
		b.leave(later, false, now)
	}
	if !b.open() {
		t.Error("calls that began since did not stop the next")
	}
}

// TestMetrics: a server that cannot be reached is named as long as its calls fail at
// once.
func TestMetrics(t *testing.T) {
	c := newClient(t, safedial.Options{AllowPrivate: true})
	metrics := func() string {
		var b strings.Builder
		c.WritePrometheus(&b)
		return b.String()
	}
	for range breakAfter {
		if got := metrics(); got != "" {
			t.Errorf("before: %s", got)
		}
		var x Exchange
		if err := c.Call(&x, target(t, "http://127.0.0.1:1/mcp"), &Call{Tool: "x"}); !problem.Is(err, problem.Unreachable) {
			t.Fatal(err)
		}
	}
	if got := metrics(); !strings.HasSuffix(got, "\nsluice_upstream_circuit_open{server=\"127.0.0.1:1\"} 1\n") {
		t.Errorf("after %d failures: %q", breakAfter, got)
	}
}

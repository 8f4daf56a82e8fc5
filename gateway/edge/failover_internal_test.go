package edge

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// fakePlane is a control plane that answers with its name, and what it got.
type fakePlane struct {
	*httptest.Server

	status atomic.Int32
	cut    atomic.Bool // the connection ends before an answer
	got    atomic.Int32
	last   atomic.Value // method, path and body of the last request
}

func newFakePlane(t *testing.T, name string) *fakePlane {
	t.Helper()
	p := &fakePlane{}
	p.status.Store(http.StatusOK)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.got.Add(1)
		p.last.Store(r.Method + " " + r.URL.EscapedPath() + "?" + r.URL.RawQuery + " " + string(body) + " " + r.Host)
		if p.cut.Load() {
			c, _, _ := w.(http.Hijacker).Hijack()
			_ = c.Close()
			return
		}
		w.WriteHeader(int(p.status.Load()))
		_, _ = io.WriteString(w, name)
	}))
	t.Cleanup(p.Close)
	return p
}

func TestFailover(t *testing.T) {
	a, b := newFakePlane(t, "a"), newFakePlane(t, "b")
	planes, err := ParseControlPlanes(a.URL + "/x," + b.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := &failover{next: &http.Transport{DisableKeepAlives: true}, planes: planes, log: slog.New(slog.DiscardHandler)}
	ask := func(method, want string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, a.URL+"/x/edge/v1/a%2Fb?wait=3", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := f.RoundTrip(r)
		got := "error"
		if err == nil {
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if got = string(text); resp.StatusCode != http.StatusOK {
				got += " away"
			}
		}
		if got != want {
			t.Errorf("%s: answer %q, %v; want %q", method, got, err, want)
		}
	}
	ask("POST", "a")
	a.check(t, "POST /x/edge/v1/a%2Fb?wait=3 body "+a.Listener.Addr().String())

	a.status.Store(http.StatusServiceUnavailable)
	ask("POST", "b")
	b.check(t, "POST /edge/v1/a%2Fb?wait=3 body "+b.Listener.Addr().String())
	n := a.got.Load()
	ask("GET", "b") // and stays there
	if a.got.Load() != n {
		t.Error("the one that is away is asked first again")
	}

	b.status.Store(http.StatusBadGateway)
	ask("POST", "a away") // both are away: what the last of them said
	b.cut.Store(true)
	ask("GET", "a away")
	a.status.Store(http.StatusOK)
	ask("GET", "a")

	// What may have been done is not done again; the next question goes elsewhere.
	b.cut.Store(false)
	b.status.Store(http.StatusOK)
	a.cut.Store(true)
	n = b.got.Load()
	ask("POST", "error")
	if b.got.Load() != n {
		t.Error("a request that one may have got was sent to another one")
	}
	ask("POST", "b")

	// A refusal is an answer.
	b.status.Store(http.StatusUnauthorized)
	ask("GET", "b away")

	a.Close()
	b.Close()
	ask("POST", "error")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/x", http.NoBody)
	if _, err := f.RoundTrip(r); err == nil {
		t.Error("a question that was given up has an answer")
	}
}

func (p *fakePlane) check(t *testing.T, want string) {
	t.Helper()
	if got, _ := p.last.Load().(string); got != want {
		t.Errorf("it got %q, want %q", got, want)
	}
}

func TestParseControlPlanes(t *testing.T) {
	f := func(list string, want ...string) {
		t.Helper()
		got, err := ParseControlPlanes(list)
		if len(want) == 0 {
			if !problem.Is(err, problem.InvalidArgument) {
				t.Errorf("%q: %v, %v", list, got, err)
			}
			return
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: %v, %v", list, got, err)
		}
		for i, u := range got {
			if u.String() != want[i] {
				t.Errorf("%q: %s, want %s", list, u, want[i])
			}
		}
	}
	f("https://a.example:7301/", "https://a.example:7301")
	f("https://a.example, https://b.example/sluice/", "https://a.example", "https://b.example/sluice")
	f("")
	f("https://a.example,")
	f("https://a.example,https://a.example/")
	f("ftp://a.example")
	f("https://user@a.example")
	f("https://a.example?x=1")
	many := "https://a0.example"
	for i := 1; i < MaxControlPlanes; i++ {
		many += ",https://a" + string(rune('0'+i)) + ".example"
	}
	if got, err := ParseControlPlanes(many); err != nil || len(got) != MaxControlPlanes {
		t.Errorf("%d planes: %v", MaxControlPlanes, err)
	}
	f(many + ",https://another.example")
}

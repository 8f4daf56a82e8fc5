package mcpclient

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// TestWhatServersSayIsCut: texts of a server are kept up to a length.
func TestWhatServersSayIsCut(t *testing.T) {
	f := func(what string, limit int, read func(text string) string) {
		t.Helper()
		for over, want := range []string{strings.Repeat("x", limit), strings.Repeat("x", limit) + "…"} {
			if got := read(strings.Repeat("x", limit+over)); got != want {
				t.Errorf("%s of %d bytes: %d bytes are kept", what, limit+over, len(got))
			}
		}
	}
	member := func(name, text string) jsonscan.Value {
		return jsonscan.Trusted([]byte(`{"` + name + `":"` + text + `"}`))
	}
	none := jsonscan.Trusted([]byte(`{}`))
	f("a name", maxAbout, func(s string) string { return readAbout(none, member("name", s)).name })
	f("a title", maxAbout, func(s string) string { return readAbout(none, member("title", s)).title })
	f("a version", maxAbout, func(s string) string { return readAbout(none, member("version", s)).version })
	f("instructions", maxInstructions, func(s string) string { return readAbout(member("instructions", s), none).instructions })
	f("a fault's message", maxMessage, func(s string) string { return readFault(member("message", s)).Message })
}

// TestExtensionsAreNamed: what a server declares besides the protocol is kept by name, up to a
// number.
func TestExtensionsAreNamed(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 2, maxDeclared - 1: maxDeclared, maxDeclared: maxDeclared, maxDeclared + 1: maxDeclared} {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"com.example/e%d":{}`, i))
		}
		a := readAbout(jsonscan.Trusted([]byte(`{"capabilities":{"extensions":{`+strings.Join(members, ",")+`},"experimental":{`+strings.Join(members[:min(n, 1)], ",")+`}}}`)), jsonscan.Value{})
		if len(a.extensions) != want || want > 0 && a.extensions[0] != "com.example/e0" {
			t.Errorf("%d extensions: %q", n, a.extensions)
		}
	}
}

// lists serves tools/list with the answers of page, which gets the number of the request.
func lists(t *testing.T, page func(n int) string) (*Listing, error) {
	t.Helper()
	n := 0
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(b), "server/discover") {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`, idOf(string(b)))
			return
		}
		n++
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, idOf(string(b)), page(n))
	})
	c := newClient(t, safedial.Options{AllowPrivate: true})
	tg := target(t, url)
	tg.MaxBody, tg.Deadline = 64<<20, time.Now().Add(2*time.Minute) // a busy machine scans megabytes with the race detector
	var x Exchange
	return c.List(&x, tg)
}

// TestListedToolsAreBounded: a server does not fill the memory with its tools, nor
// with pages of none.
func TestListedToolsAreBounded(t *testing.T) {
	const tool = `{"name":"a"}`
	refused := func(what string, l *Listing, err error, kind problem.Kind) {
		t.Helper()
		if p := problem.As(err); p == nil || p.Kind != kind {
			t.Errorf("%s: got %v, %v, want %s", what, l, err, kind)
		}
	}
	tools := func(n int) string {
		return `{"tools":[` + strings.Repeat(tool+",", n-1) + tool + `]}`
	}
	if l, err := lists(t, func(int) string { return tools(maxListed) }); err != nil || len(l.Tools) != maxListed {
		t.Errorf("%d tools: %v", maxListed, err)
	}
	l, err := lists(t, func(int) string { return tools(maxListed + 1) })
	refused("one tool more", l, err, problem.UpstreamTooLarge)

	pages := func(most int) func(n int) string {
		return func(n int) string {
			if n < most {
				return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, tool, n)
			}
			return `{"tools":[` + tool + `]}`
		}
	}
	if l, err := lists(t, pages(maxPages)); err != nil || len(l.Tools) != maxPages {
		t.Errorf("%d pages: %v", maxPages, err)
	}
	l, err = lists(t, pages(maxPages+1))
	refused("one page more", l, err, problem.UpstreamMalformed)

	large := func(over int) func(int) string {
		const head, tail = `{"name":"`, `"}`
		return func(int) string {
			return `{"tools":[` + head + strings.Repeat("a", maxListBytes-len(head)-len(tail)+over) + tail + `]}`
		}
	}
	if l, err := lists(t, large(0)); err != nil || len(l.Tools) != 1 {
		t.Errorf("definitions of %d bytes: %v", maxListBytes, err)
	}
	l, err = lists(t, large(1))
	refused("one byte more", l, err, problem.UpstreamTooLarge)
}

// TestKnownServersAreBounded: the server idle longest is forgotten for a new one.
func TestKnownServersAreBounded(t *testing.T) {
	c := newClient(t, safedial.Options{})
	tg := target(t, "http://h.example/mcp")
	for i := range maxPeers + 1 {
		tg.Owner = fmt.Sprint(i)
		p, err := c.peer(tg)
		if err != nil {
			t.Fatal(err)
		}
		p.running.Add(-1)
		if i == maxPeers-1 && len(c.peers) != maxPeers {
			t.Fatalf("%d of %d servers are known", len(c.peers), maxPeers)
		}
	}
	if len(c.peers) > maxPeers {
		t.Errorf("%d servers are known, want at most %d", len(c.peers), maxPeers)
	}
}

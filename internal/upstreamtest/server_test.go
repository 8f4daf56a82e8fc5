package upstreamtest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func get(t *testing.T, url string) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := http.Client{Timeout: 300 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

// TestBehaviours shows each misbehaviour to a client we did not write.
func TestBehaviours(t *testing.T) {
	s := New(t)
	s.Handle("GET /ok", JSON(200, `{"a":1}`))
	s.Handle("GET /huge", Huge(1<<20, true))
	s.Handle("GET /bomb", Bomb(1<<20, "gzip"))
	s.Handle("GET /stall", s.Stall())
	s.Handle("GET /drip", s.Drip(time.Millisecond))
	s.Handle("GET /truncate", Truncate(100, `{"a":`))
	s.Handle("GET /close", Close())
	s.Handle("GET /reset", Reset())
	s.Handle("GET /bytes", Bytes("SSH-2.0-x\r\n"))
	s.Handle("GET /two", Sequence(JSON(500, `{}`), JSON(200, `{}`)))

	if resp, body, err := get(t, s.URL+"/ok?q=%2F"); err != nil || resp.StatusCode != http.StatusOK || body != `{"a":1}` {
		t.Fatalf("ok: %v %q", err, body)
	}
	if got := s.Requests(); len(got) != 1 || got[0].Target != "/ok?q=%2F" {
		t.Fatalf("recorded %+v", got)
	}
	s.Forget()
	for _, path := range []string{"/huge", "/bomb"} {
		if _, body, err := get(t, s.URL+path); err != nil || len(body) != 1<<20 {
			t.Fatalf("%s: %v, %d bytes", path, err, len(body))
		}
	}
	for _, path := range []string{"/stall", "/drip", "/truncate", "/close", "/reset", "/bytes"} {
		if _, body, err := get(t, s.URL+path); err == nil {
			t.Fatalf("%s: answered %.40q", path, body)
		}
	}
	for i, want := range []int{500, 200, 200} {
		if resp, _, err := get(t, s.URL+"/two"); err != nil || resp.StatusCode != want {
			t.Fatalf("sequence %d: %v", i, err)
		}
	}
	if resp, body, err := get(t, s.URL+"/nope"); err != nil || resp.StatusCode != http.StatusNotFound || !strings.Contains(body, "no such route") {
		t.Fatalf("unknown route: %v %q", err, body)
	}
}

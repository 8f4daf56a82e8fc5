package admin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/internal/secrets"
)

// changeStream is an open stream of changes.
type changeStream struct {
	t      *testing.T
	answer *http.Response
	lines  *bufio.Scanner
	close  func()
}

// watchChanges opens a stream as the holder of a token.
func watchChanges(t *testing.T, url string, token secrets.Secret, after string) *changeStream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/changes", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return &changeStream{t: t, answer: resp, lines: bufio.NewScanner(resp.Body), close: cancel}
}

// next returns the next event; ok is false when the stream ended.
func (s *changeStream) next() (id string, subjects []string, ok bool) {
	s.t.Helper()
	for s.lines.Scan() {
		switch name, value, _ := strings.Cut(s.lines.Text(), ": "); name {
		case "id":
			id = value
		case "data":
			var c admin.ChangedRecords
			if err := json.Unmarshal([]byte(value), &c); err != nil {
				s.t.Fatalf("%s: %v", value, err)
			}
			return id, c.Subjects, true
		}
	}
	return "", nil, false
}

// until reads events until one reports a subject.
func (s *changeStream) until(subject string) (id string) {
	s.t.Helper()
	for {
		id, subjects, ok := s.next()
		if !ok {
			s.t.Fatalf("the stream ended before it reported %s", subject)
		}
		if slices.Contains(subjects, subject) {
			return id
		}
	}
}

func TestChanges(t *testing.T) {
	w := newWorld(t)
	server := w.serve()

	s := watchChanges(t, server.URL, w.token, "")
	if got := s.answer.Header.Get("Content-Type"); s.answer.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("HTTP %d, %s", s.answer.StatusCode, got)
	}
	first, subjects, _ := s.next()
	if first == "" || len(subjects) > 0 {
		t.Fatalf("the first event has the id %q and reports %v; want an id and nothing", first, subjects)
	}
	w.create("Pets", "pets.yaml")
	s.until("toolsets")

	// What happened before a stream begins again is told at once, and of a mark that nobody gave out, everything.
	again := watchChanges(t, server.URL, w.token, first)
	if _, subjects, _ := again.next(); !slices.Contains(subjects, "toolsets") || !slices.Contains(subjects, "records") || slices.Contains(subjects, "usage") {
		t.Errorf("after %s it reports %v; want toolsets and records, and no usage", first, subjects)
	}
	if _, subjects, _ := watchChanges(t, server.URL, w.token, "of-another-node").next(); len(subjects) != 5 {
		t.Errorf("after an unknown mark it reports %v; want all five subjects", subjects)
	}
}

func TestChangesEndWithTheToken(t *testing.T) {
	w := newWorld(t)
	server := w.serve()
	made := want[struct {
		ID    string `json:"id"`
		Token string `json:"token"`
	}](w, w.do("POST", "/v1/tokens", map[string]any{"name": "watcher", "role": "viewer"}), http.StatusCreated)
	s := watchChanges(t, server.URL, secrets.New(made.Token), "")
	if _, _, ok := s.next(); !ok {
		t.Fatal("the stream ended at once")
	}
	if a := w.do("DELETE", "/v1/tokens/"+made.ID, nil); a.StatusCode >= 300 {
		t.Fatalf("revoke: HTTP %d", a.StatusCode)
	}
	for {
		if _, _, ok := s.next(); !ok {
			break
		}
	}
	if got := watchChanges(t, server.URL, secrets.New(made.Token), "").answer.StatusCode; got != http.StatusUnauthorized {
		t.Errorf("with the revoked token: HTTP %d", got)
	}
}

// TestMaxStreamsOfOne: one member or token has so many streams and no more, until one ends.
func TestMaxStreamsOfOne(t *testing.T) {
	w := newWorld(t)
	server := w.serve()
	const most = 20 // maxStreamsOfOne of package live
	var streams []*changeStream
	for range most {
		s := watchChanges(t, server.URL, w.token, "")
		if s.answer.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: HTTP %d", len(streams)+1, s.answer.StatusCode)
		}
		streams = append(streams, s)
	}
	if got := watchChanges(t, server.URL, w.token, "").answer.StatusCode; got != http.StatusTooManyRequests {
		t.Errorf("stream %d: HTTP %d; want 429", most+1, got)
	}
	streams[0].close()
	for deadline := time.Now().Add(30 * time.Second); ; {
		s := watchChanges(t, server.URL, w.token, "")
		if s.answer.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the place of a stream that ended is not free")
		}
	}
}

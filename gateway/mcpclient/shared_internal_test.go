package mcpclient

import (
	"strings"
	"testing"
)

// sharing is where one node keeps links.
type sharing struct {
	links  map[string][]byte
	pinned bool
}

func (s *sharing) Link(peer string) []byte { return s.links[peer] }

func (s *sharing) KeepLink(peer string, link []byte) []byte {
	if s.links[peer] == nil {
		s.links[peer] = link
	}
	return s.links[peer]
}

func (s *sharing) DropLink(peer string, _ []byte) { delete(s.links, peer) }
func (s *sharing) Pin()                           { s.pinned = true }

// TestSharedLinks: what one node agreed another goes on with, and what cannot be shared pins
// the session.
func TestSharedLinks(t *testing.T) {
	e, err := ParseEndpoint("http://127.0.0.1:1/mcp")
	if err != nil {
		t.Fatal(err)
	}
	c, v := &Client{}, &visit{peer: &peer{key: "p"}}
	for over := range 2 {
		s := &sharing{links: map[string][]byte{}}
		l := &link{version: "2025-06-18", session: strings.Repeat("x", maxShared+over), about: about{tools: true, resourcesChanged: true, subscribe: true}}
		if c.share(v, &Target{Endpoint: e, Shared: s}, l) != l || s.pinned != (over == 1) {
			t.Fatalf("an id one above %d: %d, pinned %v", maxShared, over, s.pinned)
		}
		if other := readShared(s.links["p"]); (other != nil) != (over == 0) || other != nil && (other.session != l.session || other.version != l.version || !other.about.tools || !other.about.resourcesChanged || !other.about.subscribe || other.about.logging) {
			t.Errorf("another node reads %+v", other)
		}
	}
	for _, text := range []string{"", "x", "{}", `{"version":"2026-07-28","session":"s"}`, `{"version":"2025-06-18"}`, `{"version":"9","session":"s"}`} {
		if l := readShared([]byte(text)); l != nil {
			t.Errorf("%s is a link", text)
		}
	}
}

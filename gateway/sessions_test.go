package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/registry"
)

// notebook is a server of the official SDK that remembers, for each session, what it
// was told.
type notebook struct {
	*httptest.Server

	mu     sync.Mutex
	notes  map[string]string // guarded by mu; by session
	opened int               // guarded by mu; handshakes
	ended  int               // guarded by mu; sessions that were deleted
}

func newNotebook(t testing.TB, stateless bool) *notebook {
	t.Helper()
	n := &notebook{notes: map[string]string{}}
	s := mcp.NewServer(&mcp.Implementation{Name: "notebook", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "note", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct{ Text string }
		_ = json.Unmarshal(r.Params.Arguments, &in)
		n.mu.Lock()
		defer n.mu.Unlock()
		before := n.notes[r.Session.ID()]
		if in.Text != "" {
			n.notes[r.Session.ID()] = in.Text
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "noted before: [" + before + "]"}}}, nil
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: stateless})
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		if r.Method == http.MethodDelete {
			n.ended++
		} else if r.Header.Get("Mcp-Session-Id") == "" {
			n.opened++
		}
		n.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	endWith(t, n.Server)
	endSessions(t, s)
	return n
}

// endSessions ends the sessions of a server with the test: nodes of a pool leave them to others.
func endSessions(t testing.TB, s *mcp.Server) {
	t.Cleanup(func() {
		for one := range s.Sessions() {
			_ = one.Close()
		}
	})
}

// serveNotebooks makes toolsets of these slugs live, all of the same server and each
// opened by the tokens "ada" and "bob", or by nobody in particular.
func serveNotebooks(t testing.TB, s *gatewaytest.Stack, n *notebook, open bool, slugs ...string) {
	t.Helper()
	var all []snapshot.ToolsetInput
	for _, slug := range slugs {
		c, err := gatewaytest.MCPConnector("up", n.URL+"/mcp", `{"name":"note","inputSchema":{"type":"object"}}`)
		if err != nil {
			t.Fatal(err)
		}
		in := gatewaytest.Toolset(slug, 1, c, nil)
		if !open {
			doc := tokens(tokenGrant("ada"), tokenGrant("bob"))
			doc.Workspace, doc.Toolset = "test", in.ID
			b, err := doc.Encode()
			if err != nil {
				t.Fatal(err)
			}
			in.Access, in.AccessDigest = doc, registry.DigestOf(b)
		}
		all = append(all, in)
	}
	if err := s.Serve(all...); err != nil {
		t.Fatal(err)
	}
}

// note calls the tool at a toolset as a caller, and returns what was noted before.
func note(t testing.TB, s *gatewaytest.Stack, slug, caller, text string) string {
	t.Helper()
	var header []string
	if caller != "" {
		header = []string{"Authorization", "Bearer slt_" + caller}
	}
	status, got := post(t, s.URL(slug), callBody("note", `{"text":"`+text+`"}`), header...)
	_, before, ok := strings.Cut(got, "noted before: [")
	if status != http.StatusOK || !ok {
		t.Fatalf("%s at %s: %d %s", caller, slug, status, got)
	}
	before, _, _ = strings.Cut(before, "]")
	return before
}

// TestSessionsBelongToCallers: what a server remembers of one caller in one toolset
// reaches neither another caller nor the same key in another toolset.
func TestSessionsBelongToCallers(t *testing.T) {
	s, n := start(t, gatewaytest.Options{}), newNotebook(t, false)
	serveNotebooks(t, s, n, false, "acme", "other")
	var all sync.WaitGroup
	for _, slug := range []string{"acme", "other"} {
		for _, caller := range []string{"ada", "bob"} {
			all.Go(func() { // at once: the first contact too
				own := slug + "/" + caller
				for _, want := range []string{"", own, own} {
					if got := note(t, s, slug, caller, own); got != want {
						t.Errorf("%s reads %q, want %q", own, got, want)
					}
				}
			})
		}
	}
	all.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.notes) != 4 {
		t.Errorf("%d sessions of 4 callers: %v", len(n.notes), n.notes)
	}
}

// TestAnonymousCallersShareNoSession: who nobody knows has a session for one call.
func TestAnonymousCallersShareNoSession(t *testing.T) {
	s, n := start(t, gatewaytest.Options{}), newNotebook(t, false)
	serveNotebooks(t, s, n, true, "acme")
	for range 5 {
		if got := note(t, s, "acme", "", "secret"); got != "" {
			t.Fatalf("an anonymous caller reads %q", got)
		}
	}
	if err := s.Stop(); err != nil { // waits for the goodbyes
		t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended != 5 {
		t.Errorf("%d of 5 sessions were ended", n.ended)
	}
}

// TestOperatorSaysStateless: where the operator says that a server keeps nothing of a
// caller, all callers of the toolset share one session; not those of another toolset.
func TestOperatorSaysStateless(t *testing.T) {
	for name, open := range map[string]bool{"anonymous": true, "tokens": false} {
		s, n := start(t, gatewaytest.Options{}), newNotebook(t, false)
		serve := func(revision uint64, stateless bool) {
			t.Helper()
			c, err := gatewaytest.MCPConnector("up", n.URL+"/mcp", `{"name":"note","inputSchema":{"type":"object"}}`)
			if err != nil {
				t.Fatal(err)
			}
			var all []snapshot.ToolsetInput
			for _, slug := range []string{"acme", "other"} {
				in := gatewaytest.Toolset(slug, revision, c, func(b *registry.Toolset) { b.Connectors[0].Stateless = stateless && slug == "acme" })
				if !open {
					doc := tokens(tokenGrant("ada"), tokenGrant("bob"))
					doc.Workspace, doc.Toolset = "test", in.ID
					b, err := doc.Encode()
					if err != nil {
						t.Fatal(err)
					}
					in.Access, in.AccessDigest = doc, registry.DigestOf(b)
				}
				all = append(all, in)
			}
			if err := s.Serve(all...); err != nil {
				t.Fatal(err)
			}
		}
		first, second := "ada", "bob"
		if open {
			first, second = "", ""
		}
		serve(1, true)
		note(t, s, "acme", first, "shared")
		if got := note(t, s, "acme", second, ""); got != "shared" {
			t.Errorf("%s: the second caller reads %q", name, got)
		}
		if got := note(t, s, "other", second, ""); got != "" {
			t.Errorf("%s: another toolset reads %q", name, got)
		}
		serve(2, false) // the word is taken back
		for range 2 {
			if got := note(t, s, "acme", second, ""); got != "" {
				t.Errorf("%s: without the word the second caller reads %q", name, got)
			}
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSessionsEnd: a gateway that stops tells servers of the sessions that it keeps.
func TestSessionsEnd(t *testing.T) {
	s, n := start(t, gatewaytest.Options{}), newNotebook(t, false)
	serveNotebooks(t, s, n, false, "acme")
	note(t, s, "acme", "ada", "x")
	note(t, s, "acme", "bob", "x")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended != 2 {
		t.Errorf("%d of 2 sessions were ended", n.ended)
	}
}

// TestStatelessServersAreShared: a server that keeps nothing is asked once how it is
// spoken to, whoever calls.
func TestStatelessServersAreShared(t *testing.T) {
	s, n := start(t, gatewaytest.Options{}), newNotebook(t, true)
	serveNotebooks(t, s, n, false, "acme")
	for range 5 {
		note(t, s, "acme", "ada", "x")
		note(t, s, "acme", "bob", "x")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.opened > 10+3 || n.ended != 0 { // the calls, and finding out
		t.Errorf("%d requests for 10 calls, %d goodbyes", n.opened, n.ended)
	}
}

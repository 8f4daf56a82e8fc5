package mcpclient

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// ledger is a server that counts the sessions it gave and those that ended.
type ledger struct {
	*httptest.Server

	mu    sync.Mutex
	given int             // guarded by mu
	open  map[string]bool // guarded by mu
	hold  chan struct{}   // guarded by mu; calls wait for it; nil: they do not
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	u := &ledger{open: map[string]bool{}}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		id, _, _ := strings.Cut(strings.TrimPrefix(string(b), `{"jsonrpc":"2.0","id":`), ",")
		w.Header().Set("Content-Type", "application/json")
		switch own := r.Header.Get("Mcp-Session-Id"); {
		case r.Method == http.MethodDelete:
			u.mu.Lock()
			delete(u.open, own)
			u.mu.Unlock()
		case strings.Contains(string(b), `"initialize"`):
			u.mu.Lock()
			u.given++
			s := fmt.Sprintf("s%d", u.given)
			u.open[s] = true
			u.mu.Unlock()
			w.Header().Set("Mcp-Session-Id", s)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"},"instructions":"long"}}`, id)
		case strings.Contains(string(b), `"tools/call"`):
			u.mu.Lock()
			hold := u.hold
			u.mu.Unlock()
			if hold != nil {
				<-hold
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"session":%q}}`, id, own)
		case strings.Contains(string(b), "notifications/"):
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(u.Close)
	return u
}

func (u *ledger) counts() (given, open int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.given, len(u.open)
}

// as calls the server for a caller of an owner and returns the session it was in.
func as(t *testing.T, c *Client, u *ledger, owner, caller string) string {
	t.Helper()
	s, err := tryAs(t, c, u, owner, caller)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryAs(t *testing.T, c *Client, u *ledger, owner, caller string) (string, error) {
	t.Helper()
	to := target(t, u.URL)
	to.Hint.Protocol, to.Owner, to.Caller, to.Once = versionLegacy, owner, caller, caller == ""
	var x Exchange
	if err := c.Call(&x, to, &Call{Tool: "x"}); err != nil {
		return "", err
	}
	return string(x.Result().Get("session").AppendText(nil)), nil
}

// TestSessionsAreBounded: of the callers of one owner the one that was idle longest
// makes room, and the server is told; callers of other owners are not touched.
func TestSessionsAreBounded(t *testing.T) {
	u := newLedger(t)
	c := newClient(t, safedial.Options{AllowPrivate: true})
	other := as(t, c, u, "other", "ada")
	first := as(t, c, u, "acme", "caller 0")
	c.mu.Lock()
	for _, p := range c.peers {
		if len(p.sessions) == 1 && p.sessions["caller 0"] != nil {
			for i := 1; i < maxOwnerSessions; i++ { // as if they had called
				s := &session{peer: p, caller: fmt.Sprint("caller ", i), turn: make(chan struct{}, 1), target: p.sessions["caller 0"].target, lastUsed: time.Now()}
				p.sessions[s.caller] = s
				c.sessions++
			}
		}
	}
	c.mu.Unlock()
	if again := as(t, c, u, "acme", "caller 0"); again != first {
		t.Fatalf("at the bound the session %s became %s", first, again)
	}
	as(t, c, u, "acme", "one more") // "caller 1" goes
	c.mu.Lock()
	n := c.sessions
	c.mu.Unlock()
	if n != maxOwnerSessions+1 {
		t.Errorf("%d sessions are kept", n)
	}
	if as(t, c, u, "acme", "caller 0") != first || as(t, c, u, "other", "ada") != other {
		t.Error("a session that was in use made room")
	}
	c.Close()
	if given, open := u.counts(); given != 3 || open != 0 {
		t.Errorf("%d sessions were given and %d are open at the end", given, open)
	}
}

// TestSessionsInUseStay: where all sessions of an owner are in use, one more caller is
// refused, with an error that says so, and is served when one is free.
func TestSessionsInUseStay(t *testing.T) {
	u := newLedger(t)
	c := newClient(t, safedial.Options{AllowPrivate: true})
	as(t, c, u, "acme", "first") // from here on it is known to keep sessions
	c.mu.Lock()
	var p *peer
	for _, p = range c.peers {
	}
	p.onces = maxOwnerSessions // calls of callers nobody knows
	s := p.sessions["first"]
	s.running++
	c.mu.Unlock()
	if _, err := tryAs(t, c, u, "acme", "second"); !problem.Is(err, problem.Unavailable) {
		t.Errorf("beyond the bound: %v", err)
	}
	if _, err := tryAs(t, c, u, "acme", ""); !problem.Is(err, problem.Unavailable) {
		t.Errorf("an anonymous caller beyond the bound: %v", err)
	}
	c.mu.Lock()
	p.onces, s.running = maxOwnerSessions-1, 0
	c.mu.Unlock()
	as(t, c, u, "acme", "second") // the first is idle and makes room
}

// TestIdleSessionsEnd: a session that nobody uses ends at its time and not before; one
// that a call is in stays.
func TestIdleSessionsEnd(t *testing.T) {
	u := newLedger(t)
	c := newClient(t, safedial.Options{AllowPrivate: true})
	for _, caller := range []string{"ada", "bob"} {
		as(t, c, u, "acme", caller)
	}
	now := time.Now()
	c.mu.Lock()
	var p *peer
	for _, p = range c.peers {
	}
	for _, s := range p.sessions {
		s.lastUsed = now.Add(-sessionIdle)
	}
	p.sessions["bob"].running++
	if p.sessions["ada"].link.Load().about.instructions != "" {
		t.Error("the instructions of the server are kept for each session")
	}
	c.mu.Unlock()
	if gone := c.expire(now.Add(-1)); len(gone) != 0 {
		t.Errorf("%d ended too early", len(gone))
	}
	gone := c.expire(now)
	if len(gone) != 1 || gone[0].caller != "ada" {
		t.Errorf("ended: %+v", gone)
	}
	for _, s := range gone {
		c.leave(s)
	}
	c.Close()
	if _, open := u.counts(); open != 0 {
		t.Errorf("%d sessions are open at the end", open)
	}
}

// TestOneSessionOfACaller: calls of one caller at once make one session.
func TestOneSessionOfACaller(t *testing.T) {
	u := newLedger(t)
	c := newClient(t, safedial.Options{AllowPrivate: true})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if _, err := tryAs(t, c, u, "acme", fmt.Sprint("caller ", i%2)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if given, open := u.counts(); given != 2 || open != 2 {
		t.Errorf("%d sessions given, %d open", given, open)
	}
}

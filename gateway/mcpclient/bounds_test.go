package mcpclient

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// TestMaxChallenge: what a server says about authentication is kept up to the bound.
func TestMaxChallenge(t *testing.T) {
	for n, want := range map[int]string{maxChallenge: "", maxChallenge + 1: "…"} {
		text := "Bearer x=" + strings.Repeat("a", n-len("Bearer x="))
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", text)
			w.WriteHeader(http.StatusUnauthorized)
		})
		var x Exchange
		_, err := newClient(t, safedial.Options{AllowPrivate: true}).List(&x, target(t, url))
		var auth *AuthError
		if !errors.As(err, &auth) || auth.Challenge != text[:maxChallenge]+want {
			t.Errorf("%d bytes: %v, %d are kept", n, err, len(auth.Challenge))
		}
	}
}

// TestMaxDepth: an answer that nests as deep is read, one level more is not an answer.
func TestMaxDepth(t *testing.T) {
	const around = 2 // the answer and its result
	for n, ok := range map[int]bool{maxDepth: true, maxDepth + 1: false} {
		deep := n - around
		_, err := lists(t, func(int) string {
			return `{"tools":[],"x":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}`
		})
		if (err == nil) != ok || !ok && !problem.Is(err, problem.UpstreamMalformed) {
			t.Errorf("%d levels: %v", n, err)
		}
	}
}

// TestMaxFieldName: beside data as long as may be, a line has this room for its name.
func TestMaxFieldName(t *testing.T) {
	const limit = 100
	for n, ok := range map[int]bool{limit + maxFieldName: true, limit + maxFieldName + 1: false} {
		got, err := readAll(strings.NewReader(strings.Repeat("x", n)+"\ndata: a\n\n"), limit)
		if ok != (err == nil && len(got) == 1) || !ok && !errors.Is(err, errEventTooLarge) {
			t.Errorf("a line of %d bytes: %v, %v", n, got, err)
		}
	}
}

// TestMaxSessions: beyond the bound of all sessions together, one that was idle makes room.
func TestMaxSessions(t *testing.T) {
	u := newLedger(t)
	c := newClient(t, safedial.Options{AllowPrivate: true})
	as(t, c, u, "acme", "ada")
	as(t, c, u, "other", "ada")
	for over, open := range []int{3, 3} { // one more at the bound, then one past it
		c.mu.Lock()
		c.sessions = maxSessions - 1 + over // as many others
		c.mu.Unlock()
		as(t, c, u, "acme", fmt.Sprint("caller ", over))
		c.work.Wait() // for the goodbye
		c.mu.Lock()
		n := c.sessions
		c.mu.Unlock()
		if _, got := u.counts(); n != maxSessions || got != open {
			t.Errorf("%d past the bound: %d sessions are kept, want %d; %d are open, want %d", over, n, maxSessions, got, open)
		}
	}
}

// TestMaxWaiting: so many calls wait on one stream; one more is told to come back.
func TestMaxWaiting(t *testing.T) {
	for n, refused := range map[int]bool{maxWaiting - 1: false, maxWaiting: true} { // before this one
		e := &events{target: "/x", waiting: map[uint64]*waiter{}}
		for i := range n {
			e.waiting[uint64(i+10)] = &waiter{}
		}
		var x Exchange
		err := newClient(t, safedial.Options{AllowPrivate: true}).ask(&x, target(t, "http://127.0.0.1:1"), &link{version: versionSSE, stream: e}, &message{id: 1, method: "ping"})
		if p := problem.As(err); p == nil || strings.Contains(p.Detail, "too many calls") != refused {
			t.Errorf("%d wait: %v", n, err)
		}
		if len(e.waiting) != n {
			t.Errorf("%d wait after it, want %d", len(e.waiting), n)
		}
	}
}

package session

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/gateway/pool/pooltest"
	"github.com/sluicegate/sluice/internal/secrets"
)

// tables are those of nodes of one pool.
func tables(t *testing.T, server *pooltest.Server, n int, o Options) []*Table {
	t.Helper()
	return patientTables(t, server, n, o, -1)
}

func patientTables(t *testing.T, server *pooltest.Server, n int, o Options, patience time.Duration) []*Table {
	t.Helper()
	out := make([]*Table, 0, n)
	for range n {
		p, err := pool.Open(pool.Options{URL: secrets.New(server.URL()), Key: func() []byte { return bytes.Repeat([]byte("k"), 32) }, Timeout: time.Minute, Patience: patience})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		for range 1000 {
			if _, err = p.Get(t.Context(), "nobody", "nothing"); errors.Is(err, pool.ErrNone) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		o.Pool = p
		out = append(out, New(o))
	}
	return out
}

// TestSharedSession: what a client said at one node, and did at another, is known at a third.
func TestSharedSession(t *testing.T) {
	all := tables(t, pooltest.Start(t), 3, Options{})
	ctx := t.Context()
	s := all[0].Open(ada, Client{Version: "2025-06-18", Capabilities: []byte(`{"roots":{}}`)})
	s.Saw("lists")
	s.Share(ctx)
	at := func(i int) *Session { return all[i].Find(ctx, ada, []byte(s.ID())) }
	two := at(1)
	if two == nil || two.Client().Version != "2025-06-18" || string(two.Client().Capabilities) != `{"roots":{}}` || two.Saw("lists") != "lists" {
		t.Fatalf("another node knows %+v", two)
	}
	two.SetLevel(3)
	two.Follow("test://a")
	if !two.Use("up") || two.Use("up") {
		t.Error("the first use of a server is another")
	}
	if holds := two.KeepLink("up", []byte("one")); string(holds) != "one" {
		t.Errorf("%s holds", holds)
	}
	three := at(2)
	if three == nil || three.Level() != 3 || !slices.Equal(three.Followed(), []string{"test://a"}) || three.Use("up") || string(three.Link("up")) != "one" {
		t.Fatalf("a third node knows %+v", three)
	}
	if holds := three.KeepLink("up", []byte("two")); string(holds) != "one" {
		t.Errorf("%s holds", holds)
	}
	three.DropLink("up", []byte("two"))
	if string(at(0).Link("up")) != "one" {
		t.Error("what holds was taken out")
	}
	three.DropLink("up", []byte("one"))
	three.Unfollow("test://a")
	if one := at(0); one != s || one.Link("up") != nil || len(one.Followed()) != 0 || one.Level() != 3 {
		t.Errorf("the first node knows %+v", one)
	}
	if all[1].Find(ctx, Owner{Caller: "eve"}, []byte(s.ID())) != nil {
		t.Error("another finds it")
	}
	// A session that only one node can serve.
	two.Pin()
	if at(0) != nil || at(2) != nil || at(1) != two {
		t.Error("it is served by another node than the one it is pinned to")
	}
	all[1].End(ctx, two)
	if at(1) != nil || all[0].Len()+all[1].Len()+all[2].Len() != 0 {
		t.Error("it goes on after its end")
	}
}

// awaitState waits until the server answers all nodes.
func awaitState(t *testing.T, all []*Table) {
	t.Helper()
	for _, one := range all {
		for range 1000 {
			if _, err := one.pool.Get(t.Context(), "nobody", "nothing"); errors.Is(err, pool.ErrNone) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// TestResumeShares: when the server lost the sessions, those between two requests are at other
// nodes again as well, but for those that were idle for too long or ended.
func TestResumeShares(t *testing.T) {
	server := pooltest.Start(t)
	all := tables(t, server, 2, Options{})
	ctx := t.Context()
	var open []*Session
	for range 3 {
		s := all[0].Open(ada, Client{Version: "2025-06-18"})
		s.Share(ctx)
		open = append(open, s)
	}
	server.Kill()
	server.Run()
	awaitState(t, all)
	old, over := open[1], open[2]
	all[0].mu.Lock()
	old.lastUsed = old.lastUsed.Add(-idleTime)
	all[0].mu.Unlock()
	if _, err := all[1].pool.End(ctx, ada.String(), over.id, 0, idleTime); err != nil {
		t.Fatal(err)
	}
	all[0].resume(ctx)
	for i, want := range []bool{true, false, false} {
		if got := all[1].Find(ctx, ada, []byte(open[i].ID())); (got != nil) != want {
			t.Errorf("session %d at another node: %v", i, got != nil)
		}
	}
}

// TestSharedAgain: when the server lost a session, and a node that did not follow it is the first
// to share it again, what was done at other nodes is known to all again.
func TestSharedAgain(t *testing.T) {
	server := pooltest.Start(t)
	all := tables(t, server, 4, Options{})
	ctx := t.Context()
	s := all[0].Open(ada, Client{Version: "2025-06-18"})
	s.Share(ctx)
	at := func(i int) *Session { return all[i].Find(ctx, ada, []byte(s.ID())) }
	two := at(1)
	two.Move(ctx)
	two.SetLevel(3)
	two.Saw("lists")
	two.Follow("test://a")
	two.Use("up")
	two.KeepLink("up", []byte("one"))
	at(2).KeepLink("other", []byte("two"))

	server.Kill()
	server.Run()
	awaitState(t, all)
	for range 2 { // each shares what it knows, then knows what the others shared
		for i := range 3 {
			if at(i) == nil {
				t.Fatalf("node %d does not know it", i)
			}
		}
	}
	for i := range all {
		got := at(i)
		if got == nil {
			t.Fatalf("node %d does not know it", i)
		}
		if string(got.Link("up")) != "one" || string(got.Link("other")) != "two" || !slices.Equal(got.Followed(), []string{"test://a"}) || got.Level() != 3 || got.Use("up") || got.Saw("lists") != "lists" {
			t.Errorf("node %d knows %+v", i, got.shared)
		}
	}
}

// TestSharedAgainPinned: a node that learns from a record made anew that another one alone can serve
// the session does not serve it.
func TestSharedAgainPinned(t *testing.T) {
	server := pooltest.Start(t)
	all := tables(t, server, 2, Options{})
	ctx := t.Context()
	s := all[0].Open(ada, Client{Version: "2025-06-18"})
	s.Share(ctx)
	other := all[1].Find(ctx, ada, []byte(s.ID()))
	s.Pin()
	server.Kill()
	server.Run()
	awaitState(t, all)
	if all[0].Find(ctx, ada, []byte(s.ID())) != s {
		t.Fatal("its node does not know it")
	}
	if other == nil || all[1].Find(ctx, ada, []byte(s.ID())) != nil {
		t.Error("another node serves it")
	}
}

// TestFindWaits: a session that only another node knows is found when the server, which lost it, is
// back and that node has shared it again; one that this node knows is not waited for.
func TestFindWaits(t *testing.T) {
	server := pooltest.Start(t)
	all := patientTables(t, server, 2, Options{}, 2*time.Minute)
	ctx := t.Context()
	here, there := all[0].Open(ada, Client{Version: "2025-06-18"}), all[1].Open(ada, Client{Version: "2025-06-18"})
	here.Share(ctx)
	there.Share(ctx)
	server.Kill()
	if all[1].Find(ctx, ada, []byte(there.ID())) != there {
		t.Error("its own node does not serve it")
	}
	var found *Session
	var ask sync.WaitGroup
	ask.Go(func() { found = all[1].Find(ctx, ada, []byte(here.ID())) })
	server.Run()
	for here.share(ctx) != nil {
		time.Sleep(10 * time.Millisecond)
	}
	if ask.Wait(); found == nil {
		t.Error("another node gave it up")
	}
}

// TestVersions: the version behind each other one.
func TestVersions(t *testing.T) {
	for version, want := range map[string]string{"": "1", "0": "1", "9": "10", "199": "200", "999": "1000", "140737488355327": "140737488355328"} {
		if got := next(version); got != want {
			t.Errorf("behind %s comes %s", version, got)
		}
	}
	for _, c := range []struct {
		known, now string
		want       bool
	}{
		{"5", "5", true},
		{"5", "6", true},
		{"6", "5", false},
		{"99", "100", true},
		{"7", "140737488355327", false},
		{"7", strconv.Itoa(7 + maxChanges - 1), true},
		{"7", strconv.Itoa(7 + maxChanges), false},
		{"7", "x", false},
		{"x", "7", false},
		{"7", "", false},
	} {
		if got := follows(c.now, c.known); got != c.want {
			t.Errorf("%q follows %q: %v", c.now, c.known, got)
		}
	}
}

// TestEndsAreToldLater: a session that ended while the pool did not answer ends there when it
// does; as many are remembered as may be.
func TestEndsAreToldLater(t *testing.T) {
	server := pooltest.Start(t)
	all := tables(t, server, 1, Options{})
	table, ctx := all[0], t.Context()
	server.Kill()
	for range maxUntold + 1 {
		s := table.Open(ada, Client{})
		table.End(ctx, s)
	}
	if len(table.untold) != maxUntold {
		t.Errorf("%d ends are remembered", len(table.untold))
	}
	last := table.untold[0]
	server.Run()
	for range 1000 {
		if table.keepUp(ctx, nil); len(table.untold) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := table.pool.Touch(ctx, ada.String(), last.id, "", time.Minute); !errors.Is(err, pool.ErrEnded) {
		t.Errorf("it is not known as ended: %v", err)
	}
}

// TestAskedNodes: a node answers as many questions of others at a time as it may, and what it
// does not know is answered at once.
func TestAskedNodes(t *testing.T) {
	block := make(chan struct{})
	begun := make(chan struct{}, maxAsked+1)
	all := tables(t, pooltest.Start(t), 2, Options{Answers: func(_ *Session, what []byte) []byte {
		begun <- struct{}{}
		<-block
		return what
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	for _, one := range all {
		go func() { one.hear(ctx); done <- struct{}{} }()
	}
	defer func() { cancel(); <-done; <-done }()
	s := all[0].Open(ada, Client{})
	s.Share(ctx)
	other := all[1].Find(ctx, ada, []byte(s.ID()))
	if other == nil {
		t.Fatal("the session is not known")
	}
	for range maxAsked {
		all[0].heard(ctx, message{Kind: kindAsk, From: "nobody", Session: s.id})
	}
	for range maxAsked {
		<-begun
	}
	all[0].heard(ctx, message{Kind: kindAsk, From: "nobody", Session: s.id})
	if len(all[0].asked) != maxAsked || len(begun) != 0 {
		t.Errorf("%d questions are answered at once", len(all[0].asked)+len(begun))
	}
	close(block)
	for range 1000 {
		if got := other.AskNode(ctx, all[0].node, []byte("x"), 100*time.Millisecond); string(got) == "x" {
			break
		}
	}
	all[0].remove(s, true)
	if got := other.AskNode(ctx, all[0].node, []byte("x"), time.Minute); got != nil {
		t.Errorf("of a session that it does not know it says %s", got)
	}
}

// TestWaitingMessages: of what other nodes say as many wait as may.
func TestWaitingMessages(t *testing.T) {
	q := make(chan message, maxWaiting)
	for i := range maxWaiting + 1 {
		if put(q, message{Token: strconv.Itoa(i)}) != (i < maxWaiting) {
			t.Fatalf("message %d", i+1)
		}
	}
}

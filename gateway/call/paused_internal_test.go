package call

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

func waiting(id, owner string) *paused {
	return &paused{id: id, owner: owner, expires: time.Now().Add(pauseTime), done: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// TestPausesAreBounded: maxPausedOwner calls of one caller at a tool wait, and maxPaused of
// all; one that has expired makes room.
func TestPausesAreBounded(t *testing.T) {
	a := &pauses{waiting: map[string]*paused{}}
	for i := range maxPausedOwner {
		if !a.put(waiting(fmt.Sprint("own", i), "ada")) {
			t.Fatalf("call %d is refused", i)
		}
	}
	if a.put(waiting("more", "ada")) {
		t.Error("a call past the bound of its owner waits")
	}
	for i := range maxPaused - maxPausedOwner {
		if !a.put(waiting(fmt.Sprint(i), fmt.Sprint("owner", i))) {
			t.Fatalf("call %d is refused", i)
		}
	}
	if a.put(waiting("more", "bob")) {
		t.Error("a call past the bound of all waits")
	}
	a.waiting["own0"].expires = time.Now().Add(-time.Second)
	if !a.put(waiting("more", "bob")) || a.waiting["own0"] != nil {
		t.Error("a call that has expired makes no room")
	}
}

// TestPausesHaveOwners: a call goes on for its caller and its tool, once.
func TestPausesHaveOwners(t *testing.T) {
	a := &pauses{waiting: map[string]*paused{}}
	h := waiting("x", "ada")
	a.put(h)
	if a.take("x", "bob") != nil || a.take("y", "ada") != nil || a.take("x", "ada") != h || a.take("x", "ada") != nil {
		t.Error("a call is not its owner's alone, once")
	}
	a.close()
	if a.put(h) {
		t.Error("a call waits after the end")
	}
}

// TestPausedQuestions: what is not answered is asked again.
func TestPausedQuestions(t *testing.T) {
	h := waiting("x", "ada")
	h.client = jsonscan.Trusted([]byte(`{"elicitation":{}}`))
	done := make(chan struct{})
	if got := h.ask("roots/list", jsonscan.Value{}, done); string(got) != memberNoCapability {
		t.Errorf("a client without roots: %s", got)
	}
	answers := make(chan string, 2)
	for range 2 {
		go func() {
			answers <- string(h.ask("elicitation/create", jsonscan.Trusted([]byte(`{"message":"?"}`)), done))
		}()
	}
	for n := 0; n < 2; {
		<-h.wake
		n = strings.Count(string(h.question()), `"method":"elicitation/create","params":{"message":"?"}`)
	}
	h.answer(jsonscan.Trusted([]byte(`{"request-2":{"action":"accept"},"other":{}}`)))
	if got := <-answers; got != `"result":{"action":"accept"}` {
		t.Errorf("the answer is %s", got)
	}
	if got := string(h.question()); !strings.Contains(got, `"request-1"`) || strings.Contains(got, `"request-2"`) || !strings.Contains(got, `"requestState":"x"`) {
		t.Errorf("asked again: %s", got)
	}
	h.refuse()
	if got := <-answers; got != memberTooMany || h.question() != nil {
		t.Errorf("refused: %s", got)
	}
	close(done)
}

// TestRounds: a server may ask maxRounds times less one, and is cut off then.
func TestRounds(t *testing.T) {
	for _, c := range []struct {
		asks, calls int
		fails       bool
	}{{0, 1, false}, {maxRounds - 1, maxRounds, false}, {maxRounds, maxRounds, true}} {
		calls := 0
		err := rounds(func() error { calls++; return nil }, func() (bool, error) { return calls <= c.asks, nil })
		if calls != c.calls || (err != nil) != c.fails {
			t.Errorf("%d questions: %d calls, %v", c.asks, calls, err)
		}
	}
}

// TestDeclared: what a client declares makes no session large.
func TestDeclared(t *testing.T) {
	x := &exchange{input: input{request: &mcp.CallParams{Version: mcp.V20260728}}}
	for size, kept := range map[int]bool{2: false, 3: true, maxDeclared: true, maxDeclared + 1: false} {
		x.call.Capabilities = make([]byte, size)
		if got := x.declared(); (got != nil) != kept {
			t.Errorf("%d bytes are declared: %v", size, got != nil)
		}
	}
}

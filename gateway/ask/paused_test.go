package ask

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

func waiting(id, owner string) *Paused {
	return &Paused{id: id, owner: owner, expires: time.Now().Add(pauseTime), done: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// TestPausesAreBounded: maxPausedOwner calls of one caller at a tool wait, and maxPaused of
// all; one that has expired makes room.
func TestPausesAreBounded(t *testing.T) {
	a := &Pauses{waiting: map[string]*Paused{}}
	for i := range maxPausedOwner {
		if !a.Put(waiting(fmt.Sprint("own", i), "ada")) {
			t.Fatalf("call %d is refused", i)
		}
	}
	if a.Put(waiting("more", "ada")) {
		t.Error("a call past the bound of its owner waits")
	}
	for i := range maxPaused - maxPausedOwner {
		if !a.Put(waiting(fmt.Sprint(i), fmt.Sprint("owner", i))) {
			t.Fatalf("call %d is refused", i)
		}
	}
	if a.Put(waiting("more", "bob")) {
		t.Error("a call past the bound of all waits")
	}
	a.waiting["own0"].expires = time.Now().Add(-time.Second)
	if !a.Put(waiting("more", "bob")) || a.waiting["own0"] != nil {
		t.Error("a call that has expired makes no room")
	}
}

// TestPausesHaveOwners: a call goes on for its caller and its tool, once.
func TestPausesHaveOwners(t *testing.T) {
	a := &Pauses{waiting: map[string]*Paused{}}
	h := waiting("x", "ada")
	a.Put(h)
	if a.Take("x", "bob") != nil || a.Take("y", "ada") != nil || a.Take("x", "ada") != h || a.Take("x", "ada") != nil {
		t.Error("a call is not its owner's alone, once")
	}
	a.Close()
	if a.Put(h) {
		t.Error("a call waits after the end")
	}
}

// TestPausedQuestions: what is not answered is asked again.
func TestPausedQuestions(t *testing.T) {
	h := waiting("x", "ada")
	h.client = jsonscan.Trusted([]byte(`{"elicitation":{}}`))
	done := make(chan struct{})
	if got := h.Ask("roots/list", jsonscan.Value{}, done); string(got) != memberNoCapability {
		t.Errorf("a client without roots: %s", got)
	}
	answers := make(chan string, 2)
	for range 2 {
		go func() {
			answers <- string(h.Ask("elicitation/create", jsonscan.Trusted([]byte(`{"message":"?"}`)), done))
		}()
	}
	for n := 0; n < 2; {
		<-h.wake
		n = strings.Count(string(h.Question()), `"method":"elicitation/create","params":{"message":"?"}`)
	}
	h.Answer(jsonscan.Trusted([]byte(`{"request-2":{"action":"accept"},"other":{}}`)))
	if got := <-answers; got != `"result":{"action":"accept"}` {
		t.Errorf("the answer is %s", got)
	}
	if got := string(h.Question()); !strings.Contains(got, `"request-1"`) || strings.Contains(got, `"request-2"`) || !strings.Contains(got, `"requestState":"x"`) {
		t.Errorf("asked again: %s", got)
	}
	h.Refuse()
	if got := <-answers; got != memberTooMany || h.Question() != nil {
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
		err := Rounds(func() error { calls++; return nil }, func() (bool, error) { return calls <= c.asks, nil })
		if calls != c.calls || (err != nil) != c.fails {
			t.Errorf("%d questions: %d calls, %v", c.asks, calls, err)
		}
	}
}

// TestHeld: what a server tells while its client answers reaches the next request, in order,
// and of too much the newest.
func TestHeld(t *testing.T) {
	h := &Paused{progress: make(chan struct{}, 1)}
	told := func() (n, first int) {
		h.Listen(func(_ string, params jsonscan.Value) {
			if v, _ := params.Get("progress").Int64(); n == 0 {
				first = int(v)
			}
			n++
		})
		h.Listen(nil)
		return n, first
	}
	for _, c := range []struct{ count, size, want, first int }{{1, 1, 1, 0}, {maxHeld, 1, maxHeld, 0}, {maxHeld + 1, 1, maxHeld, 1}, {3, maxHeldBytes / 2, 1, 2}, {1, maxHeldBytes, 0, 0}} {
		for i := range c.count {
			h.tell("notifications/progress", jsonscan.Trusted(fmt.Appendf(nil, `{"progress":%d,"message":"%s"}`, i, strings.Repeat("x", c.size))))
		}
		if n, first := told(); n != c.want || first != c.first {
			t.Errorf("%d of %d bytes: %d are told, the first is %d", c.count, c.size, n, first)
		}
		if n, _ := told(); n != 0 || h.size != 0 {
			t.Errorf("%d are told twice, %d bytes", n, h.size)
		}
	}
}

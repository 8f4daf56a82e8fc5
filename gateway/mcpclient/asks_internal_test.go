package mcpclient

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestFloodBounds: the last message that counts, and the first that is too many.
func TestFloodBounds(t *testing.T) {
	var many, large flood
	for range maxNotifications {
		if many.over(0) {
			t.Fatalf("message %d is too many", many.count)
		}
	}
	if !many.over(0) || !many.overrun {
		t.Error("one past the number is not too many")
	}
	if large.over(maxNotified) || !large.over(1) || !large.overrun {
		t.Error("the bytes are not counted")
	}
}

// TestAsksAreBounded: at most maxAsks requests of a server wait at a time, and none after
// the call.
func TestAsksAreBounded(t *testing.T) {
	var none *asks
	if none.begin() {
		t.Error("a caller that cannot be asked is")
	}
	waits := make(chan struct{})
	a := &asks{done: make(chan struct{}), ask: func(_ string, _ jsonscan.Value, done <-chan struct{}) []byte {
		select {
		case <-waits:
			return []byte(`"result":{}`)
		case <-done:
			return []byte(`"error":{}`)
		}
	}}
	answers := make(chan []byte, maxAsks)
	ask := func() { answers <- a.answer("x", jsonscan.Value{}) }
	for range maxAsks {
		if !a.begin() {
			t.Fatal("a request within the bound is refused")
		}
		go ask()
	}
	if a.begin() {
		t.Fatal("a request past the bound is not refused")
	}
	waits <- struct{}{}
	if got := <-answers; string(got) != `"result":{}` {
		t.Errorf("the answer is %s", got)
	}
	if !a.begin() {
		t.Error("one that was answered still counts")
	}
	go ask()
	a.end()
	for range maxAsks {
		if got := <-answers; got != nil {
			t.Errorf("after the call the answer is %s", got)
		}
	}
	if a.begin() {
		t.Error("a request is asked after the call")
	}
}

// TestEarLate: a session whose stream was waited for in vain waits once.
func TestEarLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &ear{opened: make(chan struct{})}
		for i, want := range []time.Duration{earWait, 0, 0} {
			began := time.Now()
			if late := e.await(); time.Since(began) != want || late != (want > 0) {
				t.Errorf("call %d waited %v, want %v; late is %t", i, time.Since(began), want, late)
			}
		}
		open := &ear{opened: make(chan struct{})}
		close(open.opened)
		if open.await() {
			t.Error("an open stream is late")
		}
	})
}

package turns

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurnsAreFair: a share with one call that waits gets its turn next but one, whatever
// number of calls of another wait; and no more than so many wait.
func TestTurnsAreFair(t *testing.T) {
	q := NewQueue()
	q.turns, q.free = 1, 1
	greedy := q.Join("greedy")
	calls := make([]Turn, 2+MaxWaiting)
	for n := range calls {
		if free := calls[n].Enter(q, greedy, ""); free != (n == 0) {
			t.Fatalf("call %d of a share runs without a turn: %v", n, free)
		}
	}
	for n := range calls {
		has, waits := q.ask(&calls[n])
		if has != (n == 0) || waits != (n > 0 && n <= MaxWaiting) {
			t.Fatalf("call %d: has its turn %v, waits %v", n, has, waits)
		}
	}
	var modest Turn
	if !modest.Enter(q, q.Join("modest"), "") {
		t.Error("the only call of a share needs a turn")
	}
	if _, waits := q.ask(&modest); !waits {
		t.Fatal("it does not wait")
	}
	q.give(&calls[0])
	if !calls[1].held {
		t.Fatal("the first that waited has no turn")
	}
	q.give(&calls[1])
	if !modest.held || calls[2].held {
		t.Fatal("the share with one call is not next")
	}
	q.give(&modest)
	if !calls[2].held || !q.withdraw(&calls[2]) || q.withdraw(&calls[3]) {
		t.Error("who gives up waiting has, or has not, got its turn meanwhile")
	}
	q.give(&calls[2])
	if calls[3].held || !calls[4].held {
		t.Error("who gave up got a turn")
	}
}

// TestStoppedSharesRest: after a call was stopped the next of its share begins when the
// share has rested, with a turn; those of other shares begin at once.
func TestStoppedSharesRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		share := q.Join("greedy")
		begin := func(patience time.Duration) (time.Duration, error) {
			var next Turn
			if next.Enter(q, share, "") {
				t.Fatal("a call of a share that rests runs without a turn")
			}
			defer next.Give()
			start := time.Now()
			err := next.Begin(t.Context(), start.Add(patience))
			return time.Since(start), err
		}
		stop := func(used time.Duration) {
			var turn Turn
			turn.Enter(q, share, "")
			turn.Stopped(used)
			turn.Give()
		}
		for used, want := range map[time.Duration]time.Duration{time.Millisecond: restFor * time.Millisecond, time.Second: longestRest} {
			stop(used)
			var other Turn
			if !other.Enter(q, q.Join("modest"), "") {
				t.Error("a call of another share needs a turn")
			}
			other.Give()
			if took, err := begin(time.Second); took != want || err != nil {
				t.Errorf("after %v the share rests %v, not %v: %v", used, took, want, err)
			}
		}
		stop(time.Second)
		if took, err := begin(longestRest - 1); took != 0 || !errors.Is(err, ErrBusy) {
			t.Errorf("a call that cannot wait as long fails after %v with %v", took, err)
		}
		var next Turn
		next.Enter(q, share, "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := next.Begin(ctx, time.Now().Add(time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call whose caller left fails with %v", err)
		}
		time.Sleep(longestRest)
		if !next.Enter(q, share, "") {
			t.Error("a share that has rested needs a turn")
		}
	})
}

// TestRestComesWhileWaiting: a call whose turn comes after another of its share was
// stopped gives it back and waits until the share has rested.
func TestRestComesWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		q.turns, q.free = 1, 1
		share := q.Join("greedy")
		var free, first, second Turn
		free.Enter(q, share, "")
		first.Enter(q, share, "")
		if err := first.Begin(t.Context(), time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		done := make(chan error)
		go func() {
			second.Enter(q, share, "")
			done <- second.Begin(t.Context(), start.Add(time.Second))
		}()
		synctest.Wait()
		first.Stopped(time.Second)
		first.Give()
		synctest.Wait()
		if q.Taken() != 0 {
			t.Error("a call that waits for its share to rest keeps its turn")
		}
		if err := <-done; err != nil || time.Since(start) != longestRest {
			t.Errorf("it begins after %v: %v", time.Since(start), err)
		}
		if q.Taken() != 1 {
			t.Error("it begins without a turn")
		}
	})
}

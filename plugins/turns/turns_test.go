package turns

import "testing"

// TestTurnsAreFair: a share with one call that waits gets its turn next but one, whatever
// number of calls of another wait; and no more than so many wait.
func TestTurnsAreFair(t *testing.T) {
	q := NewQueue()
	q.turns, q.free = 1, 1
	greedy := q.Join("greedy")
	calls := make([]Turn, 2+MaxWaiting)
	for n := range calls {
		if free := calls[n].Enter(q, greedy); free != (n == 0) {
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
	if !modest.Enter(q, q.Join("modest")) {
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

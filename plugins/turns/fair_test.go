package turns

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestCallersTakeTurns: within a share the caller with one call gets its turn next but one,
// and a place also where another's calls fill the line: the last of those makes room.
func TestCallersTakeTurns(t *testing.T) {
	q := NewQueue()
	q.turns, q.free = 1, 1
	share := q.Join("toolset")
	calls := make([]Turn, 1+MaxWaiting)
	for n := range calls {
		calls[n].Enter(q, share, "greedy")
		if has, waits := q.ask(&calls[n]); !has && !waits {
			t.Fatalf("call %d of %d finds no place", n, len(calls))
		}
	}
	var beyond, modest Turn
	beyond.Enter(q, share, "greedy")
	if _, waits := q.ask(&beyond); waits {
		t.Errorf("more than %d calls of a caller wait", MaxWaiting)
	}
	modest.Enter(q, share, "modest")
	if _, waits := q.ask(&modest); !waits || !calls[MaxWaiting].refused || q.withdraw(&calls[MaxWaiting]) {
		t.Error("a caller with no call finds the line full, or another keeps its last place")
	}
	if calls[MaxWaiting-1].refused {
		t.Error("more than one call is refused")
	}
	q.give(&calls[0])
	if !calls[1].held {
		t.Fatal("the first that waited has no turn")
	}
	<-calls[1].granted // as Take does
	q.give(&calls[1])
	if !modest.held || calls[2].held {
		t.Fatal("the caller with one call is not next")
	}
	if has, waits := q.ask(&calls[1]); has || !waits {
		t.Fatal("there is no room for the call that had its turn")
	}
	q.give(&modest)
	if !calls[2].held {
		t.Fatal("the next call of the other caller has no turn")
	}
}

// TestOthersDoNotRest: after a call was stopped its caller rests, and others whose calls were
// stopped of late; those whose were not go on, unless there are more such callers than a
// share knows.
func TestOthersDoNotRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		share := q.Join("toolset")
		stop := func(caller string) {
			var turn Turn
			turn.Enter(q, share, caller)
			turn.Stopped(time.Second)
			turn.Give()
		}
		rests := func(caller string) bool {
			var turn Turn
			defer turn.Give()
			return !turn.Enter(q, share, caller)
		}
		check := func(when string, want map[string]bool) {
			t.Helper()
			for caller, want := range want {
				if rests(caller) != want {
					t.Errorf("%s %q rests: %v, want %v", when, caller, !want, want)
				}
			}
		}
		stop("mallory")
		check("after mallory's call was stopped", map[string]bool{"mallory": true, "ada": false, "": false})
		time.Sleep(longestRest)
		check("after the rest", map[string]bool{"mallory": false})
		stop("eve")
		check("after eve's call was stopped too", map[string]bool{"mallory": true, "eve": true, "ada": false})
		time.Sleep(suspectFor)
		stop("eve")
		check("long after", map[string]bool{"mallory": false, "eve": true, "ada": false})
		time.Sleep(2 * suspectFor)
		for n := range maxSuspects {
			stop(fmt.Sprint("name ", n))
		}
		check(fmt.Sprintf("after %d callers", maxSuspects), map[string]bool{"name 0": true, "ada": false})
		stop("one more")
		check("after one more", map[string]bool{"name 0": true, "ada": true, "": true})
		if len(share.suspect) > maxSuspects {
			t.Errorf("%d callers are known, more than %d", len(share.suspect), maxSuspects)
		}
		time.Sleep(suspectFor)
		stop("mallory")
		check("when they are forgotten", map[string]bool{"mallory": true, "ada": false})
	})
}

// TestPlaces: neither a share nor a caller has all places, and who waits gets them in turn.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(8, 6, 4)
		take := func(share, caller string) error { return p.Take(t.Context(), time.Second, share, caller) }
		must := func(share, caller string, n int) {
			t.Helper()
			for range n {
				if err := take(share, caller); err != nil {
					t.Fatalf("%s of %s: %v", caller, share, err)
				}
			}
		}
		must("a", "mallory", 4)
		start := time.Now()
		if err := take("a", "mallory"); !errors.Is(err, ErrBusy) || time.Since(start) != time.Second {
			t.Errorf("a caller's fifth place: %v after %v", err, time.Since(start))
		}
		must("a", "ada", 2)
		if err := take("a", "ada"); !errors.Is(err, ErrBusy) {
			t.Errorf("a share's seventh place: %v", err)
		}
		must("b", "ada", 2)
		if n := p.Taken(); n != 8 {
			t.Errorf("%d places are taken, want 8", n)
		}

		order := make(chan string, 10)
		for n := range 3 {
			go func() {
				if take("b", "greedy") == nil {
					order <- fmt.Sprint("greedy ", n)
				}
			}()
			synctest.Wait()
		}
		go func() {
			if take("b", "modest") == nil {
				order <- "modest"
			}
		}()
		synctest.Wait()
		for _, want := range []string{"greedy 0", "modest", "greedy 1", "greedy 2"} {
			p.Give("a", "mallory")
			synctest.Wait()
			if got := <-order; got != want {
				t.Errorf("%s is next, want %s", got, want)
			}
		}
		p.Give("a", "ada")
		p.Give("a", "ada")
		p.Give("b", "ada")
		p.Give("b", "ada")
		p.Give("b", "modest")
		for range 3 {
			p.Give("b", "greedy")
		}
		if n := p.Taken(); n != 0 || len(p.held) != 0 || len(p.line.list) != 0 {
			t.Errorf("%d places stay taken: %v, %d wait", n, p.held, len(p.line.list))
		}
		must("c", "", 6)
		if err := take("c", ""); !errors.Is(err, ErrBusy) {
			t.Errorf("callers without a name have more than their share: %v", err)
		}
	})
}

// TestPlacesAreBounded: so many calls wait for places, and a caller without one among them
// finds room.
func TestPlacesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(1, 1, 1)
		if err := p.Take(t.Context(), 0, "", "greedy"); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, MaxWaiting)
		for range MaxWaiting {
			go func() {
				if err := p.Take(t.Context(), time.Minute, "", "greedy"); err != nil {
					failed <- err
					return
				}
				p.Give("", "greedy")
			}()
		}
		synctest.Wait()
		start := time.Now()
		if err := p.Take(t.Context(), time.Minute, "", "greedy"); !errors.Is(err, ErrBusy) || time.Since(start) > 0 {
			t.Errorf("with %d that wait: %v after %v", MaxWaiting, err, time.Since(start))
		}
		done := make(chan error)
		go func() { done <- p.Take(t.Context(), time.Minute, "", "modest") }()
		synctest.Wait()
		if len(failed) != 1 || !errors.Is(<-failed, ErrBusy) {
			t.Error("no call of the caller with most of them makes room")
		}
		p.Give("", "greedy")
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.Give("", "modest")
		synctest.Wait()
		if n := p.Taken(); n != 0 {
			t.Errorf("%d places stay taken", n)
		}
	})
}

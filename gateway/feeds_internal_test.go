package gateway

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/gateway/upstream"
)

// TestPace: however often a server says that a resource changed, its client is told now
// and then, and of each resource.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		count := map[string]int{} // guarded by mu
		p := &pace{send: func(uri string) {
			mu.Lock()
			defer mu.Unlock()
			count[uri]++
		}}
		// sent waits for what is due and forgets it.
		sent := func(wait time.Duration) map[string]int {
			time.Sleep(wait)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			told := count
			count = map[string]int{}
			return told
		}
		for range 1000 {
			p.tell("a")
			p.tell("b")
			time.Sleep(time.Millisecond)
		}
		told := sent(2 * paceEvery)
		for _, uri := range []string{"a", "b"} { // the timer may end between the two, so one may have one more
			if most := 2 + int(time.Second/paceEvery); told[uri] > most || told[uri] < most-2 {
				t.Errorf("told %v in a second, at most %d times each", told, most)
			}
		}
		p.tell("first")
		sent(0)
		for i := range maxPaced + 1 { // all of them wait until the next time
			p.tell(fmt.Sprint(i))
		}
		if told = sent(time.Second); len(told) != maxPaced {
			t.Errorf("%d wait, not %d", len(told), maxPaced)
		}
		p.tell("now")
		sent(0)
		p.tell("late") // waits, so the end comes before it
		p.stop()
		p.tell("later")
		if told = sent(time.Second); len(told) != 0 {
			t.Errorf("told %v after the end", told)
		}
	})
}

// TestFeedBounds: a node, a caller and a session have so many subscriptions.
func TestFeedBounds(t *testing.T) {
	a := newFeeds(nil)
	ada, bob := session.Owner{Caller: "ada"}, session.Owner{Caller: "bob"}
	if a.owners[ada] = maxOwnerFeeds - 1; a.fullLocked(ada) {
		t.Error("the last of a caller's is refused")
	}
	if a.owners[ada] = maxOwnerFeeds; !a.fullLocked(ada) || a.fullLocked(bob) {
		t.Error("a caller has more than its share, or another has less")
	}
	for i := range maxFeeds - 1 {
		a.open[feedKey{connector: fmt.Sprint(i)}] = &feed{}
	}
	if a.fullLocked(bob) {
		t.Error("the last of the node's is refused")
	}
	a.open[feedKey{}] = &feed{}
	if !a.fullLocked(bob) || a.count() != maxFeeds {
		t.Error("the node has more than its share")
	}
	a = newFeeds(nil)
	for i := range maxHearing {
		f := &feed{key: feedKey{client{&session.Session{}}, "up"}, sess: &session.Session{}, owner: session.Owner{Toolset: "t"}}
		a.open[f.key] = f
		a.heard[f.server()]++
		if want := i+1 == maxHearing; a.enoughLocked("t", "up") != want || a.enoughLocked("t", "other") || a.enoughLocked("other", "up") {
			t.Fatalf("%d clients hear a server: %v", i+1, !want)
		}
	}
	for i := range maxFeeds - maxOwnerFeeds - maxHearing {
		a.open[feedKey{connector: fmt.Sprint(i)}] = &feed{}
	}
	if !a.enoughLocked("other", "up") {
		t.Error("clients that hear leave no room for those that ask")
	}
	f := &feed{all: a, uris: map[string]string{}}
	for i := range maxFollowed {
		if err := f.add(fmt.Sprint(i), ""); err != nil {
			t.Fatal(err)
		}
	}
	if f.add("0", "") != nil || f.add("more", "") == nil {
		t.Errorf("the bound of %d resources does not hold", maxFollowed)
	}
	if f.remove("0"); f.add("more", "") != nil {
		t.Error("a subscription that ended still counts")
	}
}

// TestHearLate: where the stream of a server is late, only the first client waits for it whole.
func TestHearLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newFeeds(nil)
		// waits is how long a call of a new client at a server waits for a stream that opens after
		// a time; 0: it never does.
		waits := func(server string, opens time.Duration) time.Duration {
			f := &feed{all: a, key: feedKey{connector: server}, settled: make(chan struct{})}
			if opens > 0 {
				time.AfterFunc(opens, func() { close(f.settled) })
			}
			began := time.Now()
			a.await(f, &upstream.Cancel{})
			return time.Since(began)
		}
		for i, c := range []struct {
			server string
			opens  time.Duration
			want   time.Duration
		}{
			{"quick", time.Millisecond, time.Millisecond},
			{"mute", 0, hearWait},
			{"mute", 0, hearSoon},
			{"mute", time.Millisecond, time.Millisecond},
			{"quick", hearWait / 2, hearWait / 2}, // another server is not late
		} {
			if got := waits(c.server, c.opens); got != c.want {
				t.Errorf("%d: waited %v, want %v", i, got, c.want)
			}
		}
		time.Sleep(lateFor)
		if got := waits("mute", 0); got != hearWait || len(a.late) != 1 {
			t.Errorf("later: waited %v, want %v; %d servers are late", got, hearWait, len(a.late))
		}
		time.Sleep(lateFor)
		if waits("other", 0); len(a.late) != 1 {
			t.Errorf("%d servers are late, want the one", len(a.late))
		}
	})
}

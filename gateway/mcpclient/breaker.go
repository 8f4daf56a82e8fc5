package mcpclient

import (
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// breakAfter failures in a row to reach a server its calls fail at once: agents
	// get their answer without waiting, and the server is left alone.
	breakAfter = 5
	// breakFirst and breakMost are how long; it doubles with each probe that fails.
	breakFirst = time.Second
	breakMost  = 30 * time.Second
)

// breaker stops calls to a server that cannot be reached, and lets one through
// from time to time to see whether it can again.
type breaker struct {
	mu      sync.Mutex
	reached uint64        // guarded by mu; calls that reached the server
	failed  int           // guarded by mu; in a row
	pause   time.Duration // guarded by mu; 0: closed
	until   time.Time     // guarded by mu; end of the pause
	probing bool          // guarded by mu; a call is seeing whether it answers again
}

// enter lets a call through or says why not. Who was let through calls leave with the
// number that enter returned: how many calls had reached the server before this one.
func (b *breaker) enter(server string, now time.Time) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.pause == 0:
		return b.reached, nil
	case now.Before(b.until) || b.probing:
		wait := max(b.until.Sub(now).Round(time.Second), time.Second)
		return 0, problem.New(problem.Unavailable, "%s could not be reached %d times in a row", server, b.failed).
			Fix("try again in %d seconds; the other tools are not affected", int(wait.Seconds()))
	}
	b.probing = true
	return b.reached, nil
}

// open reports whether calls fail without being made.
func (b *breaker) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pause > 0
}

// leave notes how a call ended; reached is false when the server was not there. A call
// during which the server was reached by another proves nothing: many calls at once on
// connections that the server closes one by one are not a server that is away.
func (b *breaker) leave(entered uint64, reached bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
	if reached {
		b.reached++
		b.failed, b.pause = 0, 0
		return
	}
	if entered != b.reached {
		return
	}
	if b.failed++; b.failed < breakAfter {
		return
	}
	b.pause = min(max(2*b.pause, breakFirst), breakMost)
	b.until = now.Add(b.pause)
}

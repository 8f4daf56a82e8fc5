package claim

import "context"

// OwnName is how a process names itself to the server.
var OwnName = claimName

// Unwatch ends the watcher, for tests that look at the lock themselves.
func (c *Claim) Unwatch() {
	c.stop()
	<-c.done
}

// Take tries to take the lock, as the watcher does.
func (c *Claim) Take(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.retakeLocked(ctx)
}

// Cause is why there is no connection.
var Cause = cause

// TakeClaim is the statement that takes the lock.
const TakeClaim = takeClaim

package sock

import (
	"sync/atomic"
	"time"
)

// beatEvery is how long the runtime's monitor may sleep while there is traffic: half of the
// time that one goroutine may keep a processor.
const beatEvery = 5 * time.Millisecond

// watch keeps the runtime's monitor (sysmon) attentive. It sleeps when all processors are
// idle, until the next timer, or until a system call that the scheduler sees. Would no call
// wake it, goroutines that compute for a second could keep every processor from those that
// wait for the network. So the first call is seen, and while others follow a timer runs.
var watch attention

type attention struct {
	on   atomic.Bool // the timer runs
	used atomic.Bool // there were calls since it last did
}

// unseen reports whether a system call may go unseen.
func (a *attention) unseen() bool {
	if !a.used.Load() {
		a.used.Store(true)
	}
	if a.on.Load() {
		return true
	}
	if a.on.CompareAndSwap(false, true) {
		time.AfterFunc(beatEvery, a.beat)
	}
	return false
}

// beat goes on while there are calls.
func (a *attention) beat() {
	if a.used.Swap(false) {
		time.AfterFunc(beatEvery, a.beat)
		return
	}
	a.on.Store(false)
}

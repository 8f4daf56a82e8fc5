package call

import (
	"runtime"
	"time"
)

const (
	// largeBody is from how many bytes on an answer is large. Answers seldom are, and below it the
	// buffers of a call weigh little.
	largeBody = 64 << 10
	// largeWait is how long a call waits for one of the Caller's scratches. It goes on in memory of its own
	// then: waiting saves memory, and must not be what a call fails of.
	largeWait = 250 * time.Millisecond
)

// newLarge makes the scratches for large answers: one for each processor. A rendering needs
// several times the size of its answer and does nothing but compute, so that more of them at once would be
// no faster and would only hold more memory.
func newLarge() chan *scratch {
	large := make(chan *scratch, runtime.GOMAXPROCS(0))
	for range cap(large) {
		large <- &scratch{}
	}
	return large
}

// takeLarge gives the exchange one of those scratches until its end, when its answer is large. An
// answer that plugins or an expression of the operator read is rendered in memory of its own: they may take
// long, and others must not wait for that.
func (x *exchange) takeLarge() {
	if len(x.body) < largeBody || len(x.ready.Plugins) > 0 || x.ready.Answer.Reshape != nil {
		return
	}
	select {
	case x.scratch = <-x.c.large:
		return
	default:
	}
	t := time.NewTimer(largeWait)
	defer t.Stop()
	select {
	case x.scratch = <-x.c.large:
	case <-t.C:
	}
}

// returnLarge gives back what takeLarge took.
func (x *exchange) returnLarge(c *Caller) {
	if x.scratch == &x.own {
		return
	}
	x.scratch.reset()
	c.large <- x.scratch
	x.scratch = &x.own
}

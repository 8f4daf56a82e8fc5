package resident

import (
	"context"
	"runtime/debug"
	"time"
)

const (
	// settled is when most starts are over: databases are open, persisted releases are live, the
	// specification of the command line is a toolset.
	settled = 2 * time.Second
	// slow is when those are that read a specification of many megabytes first.
	slow = 30 * time.Second
	// again is how often memory is given back afterwards: that of an import, say, or of a
	// thousand answers at once. It takes some ten milliseconds of a processor, and the pages that calls need cost a few
	// hundred page faults.
	again = 10 * time.Minute
	// later is when a busy process is looked at again: the pause and the page faults would
	// be those of its calls.
	later = 10 * time.Second
	// busyShare of the time of one processor makes a process busy.
	busyShare = 0.25
)

// Run gives memory back when the start is over, and from time to time until ctx ends: what
// forget lets go of, what is free of the heap, and the pages of the program. It waits while the
// process is busy.
func Run(ctx context.Context, forget func()) {
	run(ctx, func() {
		forget()
		debug.FreeOSMemory()
		ReleaseProgram()
	})
}

func run(ctx context.Context, release func()) {
	next := time.NewTimer(settled)
	defer next.Stop()
	pause, used, since := slow, processorTime(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		if busy(processorTime()-used, time.Since(since)) {
			next.Reset(later)
		} else {
			release()
			next.Reset(pause)
			pause = again
		}
		used, since = processorTime(), time.Now()
	}
}

// busy tells that a process that used so much processor time meanwhile has work to do.
func busy(used, meanwhile time.Duration) bool {
	return float64(used) > busyShare*float64(meanwhile)
}

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
)

// Run gives memory back when the start is over, and from time to time until ctx ends: what
// is free of the heap, and the pages of the program.
func Run(ctx context.Context) {
	next := time.NewTimer(settled)
	defer next.Stop()
	for pause := slow; ; pause = again {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		debug.FreeOSMemory()
		ReleaseProgram()
		next.Reset(pause)
	}
}

package resident

import (
	"context"
	"runtime/debug"
	"time"
)

const (
	// settled is when a start is over: databases are open, persisted releases are live, the
	// specification of the command line is a toolset.
	settled = 2 * time.Second
	// again is how often the pages of the program are let go afterwards. It takes less than a
	// millisecond, and the pages that calls need cost a few hundred page faults.
	again = 10 * time.Minute
)

// Run gives memory back when the start is over: what is free of the heap, and the pages of
// the program. It goes on with those from time to time until ctx ends.
func Run(ctx context.Context) {
	for next, first := time.NewTimer(settled), true; ; first = false {
		select {
		case <-ctx.Done():
			next.Stop()
			return
		case <-next.C:
		}
		if first {
			debug.FreeOSMemory()
		}
		ReleaseProgram()
		next.Reset(again)
	}
}

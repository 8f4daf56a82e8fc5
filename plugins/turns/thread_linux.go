package turns

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime names the thread that runs, and says how much processor time it used so far.
func threadTime() (thread int, used time.Duration) {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0, 0
	}
	return unix.Gettid(), time.Duration(t.Nano())
}

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// What else a shared machine does must not count: the clocks are those of the
// processor, not of the wall.

// threadTime is the processor time of this thread; the caller stays on it with
// runtime.LockOSThread.
func threadTime() time.Duration { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

// processTime is the processor time of all threads, the garbage collector's too.
func processTime() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

func clock(id int32) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil { // impossible for these two
		return 0
	}
	return time.Duration(t.Nano())
}

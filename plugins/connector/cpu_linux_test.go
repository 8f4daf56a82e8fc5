package connector_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is the processor time this process took so far: on a machine that others
// use too, it says more than the clock.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

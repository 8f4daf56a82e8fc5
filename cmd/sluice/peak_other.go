//go:build !linux

package main

import (
	"runtime"
	"runtime/debug"
)

// resetPeakMemory gives free memory back.
func resetPeakMemory() { debug.FreeOSMemory() }

// peakMemory is what the Go runtime has got from the system so far, in bytes: the
// largest resident set is not to be had here.
func peakMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys) //nolint:gosec // less than 8 EB
}

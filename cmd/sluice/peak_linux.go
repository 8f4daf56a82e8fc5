package main

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// resetPeakMemory gives free memory back and starts a new peak: proc_pid_clear_refs(5).
func resetPeakMemory() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // where it is not allowed the peak is that of the process
}

// peakMemory is the largest resident set since resetPeakMemory, in bytes.
func peakMemory() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(b) {
		if rest, ok := strings.CutPrefix(string(line), "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}

//go:build !linux

package connector_test

import (
	"testing"
	"time"
)

// started is where the clock of [cpuTime] begins.
var started = time.Now()

// cpuTime is the time by the clock: this system does not tell the processor's.
func cpuTime(testing.TB) time.Duration { return time.Since(started) }

//go:build !linux

package resident

import "time"

// ReleaseProgram does nothing where it is not known how.
func ReleaseProgram() int64 { return 0 }

// processorTime is 0 where it is not known how: nothing is busy.
func processorTime() time.Duration { return 0 }

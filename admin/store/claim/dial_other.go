//go:build !linux

package claim

import "time"

// endAfter is nothing here: keep-alive packets find a server that is gone between statements.
func endAfter(uintptr, time.Duration) error { return nil }

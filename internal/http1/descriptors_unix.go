//go:build unix

package http1

import "golang.org/x/sys/unix"

// descriptors is how many this process may open; 0: not known. The Go runtime has
// raised the limit as far as it may.
func descriptors() uint64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil || r.Cur < 4 {
		return 0
	}
	return uint64(r.Cur) //nolint:unconvert // signed on some systems
}

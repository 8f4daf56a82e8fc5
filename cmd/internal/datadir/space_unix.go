//go:build unix

package datadir

import "golang.org/x/sys/unix"

// Free is what an ordinary user may still write on the disk of a directory.
func Free(dir string) (free int64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(uint64(s.Bavail) * uint64(s.Bsize)), true //nolint:unconvert // the types differ by system
}

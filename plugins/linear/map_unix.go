//go:build linux || darwin

package linear

import "golang.org/x/sys/unix"

// reserve maps n bytes, all zero.
func reserve(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
}

func release(b []byte) { _ = unix.Munmap(b) } // it fails for what is not a mapping only

//go:build !unix

package http1

// descriptors is not limited as on Unix.
func descriptors() uint64 { return 0 }

//go:build !linux

package http1

import "net"

// boundUnsent does nothing where the kernel knows no such bound.
func boundUnsent(net.Conn) {}

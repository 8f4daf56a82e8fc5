// Package cache keeps the answers of safe methods in memory, and lets identical concurrent
// calls share one exchange with the upstream. How long an answer is fresh is read from its
// headers (RFC 9111).
//
// It does not know what a call is: package call makes the key, of everything that an answer
// depends on. With a [Pool] a node finds what others keep; without one, and while it cannot be
// reached, nothing is shared between nodes. A [Cache] is safe for concurrent use.
package cache

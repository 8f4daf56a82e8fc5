//go:build !amd64

package jsonscan

// masksOf returns where b has quotes, backslashes, and brackets that open and close.
func masksOf(b *[blockSize]byte) (quotes, slashes, opens, closes uint64) { return masksIn(b) }

// stopsOf returns where b has a byte that ends a run of a string: a quote, a backslash or a
// control character.
func stopsOf(b *[blockSize]byte) uint64 { return stopsIn(b) }

//go:build !amd64

package jsonscan

// masksOf returns where b has quotes, backslashes, and brackets that open and close.
func masksOf(b *[blockSize]byte) (quotes, slashes, opens, closes uint64) { return masksIn(b) }

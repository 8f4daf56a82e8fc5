package jsonscan

// masksOf returns where b has quotes, backslashes, and brackets that open and close.
//
//go:noescape
func masksOf(b *[blockSize]byte) (quotes, slashes, opens, closes uint64)

// stopsOf returns where b has a byte that ends a run of a string: a quote, a backslash or a
// control character.
//
//go:noescape
func stopsOf(b *[blockSize]byte) uint64

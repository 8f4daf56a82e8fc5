package jsonscan

// masksOf returns where b has quotes, backslashes, and brackets that open and close.
//
//go:noescape
func masksOf(b *[blockSize]byte) (quotes, slashes, opens, closes uint64)

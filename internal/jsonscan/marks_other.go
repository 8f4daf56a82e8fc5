//go:build !amd64

package jsonscan

// marksBlocks reports that marks are made by vector instructions.
const marksBlocks = false

// markBlocks fills dst with the marks of the blocks that b begins with.
func markBlocks(dst []Marks, b []byte) {
	for i := range dst {
		dst[i] = marksIn((*[blockSize]byte)(b[i*blockSize:]))
	}
}

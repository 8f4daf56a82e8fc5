package jsonscan

import "golang.org/x/sys/cpu"

// marksBlocks reports whether this processor has what markAVX2 needs.
var marksBlocks = cpu.X86.HasAVX2

// markBlocks fills dst with the marks of the blocks that b begins with.
func markBlocks(dst []Marks, b []byte) {
	if len(dst) == 0 {
		return
	}
	if marksBlocks {
		markAVX2(&dst[0], &b[:len(dst)*blockSize][0], len(dst))
		return
	}
	for i := range dst {
		dst[i] = marksIn((*[blockSize]byte)(b[i*blockSize:]))
	}
}

// markAVX2 writes the marks of the n blocks at b, which are one or more, to dst.
//
//go:noescape
func markAVX2(dst *Marks, b *byte, n int)

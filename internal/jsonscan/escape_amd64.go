package jsonscan

import "golang.org/x/sys/cpu"

// escapesBlocks reports whether this processor has what escapeBlocks needs; nearly all do.
var escapesBlocks = cpu.X86.HasSSSE3

// shuffles say for the mask of eight bytes, of which those in it are to be escaped, which byte
// is written where; the eighth is a backslash. widths are how many are.
//
//nolint:unused // escapeBlocks reads them
var shuffles, widths = func() (to [256][16]byte, n [256]byte) {
	for mask := range to {
		at := 0
		for i := range 8 {
			if mask>>i&1 == 1 {
				to[mask][at] = 8
				at++
			}
			to[mask][at] = byte(i)
			at++
		}
		n[mask] = byte(at)
	}
	return to, n
}()

// escapeBlocks copies blocks of 16 bytes of the n at src to dst with quotes, backslashes, tabs and
// line feeds escaped, and returns how many it read and wrote. It ends at a block in which another
// byte is below 0x20, or one is beyond ASCII where the bit of its place in stop is set. dst has room
// for two bytes for each of n and 16 more.
//
//go:noescape
func escapeBlocks(dst, src *byte, n int, stop uint64) (read, written int)

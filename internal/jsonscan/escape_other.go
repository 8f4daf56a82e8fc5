//go:build !amd64

package jsonscan

// escapesBlocks reports that escapeBlocks is there.
const escapesBlocks = false

func escapeBlocks(_, _ *byte, _ int, _ uint64) (read, written int) { return 0, 0 }

package jsonscan

// Marks say of 64 bytes of a JSON text which of them a reader of its values looks for: a bit
// is a byte, the lowest the first.
type Marks struct {
	Quotes  uint64 // a quote or a backslash: what may end a string
	Special uint64 // a backslash, a control character, or one of ) ] }
	Blanks  uint64 // a space
	Ends    uint64 // what ends a number, null, true or false: a comma, or one of the others but quotes
}

// AppendMarks appends the marks of b to dst: those of its bytes, and of spaces behind them, of
// 65 at least, so that the marks of any place of b and of the 64 bytes from there on are in two of
// what was appended. It takes a fraction of the time in which the bytes can be walked where
// [MarksAreFast], and much more elsewhere.
func AppendMarks(dst []Marks, b []byte) []Marks {
	n := len(b) / blockSize
	at := len(dst)
	dst = append(dst, make([]Marks, n+2)...)
	markBlocks(dst[at:at+n], b)
	var last [2 * blockSize]byte
	for i := range last {
		last[i] = ' '
	}
	copy(last[:], b[n*blockSize:])
	markBlocks(dst[at+n:], last[:])
	return dst
}

// MarksAreFast reports whether this processor makes marks with vector instructions.
func MarksAreFast() bool { return marksBlocks }

// marksIn is the marks of a block for any processor.
func marksIn(b *[blockSize]byte) (m Marks) {
	for i, c := range b {
		bit := uint64(1) << i
		switch c {
		case '"':
			m.Quotes |= bit
			continue
		case '\\':
			m.Quotes |= bit
			m.Special |= bit
		case ')', ']', '}':
			m.Special |= bit
		case ' ':
			m.Blanks |= bit
		case ',':
		default:
			if c > ' ' {
				continue
			}
			m.Special |= bit
		}
		m.Ends |= bit
	}
	return m
}

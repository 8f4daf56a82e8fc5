package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// blockSize is how many bytes of a container are looked at together.
const blockSize = 64

// skipContainer returns the index after the array or object that begins at i: brackets are
// counted, those in strings left out. A bit of a mask is a byte of the block.
func skipContainer(b []byte, i int) int {
	if i+1 < len(b) && b[i+1] == b[i]+2 { // it is empty, as many are
		return i + 2
	}
	var (
		last    [blockSize]byte
		depth   int
		inside  uint64 // all bits where the block begins in a string
		escapes uint64 // 1 where its first byte is escaped
	)
	for ; i < len(b); i += blockSize {
		block := &last
		if i+blockSize <= len(b) {
			block = (*[blockSize]byte)(b[i:])
		} else {
			copy(last[:], b[i:])
		}
		quotes, slashes, opens, closes := masksOf(block)
		if slashes|escapes != 0 {
			var hidden uint64
			hidden, escapes = escapedBy(slashes, escapes)
			quotes &^= hidden
		}
		strings := prefixXOR(quotes) ^ inside
		inside = uint64(int64(strings) >> 63)
		opens &^= strings
		closes &^= strings
		if n := bits.OnesCount64(closes); n < depth { // it cannot end here
			depth += bits.OnesCount64(opens) - n
			continue
		}
		for ; closes != 0; closes &= closes - 1 {
			before := opens & (closes&-closes - 1)
			depth += bits.OnesCount64(before)
			opens &^= before
			if depth--; depth == 0 {
				return min(i+bits.TrailingZeros64(closes)+1, len(b))
			}
		}
		depth += bits.OnesCount64(opens)
	}
	return len(b)
}

// escapedBy returns the bytes that backslashes escape. first is 1 where the byte before the
// block escapes its first one, as next is for the block that follows. A run of
// backslashes ends where adding its first bit to it carries: whether that is at an odd or an
// even place says whether their number is odd.
func escapedBy(slashes, first uint64) (escaped, next uint64) {
	const even = 0x5555555555555555
	slashes &^= first
	follows := slashes<<1 | first
	sum, carry := bits.Add64(slashes&^even&^follows, slashes, 0)
	return (even ^ sum<<1) & follows, carry
}

// prefixXOR sets each bit to the parity of those of x up to it: of quotes, that are the bytes of
// strings, the quote at the begin included.
func prefixXOR(x uint64) uint64 {
	for n := 1; n < 64; n *= 2 {
		x ^= x << n
	}
	return x
}

// masksIn is masksOf for any processor.
func masksIn(b *[blockSize]byte) (quotes, slashes, opens, closes uint64) {
	for at := 0; at < blockSize; at += 8 {
		w := binary.LittleEndian.Uint64(b[at:])
		quotes |= equals(w, '"') << at
		slashes |= equals(w, '\\') << at
		w |= ones * 0x20
		opens |= equals(w, '{') << at
		closes |= equals(w, '}') << at
	}
	return quotes, slashes, opens, closes
}

// stopsIn is stopsOf for any processor.
func stopsIn(b *[blockSize]byte) (mask uint64) {
	for at := 0; at < blockSize; at += 8 {
		w := binary.LittleEndian.Uint64(b[at:])
		low := ^(w&^highs + ones*0x60 | w) & highs // below 0x20, exact
		mask |= (equals(w, '"') | equals(w, '\\') | low>>7*0x0102040810204080>>56) << at
	}
	return mask
}

// equals has a bit for each byte of w that is c.
func equals(w uint64, c byte) uint64 {
	w ^= ones * uint64(c)
	zero := ^((w&^highs + ^uint64(highs)) | w) & highs // exact, unlike stops
	return zero >> 7 * 0x0102040810204080 >> 56
}

package tokens

import "unicode/utf8"

// every is how many bytes apart a [Counter] notes what a text costs up to there: seldom enough
// to cost nothing, often enough that little is read again.
const every = 1 << 11

// Counter is [Estimate] and [Exceeds] for texts that begin alike: of what it read of one it
// reads little again in the next. It is used by one goroutine. The zero Counter is ready to use,
// and keeps no text.
type Counter struct{ notes []note }

// note says what the first at bytes of a text cost. A piece ends there, which the byte at that
// place decided, and what the text costs behind it depends on no byte before the last of them.
type note struct {
	at   int
	cost uint64
}

// Reset makes the counter ready for other texts. Of memory over keep bytes nothing is kept.
func (c *Counter) Reset(keep int) {
	if c.notes = c.notes[:0]; 16*cap(c.notes) > keep {
		c.notes = nil
	}
}

// Estimate returns [Estimate] of b. Its first same bytes are those of the last text.
func (c *Counter) Estimate(b []byte, same int) int {
	if len(b) == 0 {
		c.notes = c.notes[:0]
		return 0
	}
	i, cost := c.begin(same)
	for next := i + every; i < len(b); {
		end, p := piece(b, i)
		cost += uint64(p)
		if end >= next {
			next = c.note(b, i, end, cost)
		}
		i = end
	}
	return max(int((cost+scale/2)/scale), 1)
}

// Exceeds returns [Exceeds] of b, which need not begin as the last text.
func (c *Counter) Exceeds(b []byte, n int) bool {
	c.notes = c.notes[:0]
	if n <= 0 || len(b) == 0 {
		return Exceeds(b, n)
	}
	var cost uint64
	over := (uint64(n)+1)*scale - scale/2
	unsure := true
	for i, next := 0, every; i < len(b); {
		// What is not UTF-8 may cost more than a token for a byte.
		if unsure && cost+uint64(len(b)-i)*scale < over {
			if utf8.Valid(b[i:]) {
				return false
			}
			unsure = false
		}
		end, p := piece(b, i)
		cost += uint64(p)
		if end >= next {
			next = c.note(b, i, end, cost)
		}
		if cost >= over {
			return true
		}
		i = end
	}
	return false
}

// begin drops the notes that do not hold for a text whose first same bytes are known, and
// returns the last that does.
func (c *Counter) begin(same int) (at int, cost uint64) {
	n := len(c.notes)
	for n > 0 && c.notes[n-1].at >= same {
		n--
	}
	if c.notes = c.notes[:n]; n == 0 {
		return 0, 0
	}
	return c.notes[n-1].at, c.notes[n-1].cost
}

// note keeps what b costs up to the end of the piece that begins at i, and returns from where on
// the next is kept. White space is passed over, of which a piece may depend on what
// follows behind its end, and so is the end of the text.
func (c *Counter) note(b []byte, i, end int, cost uint64) (next int) {
	if k := classes[b[i]]; end == len(b) || k == space || k == newline {
		return end
	}
	c.notes = append(c.notes, note{end, cost})
	return end + every
}

package http1

import "bytes"

const (
	// maxChunkDigits of a chunk's size, which keeps it below 2^60.
	maxChunkDigits = 15
	// maxExtension is the length of the extensions of one chunk, which nobody uses.
	maxExtension = 256
	// maxTrailers is the length of all trailers of a body.
	maxTrailers = 4 << 10
	// maxOverhead is what framing may have more than eight bytes for each of data:
	// honest chunks of one byte pass, megabytes of extensions do not.
	maxOverhead = 16 << 10
)

type chunkState uint8

const (
	chunkSize chunkState = iota
	chunkExtension
	chunkSizeLF
	chunkData
	chunkDataCR
	chunkDataLF
	chunkTrailers
	chunkEnd
)

// quoteState says where in a quoted text a byte is.
type quoteState uint8

const (
	unquoted quoteState = iota
	quoted
	quotedPair // behind a backslash
)

// chunks reads the framing of a chunked body (RFC 9112 §7.1).
type chunks struct {
	state     chunkState
	digits    int
	extension int
	quote     quoteState // of the extension
	left      int64      // of the chunk
	data      int64      // of all chunks
	overhead  int64
	trailer   []byte // the line that has not ended yet
	trailers  int
}

// step reads the framing b begins with. It returns its length and how many of the
// bytes behind it are data, which the caller must report to took.
func (k *chunks) step(b []byte) (framing, data int, err error) {
	for i, c := range b {
		if k.state == chunkData || k.state == chunkEnd {
			return i, int(min(k.left, int64(len(b)-i))), nil
		}
		if k.overhead++; k.overhead > maxOverhead+8*k.data {
			return i, 0, errChunk
		}
		if err := k.frame(c); err != nil {
			return i, 0, err
		}
	}
	return len(b), 0, nil
}

func (k *chunks) frame(c byte) error {
	switch k.state {
	case chunkSize:
		switch {
		case class[c]&isHex != 0 && k.digits < maxChunkDigits:
			k.digits++
			k.left = k.left<<4 | hexValue(c)
		case k.digits > 0 && c == ';':
			k.state, k.extension, k.quote = chunkExtension, 0, unquoted
		case k.digits > 0 && c == '\r':
			k.state = chunkSizeLF
		default:
			return errChunk
		}
	case chunkExtension:
		if k.extension++; k.extension > maxExtension {
			return errChunk
		}
		switch {
		case c == '\r' && k.quote != unquoted: // a line may end in quotes for others
			return errChunk
		case c == '\r':
			k.state = chunkSizeLF
		case class[c]&isValue == 0:
			return errChunk
		default:
			k.quote = k.quote.behind(c)
		}
	case chunkSizeLF:
		if c != '\n' {
			return errChunk
		}
		if k.state = chunkData; k.left == 0 {
			k.state = chunkTrailers
		}
	case chunkDataCR:
		if k.state = chunkDataLF; c != '\r' {
			return errChunk
		}
	case chunkDataLF:
		if k.state, k.digits = chunkSize, 0; c != '\n' {
			return errChunk
		}
	case chunkTrailers:
		return k.trailerByte(c)
	}
	return nil
}

// behind is where the byte behind c is, which is not its own end.
func (q quoteState) behind(c byte) quoteState {
	switch {
	case q == quotedPair:
		return quoted
	case q == quoted && c == '\\':
		return quotedPair
	case c == '"' && q == unquoted:
		return quoted
	case c == '"':
		return unquoted
	}
	return q
}

// took reports that n bytes of data were taken.
func (k *chunks) took(n int) {
	k.left -= int64(n)
	k.data += int64(n)
	if k.state == chunkData && k.left == 0 {
		k.state = chunkDataCR
	}
}

func (k *chunks) trailerByte(c byte) error {
	if k.trailers++; k.trailers > maxTrailers {
		return errTrailer
	}
	if k.trailer = append(k.trailer, c); c != '\n' {
		return nil
	}
	line, ok := bytes.CutSuffix(k.trailer, []byte("\r\n"))
	k.trailer = k.trailer[:0]
	if !ok {
		return errTrailer
	}
	if len(line) == 0 {
		k.state = chunkEnd
		return nil
	}
	i := bytes.IndexByte(line, ':')
	if i <= 0 || !all(line[:i], isToken) || !all(line[i+1:], isValue) || forbiddenTrailer(line[:i]) {
		return errTrailer
	}
	return nil
}

// forbiddenTrailer reports whether a field changes framing, routing or who asks
// (RFC 9110 §6.5.1): it must not come behind what was decided by it.
func forbiddenTrailer(name []byte) bool {
	for _, s := range [...]string{
		"Content-Length", "Transfer-Encoding", "Host", "Connection", "Keep-Alive", "Trailer", "TE", "Upgrade", "Expect",
		"Authorization", "Proxy-Authorization", "Cookie", "Content-Type", "Content-Encoding", "Content-Range", "Origin",
		"Cache-Control", "Max-Forwards", "Range", "Set-Cookie", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
	} {
		if bytes.EqualFold(name, []byte(s)) {
			return true
		}
	}
	return false
}

func hexValue(c byte) int64 {
	switch {
	case c <= '9':
		return int64(c - '0')
	case c <= 'F':
		return int64(c-'A') + 10
	}
	return int64(c-'a') + 10
}

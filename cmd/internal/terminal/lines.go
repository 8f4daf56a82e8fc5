package terminal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// LineReader reads lines of bounded length.
type LineReader struct {
	r    *bufio.Reader
	most int
}

// NewLineReader reads lines of at most most bytes from r.
func NewLineReader(r io.Reader, most int) *LineReader {
	return &LineReader{r: bufio.NewReaderSize(r, 64<<10), most: most}
}

// Next returns the next line that is not blank, without its end. The caller owns it.
func (l *LineReader) Next() ([]byte, error) {
	for {
		var line []byte
		for {
			part, err := l.r.ReadSlice('\n')
			line = append(line, part...)
			if len(line) > l.most {
				return nil, fmt.Errorf("a line has more than %d bytes", l.most)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && len(bytes.TrimSpace(line)) == 0 {
				return nil, err
			}
			break // a last line without an end counts
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

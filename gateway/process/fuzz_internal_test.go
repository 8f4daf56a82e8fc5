package process

import (
	"bufio"
	"bytes"
	"errors"
	"testing"
)

// FuzzReadLine: what a program prints is read in its lines, however long they are and
// however it comes; none is longer than the limit.
func FuzzReadLine(f *testing.F) {
	f.Add([]byte("{}\nlonger than the buffer, and a line of its own\n\nno end"), 40)
	f.Add([]byte("\n"), 0)
	f.Add(bytes.Repeat([]byte("x"), 64), 64)
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		limit &= 0xff
		r := bufio.NewReaderSize(bytes.NewReader(b), 16)
		var all []byte
		for {
			line, err := readLine(r, limit)
			if len(line) > limit || bytes.Count(line, []byte("\n")) > 1 || err == nil && !bytes.HasSuffix(line, []byte("\n")) {
				t.Fatalf("line %q, limit %d, %v", line, limit, err)
			}
			all = append(all, line...)
			if errors.Is(err, errLineTooLong) {
				next, _, _ := bytes.Cut(b[len(all):], []byte("\n"))
				if len(next)+1 <= limit && len(next) < len(b)-len(all) {
					t.Fatalf("%q is too long for %d", next, limit)
				}
				return
			}
			if err != nil {
				break
			}
		}
		if !bytes.Equal(all, b) {
			t.Fatalf("%q, want %q", all, b)
		}
	})
}

package http1

import (
	"fmt"
	"strings"
	"testing"
)

// TestChunkFramingIsBounded: framing is accepted at each limit and refused past it.
func TestChunkFramingIsBounded(t *testing.T) {
	read := func(body string) error {
		k := chunks{}
		b := []byte(body)
		for len(b) > 0 && k.state != chunkEnd {
			framing, data, err := k.step(b)
			if err != nil {
				return err
			}
			b = b[framing:]
			k.took(data)
			b = b[data:]
		}
		if k.state != chunkEnd || len(b) > 0 {
			return fmt.Errorf("the body does not end where it should: %d bytes are left", len(b))
		}
		return nil
	}
	const last = "0\r\n\r\n"
	for _, c := range []struct {
		what  string
		limit int
		body  func(n int) string
	}{
		{"digits of a size", maxChunkDigits, func(n int) string { return strings.Repeat("0", n-1) + "1\r\nx\r\n" + last }},
		{"bytes of an extension, its end included", maxExtension, func(n int) string { return "1;" + strings.Repeat("e", n-1) + "\r\nx\r\n" + last }},
		{"bytes of trailers", maxTrailers, func(n int) string {
			const name, ends = "X: ", "\r\n\r\n"
			return "0\r\n" + name + strings.Repeat("v", n-len(name)-len(ends)) + ends
		}},
		{"bytes of framing without data", maxOverhead, func(n int) string {
			// Chunks of one byte with the longest extension, then a trailer of the rest.
			chunk := "1;" + strings.Repeat("e", maxExtension-1) + "\r\nx\r\n"
			each := len(chunk) - 1 - 8 // a byte of data allows eight of framing
			chunks := (n - 2*maxExtension) / each
			const name, ends = "0\r\nX: ", "\r\n\r\n"
			return strings.Repeat(chunk, chunks) + name + strings.Repeat("v", n-chunks*each-len(name)-len(ends)) + ends
		}},
	} {
		if err := read(c.body(c.limit)); err != nil {
			t.Errorf("%s, %d: %v", c.what, c.limit, err)
		}
		if err := read(c.body(c.limit + 1)); err == nil {
			t.Errorf("%s, %d: accepted", c.what, c.limit+1)
		}
	}
}

// TestHeadFieldsAreBounded guards the method and the digits of a length.
func TestHeadFieldsAreBounded(t *testing.T) {
	for over := range 2 {
		line := strings.Repeat("G", maxMethod+over) + " / HTTP/1.1"
		if err := new(head).request([]byte(line)); (err == nil) != (over == 0) {
			t.Errorf("a method of %d bytes: %v", maxMethod+over, err)
		}
		field := "Content-Length: " + strings.Repeat("9", maxLengthDigits+over)
		if err := new(head).field([]byte(field), span{0, len(field)}); (err == nil) != (over == 0) {
			t.Errorf("a length of %d digits: %v", maxLengthDigits+over, err)
		}
	}
}

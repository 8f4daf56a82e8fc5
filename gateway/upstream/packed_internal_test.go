package upstream

import "testing"

// TestPackedText: only a body that begins as gzip does, of a type that is text, is taken for
// packed without a word of it.
func TestPackedText(t *testing.T) {
	for _, c := range []struct {
		contentType, body string
		want              bool
	}{
		{"application/xml", "\x1f\x8b\x08", true},
		{"application/atom+XML; charset=utf-8", "\x1f\x8b\x08\x00", true},
		{"application/problem+json", "\x1f\x8b\x08", true},
		{"Text/csv", "\x1f\x8b\x08", true},
		{"application/octet-stream", "\x1f\x8b\x08", false},
		{"application/gzip", "\x1f\x8b\x08", false},
		{"x", "\x1f\x8b\x08", false},
		{"", "\x1f\x8b\x08", false},
		{"application/xml", "\x1f\x8b\x07", false},
		{"application/xml", "\x1f\x8c\x08", false},
		{"application/xml", "\x1e\x8b\x08", false},
		{"application/xml", "\x1f\x8b", false},
		{"application/xml", "", false},
	} {
		if got := packedText([]byte(c.contentType), []byte(c.body)); got != c.want {
			t.Errorf("%q of %q: %t", c.body, c.contentType, got)
		}
	}
}

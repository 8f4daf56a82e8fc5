package media

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// FuzzCharset: whatever the type says and the body holds, the text stays within the
// bound, and what was decoded is UTF-8.
func FuzzCharset(f *testing.F) {
	for _, s := range []string{"text/plain; charset=latin1", "application/json;charset=Shift_JIS", "text/plain; charset=utf-16le", "text/plain; charset=utf-7", "text/html; charset=\"gb18030\"", ";charset=x", "text/plain; charset=replacement"} {
		f.Add(s, []byte("caf\xe9\x00\x1b$B"))
	}
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		const most = 1 << 10
		before, buffer := bytes.Clone(body), []byte(nil)
		out, err := UTF8(&buffer, []byte(contentType), body, most)
		if !bytes.Equal(before, body) {
			t.Fatal("the upstream's bytes were changed")
		}
		if err != nil || bytes.Equal(out, before) {
			return
		}
		if len(out) > most || !utf8.Valid(out) {
			t.Fatalf("%q: %d bytes %q of %q", contentType, len(out), out, before)
		}
	})
}

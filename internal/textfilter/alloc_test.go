//go:build !race

package textfilter

import (
	"bytes"
	"testing"
)

// Clean text costs no allocation, and neither does the room for what is left of text
// that is not.
func TestNoAllocations(t *testing.T) {
	clean := bytes.Repeat([]byte(`{"id":17,"name":"Zürich","text":"one\n\"two\""},`), 50)
	dirty := bytes.Repeat([]byte(`{"id":17,"name":"Z\u200bürich","text":"one\r\n\"two\""},`), 50)
	dst := make([]byte, 0, len(dirty))
	AppendJSON(dst, dirty) // the scratch grows
	f := func(what string, run func()) {
		t.Helper()
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	f("IndexJSON", func() { IndexJSON(clean) })
	f("Index", func() { Index(clean) })
	f("AppendJSON of clean", func() { AppendJSON(dst, clean) })
	f("AppendJSON", func() { AppendJSON(dst, dirty) })
	f("Append", func() { Append(dst, dirty) })
}

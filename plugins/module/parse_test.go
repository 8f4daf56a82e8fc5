package module

import (
	"errors"
	"strings"
	"testing"
)

func wasm(sections ...string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
}

// TestBounds: at each bound and one past it.
func TestBounds(t *testing.T) {
	f := func(what string, code []byte, ok bool) {
		t.Helper()
		if _, err := Parse(code); (err == nil) != ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("table of MaxTable", wasm("\x04\x06\x01\x70\x00\xa0\x8d\x06"), true)
	f("one element more", wasm("\x04\x06\x01\x70\x00\xa1\x8d\x06"), false)
	f("MaxTables", wasm("\x04\x31\x10"+strings.Repeat("\x70\x00\x01", 16)), true)
	f("one table more", wasm("\x04\x34\x11"+strings.Repeat("\x70\x00\x01", 17)), false)
	f("MaxLocals", wasm("\x0a\x08\x01\x06\x01\xd0\x86\x03\x7f\x0b"), true)
	f("one local more", wasm("\x0a\x08\x01\x06\x01\xd1\x86\x03\x7f\x0b"), false)
	padding := func(n int) []byte { // a custom section that makes the module n bytes
		payload := n - 8 - 5
		head := "\x00" + string([]byte{byte(payload) | 0x80, byte(payload>>7) | 0x80, byte(payload>>14) | 0x80, byte(payload >> 21)})
		return wasm(head, "\x01x", strings.Repeat("p", payload-2))
	}
	f("MaxBytes", padding(MaxBytes), true)
	f("one byte more", padding(MaxBytes+1), false)
	f("more items than bytes", wasm("\x07\x05\xff\xff\xff\xff\x0f"), false)
	f("a number of 33 bits", wasm("\x03\x05\xff\xff\xff\xff\x1f"), false)
}

// TestCustom: a section is replaced, and only one of a name counts.
func TestCustom(t *testing.T) {
	a, err := AppendCustom(nil, wasm(), "s", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := AppendCustom(nil, a, "s", []byte("two"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := m.Custom("s"); !ok || string(got) != "two" || len(m.Customs) != 1 {
		t.Errorf("%q %v, %d sections", got, ok, len(m.Customs))
	}
	if m, err = Parse(append(b, b[8:]...)); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Custom("s"); ok {
		t.Error("one of two sections of a name was taken")
	}
	if _, err := AppendCustom(nil, a, "s", nil); err == nil {
		t.Error("an empty section was written")
	}
}

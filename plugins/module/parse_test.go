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
	section := func(id byte, payload string) []byte { return wasm(string(AppendSection(nil, id, []byte(payload)))) }
	tables := func(n, elements int) []byte {
		return section(secTable, leb(n)+strings.Repeat("\x70\x00"+leb(elements), n))
	}
	f("table of MaxTable", tables(1, MaxTable), true)
	f("one element more", tables(1, MaxTable+1), false)
	f("MaxTables", tables(MaxTables, 1), true)
	f("one table more", tables(MaxTables+1, 1), false)
	locals := func(n int) []byte {
		body := "\x01" + leb(n) + "\x7f\x0b"
		return section(SectionCode, "\x01"+leb(len(body))+body)
	}
	f("MaxLocals", locals(MaxLocals), true)
	f("one local more", locals(MaxLocals+1), false)
	f("MaxItems", section(secType, leb(MaxItems)+strings.Repeat("\x60\x00\x00", MaxItems)), true)
	f("one item more", section(secType, leb(MaxItems+1)+strings.Repeat("\x60\x00\x00", MaxItems+1)), false)
	globals := func(n int) []byte { return section(secGlobal, leb(n)+strings.Repeat("\x7f\x01\x41\x00\x0b", n)) }
	f("MaxGlobals", globals(MaxGlobals), true)
	f("one global more", globals(MaxGlobals+1), false)
	imports := func(n int) []byte { return section(SectionImport, leb(n)+strings.Repeat("\x01a\x01b\x03\x7f\x00", n)) }
	f("MaxGlobals of others", imports(MaxGlobals), true)
	f("one global of others more", imports(MaxGlobals+1), false)
	segments := func(n int, kind, offset string, items int, item string) []byte {
		return section(secElement, leb(n)+strings.Repeat(kind+offset+leb(items)+strings.Repeat(item, items), n))
	}
	f("MaxElements of functions", segments(1, "\x01\x00", "", MaxElements, "\x00"), true)
	f("one element more", segments(1, "\x01\x00", "", MaxElements+1, "\x00"), false)
	f("MaxElements in a table", segments(10, "\x00", "\x41\x00\x0b", MaxElements/10, "\x00"), true)
	f("more in a table", segments(11, "\x00", "\x41\x00\x0b", MaxElements/10, "\x00"), false)
	f("MaxElements by expressions", segments(5, "\x06\x00", "\x41\x00\x0b\x70", MaxElements/5, "\xd0\x70\x0b"), true)
	f("more by expressions", segments(6, "\x06\x00", "\x41\x00\x0b\x70", MaxElements/5, "\xd0\x70\x0b"), false)
	f("segments that say more than they have", section(secElement, "\x01\x01\x00\xff\xff\xff\xff\x0f\x00"), false)
	f("segments of data, MaxItems", section(SectionData, leb(MaxItems)+strings.Repeat("\x01\x00", MaxItems)), true)
	f("one segment more", section(SectionData, leb(MaxItems+1)+strings.Repeat("\x01\x00", MaxItems+1)), false)
	f("segments of elements, MaxItems", segments(MaxItems, "\x01\x00", "", 0, ""), true)
	f("one segment of elements more", segments(MaxItems+1, "\x01\x00", "", 0, ""), false)
	values := func(over int) []byte { // types of ten parameters, then one of the rest
		const each = 10
		rest := MaxTypeValues%each + over
		return section(secType, leb(MaxTypeValues/each+1)+
			strings.Repeat("\x60"+leb(each)+strings.Repeat("\x7f", each)+"\x00", MaxTypeValues/each)+
			"\x60"+leb(rest)+strings.Repeat("\x7f", rest)+"\x00")
	}
	f("MaxTypeValues", values(0), true)
	f("one value more", values(1), false)
	f("MaxSections", wasm(strings.Repeat("\x00\x02\x01x", MaxSections)), true)
	f("one section more", wasm(strings.Repeat("\x00\x02\x01x", MaxSections+1)), false)
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

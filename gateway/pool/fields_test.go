package pool

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzOpenField: only what a node sealed for a field of a record is read there, however short
// or long what stands there is.
func FuzzOpenField(f *testing.F) {
	d := derive(bytes.Repeat([]byte{7}, keyBytes))
	field := d.field("name")
	sealed := d.sealField("record", "name", []byte("value"))
	f.Add("")
	f.Add(sealed)
	f.Add(sealed[:tagBytes-1])
	f.Add(sealed[:tagBytes])
	f.Add(sealed[:len(sealed)-1])
	f.Add(strings.Repeat("x", tagBytes+1))
	f.Add(string(d.seal("record\x00"+field, []byte{0xff})))
	f.Fuzz(func(t *testing.T, text string) {
		name, value, ok := d.openField("record", field, text)
		if mine := len(text) >= tagBytes && len(text) == len(sealed) && text[tagBytes:] == sealed[tagBytes:]; ok != mine || ok && (name != "name" || string(value) != "value") {
			t.Fatalf("%q is %q: %q, %t", text, name, value, ok)
		}
	})
	for _, other := range []string{"records", ""} {
		if _, _, ok := d.openField(other, field, sealed); ok {
			f.Errorf("it is read in record %q", other)
		}
	}
	if _, _, ok := d.openField("record", d.field("other"), sealed); ok {
		f.Error("it is read as another field")
	}
	// What another node sealed and is none: shorter than a name's length, and than the name.
	for _, text := range []string{"", "\x00", "\x00\x05name", "\xff\xff"} {
		if _, _, ok := d.openField("record", field, strings.Repeat("t", tagBytes)+string(d.seal("record\x00"+field, []byte(text)))); ok {
			f.Errorf("%q is a field", text)
		}
	}
}

// TestRefused: what a script says instead of a record is an error of its own.
func TestRefused(t *testing.T) {
	for said, want := range map[string]error{"none": ErrNone, "ended": ErrEnded, "full": ErrFull, "7": nil} {
		if err := refused([]string{said}, nil); err != want {
			t.Errorf("%q: %v, want %v", said, err, want)
		}
	}
	if refused(nil, nil) == nil {
		t.Error("nothing is an answer")
	}
}

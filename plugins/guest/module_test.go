package guest

import (
	"encoding/binary"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
)

// section is a section of a module in its binary form.
func section(id byte, payload string) string {
	b := append([]byte{id}, binary.AppendUvarint(nil, uint64(len(payload)))...)
	return string(b) + payload
}

// TestCheckModule: who puts a manifest into a module is told what a call of it would fail
// with, in the words of that call.
func TestCheckModule(t *testing.T) {
	const (
		entry   = "\x12transform_response\x00\x00"
		memory  = "\x06memory\x02\x00"
		nothing = "\x04\x00\x41\x00\x0b" // returns 0
	)
	parts := func(change map[byte]string) string {
		s := map[byte]string{
			1: "\x01\x60\x00\x01\x7f", 3: "\x01\x00", 5: "\x01\x00\x01", 7: "\x02" + entry + memory, 10: "\x01" + nothing,
		}
		maps.Copy(s, change)
		var code strings.Builder
		for _, id := range []byte{1, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11, 0} {
			if payload, ok := s[id]; ok {
				code.WriteString(section(id, payload))
			}
		}
		return "\x00asm\x01\x00\x00\x00" + code.String()
	}
	body := func(b string) map[byte]string {
		return map[byte]string{10: "\x01" + string(rune(len(b)+1)) + "\x00" + b}
	}
	starts := func(b string) map[byte]string {
		return map[byte]string{1: "\x02\x60\x00\x01\x7f\x60\x00\x00", 3: "\x02\x00\x01", 8: "\x01", 10: "\x02" + nothing + string(rune(len(b)+1)) + "\x00" + b}
	}
	h := host(t)
	for _, c := range []struct {
		what   string
		change map[byte]string
		want   string // part of the error; "": none
	}{
		{"nothing is wrong", nil, ""},
		{"it starts", starts("\x0b"), ""},
		{"a name that is exported twice", map[byte]string{7: "\x03" + entry + memory + entry}, "duplicates name"},
		{"an exported memory that is not there", map[byte]string{7: "\x02" + entry + "\x06memory\x02\x03"}, "out of range"},
		{"an exported name that is not UTF-8", map[byte]string{7: "\x02" + entry + "\x02\xff\xfe\x02\x00"}, "not valid UTF-8"},
		{"an exported function that is not there", map[byte]string{7: "\x02" + entry + "\x01x\x00\x09"}, "has no type"},
		{"a memory that begins larger than it may grow", map[byte]string{5: "\x01\x01\x02\x01"}, "min 2 pages (128 Ki) > max 1 pages"},
		{"a count of data that is wrong", map[byte]string{12: "\x02", 11: "\x01\x00\x41\x00\x0b\x01a"}, "doesn't match the length of data section"},
		{"a select of two types", body("\x41\x00\x41\x00\x41\x00\x1c\x02\x7f\x7f\x0b"), "too many type immediates"},
		{"a select of no type", body("\x41\x00\x41\x00\x41\x00\x1c\x00\x0b"), "type immediates"},
		{"an empty stack", body("\x0b"), "not enough results"},
		{"another type of result", body("\x42\x00\x0b"), "cannot use i64"},
		{"an alignment that is too large", body("\x41\x00\x28\x07\x00\x0b"), "invalid memory alignment"},
		{"a global of another type", map[byte]string{6: "\x01\x7f\x00\x42\x00\x0b"}, "type mismatch"},
		{"a start function that is not there", map[byte]string{8: "\x07"}, "invalid start function"},
		{"a start function that returns something", map[byte]string{8: "\x00"}, "invalid start function"},
		{"data beyond the memory", map[byte]string{11: "\x01\x00\x41\xff\xff\x07\x0b\x02ab"}, "out of bounds memory access, while it was started"},
		{"a start function that traps", starts("\x00\x0b"), "unreachable, while it was started"},
	} {
		m := manifest.Manifest{FormatVersion: 1, Name: "p", Version: "1.0.0", Kind: manifest.Filter}
		code, err := module.AppendCustom(nil, []byte(parts(c.change)), manifest.Section, m.Append(nil))
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		p, err := Open(code)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		said := ""
		if err := p.CheckModule(t.Context(), h); err != nil {
			said = err.Error()
		}
		if (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
			t.Errorf("%s: %q, want %q", c.what, said, c.want)
		}
		if called := callError(t, h, p); said != called {
			t.Errorf("%s: the check says %q, and a call %q", c.what, said, called)
		}
	}
}

// callError says what a call of a package fails with.
func callError(t *testing.T, h *extism.Host, p *Package) string {
	t.Helper()
	g, err := Load(h, p, Options{Policy: AuthorPolicy(p)})
	if err != nil {
		return err.Error()
	}
	defer g.Close()
	if _, err := g.Transform(t.Context(), nil, []byte("{}"), &Context{}); err != nil {
		return err.Error()
	}
	return ""
}

// TestCheckModuleNeedsSettings: a plugin that may read its settings while it starts, and has
// none by default, is compiled and not started.
func TestCheckModuleNeedsSettings(t *testing.T) {
	traps := "\x00asm\x01\x00\x00\x00" + section(1, "\x01\x60\x00\x00") + section(3, "\x01\x00") + section(8, "\x00") + section(10, "\x01\x03\x00\x00\x0b")
	h := host(t)
	for config, starts := range map[string]bool{`{"type":"object","required":["keep"]}`: false, `{"type":"object"}`: true} {
		p := &Package{Manifest: &manifest.Manifest{Name: "p", Kind: manifest.Filter, Config: []byte(config)}, Code: []byte(traps)}
		err := p.CheckModule(t.Context(), h)
		if _, trapped := errors.AsType[*extism.TrapError](err); trapped != starts || !starts && err != nil {
			t.Errorf("%s: %v", config, err)
		}
	}
}
